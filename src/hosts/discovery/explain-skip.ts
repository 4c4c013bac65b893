// The words for every reason why an entry is passed over: what a person reads, what can be done about it, and whether
// somebody has to. The one place with these sentences, for the list, doctor, login and the agent's error.

import { makeHarmless } from '../../base/text/text.js';
import type { SkippedSpec } from '../downstream-spec.js';
import { isProgram } from '../records/all-hosts.js';
import type { Mistake, Need, PluginOption, ServerSkipReason } from '../skip-reason.js';

type Explanation = {
  /** Half a sentence without a full stop; may quote what a file says, as it stands there. */
  readonly text: string;
  /** One or two sentences; undefined where nothing is to be done, or `text` says it. */
  readonly remedy?: string | undefined;
  /** `ok`: the user wants it so, or the server is there already. `warn`: somebody may want to change something. */
  readonly severity: 'ok' | 'warn';
};

/** Facts about the entry that a remedy names. */
type EntryFacts = {
  readonly name: string;
  readonly host: string;
  /** ` in FILE`, or nothing where the reader sees the file beside it. */
  readonly inFile: string;
};

/**
 * Explains a skipped entry, in the same words wherever it is reported. `beside` says whether the reader sees beside them which
 * file the entry stands in.
 */
export function explainSkip(
  { name, reason, source: { host, file } }: SkippedSpec,
  beside: 'nothing' | 'the file' = 'nothing',
): Explanation {
  const explain = REASONS[reason.kind] as (reason: ServerSkipReason, entry: EntryFacts) => Explanation;
  const inFile = beside === 'the file' ? '' : ` in ${file}`;
  const { text, remedy, severity } = explain(reason, { name, host, inFile });
  return { text, remedy: remedy === undefined ? undefined : makeHarmless(remedy), severity };
}

const OWN_COPY =
  'To use it here, copy the entry into ~/.config/mcp/servers/, with the value or an environment variable in it.';

const switchOn = ({ host, inFile }: EntryFacts): string =>
  `Switch it on${isProgram(host) ? ` in ${host}` : inFile}.`;

const explainDisabled = (text: string, entry: EntryFacts): Explanation => ({
  text,
  remedy: switchOn(entry),
  severity: 'ok',
});

const onlyInHost = (text: string, { host }: EntryFacts): Explanation => ({
  text,
  remedy: `Only ${host} can use this entry. To use the server here, write its command or address into a file in ~/.config/mcp/servers/.`,
  severity: 'warn',
});

const onlyHostSupplies = ({ host }: EntryFacts): string => `Only ${host} knows it. ${OWN_COPY}`;

/** Explanations whose remedies may still hold characters that do not show. */
const REASONS: {
  readonly [K in ServerSkipReason['kind']]: (
    reason: Extract<ServerSkipReason, { readonly kind: K }>,
    entry: EntryFacts,
  ) => Explanation;
} = {
  'this-bridge': () => ({ text: 'this bridge itself', severity: 'ok' }),
  'nested-bridge': () => ({
    text: 'this bridge runs inside another bridge',
    remedy: 'If you want that, set MCP_BRIDGE_ALLOW_SELF_SERVER=1 in the entry that registers this bridge.',
    severity: 'warn',
  }),
  'same-server': (twin, { name }) => ({
    text: `same server as '${twin.name}' in ${twin.file}`,
    remedy: twin.name === name ? undefined : `Its name here is '${twin.name}'.`,
    severity: 'ok',
  }),
  shadowed: ({ file }) => ({
    text: `has the name of a server in ${file}`,
    remedy: 'To use both, give one of them another name.',
    severity: 'ok',
  }),
  'managed-only': ({ host, file }) => ({
    text: `${host} takes its servers from ${file} only`,
    remedy: 'Ask the administrator of this machine to add it there, or register it in another host.',
    severity: 'warn',
  }),
  'unapproved-project': ({ host }) => ({
    text: `not approved: it comes with the project; ${host === undefined ? '' : `approve it in ${host}, or `}set MCP_BRIDGE_TRUST_PROJECT=1`,
    severity: 'warn',
  }),
  'refused-project': ({ host }) => ({
    text: `not approved: refused in ${host}`,
    remedy: `Approve it in ${host}, or copy the entry into ~/.config/mcp/servers/.`,
    severity: 'warn',
  }),
  'disabled-in-file': (_reason, entry) => explainDisabled('disabled in its file', entry),
  'disabled-in-host': ({ host }, entry) => explainDisabled(`disabled in ${host}`, entry),
  'disabled-for-project': ({ host }, entry) => explainDisabled(`disabled in ${host} for this project`, entry),
  'plugin-not-enabled': ({ host, file, id }, entry) =>
    explainDisabled(`disabled in ${host}: ${file} does not enable ${id}`, entry),
  'folder-not-trusted': ({ host }) => ({
    text: `disabled: ${host} does not trust this folder`,
    remedy: `Trust the folder in ${host}.`,
    severity: 'ok',
  }),
  excluded: ({ host, setting }, entry) => explainDisabled(`disabled in ${host}: ${setting} names it`, entry),
  'not-among-allowed': ({ host, setting }, entry) =>
    explainDisabled(`disabled in ${host}: ${setting} does not name it`, entry),
  'perhaps-disabled': ({ host, file }) => ({
    text: `may be disabled in ${host}: ${file} cannot be read`,
    remedy: 'Fix that file.',
    severity: 'ok',
  }),
  denied: ({ rule }) => ({
    text: `denied by ${rule}`,
    remedy: 'To use it, change that rule.',
    severity: 'ok',
  }),
  'host-type': ({ type }, entry) => onlyInHost(`is of type '${type}', which works only in its host`, entry),
  'account-connector': ({ host }, entry) =>
    onlyInHost(`has no command; ${host} keeps remote servers in the account, not in its file`, entry),
  'host-sign-in': ({ host, provider }, entry) =>
    onlyInHost(`needs the sign-in of ${host} (authProviderType '${provider}')`, entry),
  'host-extension': ({ host }, entry) => onlyInHost(`is provided by an extension of ${host}`, entry),
  'hub-block': ({ host }, entry) => onlyInHost(`is a block of the ${host} hub`, entry),
  'plugin-bundle': ({ host }, entry) =>
    onlyInHost(`is a bundle (.mcpb), which only ${host} can unpack`, entry),
  websocket: ({ type }) => ({
    text: `is of type '${type}'; WebSocket servers are not supported`,
    remedy: 'If it has an HTTP address, register that instead.',
    severity: 'warn',
  }),
  'needs-plugin-options': ({ options }, entry) => ({
    text: `needs ${options.map(optionInWords).join(', ')}`,
    remedy: remedyOfOptions(options, entry),
    severity: 'warn',
  }),
  unusable: ({ needs, mistakes }, entry) => ({
    text: [
      ...(needs.length === 0 ? [] : [`needs ${needsInWords(needs)}`]),
      ...new Set(mistakes.map(mistakeInWords)),
    ].join('; '),
    remedy: remedyOfUnusable(needs, mistakes, entry),
    severity: 'warn',
  }),
};

