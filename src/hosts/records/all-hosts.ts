// All hosts, in order of precedence (the first entry of a name wins), and what the rest of the bridge asks of all hosts: where
// they keep their servers, which clients they are, what was moved out of them. A new host: a file beside this and a line here.

import type { HostDialect } from '../terms/dialect.js';
import type { Host, HostView, Source } from '../terms/host.js';
import { antigravity } from './antigravity.js';
import { claudeCode } from './claude-code.js';
import { claudeDesktop } from './claude-desktop.js';
import { cline } from './cline.js';
import { codex } from './codex.js';
import { continued } from './continue.js';
import { copilotCli } from './copilot-cli.js';
import { cursor } from './cursor.js';
import { geminiCli } from './gemini-cli.js';
import { kiloCode } from './kilo-code.js';
import { kiro } from './kiro.js';
import { lmStudio } from './lm-studio.js';
import { mcpInspector } from './mcp-inspector.js';
import { explicit, generic, homeManager } from './no-host.js';
import { opencode } from './opencode.js';
import { rooCode } from './roo-code.js';
import { vscode } from './vscode.js';
import { windsurf } from './windsurf.js';
import { zed } from './zed.js';

export const ALL_HOSTS: readonly Host[] = [
  explicit,
  claudeCode,
  cursor,
  vscode,
  windsurf,
  zed,
  cline,
  rooCode,
  kiloCode,
  continued,
  kiro,
  lmStudio,
  mcpInspector,
  codex,
  geminiCli,
  copilotCli,
  opencode,
  antigravity,
  homeManager,
  generic,
  claudeDesktop,
];

/** The name under which files go that belong to no host. */
export const NO_HOST = generic.title;
const NO_PROGRAMS = [explicit, homeManager, generic].map(({ title }) => title);

/** Whether a host of the table is a program, in which a server can be switched on, and not only a name for files. */
export const isProgram = (host: string): boolean => !NO_PROGRAMS.includes(host);

export const SOURCES: readonly Source[] = ALL_HOSTS.flatMap(sourcesOf);

function sourcesOf({ title, dialect, expansion, sources }: Host): Source[] {
  return sources.map((source) => ({
    host: title,
    dialect,
    expansion,
    pointer: ['mcpServers'],
    shape: 'map',
    exclusive: false,
    approval: source.scope === 'project' ? 'project' : 'none',
    ...source,
  }));
}

export type HostRecord = NonNullable<Host['install']> & Pick<Host, 'title'>;

/** Hosts in the order in which they are shown: those of the command line, then those of a desktop, Claude Desktop first. */
export const HOSTS: readonly HostRecord[] = ALL_HOSTS.flatMap(({ title, install }) =>
  install === undefined ? [] : [{ title, ...install }],
).sort((one, other) => rank(one) - rank(other));

function rank({ title, isDesktop }: HostRecord): number {
  if (!isDesktop) return 0;
  return title === claudeDesktop.title ? 1 : 2;
}

// The bridge's own folder of servers: those that `adopt` has taken out of a host, a file for each host, in the host's own
// words and in its place in the order of precedence, so that a moved server means and outranks what it did before.

/**
 * Not below XDG_CONFIG_HOME nor in the state directory: many hosts hand no variables to the servers that they start, and
 * the bridge must find the same folder under each of them.
 */
const ADOPTED_FOLDER = '~/.config/mcp-sandbox-bridge/servers';

/** The name of each host's file in ADOPTED_FOLDER, without the ending, by the host's title. */
export const ADOPTABLE: Readonly<Record<string, string>> = Object.fromEntries(
  ALL_HOSTS.flatMap(({ title, install }) => (install === undefined ? [] : [[title, install.id]])),
);

/** How an entry says there which tools it is for: as its host does, or by a name of ours where the host has none. */
export const adoptedFields = ({ fields }: HostDialect) => ({
  only: fields.only ?? 'onlyTools',
  except: fields.except ?? 'exceptTools',
});

/** The record of the file that a host's servers are moved to. */
export function adoptedSource(source: Source): Source | undefined {
  const name = ADOPTABLE[source.host];
  if (name === undefined || source.scope !== 'user') return undefined;
  const dialect = {
    ...source.dialect,
    fields: { ...source.dialect.fields, ...adoptedFields(source.dialect) },
  };
  const { movedTo: _movedTo, ...record } = source;
  return {
    ...record,
    files: { any: [`${ADOPTED_FOLDER}/${name}.json`] },
    pointer: ['mcpServers'],
    shape: 'map',
    dialect,
  };
}

const made = new WeakMap<readonly Source[], readonly Source[]>();

/**
 * The table with the record of each host's moved servers behind the last of the user's own; the same records for the same
 * table, since what was read of each is remembered.
 */
export function withAdopted(table: readonly Source[]): readonly Source[] {
  const known = made.get(table) ?? table.flatMap((source, index) => [source, ...adoptedBehind(table, index)]);
  made.set(table, known);
  return known;
}

function adoptedBehind(table: readonly Source[], index: number): Source[] {
  const source = table[index];
  const isLast = !table.slice(index + 1).some(({ host, scope }) => host === source?.host && scope === 'user');
  const adopted = source !== undefined && isLast ? adoptedSource(source) : undefined;
  return adopted === undefined ? [] : [adopted];
}

// Facts about hosts as clients of the bridge, by the name under which each greets (clientInfo.name), and what holds for all
// other clients. The records' facts about Claude Code, Codex, Gemini CLI and OpenCode were seen in the real programs: the views
// by `npm run test:agents` (docs/hosts.md has the table), the patience by `npm run test:agents -- --long` (docs/long-runs.md).

/** Safe wherever nobody has looked: both addresses in the text, and links for hosts that make buttons of them. */
const UNKNOWN: HostView = { paths: true, links: true, showsStructured: false };

/** The time that the SDK's client waits where its program sets none, and with it nearly every client. */
const USUAL = { silent: 60, told: undefined };
/** Time for the answer to be written, sent and read; too little to matter in a long wait. */
const SPARE_SECONDS = 10;

/**
 * Arguments that hosts add to the schema of every tool, whoever calls, since programs that were made from one of these hosts do
 * the same under names of their own.
 */
export const ADDED_ARGUMENTS: ReadonlySet<string> = new Set(
  ALL_HOSTS.flatMap(({ client }) => client?.addedArguments ?? []),
);

/** `client` is a name, or a name and a version behind a space. */
export const hostView = (client: string): HostView => knownClient(client)?.view ?? UNKNOWN;

/** Whether a person can leave an optional text field empty in a dialog of this client. */
export const canLeaveTextEmpty = (client: string): boolean => knownClient(client)?.needsEveryText !== true;

/** Seconds after which a call of this client is to be answered. `isTold`: it hears of the call's progress. */
export function softTimeoutOf(client: string, isTold: boolean): number {
  const { silent, told = silent } = knownClient(client)?.patience ?? USUAL;
  return (isTold ? told : silent) - SPARE_SECONDS;
}

function knownClient(client: string): Host['client'] {
  const isNamed = (known: string) => client === known || client.startsWith(`${known} `);
  return ALL_HOSTS.find((host) => host.client !== undefined && isNamed(host.client.name))?.client;
}
