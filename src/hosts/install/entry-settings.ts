// Settings of the bridge where hosts have it: the variables in the bridge's own entry of each host's file. Reads them, judges a
// change by the rules of the settings, and makes it in the file with nothing else changed. Prints nothing.

import { BridgeError } from '../../base/errors.js';
import { isObject } from '../../base/json/records.js';
import type { Environment } from '../../base/process/environment.js';
import { ownCommand } from '../../base/process/own-command.js';
import { findClosest } from '../../base/text/closest.js';
import { absentFiles } from '../../settings/environment/setting-paths.js';
import { problem, type SettingProblem } from '../../settings/environment/setting-problems.js';
import {
  EXEC_PREFIX,
  ofCommandServer,
  PREFIX,
  readSettings,
  unknownName,
  variableNames,
} from '../../settings/environment/settings.js';
import { formatOf } from '../../settings/files/file-formats.js';
import { type HostFacts, pathRules } from '../../settings/files/host-facts.js';
import { editedText } from '../edit/edited-text.js';
import { CannotEdit, type MemberEdit } from '../edit/json-members.js';
import { fileError, readUserFile } from '../edit/user-file.js';
import { Filling } from '../entries/filling.js';
import { HOSTS, type HostRecord } from '../records/all-hosts.js';
import type { Source } from '../terms/host.js';
import { amendChange, type ChangePlace } from './changes.js';
import {
  hostNamed,
  ownEntries,
  ownPlugin,
  PLUGIN_UNDO,
  pendingChanges,
  refuseIfManaged,
} from './registration.js';

/** The bridge's entry in one file of a host. */
export type EntrySettings = {
  readonly record: HostRecord;
  readonly file: string;
  /** Name under which the bridge is registered there. */
  readonly name: string;
  /** Variables as they are written, before the host replaces others in them. */
  readonly env: Readonly<Record<string, string>>;
  /** Keys that lead to the variables in the file. */
  readonly path: readonly string[];
  readonly source: Source;
};

/** Variables to be set; undefined takes one away. */
export type SettingChanges = Readonly<Record<string, string | undefined>>;

/**
 * Entries of the named hosts, or of all hosts that have the bridge. Throws E_ARGUMENTS for a name that is none, and E_CONFIG
 * where a named host does not have the bridge or its file cannot be read; trouble with other hosts' files is given back.
 */
export function entrySettings(ids: readonly string[], place: ChangePlace) {
  if (ids.length > 0)
    return { entries: ids.flatMap((id) => namedEntries(hostNamed(id), place)), troubles: [] };
  /** Hosts whose files cannot be read. */
  const troubles: Array<{ readonly host: string; readonly message: string }> = [];
  const entries = HOSTS.flatMap((record) => {
    try {
      return entriesIn(record, place);
    } catch (thrown) {
      if (!(thrown instanceof BridgeError)) throw thrown;
      troubles.push({ host: record.id, message: thrown.message });
      return [];
    }
  });
  return { entries, troubles };
}

function namedEntries(record: HostRecord, place: ChangePlace): EntrySettings[] {
  const entries = entriesIn(record, place);
  if (entries.length > 0) return entries;
  const { id, title } = record;
  if (ownPlugin(record, place) === undefined)
    throw new BridgeError('E_CONFIG', `The bridge is not registered in ${title}.`, {
      fault: 'operator',
      remedy: `Register it: ${ownCommand('install', id)}`,
    });
  throw new BridgeError(
    'E_CONFIG',
    `${title} has the bridge as a plugin, and a plugin's entry takes no settings.`,
    {
      fault: 'operator',
      remedy: `Register it without the plugin: ${PLUGIN_UNDO}, then ${ownCommand('install', id)}`,
    },
  );
}

function entriesIn(record: HostRecord, place: ChangePlace): EntrySettings[] {
  return ownEntries(record, place).map(({ value, path, ...entry }) => {
    const keys = envKeys(value, entry.source);
    return { ...entry, record, path: [...path, ...keys], env: textsIn(valueAt(value, keys)) };
  });
}

/** Zed once had the variables in an object with the command. */
function envKeys(value: unknown, { dialect: { fields } }: Source): readonly string[] {
  return isObject(value) && isObject(value['command']) ? ['command', 'env'] : [fields.env ?? 'env'];
}

const valueAt = (value: unknown, keys: readonly string[]): unknown =>
  keys.reduce<unknown>((found, key) => (isObject(found) ? found[key] : undefined), value);

const textsIn = (value: unknown): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(isObject(value) ? value : {}).map(([name, text]) => [
      name,
      typeof text === 'string' ? text : String(text),
    ]),
  );

/** The entry's variables as its host hands them to the bridge, with those in their texts replaced. */
function givenEnv(
  { env, file, source }: EntrySettings,
  place: ChangePlace,
): Readonly<Record<string, string>> {
  const { host } = place;
  const folder = pathRules(host).dirname(file);
  const context = { expansion: source.expansion, env: place.env, host, workspace: host.cwd, folder };
  return new Filling({ ...context, mayRead: true }).map(env);
}

