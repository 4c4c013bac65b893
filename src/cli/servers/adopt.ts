// `adopt` and `restore`: a host's servers into the bridge's own folder and back. Shows what moves and what stays with the
// reason, which tools are denied here since the host would have asked, and what the model no longer has to read.

import { ownCommand } from '../../base/process/own-command.js';
import { shownName } from '../../base/text/shown-name.js';
import type { DownstreamSpec } from '../../hosts/downstream-spec.js';
import {
  type Adopted,
  type AdoptedServer,
  adopt,
  type Restored,
  restore,
} from '../../hosts/install/adoption.js';
import type { AdoptPlace } from '../../hosts/install/candidates.js';
import { KeptCatalog } from '../../servers/catalog/kept-catalog.js';
import { TokenStore } from '../../servers/login/token-store.js';
import { type Prepared, prepare } from '../serving/prepare.js';
import { columns } from '../terminal/columns.js';
import { coloursFor, printJson, visibleText } from '../terminal/output.js';
import { say, undoneText } from './install.js';

export const inThousands = new Intl.NumberFormat('en-US');

export function adoptCommand(
  host: string,
  names: readonly string[],
  options: { readonly name?: string; readonly dryRun?: true; readonly json?: true },
): void {
  const { place, charsOf } = adoptPlace(prepare('error', 'ends'));
  const done = adopt(host, names, options, place, charsOf);
  if (options.json) return printJson(done);
  say(adoptedText(done));
}

export function restoreCommand(
  host: string,
  options: { readonly dryRun?: true; readonly json?: true },
): void {
  const done = restore(host, options, adoptPlace(prepare('error', 'ends')).place);
  if (options.json) return printJson(done);
  say(restoredText(done));
}

/** Facts of this machine that `adopt` needs, and how many characters each tool of a server has, as it was last started. */
export function adoptPlace({ settings, discovery }: Pick<Prepared, 'settings' | 'discovery'>): {
  readonly place: AdoptPlace;
  readonly catalog: KeptCatalog;
  readonly charsOf: (spec: DownstreamSpec) => readonly number[] | undefined;
} {
  const catalog = new KeptCatalog(settings.stateDir, () => {});
  const logins = new TokenStore(settings.stateDir);
  const { env, host } = discovery;
  const reaches = (spec: DownstreamSpec) =>
    catalog.of(spec) !== undefined ||
    (spec.transport !== 'stdio' && logins.read(spec.url).state !== 'absent');
  const charsOf = (spec: DownstreamSpec) =>
    catalog
      .of(spec)
      ?.tools()
      .map(({ name, description, inputSchema }) => JSON.stringify({ name, description, inputSchema }).length);
  return { place: { env, host, settings, stateDir: settings.stateDir, reaches }, catalog, charsOf };
}

export function adoptedText(done: Adopted): string {
  const { title, result, servers, left, file, registers, name, backup, undo, unseen } = done;
  const paint = coloursFor(process.stdout);
  const lines: string[] = [];
  if (result === 'nothing to move') lines.push(`${title}: no server can be moved; nothing was changed.`);
  else {
    lines.push(
      `${title}: ${result} ${servers.length === 1 ? '1 server' : `${servers.length} servers`} to ${visibleText(file)}`,
    );
    lines.push(
      columns(servers.map((one) => [`  ${paint.green(shownName(one.name))}`, sizeText(one)])).trimEnd(),
    );
    lines.push(...servers.flatMap(limitsText), '', savedText(done));
    if (registers)
      lines.push(
        `The bridge ${result === 'moved' ? 'is' : 'would be'} registered there as '${shownName(name)}'.`,
      );
    lines.push(
      `If ${title} asked before a call of these servers, it now asks before run_python: once for each program, which it shows.`,
    );
    if (unseen !== undefined) lines.push(unseen);
  }
  if (left.length > 0) {
    lines.push('', `${left.length === 1 ? '1 stays' : `${left.length} stay`} in ${title}:`);
    lines.push(...left.map((one) => `  ${paint.yellow(shownName(one.name))}  ${visibleText(one.reason)}`));
  }
  if (backup !== undefined) lines.push('', `  backup  ${visibleText(backup)}`, `  undo    ${undo}`);
  return lines.join('\n');
}

export function sizeText({ tools, chars }: AdoptedServer): string {
  if (tools === undefined || chars === undefined) return 'tools not known yet';
  return `${tools === 1 ? '1 tool' : `${tools} tools`}, ${inThousands.format(chars)} characters`;
}

export function limitsText({ name, only, onlyWhy, denied }: AdoptedServer): string[] {
  const list = (names: readonly string[]) => names.map(visibleText).join(', ');
  return [
    ...(only === undefined
      ? []
      : [
          `  ${shownName(name)}: only ${list(only)} can be called here${onlyWhy === undefined ? ', as before' : `: ${onlyWhy}`}.`,
        ]),
    ...denied.map(
      ({ tool, why }) => `  ${shownName(name)}: ${shownName(tool)} is denied here: ${visibleText(why)}.`,
    ),
  ];
}

function savedText({ title, servers }: Adopted): string {
  const known = servers.filter(({ chars }) => chars !== undefined);
  const unknown = servers.filter(({ chars }) => chars === undefined).map(({ name }) => name);
  const chars = known.reduce((sum, one) => sum + (one.chars ?? 0), 0);
  const tools = known.reduce((sum, one) => sum + (one.tools ?? 0), 0);
  const saved =
    known.length === 0
      ? []
      : [
          `Before, ${title}'s model was given ${inThousands.format(chars)} characters of ${tools} tools; now none of them.`,
        ];
  const learn =
    unknown.length === 0
      ? []
      : [
          `${known.length === 0 ? 'Their size' : 'The size of the others'} is not known yet. To learn it: ${ownCommand('servers', 'refresh', ...unknown)}`,
        ];
  return [...saved, ...learn].join('\n');
}

export function restoredText({ title, result, files }: Restored): string {
  if (result === 'nothing to restore') return `${title}: no server was moved out of it; nothing was changed.`;
  return [`${title}: ${result}`, ...undoneText(files)].join('\n');
}
