// `config`: the bridge's settings where hosts have it, each in the environment of the bridge's entry in the host's own file.
// Shows them beside one another, and changes them in one host or in all. Secrets are never shown.

import { BridgeError } from '../../base/errors.js';
import { ownCommand } from '../../base/process/own-command.js';
import {
  changeEntry,
  type EntrySettings,
  entrySettings,
  refuseWrongChange,
  type SettingChanges,
  troublesOf,
} from '../../hosts/install/entry-settings.js';
import { changePlace } from '../../hosts/install/registration.js';
import { settingsTable, unknownName, variableNames } from '../../settings/environment/settings.js';
import { columns } from '../terminal/columns.js';
import { coloursFor, printJson, usageError, visibleText } from '../terminal/output.js';
import { widthOf } from '../terminal/wrap.js';
import { say, shownSetting, withoutSecrets } from './install.js';

type ConfigOptions = { readonly host: readonly string[]; readonly json?: true };

/** The settings of one entry, as they are shown. */
type ShownEntry = {
  readonly host: string;
  readonly title: string;
  readonly file: string;
  readonly name: string;
  readonly settings: Readonly<Record<string, string>>;
  /** Sentences about what is wrong with them. */
  readonly problems: readonly string[];
};

export type ShownSettings = {
  readonly entries: readonly ShownEntry[];
  /** Names of settings that are not the same in all entries. */
  readonly differing: readonly string[];
  readonly troubles: ReturnType<typeof entrySettings>['troubles'];
};

export function configList({ host, json }: ConfigOptions): void {
  const place = changePlace();
  const { entries, troubles } = entrySettings(host, place);
  const shown = entries.map((entry): ShownEntry => {
    const { problems, warnings } = troublesOf(entry, place);
    const settings = Object.fromEntries(
      Object.entries(entry.env).map(([name, value]) => [name, shownSetting(name, value)]),
    );
    const said = [...problems.map(({ message }) => message), ...warnings];
    return { ...placeOf(entry), settings, problems: said.map(withoutSecrets) };
  });
  const all = { entries: shown, differing: differing(entries), troubles };
  if (json) return printJson(all);
  say(settingsText(all));
}

const placeOf = ({ record: { id, title }, file, name }: EntrySettings) => ({ host: id, title, file, name });

/** Names whose values are not the same in all entries, compared as they are written. */
function differing(entries: readonly EntrySettings[]): string[] {
  const names = [...new Set(entries.flatMap(({ env }) => Object.keys(env)))].sort();
  return names.filter((name) => new Set(entries.map(({ env }) => env[name])).size > 1);
}

/** A row for each value of each setting, with the hosts that have it; below it which files these are, and what is wrong. */
export function settingsText({ entries, differing: differ, troubles }: ShownSettings): string {
  const paint = coloursFor(process.stdout);
  const lines: string[] = [];
  if (entries.length === 0) lines.push(NOWHERE);
  const names = [...new Set(entries.flatMap(({ settings }) => Object.keys(settings)))].sort();
  const rows = names.flatMap((name) => rowsOf(name, entries, differ.includes(name)));
  if (rows.length > 0)
    lines.push(columns(rows, { width: widthOf(process.stdout), wraps: [1, 2] }).trimEnd(), '');
  else if (entries.length > 0) lines.push('No setting is set, so all have their defaults.', '');
  lines.push(
    ...entries.map(({ title, file, name }) => `${title}: '${visibleText(name)}' in ${visibleText(file)}`),
  );
  lines.push(
    ...entries.flatMap(({ title, problems }) =>
      problems.map((problem) => `${paint.red('wrong')}  ${title}: ${visibleText(problem)}`),
    ),
    ...troubles.map(({ message }) => `${paint.red('problem')}  ${visibleText(message)}`),
  );
  if (differ.length > 0)
    lines.push('', `To make them the same: ${ownCommand('config', 'set', `${differ[0]}=VALUE`)}`);
  return lines.join('\n');
}

const NOWHERE = `The bridge is registered in no host. To register it: ${ownCommand('install')}`;

