// Registering the bridge in a host and taking it out again, by the host's own file. Claude Code, Codex and Gemini CLI have
// commands for it, and we use none: they write whole files anew, drop comments, differ by version, and need the program on
// PATH, while a file that we have written ourselves can be put back byte for byte. Prints nothing.

import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { BridgeError } from '../../base/errors.js';
import { isObject, textsOf } from '../../base/json/records.js';
import { windowsVariable } from '../../base/process/environment.js';
import { OWN_ARGV, ownCommand } from '../../base/process/own-command.js';
import { didYouMean } from '../../base/text/closest.js';
import { PACKAGE_NAME } from '../../base/version.js';
import { stateOpenToOthers } from '../../settings/environment/setting-paths.js';
import { settingsError } from '../../settings/environment/setting-problems.js';
import { parseSettings } from '../../settings/environment/settings.js';
import { formatOf, parseText } from '../../settings/files/file-formats.js';
import { hostFacts } from '../../settings/files/host-facts.js';
import { pluginEntries } from '../discovery/claude-plugins.js';
import { editedText } from '../edit/edited-text.js';
import { CannotEdit, type MemberEdit, memberAt } from '../edit/json-members.js';
import { fileError, readUserFile, type UserFile } from '../edit/user-file.js';
import { entriesOf, isEarlierForm } from '../entries/entries.js';
import { HOSTS, type HostRecord, SOURCES } from '../records/all-hosts.js';
import { INSTALLED_PLUGINS } from '../records/claude-code.js';
import { isOurselves } from '../self.js';
import type { HostLaunch, Source } from '../terms/host.js';
import { filesOf, locate, realPath } from '../terms/source-files.js';
import {
  type Change,
  type ChangePlace,
  changesOf,
  makeChange,
  type PlannedFile,
  type UndoneFile,
  undoChange,
} from './changes.js';
import { findHost, type Machine, onPath, registrationFile, userFiles } from './hosts.js';

export const DEFAULT_NAME = 'sandbox';
/** Names that every host takes. */
const NAME = /^[A-Za-z0-9_-]{1,64}$/;

/** A host on this machine. */
export type HostHere = {
  readonly id: string;
  readonly title: string;
  readonly found: NonNullable<ReturnType<typeof findHost>>;
  /** The file that a registration goes into; it need not exist. */
  readonly file: string;
  /** The name under which the bridge is registered there; undefined where it is not. */
  readonly registeredAs: string | undefined;
  /** Why its file cannot be used; undefined where it can. */
  readonly trouble: string | undefined;
};

export type Installed = {
  readonly host: string;
  readonly title: string;
  readonly file: string;
  /** `would`: a dry run. */
  readonly result: 'registered' | 'already registered' | 'would register';
  readonly name: string;
  /** The entry that we wrote, or would write; undefined where an entry of ours was there. */
  readonly entry: unknown;
  /** Folder with what the file was before; undefined where nothing was changed. */
  readonly backup: string | undefined;
  /** The command that takes it back. */
  readonly undo: string;
};

export type Uninstalled = {
  readonly host: string;
  readonly title: string;
  /** `in a plugin`: only the host's own command takes that out. */
  readonly result: 'removed' | 'not registered' | 'would remove' | 'in a plugin';
  readonly files: readonly UndoneFile[];
  /** The command that puts back what `adopt` has moved out of the host; undefined where nothing was. */
  readonly restore: string | undefined;
};

/** The hosts on this machine, in the order of the table. Reads their files; starts nothing. */
export function hostsHere(place: ChangePlace): HostHere[] {
  return HOSTS.flatMap((record): HostHere[] => {
    const found = findHost(record, place);
    if (found === undefined) return [];
    const { file } = registrationFile(record, place);
    const { id, title } = record;
    try {
      const own = ownEntries(record, place)[0] ?? ownPlugin(record, place);
      return [{ id, title, found, file, registeredAs: own?.name, trouble: undefined }];
    } catch (thrown) {
      if (!(thrown instanceof BridgeError)) throw thrown;
      return [{ id, title, found, file, registeredAs: undefined, trouble: thrown.message }];
    }
  });
}