const optionInWords = ({ name, isSensitive }: PluginOption): string =>
  `plugin option ${name}${isSensitive ? ', which Claude Code keeps among its credentials' : ''}`;

function remedyOfOptions(options: readonly PluginOption[], entry: EntryFacts): string {
  if (options.some(({ isSensitive }) => isSensitive)) return onlyHostSupplies(entry);
  return `Give the plugin its ${options.length === 1 ? 'option' : 'options'} in ${entry.host}.`;
}

/** `environment variable A, B; input token` */
export function needsInWords(needs: readonly Need[]): string {
  const byKind = new Map<string, Set<string>>();
  for (const need of needs) {
    const kind = needKindInWords(need);
    byKind.set(kind, (byKind.get(kind) ?? new Set()).add(need.name));
  }
  return [...byKind].map(([kind, names]) => `${kind} ${[...names].join(', ')}`).join('; ');
}

function needKindInWords(need: Need): string {
  if (need.kind === 'host-value') return need.what;
  return need.kind === 'variable' ? 'environment variable' : 'file';
}

/** The first need counts: with it, the others are often had as well. */
function remedyOfUnusable(
  [first]: readonly Need[],
  mistakes: readonly Mistake[],
  entry: EntryFacts,
): string | undefined {
  // The trouble's own text names the command that fixes it.
  if (mistakes.some((mistake) => mistake.kind === 'wrong-file' && mistake.isUnsafe)) return undefined;
  const { inFile } = entry;
  switch (first?.kind) {
    case undefined:
      return `Correct the entry${inFile}.`;
    case 'variable':
      return 'Set it in the env field of the entry that registers this bridge, then restart the host.';
    case 'file':
      return `Create that file, or correct the entry${inFile}.`;
    case 'host-value':
      return onlyHostSupplies(entry);
  }
}

function mistakeInWords(mistake: Mistake): string {
  switch (mistake.kind) {
    case 'name-empty':
      return 'its name is empty';
    case 'name-too-long':
      return `its name has ${mistake.chars} characters; at most ${mistake.maxChars} are allowed`;
    case 'name-unseen':
      return 'its name has invisible characters';
    case 'not-an-object':
      return `is ${mistake.found}; expected: an object with a command`;
    case 'unknown-type':
      return `field 'type' is ${mistake.found}; allowed: ${mistake.allowed.join(', ')}`;
    case 'no-command': {
      const { addresses } = mistake;
      return `has no command${addresses.length > 0 ? ` and no ${addresses.join(' or ')}` : ''}`;
    }
    case 'command-and-address':
      return `has both 'command' and 'url', which ${mistake.host} refuses; remove one`;
    case 'not-https':
      return `has no https address; ${mistake.setting} allows only https`;
    case 'names-variable':
      return `names a variable, but ${mistake.setting} replaces no variables`;
    case 'wrong-field':
      return `field '${mistake.field}': ${mistake.trouble}`;
    case 'wrong-header':
      return `header '${mistake.header}' has characters that are not allowed in a header`;
    case 'nul-in-value':
      return 'a value has a NUL character';
    case 'wrong-file':
      return `${mistake.field} ${mistake.file} ${mistake.trouble}`;
  }
}
