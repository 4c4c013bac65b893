// `servers refresh`: starts servers once to learn what they list, and says what has changed since it was first seen.
// With --accept, what they list now is what they are to list. Shows neither arguments nor variables.

import { BridgeError } from '../../base/errors.js';
import { ownCommand } from '../../base/process/own-command.js';
import { didYouMean } from '../../base/text/closest.js';
import { shownName, shownTool } from '../../base/text/shown-name.js';
import { clip, inOneLine, makeHarmless } from '../../base/text/text.js';
import type { Discovery } from '../../hosts/discovery/discover.js';
import { explainSkip } from '../../hosts/discovery/explain-skip.js';
import type { DownstreamSpec } from '../../hosts/downstream-spec.js';
import { acceptCommand, KeptCatalog, type ToolChange } from '../../servers/catalog/kept-catalog.js';
import type { Settings } from '../../settings/environment/settings.js';
import { Bridge } from '../../tenant/bridge.js';
import type { Refreshed } from '../../tenant/refresh.js';
import { prepare, withProgress } from '../serving/prepare.js';
import { columns } from '../terminal/columns.js';
import { interruptSignal } from '../terminal/interrupt.js';
import { coloursFor, visibleText as escaped, sayNote } from '../terminal/output.js';
import { widthOf } from '../terminal/wrap.js';

/** Servers choose these texts; overrides of the reading direction are no control characters to JSON. */
const displayText = (text: string): string => escaped(makeHarmless(text));

const MAX_NAMES_SHOWN = 8;
const MAX_TEXT_CHARS = 300;

/** Exits with 1 when a server did not start, or a tool has changed and was not accepted. */
export async function serversRefresh(
  names: readonly string[],
  { accept, json }: { readonly accept?: true; readonly json?: true },
): Promise<void> {
  const { settings, discovery, observer, redactor } = prepare('error', 'ends');
  const told = withProgress(observer, sayNote);
  const signal = interruptSignal();
  await using bridge = new Bridge({ settings, discovery, observer: told, redactor });
  const specs = serversNamed(names, bridge.servers.discovery);
  const outcomes = await bridge.servers.refresh(specs, accept === true, signal);
  // A server may have put into a description what it was given as a key.
  const text = json ? `${JSON.stringify({ servers: outcomes }, undefined, 2)}\n` : refreshText(outcomes);
  process.stdout.write(redactor.redact(text));
  if (outcomes.some(needsSomebody)) process.exitCode = 1;
}

/** The named servers, or all; throws E_ARGUMENTS for a name that cannot be started. */
function serversNamed(names: readonly string[], { ready, skipped }: Discovery): readonly DownstreamSpec[] {
  if (names.length === 0) return ready;
  return [...new Set(names)].map((name) => {
    const spec = ready.find((candidate) => candidate.name === name);
    if (spec !== undefined) return spec;
    const passedOver = skipped.find((entry) => entry.name === name);
    const skip = passedOver && explainSkip(passedOver);
    const known = ready.map((candidate) => candidate.name);
    throw new BridgeError(
      'E_ARGUMENTS',
      skip === undefined
        ? `There is no server '${shownName(name)}'.${didYouMean(name, known)}`
        : `Server '${shownName(name)}' is configured but not started: ${displayText(skip.text)}.`,
      {
        fault: 'operator',
        remedy: skip?.remedy ?? `See \`${ownCommand('servers')}\`.`,
      },
    );
  });
}

const needsSomebody = (outcome: Refreshed): boolean =>
  outcome.state === 'failed' || (isOdd(outcome) && !outcome.accepted);

const isOdd = ({ changed, takesName }: Extract<Refreshed, { state: 'listed' }>): boolean =>
  changed.length > 0 || takesName === true;

/** The table, and below it what changed; ends with a newline. */
export function refreshText(outcomes: readonly Refreshed[]): string {
  if (outcomes.length === 0) return `No server is ready to be started; see \`${ownCommand('servers')}\`.\n`;
  const fit = { width: widthOf(process.stdout), wraps: [3] };
  return columns(outcomes.map(row), fit) + outcomes.map(changesText).join('');
}