function rowsOf(name: string, entries: readonly ShownEntry[], differs: boolean): string[][] {
  const paint = coloursFor(process.stdout);
  const values = new Map<string, string[]>();
  for (const { host, settings } of entries) {
    const value = settings[name] ?? NOT_SET;
    values.set(value, [...(values.get(value) ?? []), host]);
  }
  const isEverywhere = values.size === 1 && !differs;
  return [...values].map(([value, hosts], index) => [
    index === 0 ? paint.bold(visibleText(name)) : '',
    value === NOT_SET ? paint.dim(value) : visibleText(value),
    isEverywhere && hosts.length > 1 ? 'in all of them' : hosts.join(', '),
    differs && index === 0 ? paint.yellow('differs') : '',
  ]);
}

const NOT_SET = 'not set';

/** One setting in every entry. */
export type GotSetting = {
  readonly name: string;
  /** Words of the settings' table; undefined for a variable that is no setting. */
  readonly about: Readonly<Record<'meaning' | 'default' | 'allowed', string>> | undefined;
  readonly values: ReadonlyArray<
    Omit<ShownEntry, 'settings' | 'problems'> & { readonly value: string | null }
  >;
};

export function configGet(name: string, { host, json }: ConfigOptions): void {
  const { entries } = entrySettings(host, changePlace());
  const row = settingsTable().find((setting) => setting.name === name);
  const isSomewhere = entries.some(({ env }) => Object.hasOwn(env, name));
  if (row === undefined && !isSomewhere) throw usageError(unknownName(name), ALL_SETTINGS);
  const about = row && { meaning: row.meaning, default: row.default, allowed: row.allowed };
  const values = entries.map((entry) => {
    const value = entry.env[name];
    return { ...placeOf(entry), value: value === undefined ? null : shownSetting(name, value) };
  });
  if (json) return printJson({ name, ...about, values });
  say(gotText({ name, about, values }));
}

const ALL_SETTINGS = 'docs/settings.md lists all settings.';

export function gotText({ name, about, values }: GotSetting): string {
  const paint = coloursFor(process.stdout);
  const rows = values.map(({ host, value, file }) => [
    `  ${host}`,
    value === null ? paint.dim(NOT_SET) : visibleText(value),
    paint.dim(visibleText(file)),
  ]);
  return [
    paint.bold(visibleText(name)),
    ...(rows.length === 0
      ? [NOWHERE]
      : [columns(rows, { width: widthOf(process.stdout), wraps: [1], drops: [2] }).trimEnd()]),
    ...(about === undefined ? [] : [about.meaning, `Default: ${about.default}`, `Allowed: ${about.allowed}`]),
  ].join('\n');
}

/** One entry after a change. */
export type ChangedEntry = Omit<ShownEntry, 'settings' | 'problems'> & {
  readonly result: 'changed' | 'already so';
  /** The variables before and after, each as it is shown; null where it is not set. */
  readonly changes: ReadonlyArray<{
    readonly name: string;
    readonly before: string | null;
    readonly after: string | null;
  }>;
  /** The command that takes it back; undefined where it would have to show a secret, or where nothing was changed. */
  readonly undo: string | undefined;
  /** A sentence about how the host takes the new settings. */
  readonly next: string;
};

export function configSet(words: readonly string[], options: ConfigOptions): void {
  change(Object.fromEntries(pairsIn(words)), options);
}

export function configUnset(names: readonly string[], options: ConfigOptions): void {
  change(Object.fromEntries(names.map((name) => [name, undefined])), options);
}

/** `NAME VALUE`, or several `NAME=VALUE`. */
function pairsIn(words: readonly string[]): Array<readonly [string, string]> {
  const [first = '', second] = words;
  const pairs =
    words.length === 2 && second !== undefined && !first.includes('=')
      ? [[first, second] as const]
      : words.map(pairIn);
  const empty = pairs.find(([, value]) => value.trim() === '');
  if (empty !== undefined)
    throw usageError(
      `The value of ${empty[0]} is empty, which means the same as not set.`,
      `To take it away: ${ownCommand('config', 'unset', empty[0])}`,
    );
  return pairs;
}