/** Throws E_ARGUMENTS for a name that is none. */
export function hostNamed(name: string): HostRecord {
  const wanted = name.toLowerCase();
  const found = HOSTS.find(({ id, title }) => id === wanted || title.toLowerCase() === wanted);
  if (found !== undefined) return found;
  const names = HOSTS.map(({ id }) => id);
  throw new BridgeError('E_ARGUMENTS', `There is no host '${name}'.${didYouMean(name, names)}`, {
    fault: 'operator',
    remedy: `Hosts are ${names.join(', ')}.`,
  });
}

/** Registers us for the user, in any project. No change where we are registered. Throws E_ARGUMENTS, E_CONFIG and E_STATE. */
export function install(
  id: string,
  options: Parameters<typeof planRegistration>[1] & { readonly dryRun?: boolean | undefined },
  place: ChangePlace,
): Installed {
  const record = hostNamed(id);
  const { file: path } = registrationFile(record, place);
  const { title } = record;
  refuseIfManaged(record, place);
  const undo = ownCommand('uninstall', record.id);
  const shared = { host: record.id, title, undo };
  const [own] = ownEntries(record, place);
  if (own !== undefined) {
    const { name, file } = own;
    // Values that the user has put into the entry, such as a token, are nobody else's to read.
    return { ...shared, file, result: 'already registered', name, entry: undefined, backup: undefined };
  }
  const plugin = ownPlugin(record, place);
  if (plugin !== undefined) {
    const { name, file } = plugin;
    const result = 'already registered';
    return { ...shared, undo: PLUGIN_UNDO, file, result, name, entry: undefined, backup: undefined };
  }
  const planned = planRegistration(record, options, place);
  const { name, entry } = planned;
  if (options.dryRun)
    return { ...shared, file: path, result: 'would register', name, entry, backup: undefined };
  const { folder } = makeChange('install', record.id, [planned], place);
  return { ...shared, file: path, result: 'registered', name, entry, backup: folder };
}

/** Where an administrator has a file that excludes all others, what we write would count for nothing. */
export function refuseIfManaged({ title }: HostRecord, { env, host }: ChangePlace): void {
  const managed = SOURCES.filter((source) => source.host === title && source.exclusive)
    .flatMap((source) => filesOf(source, env, host))
    .find((file) => host.exists(file));
  if (managed === undefined) return;
  throw new BridgeError(
    'E_CONFIG',
    `${title} takes its servers from ${managed} only, as its administrator has set.`,
    {
      fault: 'operator',
      remedy: 'Ask the administrator of this machine to register the bridge there. Nothing was changed.',
    },
  );
}

/** The host's file with us in it; nothing is written. `further` are edits of the same file that are made first. */
export function planRegistration(
  record: HostRecord,
  {
    name = DEFAULT_NAME,
    env = {},
  }: {
    readonly name?: string | undefined;
    /** Variables of our entry, such as MCP_BRIDGE_IMAGE. */
    readonly env?: Readonly<Record<string, string>> | undefined;
  },
  place: ChangePlace,
  further: readonly MemberEdit[] = [],
): PlannedFile & { readonly name: string; readonly entry: unknown } {
  if (!NAME.test(name)) {
    throw new BridgeError('E_ARGUMENTS', `--name is '${name}'; hosts do not take that as a name.`, {
      fault: 'operator',
      remedy: 'A name has 1 to 64 letters, digits, hyphens and underscores.',
    });
  }
  const { file: path, source } = registrationFile(record, place);
  const file = readUserFile(path, place.host);
  const content = contentOf(file);
  const isEarlier = isEarlierForm(memberAt(content, source.pointer), source);
  const moved = source.movedTo === undefined || isEarlier ? [] : [source.movedTo];
  const target = [...source.pointer, ...moved, name];
  if (memberAt(content, target) !== undefined) {
    throw new BridgeError('E_CONFIG', `${path} has another server called '${name}'.`, {
      fault: 'operator',
      remedy: 'Choose another name with --name. Nothing was changed.',
    });
  }
  const { entry: now, earlierEntry: before = now } = record;
  const entry = (isEarlier ? before : now)(ownLaunch(record, env, place));
  return { ...planEdits(file, [...further, { kind: 'put', path: target, value: entry }]), name, entry };
}

