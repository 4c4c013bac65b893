// `install` and `uninstall`: the bridge into the user's hosts and out of them. Says which file was changed, and how it is
// taken back.

import { ownCommand } from '../../base/process/own-command.js';
import { withoutSecretMembers } from '../../base/secrets/by-key.js';
import { isSecretName, Redactor } from '../../base/secrets/redact.js';
import { clipHarmlessLine } from '../../base/text/text.js';
import type { ChangePlace, UndoneFile } from '../../hosts/install/changes.js';
import { entrySettings, refuseWrongSettings } from '../../hosts/install/entry-settings.js';
import {
  changePlace,
  type HostHere,
  hostNamed,
  hostsHere,
  type Installed,
  install,
  PLUGIN_UNDO,
  type Uninstalled,
  uninstall,
} from '../../hosts/install/registration.js';
import { columns } from '../terminal/columns.js';
import { coloursFor, printJson, usageError, visibleText } from '../terminal/output.js';
import { hangText, widthOf } from '../terminal/wrap.js';

type InstallCommandOptions = {
  readonly name?: string;
  readonly env: readonly string[];
  readonly dryRun?: true;
  readonly json?: true;
};

export const say = (text: string): void => void process.stdout.write(`${fitToTerminal(text)}\n`);

/** Sentences go on below at the terminal's width. What is to be copied, a command of ours or a path, stays whole. */
export function fitToTerminal(text: string): string {
  const width = widthOf(process.stdout);
  const lines = text.split('\n').map((line) => {
    const indent = /^ */.exec(line)?.[0] ?? '';
    return isToCopy(line) ? line : indent + hangText(line.trimStart(), indent.length + 2, width, -2);
  });
  return lines.join('\n');
}

/** Whether a line has a command or a path that would be broken in the middle; a terminal folds it so that it can be copied. */
export const isToCopy = (line: string): boolean =>
  line.includes(`${ownCommand()} `) || /^ {2}(?:entry|backup|undo|change) /.test(line);

function list(
  here: readonly HostHere[],
  { json }: { readonly json?: true },
  verb: 'install' | 'uninstall',
): void {
  if (json) printJson(here);
  else say(hostsText(here, verb));
}

export function installCommand(ids: readonly string[], options: InstallCommandOptions): void {
  const place = changePlace();
  if (ids.length === 0) return list(hostsHere(place), options, 'install');
  const env = Object.fromEntries(options.env.map(variable));
  // A wrong name among several stops all of them.
  for (const id of ids) hostNamed(id);
  refuseWrongSettings(env, place);
  const done = ids.map((id) => withDifferences(id, env, place, options));
  if (options.json) return printJson(done);
  for (const one of done) say(installedText(one));
}

/** A host that has the bridge already keeps its settings; the answer says which of them are not as they were given now. */
function withDifferences(
  id: string,
  env: Readonly<Record<string, string>>,
  place: ChangePlace,
  { name, dryRun }: InstallCommandOptions,
): InstalledHere {
  const done = install(id, { name, env, dryRun }, place);
  if (done.result !== 'already registered' || done.undo === PLUGIN_UNDO) return done;
  const [entry] = entrySettings([id], place).entries;
  const wanted = Object.entries(env).filter(([variable, value]) => entry?.env[variable] !== value);
  const differs = wanted.map(([variable, value]) => ({
    name: variable,
    here: entry?.env[variable] === undefined ? null : shownSetting(variable, entry.env[variable]),
    given: shownSetting(variable, value),
  }));
  return differs.length === 0 ? done : { ...done, differs };
}

/** A registration, and for one that was there which variables are not as `--env` has them; null where one is not set. */
export type InstalledHere = Installed & {
  readonly differs?: ReadonlyArray<{
    readonly name: string;
    readonly here: string | null;
    readonly given: string;
  }>;
};

export function uninstallCommand(
  ids: readonly string[],
  options: { readonly dryRun?: true; readonly json?: true },
): void {
  const place = changePlace();
  if (ids.length === 0) {
    const here = hostsHere(place).filter(({ registeredAs }) => registeredAs !== undefined);
    return list(here, options, 'uninstall');
  }
  for (const id of ids) hostNamed(id);
  const done = ids.map((id) => uninstall(id, { dryRun: options.dryRun === true }, place));
  if (options.json) return printJson(done);
  for (const one of done) say(uninstalledText(one));
}

