// The hosts that we register in: by which name a person asks for each, how it is seen that one is on this machine, in
// which of its files a registration goes, and how it spells one. Data, and the looks at the disk that it takes.

import { accessSync, constants } from 'node:fs';
import { isFile } from '../../base/files/is-file.js';
import { type Environment, windowsVariable } from '../../base/process/environment.js';
import { findOnWindows } from '../../base/process/start-of.js';
import { type HostFacts, pathRules } from '../../settings/files/host-facts.js';
import { SOURCES } from '../tables/sources.js';
import type { Source } from '../terms/source.js';
import { filesOf, locate } from '../terms/source-files.js';

/** What a host starts us with. */
export type Launch = {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
};

export type HostRecord = {
  readonly id: string;
  /** As the table of hosts in config calls it. */
  readonly title: string;
  /** Names under which its program is found on PATH. */
  readonly programs: readonly string[];
  /** Files or folders that only this host makes; without any, the folder of its file is one. */
  readonly signs?: readonly string[];
  /** Started from a desktop, with a PATH that has little more than the system's programs. */
  readonly isDesktop: boolean;
  /** An entry of ours in this host's words. */
  readonly entry: (launch: Launch) => Record<string, unknown>;
  /** The same for a file in the form that the host had before. */
  readonly earlierEntry?: (launch: Launch) => Record<string, unknown>;
};

const withEnv = (env: Launch['env'], name = 'env') => (Object.keys(env).length === 0 ? {} : { [name]: env });
const plain = ({ command, args, env }: Launch) => ({ command, args, ...withEnv(env) });
const typed = (launch: Launch) => ({ type: 'stdio', ...plain(launch) });

export const HOSTS: readonly HostRecord[] = [
  {
    id: 'claude-code',
    title: 'Claude Code',
    programs: ['claude'],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: file patterns name environment variables this way
    signs: ['${CLAUDE_CONFIG_DIR:-~}/.claude.json', '${CLAUDE_CONFIG_DIR:-~/.claude}'],
    isDesktop: false,
    entry: typed,
  },
  { id: 'codex', title: 'Codex', programs: ['codex'], isDesktop: false, entry: plain },
  {
    id: 'gemini',
    title: 'Gemini CLI',
    programs: ['gemini'],
    // Antigravity has its files in the same folder.
    // biome-ignore lint/suspicious/noTemplateCurlyInString: file patterns name environment variables this way
    signs: ['${GEMINI_CLI_HOME:-~}/.gemini/settings.json'],
    isDesktop: false,
    entry: plain,
  },
  {
    id: 'opencode',
    title: 'OpenCode',
    programs: ['opencode'],
    isDesktop: false,
    entry: ({ command, args, env }) => ({
      type: 'local',
      command: [command, ...args],
      // Without it, its own script tool stands in front of ours.
      codemode: false,
      ...withEnv(env, 'environment'),
    }),
    earlierEntry: ({ command, args, env }) => ({
      type: 'local',
      command: [command, ...args],
      enabled: true,
      ...withEnv(env, 'environment'),
    }),
  },
  { id: 'claude-desktop', title: 'Claude Desktop', programs: [], isDesktop: true, entry: plain },
  { id: 'cursor', title: 'Cursor', programs: ['cursor', 'cursor-agent'], isDesktop: true, entry: plain },
  { id: 'vscode', title: 'VS Code', programs: ['code', 'code-insiders'], isDesktop: true, entry: typed },
  { id: 'windsurf', title: 'Windsurf', programs: ['windsurf'], isDesktop: true, entry: plain },
  {
    id: 'zed',
    title: 'Zed',
    programs: ['zed', 'zeditor'],
    isDesktop: true,
    // Older versions take an entry without this word for one of an extension.
    entry: (launch) => ({ source: 'custom', ...plain(launch) }),
  },
  { id: 'cline', title: 'Cline', programs: ['cline'], isDesktop: true, entry: typed },
];

export type Machine = { readonly env: Environment; readonly host: HostFacts };

/** How a host was noticed. */
export type FoundBy = { readonly kind: 'program' | 'file'; readonly path: string };

/** Undefined where nothing of the host is on this machine. */
export function findHost(record: HostRecord, machine: Machine): FoundBy | undefined {
  const { env, host } = machine;
  for (const program of record.programs) {
    const path = onPath(program, machine);
    if (path !== undefined) return { kind: 'program', path };
  }
  const { dirname } = pathRules(host);
  const signs =
    record.signs?.flatMap((sign) => locate(sign, env, host)) ??
    userFiles(record, machine).map(({ file }) => dirname(file));
  const path = signs.find((sign) => host.exists(sign));
  return path === undefined ? undefined : { kind: 'file', path };
}

/** Where a program lies that a shell would start; undefined where there is none. */
export function onPath(program: string, { env, host }: Machine): string | undefined {
  if (host.platform === 'win32') return findOnWindows(program, { env, cwd: host.cwd, isFile });
  return (windowsVariable(env, 'PATH') ?? '')
    .split(':')
    .filter((folder) => folder.startsWith('/'))
    .map((folder) => `${folder}/${program}`)
    .find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return isFile(path);
  } catch {
    return false;
  }
}

/** A file of the user's in which a host keeps its servers, and how it is read. */
export type UserSource = { readonly file: string; readonly source: Source };

/** All files of the user's scope, in the host's own order; most of them need not exist. */
export function userFiles({ title }: HostRecord, { env, host }: Machine): UserSource[] {
  return SOURCES.filter((source) => source.host === title && source.scope === 'user').flatMap((source) =>
    filesOf(source, env, host).map((file) => ({ file, source })),
  );
}

/** The file that a registration goes into: the first that is there, else the one that the host would make. */
export function registrationFile(record: HostRecord, machine: Machine): UserSource {
  const all = userFiles(record, machine);
  const [first] = all;
  if (first === undefined) throw new Error(`no file of ${record.title} on ${machine.host.platform}`);
  const sameForm = all.filter(
    // What stands in a profile of VS Code counts for that profile only.
    ({ file, source }) =>
      source.pointer.join() === first.source.pointer.join() && !/[\\/]profiles[\\/]/.test(file),
  );
  const { exists } = machine.host;
  const { dirname } = pathRules(machine.host);
  const fresh = sameForm.filter(({ file }) => !file.endsWith('.jsonc'));
  return (
    sameForm.find(({ file }) => exists(file)) ??
    fresh.find(({ file }) => exists(dirname(file))) ??
    fresh[0] ??
    first
  );
}