function row(outcome: Refreshed): readonly string[] {
  const paint = coloursFor(process.stdout);
  const name = paint.bold(shownName(outcome.server));
  if (outcome.state === 'failed') {
    const advice = outcome.remedy === undefined ? '' : ` ${outcome.remedy}`;
    return [paint.red('failed'), name, '', displayText(`${inOneLine(outcome.reason)}${advice}`)];
  }
  const { tools, added, removed, changed, takesName, accepted, problems } = outcome;
  const open = changed.length > 0 ? 'changed' : 'not accepted';
  const state = !isOdd(outcome)
    ? paint.green('listed')
    : accepted
      ? paint.green('accepted')
      : paint.yellow(open);
  const news = [
    takesName === true && !accepted ? 'another entry had its name' : '',
    changed.length > 0 ? `${changed.length} changed` : '',
    added.length > 0 ? `new: ${listOf(added)}` : '',
    removed.length > 0 ? `gone: ${listOf(removed)}` : '',
    ...problems,
  ];
  return [
    state,
    name,
    `${tools} tool${tools === 1 ? '' : 's'}`,
    news.filter((part) => part !== '').join('; '),
  ];
}

function changesText(outcome: Refreshed): string {
  if (outcome.state === 'failed' || !isOdd(outcome)) return '';
  const { server, changed, takesName, accepted } = outcome;
  if (takesName === true && changed.length === 0)
    return accepted
      ? `\nAccepted: decisions about the name ${shownName(server)} now hold for this entry too.\n`
      : `\nDecisions about the name ${shownName(server)} do not hold for it. To accept it: ${acceptCommand(server)}\n`;
  const next = accepted
    ? `Accepted: these are the tools of ${shownName(server)} from now on.`
    : `Read it with care: it is the server's own text. To accept it: ${acceptCommand(server)}`;
  return `\n${changed.map((change) => changeText(server, change)).join('')}${next}\n`;
}

/** The tool before and after its change, as far as both are known. */
function changeText(server: string, { tool, changed, on, was, now }: ToolChange): string {
  const paint = coloursFor(process.stdout);
  const head = `${paint.bold(shownTool(server, tool))}: ${changed.join(' and ')} changed since ${on}\n`;
  if (was === undefined) return head;
  const lines: string[] = [];
  if (changed.includes('description')) {
    const at = firstDifference(was.description, now.description);
    lines.push(
      paint.red(`  - ${excerpt(was.description, at)}`),
      paint.green(`  + ${excerpt(now.description, at)}`),
    );
  }
  const gone = was.parameters.filter((name) => !now.parameters.includes(name));
  const fresh = now.parameters.filter((name) => !was.parameters.includes(name));
  if (gone.length > 0) lines.push(paint.red(`  - parameters ${listOf(gone)}`));
  if (fresh.length > 0) lines.push(paint.green(`  + parameters ${listOf(fresh)}`));
  return head + lines.map((line) => `${line}\n`).join('');
}

function firstDifference(one: string, other: string): number {
  let at = 0;
  while (at < one.length && one[at] === other[at]) at++;
  return at;
}

/** One line, from a little before the place that matters. */
function excerpt(text: string, at: number): string {
  const from = at <= MAX_TEXT_CHARS / 2 ? 0 : at - MAX_TEXT_CHARS / 4;
  return displayText(`${from > 0 ? '…' : ''}${clip(text.slice(from), MAX_TEXT_CHARS)}`.toWellFormed());
}

function listOf(names: readonly string[]): string {
  const more = names.length - MAX_NAMES_SHOWN;
  const shown = names.slice(0, MAX_NAMES_SHOWN).map((name) => shownName(name));
  return `${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

// Which servers have changed tools since they were first seen, or another one's name, for the commands that look at servers
// without starting them. Reads what the bridge has kept.

/** `changed` in words; `remedy` is a sentence with the command that accepts it. */
export type ServerChange = { readonly changed: string; readonly remedy: string };

const MAX_TOOLS_SHOWN = 5;

/** Changes by server name; of those servers alone that have changed. */
export function serverChanges(
  specs: readonly DownstreamSpec[],
  { stateDir }: Pick<Settings, 'stateDir'>,
): ReadonlyMap<string, ServerChange> {
  const catalog = new KeptCatalog(stateDir, () => {});
  return new Map(
    specs.flatMap((spec): [string, ServerChange][] => {
      const command = acceptCommand(spec.name);
      if (spec.takesName === true) {
        const changed =
          'another entry had its name before: decisions about the name do not hold for this one';
        return [[spec.name, { changed, remedy: `If you want that, accept it with \`${command}\`.` }]];
      }
      const changes = [...(catalog.of(spec)?.changes.values() ?? [])];
      if (changes.length === 0) return [];
      const shown = changes
        .slice(0, MAX_TOOLS_SHOWN)
        .map(({ tool, changed, on }) => `${shownName(tool)} (${changed.join(' and ')}, since ${on})`);
      const more = changes.length - shown.length;
      const tools = `${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
      return [
        [
          spec.name,
          {
            changed: `changed since it was first seen: ${tools}`,
            remedy: `See what changed with \`${command.replace(/ --accept$/, '')}\`, then accept it with \`${command}\`.`,
          },
        ],
      ];
    }),
  );
}