/** A file after the edits. Throws E_CONFIG where it cannot be edited without a change to anything else. */
export function planEdits(file: UserFile, edits: readonly MemberEdit[]): PlannedFile {
  try {
    return { file, edits, ...editedText(file.text, formatOf(file.path), edits) };
  } catch (thrown) {
    if (!(thrown instanceof CannotEdit)) throw thrown;
    throw fileError(file.path, thrown.message, 'Correct the file, or edit it by hand. Nothing was changed.');
  }
}

/** Takes us out of a host, under any name and whoever registered us there. Throws E_ARGUMENTS, E_CONFIG and E_STATE. */
export function uninstall(
  id: string,
  { dryRun = false }: { readonly dryRun?: boolean },
  place: ChangePlace,
): Uninstalled {
  const record = hostNamed(id);
  const { title } = record;
  const mayRemove = (value: unknown) => isOwnEntry(value, registrationFile(record, place).source);
  const changes: Change[] = pendingChanges('install', record, place);
  const files = changes.flatMap((change) => undoChange(change, { mayRemove }, place, dryRun));
  const left = dryRun && changes.length > 0 ? [] : ownEntries(record, place);
  for (const [path, entries] of byFile(left)) {
    const edits = entries.map(({ path }) => ({ kind: 'remove', path }) as const);
    const planned = planEdits(readUserFile(path, place.host), edits);
    const made = dryRun ? undefined : makeChange('uninstall', record.id, [planned], place);
    const notes = made === undefined ? [] : [`A copy of the file as it was is in ${made.folder}.`];
    files.push({ file: path, result: 'edited', notes });
  }
  const removed = files.some(({ result }) => result !== 'kept');
  const plugin = ownPlugin(record, place) !== undefined;
  const result = removed ? (dryRun ? 'would remove' : 'removed') : plugin ? 'in a plugin' : 'not registered';
  const restore =
    pendingChanges('adopt', record, place).length > 0 ? ownCommand('restore', record.id) : undefined;
  return { host: record.id, title, result, files, restore };
}

/** Changes that stand to be undone in the files that the host has here now, the latest first. */
export function pendingChanges(kind: Change['kind'], record: HostRecord, place: ChangePlace): Change[] {
  const files = userFiles(record, place).map(({ file }) => file);
  return changesOf(kind, record.id, files, place);
}

/** Our entries in all files of the user's that the host reads. */
export function ownEntries(record: HostRecord, place: ChangePlace) {
  return userFiles(record, place).flatMap(({ file, source }) => {
    const { entries } = entriesOf(contentOf(readUserFile(file, place.host)), source, file, place.host);
    return entries.flatMap(({ name, value, path }) =>
      path !== undefined && isOwnEntry(value, source) ? [{ name, value, file, path, source }] : [],
    );
  });
}

export function isOwnEntry(value: unknown, { dialect }: Source): boolean {
  if (!isObject(value)) return false;
  const { command, args } = dialect.reshape?.(value) ?? value;
  return typeof command === 'string' && isOurselves(command, textsOf(args));
}

/** The parsed content of the file. Throws E_CONFIG with the place of the mistake. */
export function contentOf({ path, text }: UserFile): unknown {
  const parsed = parseText(text, formatOf(path));
  if ('value' in parsed) return parsed.value;
  const { line, column, mistake } = parsed;
  throw fileError(
    `${path}:${line}:${column}`,
    `cannot be read: ${mistake}`,
    'Correct the file. Nothing was changed.',
  );
}

function byFile(entries: ReturnType<typeof ownEntries>) {
  const files = new Map<string, typeof entries>();
  for (const entry of entries) files.set(entry.file, [...(files.get(entry.file) ?? []), entry]);
  return files;
}

// How a host is to start us: as the user has started us now, in a form that works where the host starts it. Asks the
// disk where programs lie; changes nothing.

/** Facts about this process; a test gives its own. */
type OwnProcess = {
  /** The argv without a subcommand. */
  readonly argv: readonly string[];
  readonly node: string;
  readonly script: string | undefined;
};

/** Where desktops look for programs without being told. */
const STANDARD_FOLDERS = ['/usr/local/bin', '/usr/bin', '/bin'];

