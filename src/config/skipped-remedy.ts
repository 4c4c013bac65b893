// What a person can do about an entry that was passed over, by the words of its reason. Sentences only; judges nothing.

import { clip, harmless } from '../base/text.js';
import type { Discovery } from './discover.js';
import type { SkippedSpec } from './downstream-spec.js';

/** A path and a sentence. */
const MAX_TROUBLE_CHARS = 500;

type Remedy = (reason: string, skipped: SkippedSpec) => string | undefined;

const OWN_COPY =
  'To use it here, put a copy of the entry with the value in it, or with an environment variable, into ~/.config/mcp/servers/.';

/** The first that fits counts. */
const REMEDIES: ReadonlyArray<readonly [RegExp, Remedy]> = [
  // As it should be.
  [/^this bridge itself/, () => undefined],
  [/^same as/, (reason, { name }) => useTwin(reason, name)],
  // They say it themselves.
  [/^not approved: it comes|chmod go-w|chown/, () => undefined],
  [/^shadowed by/, () => 'If both are to be used, give one of them another name.'],
  [
    /^not approved: refused/,
    (_reason, { source: { host } }) => `Approve it in ${host}, or put a copy into a file of your own.`,
  ],
  [/^disabled.* does not trust this folder/, () => 'Trust the folder in Gemini CLI.'],
  [/^disabled.*cannot be read$/, () => 'Mend that file.'],
  [/^disabled/, (_reason, { source: { host, file } }) => `Switch it on in ${isHost(host) ? host : file}.`],
  [/^denied by/, () => 'If it is to be used, change that rule.'],
  [
    /^only .* counts for/,
    () => 'Ask whoever administers this machine to add it there, or register it in another host.',
  ],
  [
    /inside another bridge$/,
    () => 'If that is meant, set MCP_BRIDGE_ALLOW_SELF_SERVER=1 where this bridge is registered.',
  ],
  [
    /only inside its host|^is provided by|^is a block of|^has no command; Claude|^needs the sign-in|bundle \(/,
    (_reason, { source: { host } }) =>
      `Only ${host} can use it so. To use it here, register the server itself in another file, with its command or address.`,
  ],
  [
    /^needs environment variable/,
    () => 'Set it in the env field of the entry that registers this bridge, and start again.',
  ],
  [/^needs plugin option [^,]*$/, () => 'Give the plugin its option in Claude Code.'],
  [/^needs file/, (_reason, { source: { file } }) => `Make that file, or correct the entry in ${file}.`],
  [/^needs/, (_reason, { source: { host } }) => `Only ${host} can supply it. ${OWN_COPY}`],
  [/WebSocket/, () => 'If it has an address for HTTP, register that.'],
];

function useTwin(reason: string, name: string): string | undefined {
  const [, twin = name] = /^same as (.*?) in [/\\A-Z]/s.exec(reason) ?? [];
  return twin === name ? undefined : `It is used as ${twin}.`;
}

const isHost = (host: string): boolean => /^[A-Z]/.test(host) && !host.startsWith('MCP_');

/** One or two sentences; undefined where nothing is to be done, or the reason says it. */
export function remedyOf(skipped: SkippedSpec): string | undefined {
  const { reason, source } = skipped;
  const [, remedy] = REMEDIES.find(([pattern]) => pattern.test(reason)) ?? [];
  const said = remedy === undefined ? `Correct the entry in ${source.file}.` : remedy(reason, skipped);
  return said === undefined ? undefined : harmless(said);
}

/** What is missing may stand in a file that could not be used. */
export function remedyOfMissing([first, ...others]: Discovery['problems']): string | undefined {
  if (first === undefined) return undefined;
  const { file, message } = first;
  const trouble = message.startsWith(file) ? message : `${file}: ${message}`;
  const more =
    others.length === 0 ? '' : ` There are ${others.length} more; see \`mcp-sandbox-bridge servers\`.`;
  return `It may stand in a file that has a problem: ${clip(harmless(trouble), MAX_TROUBLE_CHARS)}.${more}`;
}