/** The hosts of this machine as a table, and what to type next. */
export function hostsText(here: readonly HostHere[], verb: 'install' | 'uninstall'): string {
  const paint = coloursFor(process.stdout);
  if (here.length === 0)
    return verb === 'install'
      ? `No host was found on this machine. To register the bridge in one nevertheless: ${ownCommand(verb, 'codex')}`
      : 'It is registered in no host of this machine.';
  const rows = here.map(({ id, title, file, registeredAs, trouble }) => [
    paint.bold(id),
    title,
    trouble === undefined
      ? registeredAs === undefined
        ? 'not registered'
        : paint.green(`registered as '${visibleText(registeredAs)}'`)
      : paint.red('cannot be read'),
    paint.dim(visibleText(file)),
  ]);
  const open = here.filter(({ registeredAs }) => (registeredAs === undefined) === (verb === 'install'));
  const doing = verb === 'install' ? 'Register it' : 'Take it out';
  return [
    columns(rows, { width: widthOf(process.stdout), wraps: [3, 2], drops: [1] }),
    ...here.flatMap(({ trouble }) => (trouble === undefined ? [] : [`problem  ${visibleText(trouble)}\n`])),
    open.length === 0
      ? 'It is registered in all of them.'
      : `${doing}: ${ownCommand(verb, ...open.map(({ id }) => id))}`,
  ].join('\n');
}

function variable(text: string): [string, string] {
  const at = text.indexOf('=');
  if (/^[A-Za-z_]\w*$/.test(text.slice(0, Math.max(at, 0)))) return [text.slice(0, at), text.slice(at + 1)];
  throw usageError(
    `--env got '${visibleText(text)}', which is no NAME=VALUE.`,
    'Write it as --env MCP_BRIDGE_IMAGE=data, once for each variable.',
  );
}

export function installedText(installed: InstalledHere): string {
  const { title, file, result, name, backup, undo, entry } = installed;
  const at = `${title}: ${result} as '${visibleText(name)}' in ${visibleText(file)}`;
  if (result === 'already registered')
    return [`${at}; nothing was changed.`, ...differencesText(installed)].join('\n');
  const written = `  entry   ${visibleText(withoutSecretMembers(JSON.stringify(entry)))}`;
  if (result === 'would register') return `${at}\n${written}`;
  const lines = [
    at,
    written,
    ...(backup === undefined ? [] : [`  backup  ${visibleText(backup)}`]),
    `  undo    ${undo}`,
    `  next    restart ${title}, and ask it to run some Python in the sandbox`,
  ];
  return lines.join('\n');
}

function differencesText({ host, differs = [] }: InstalledHere): string[] {
  if (differs.length === 0) return [];
  const lines = differs.map(
    ({ name, here, given }) =>
      `  differs ${name} is ${here === null ? 'not set' : visibleText(here)} there; you gave ${visibleText(given)}.`,
  );
  const pairs = differs.map(({ name, given }) => `${name}=${given}`);
  return [...lines, `  change  ${ownCommand('config', 'set', ...pairs, '--host', host)}`];
}

const RESULTS: Readonly<Record<UndoneFile['result'], string>> = {
  restored: 'is as it was before, to the byte',
  removed: 'was deleted, since the bridge had made it',
  edited: 'no longer has our entry; nothing else was changed',
  kept: 'had no entry of ours',
};

/** Results for each file, one line each, with what could not be taken back. */
export function undoneText(files: readonly UndoneFile[]): string[] {
  return files.flatMap(({ file, result, notes }) => [
    `  ${visibleText(file)} ${RESULTS[result]}`,
    ...notes.map((note) => `  note: ${visibleText(note)}`),
  ]);
}

export function uninstalledText({ title, result, files, restore }: Uninstalled): string {
  if (result === 'not registered') return `${title}: not registered; nothing was changed.`;
  if (result === 'in a plugin')
    return `${title}: registered by its plugin; nothing was changed. To remove the plugin: ${PLUGIN_UNDO}`;
  if (result === 'would remove')
    return `${title}: would remove our entry from ${files.map(({ file }) => visibleText(file)).join(', ')}`;
  const moved = `  Its servers that were moved are still in the bridge's folder. To put them back: ${restore}`;
  return [`${title}: removed`, ...undoneText(files), ...(restore === undefined ? [] : [moved])].join('\n');
}

// A setting's value as anybody may read it. Hides what the log hides too: values by the names of their variables, and what looks
// like a secret by what stands before it.

const VALUE_CHARS_SHOWN = 200;
const HIDDEN = '…';
const redactor = new Redactor();

/** The text without what stands where a secret would, such as the password of an address. */
export const withoutSecrets = (text: string): string => redactor.redact(text);

/** A value in one line; nothing of it where its variable's name says that it is secret. */
export const shownSetting = (name: string, value: string): string =>
  isSecretName(name) ? HIDDEN : clipHarmlessLine(withoutSecrets(value), VALUE_CHARS_SHOWN);