/** `env` is what the user adds. */
export function ownLaunch({ isDesktop }: HostRecord, env: HostLaunch['env'], machine: Machine): HostLaunch {
  const own: OwnProcess = { argv: OWN_ARGV, node: process.execPath, script: process.argv[1] };
  const [command = PACKAGE_NAME, ...args] = isDesktop ? forDesktop(own, machine) : forShell(own, machine);
  return { command, args, env: { ...(isDesktop ? searchPath(own, machine) : {}), ...env } };
}

/** A host on the command line has the user's PATH. */
function forShell(own: OwnProcess, machine: Machine): readonly string[] {
  const { argv } = own;
  if (argv[0] === 'npx') return machine.host.platform === 'win32' ? ['cmd', '/c', ...argv] : argv;
  if (argv[0] !== PACKAGE_NAME || onPath(PACKAGE_NAME, machine) !== undefined) return argv;
  return byPath(own);
}

/** The command without PATH: node and the script by absolute paths, since even npm's links begin with a search for node. */
function forDesktop(own: OwnProcess, machine: Machine): readonly string[] {
  const [program, ...rest] = own.argv;
  if (program !== 'npx') return byPath(own);
  if (machine.host.platform === 'win32') return ['cmd', '/c', ...own.argv];
  const npx = onPath('npx', machine);
  if (npx === undefined) return own.argv;
  const script = realPath(npx);
  return script.endsWith('.js') ? [own.node, script, ...rest] : [npx, ...rest];
}

function byPath({ argv, node, script }: OwnProcess): readonly string[] {
  return script === undefined ? argv : [node, realPath(script)];
}

/**
 * On macOS a desktop's PATH has neither engine nor package manager in it, and elsewhere it lacks a node that a version
 * manager has installed; the servers that we start need both.
 */
function searchPath({ node }: OwnProcess, { env, host }: Machine): HostLaunch['env'] {
  if (host.platform === 'win32') return {};
  if (host.platform !== 'darwin' && STANDARD_FOLDERS.includes(dirname(node))) return {};
  const said = (windowsVariable(env, 'PATH') ?? '').split(':').filter((folder) => folder.startsWith('/'));
  // Folders that npx and npm put in front are gone when these programs end.
  const lasting = said.filter((folder) => !/\/(node_modules|_npx)(\/|$)/.test(folder));
  return { PATH: [...new Set([dirname(node), ...lasting, ...STANDARD_FOLDERS])].join(':') };
}

// Claude Code with our plugin has the bridge without an entry in any file of the user's: registering it there as well would
// start it twice. Claude Code's own commands install a plugin and take it out; nothing here does.

/** Takes our plugin out again, as Claude Code's documentation of plugins says. */
export const PLUGIN_UNDO = 'claude plugin uninstall mcp-sandbox-bridge';

/** The server of a plugin that is switched on and starts us, and the file that says so; undefined where there is none. */
export function ownPlugin(
  { id }: HostRecord,
  { env, host }: Machine,
): { readonly name: string; readonly file: string } | undefined {
  if (id !== 'claude-code') return undefined;
  const [list = ''] = locate(INSTALLED_PLUGINS, env, host);
  const entries = pluginEntries(jsonOf(list), { env, host, read: jsonOf });
  return entries.find(({ value, refusal, trouble }) => {
    if (refusal !== undefined || trouble !== undefined || !isObject(value)) return false;
    return typeof value['command'] === 'string' && isOurselves(value['command'], textsOf(value['args']));
  });
}

/** Undefined where there is no such file, or none that can be read: it then counts for nothing in the host either. */
function jsonOf(file: string): unknown {
  try {
    const parsed = parseText(readFileSync(file, 'utf8'), 'JSON');
    return 'value' in parsed ? parsed.value : undefined;
  } catch {
    return undefined;
  }
}

// The machine on which commands change hosts' files: environment, home and state directory, read once.

/** Throws E_SETTINGS. */
export function changePlace(): ChangePlace {
  const host = hostFacts();
  const { env } = process;
  const { settings } = parseSettings(env, host);
  const problems = stateOpenToOthers(settings, host);
  if (problems.length > 0) throw settingsError(problems);
  return { env, host, stateDir: settings.stateDir };
}