/** Throws E_ARGUMENTS for what is no NAME=VALUE. */
function pairIn(word: string): readonly [string, string] {
  const at = word.indexOf('=');
  if (/^[A-Za-z_]\w*$/.test(word.slice(0, Math.max(at, 0)))) return [word.slice(0, at), word.slice(at + 1)];
  throw usageError(
    `'${visibleText(word)}' is no NAME=VALUE.`,
    `Write it so: ${ownCommand('config', 'set', 'MCP_BRIDGE_IMAGE=data')}`,
  );
}

function change(changes: SettingChanges, { host, json }: ConfigOptions): void {
  const place = changePlace();
  const { entries, troubles } = entrySettings(host, place);
  if (entries.length === 0)
    throw new BridgeError('E_CONFIG', 'The bridge is registered in no host, so there is nothing to change.', {
      fault: 'operator',
      remedy: `Register it first: ${ownCommand('install')}`,
    });
  refuseUnsetOfNothing(changes, entries);
  refuseWrongChange(entries, changes, place);
  const done = entries.map((entry): ChangedEntry => {
    const said = Object.entries(changes).filter(([name, value]) => entry.env[name] !== value);
    const changed = said.length > 0;
    if (changed) changeEntry(entry, Object.fromEntries(said), place);
    return outcomeOf(entry, changes, changed);
  });
  if (json) return printJson({ entries: done, troubles });
  say(
    [...done.map(changedText), ...troubles.map(({ message }) => `problem  ${visibleText(message)}`)].join(
      '\n',
    ),
  );
}

/** A misspelt name would otherwise look as if it had been taken away. */
function refuseUnsetOfNothing(changes: SettingChanges, entries: readonly EntrySettings[]): void {
  const known: readonly string[] = variableNames;
  for (const [name, value] of Object.entries(changes)) {
    const isSomewhere = entries.some(({ env }) => Object.hasOwn(env, name));
    if (value === undefined && !isSomewhere && !known.includes(name))
      throw usageError(`${unknownName(name)} No host has it.`, `See \`${ownCommand('config', 'list')}\`.`);
  }
}

function outcomeOf(entry: EntrySettings, changes: SettingChanges, changed: boolean): ChangedEntry {
  const { id, title } = entry.record;
  const shown = (name: string, value: string | undefined) =>
    value === undefined ? null : shownSetting(name, value);
  return {
    ...placeOf(entry),
    result: changed ? 'changed' : 'already so',
    changes: Object.entries(changes).map(([name, value]) => ({
      name,
      before: shown(name, entry.env[name]),
      after: shown(name, value),
    })),
    undo: changed ? undoOf(entry, changes, id) : undefined,
    next: `Restart ${title}: it hands settings over when it starts the bridge.`,
  };
}

/** One command can only set or unset; where both would be needed, none is said. */
function undoOf({ env }: EntrySettings, changes: SettingChanges, host: string): string | undefined {
  const names = Object.keys(changes).filter((name) => env[name] !== changes[name]);
  const before = names.filter((name) => env[name] !== undefined);
  if (before.length === 0) return ownCommand('config', 'unset', ...names, '--host', host);
  const isShown = before.every((name) => shownSetting(name, env[name] ?? '') === env[name]);
  if (before.length < names.length || !isShown) return undefined;
  return ownCommand('config', 'set', ...before.map((name) => `${name}=${env[name]}`), '--host', host);
}

export function changedText({ title, file, result, changes, undo, next }: ChangedEntry): string {
  const text = (value: string | null) => (value === null ? NOT_SET : visibleText(value));
  const lines = changes.map(({ name, before, after }) =>
    before === after && result === 'already so'
      ? `${title}: ${visibleText(name)} is ${text(after)} already in ${visibleText(file)}; nothing was changed.`
      : `${title}: ${visibleText(name)} is ${text(after)} now in ${visibleText(file)} (before: ${text(before)})`,
  );
  if (result === 'already so') return lines.join('\n');
  return [...lines, ...(undo === undefined ? [] : [`  undo  ${undo}`]), `  next  ${next}`].join('\n');
}