/** Sentences about variables of the entry that stop the bridge, and about those that do nothing. */
export function troublesOf(
  entry: EntrySettings,
  place: ChangePlace,
): { readonly problems: readonly SettingProblem[]; readonly warnings: readonly string[] } {
  return readSettings(givenEnv(entry, place), place.host);
}

/** Throws E_SETTINGS with all that would be wrong in one of the entries after the change. */
export function refuseWrongChange(
  entries: readonly EntrySettings[],
  changes: SettingChanges,
  place: ChangePlace,
): void {
  const messages = entries.flatMap((entry) => {
    const set = Object.fromEntries(
      Object.entries(changes).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
    );
    const filled = givenEnv({ ...entry, env: set }, place);
    return messagesOf(givenEnv(entry, place), { ...changes, ...filled }, place);
  });
  refuse(messages);
}

/** Throws E_SETTINGS with all that is wrong with the variables of a new entry. */
export function refuseWrongSettings(env: Readonly<Record<string, string>>, place: ChangePlace): void {
  refuse(messagesOf({}, env, place));
}

const messagesOf = (
  before: Readonly<Record<string, string>>,
  changes: SettingChanges,
  { host }: ChangePlace,
) => problemsOfChange(before, changes, host).map(({ message }) => message);

function refuse(messages: readonly string[]): void {
  if (messages.length === 0) return;
  throw new BridgeError('E_SETTINGS', [...new Set(messages)].join('\n'), {
    fault: 'operator',
    remedy: 'Correct it and try again. Nothing was changed. docs/settings.md lists all settings.',
  });
}

/** Makes the change in the entry's file. Throws E_CONFIG where that cannot be done without a change to anything else. */
export function changeEntry(
  { record, file: path, path: keys, env }: EntrySettings,
  changes: SettingChanges,
  place: ChangePlace,
): void {
  refuseIfManaged(record, place);
  const file = readUserFile(path, place.host);
  const edits = Object.entries(changes).flatMap(([name, value]): MemberEdit[] =>
    value !== undefined
      ? [{ kind: 'put', path: [...keys, name], value }]
      : Object.hasOwn(env, name)
        ? [{ kind: 'remove', path: [...keys, name] }]
        : [],
  );
  const emptied: MemberEdit = { kind: 'remove', path: keys, ifEmpty: true };
  const left = Object.entries({ ...env, ...changes }).filter(([, value]) => value !== undefined);
  // Variables in one line of TOML are written anew as a table.
  const whole: MemberEdit =
    left.length === 0
      ? { kind: 'remove', path: keys }
      : { kind: 'put', path: keys, value: Object.fromEntries(left) };
  for (const tried of [[...edits, emptied], [whole]]) {
    try {
      const { text } = editedText(file.text, formatOf(path), tried);
      return amendChange({ file, text }, pendingChanges('install', record, place));
    } catch (thrown) {
      if (!(thrown instanceof CannotEdit)) throw thrown;
      if (tried[0] === whole)
        throw fileError(path, thrown.message, 'Edit it by hand. Nothing was changed there.');
    }
  }
}

// A change that somebody wants to make in an environment, judged before it is written: by the rules of the settings, and by
// whether a name is one. A start only warns of an unknown name, since another version may have it. Writes nothing.

/**
 * Problems of an environment once `changes` are made in it, without those that it had before and that stay untouched. A
 * variable that is undefined in `changes` is taken away.
 */
function problemsOfChange(
  before: Environment,
  changes: Readonly<Record<string, string | undefined>>,
  host: HostFacts,
): readonly SettingProblem[] {
  const was = new Set(readSettings(before, host).problems.map(({ setting }) => setting));
  const { settings, problems } = readSettings({ ...before, ...changes }, host);
  const isChanged = ({ setting }: SettingProblem) => Object.hasOwn(changes, setting);
  const isNew = (one: SettingProblem) => isChanged(one) || !was.has(one.setting);
  return [
    ...Object.entries(changes).flatMap(([name, value]) => (value === undefined ? [] : troubleOfName(name))),
    ...problems.filter(isNew),
    ...absentFiles(settings).filter(isChanged),
  ];
}

/** A name that is nobody's setting may be a variable of a server, unless it looks like a setting. */
function troubleOfName(name: string): SettingProblem[] {
  const known: readonly string[] = variableNames;
  if (known.includes(name)) return [];
  if (name.startsWith(EXEC_PREFIX)) return [problem(name, ofCommandServer(name))];
  // People leave the prefix out, or write small letters.
  const upper = name.toUpperCase();
  const whole = upper.startsWith(PREFIX) ? upper : PREFIX + upper;
  if (known.includes(whole)) return [problem(name, unknownName(name, whole))];
  const isMeant = upper.startsWith(PREFIX) || findClosest(name, known) !== undefined;
  return isMeant ? [problem(name, unknownName(name))] : [];
}
