// `report`: what a maintainer needs to help, to paste into an issue. Nothing goes in that is not needed: values of settings only if
// they cannot be a secret or a name, runs without their code and arguments, servers as numbers. It says what it leaves out.

import { hostname, userInfo } from 'node:os';
import { join } from 'node:path';
import { messageOf } from '../../base/errors.js';
import { makeHarmless } from '../../base/text/text.js';
import { PACKAGE_NAME, VERSION } from '../../base/version.js';
import { chooseEngine } from '../../engine/detect.js';
import { localChoice } from '../../engine/images/image-choice.js';
import { discover } from '../../hosts/discovery/discover.js';
import { engineSelectionOf } from '../../sandbox/launch/launch-set-up.js';
import { pythonProfile } from '../../sandbox/spec/profile.js';
import { type Settings, settingsTable } from '../../settings/environment/settings.js';
import { ENGINE_VARIABLES } from '../../settings/environment/variables.js';
import { doctor } from '../doctor/doctor.js';
import type { Finding } from '../doctor/examination.js';
import { type AuditedRun, readAudit } from '../kept/read-audit.js';
import { AUDIT_FOLDER, type Examined, examine } from '../serving/prepare.js';
import { interruptSignal } from '../terminal/interrupt.js';
import { printJson, sayNote } from '../terminal/output.js';

type MaintainerReport = {
  readonly versions: Versions;
  readonly findings: readonly Finding[];
  /** Servers as numbers, with what `doctor` says of each. */
  readonly servers: ReadonlyArray<{ readonly name: string; readonly status: Finding['status'] }>;
  /** Settings that are set; null instead of a value that is left out. */
  readonly settings: ReadonlyArray<{ readonly name: string; readonly value: string | null }>;
  readonly runs: readonly FailedRun[];
  readonly leftOut: readonly string[];
};

type FailedRun = Pick<NonNullable<AuditedRun['line']>, 'status' | 'durationMs' | 'calls'> & {
  readonly at: string;
  readonly language: string;
  readonly client: string;
  /** The class of its exception, or a code of ours. */
  readonly error: string;
  /** How often its tool calls failed, by code. */
  readonly failedCalls: Readonly<Record<string, number>>;
};

const MAX_RUNS = 10;
const LEFT_OUT = [
  'code, arguments, results and output of runs, and the messages of their errors',
  'values of settings that could hold a secret, a path, an address or a name',
  'names, commands, arguments and addresses of your servers; they are numbered',
  'names of tools, sessions and principals',
  'the names of you, of this machine and of your home folder',
];

/** Prints it as markdown, or as JSON. Starts containers, as `doctor` does. */
export async function report({ json }: { readonly json?: true }): Promise<void> {
  sayNote('Looks at this machine, as doctor does.');
  const made = await makeReport();
  if (json) printJson(made);
  else process.stdout.write(reportText(made));
}

async function makeReport(): Promise<MaintainerReport> {
  const prepared = examine('error', 'ends');
  const { settings, discovery } = prepared;
  const clean = cleanerFor(prepared);
  const versions = await findVersions(settings, interruptSignal());
  let findings: readonly Finding[] = [];
  let servers: readonly Finding[] = [];
  await doctor({}, (found, _json, ofServers) => {
    findings = found;
    servers = ofServers ?? [];
  });
  return {
    versions: {
      ...versions,
      image: versions.image && { ...versions.image, name: clean(versions.image.name) },
      problem: versions.problem && clean(versions.problem),
    },
    findings: findings.map(({ name, status, detail }) => ({ name, status, detail: clean(detail) })),
    servers: servers.map(({ name, status }) => ({ name: clean.server(name), status })),
    settings: settingsIn(discovery.env),
    runs: failedRuns(join(settings.stateDir, AUDIT_FOLDER), clean),
    leftOut: LEFT_OUT,
  };
}

/** Words of `doctor`'s own: a server of such a name would make its sentences unreadable, and tells nothing. */
const ORDINARY =
  /^(?:bridge|node|settings|shared|isolator|file|files|state|directory|engine|mode|ids|storage|driver|run|root|image|launch|trial|sandbox|seccomp|limits|memory|network|commands|servers|policy|registration|podman|docker|runc|crun|time|python)$/i;
const ADDRESS = /\b[a-z][a-z0-9+.-]{0,30}:\/\/[^\s'"`<>)]+/gi;
const MIN_NAME_CHARS = 3;

/** Takes out of a sentence what the report promises to leave out. */
function cleanerFor({
  discovery,
  redactor,
}: Examined): ((text: string) => string) & { readonly server: (name: string) => string } {
  const { ready, skipped } = discover(discovery, () => {});
  // An image of somebody's registry is found by doctor under the very name that is left out.
  const values = settingsIn(discovery.env).filter(({ value }) => value === null);
  redactor.addAll(Object.fromEntries(values.map(({ name }) => [name, discovery.env[name]])));
  for (const spec of ready) redactor.addAll(spec.transport === 'stdio' ? spec.env : spec.headers);
  const names = [...new Set([...ready, ...skipped].map(({ name }) => name))];
  const numbers = new Map(names.map((name, at) => [name, `server-${at + 1}`]));
  const server = (name: string): string => numbers.get(name) ?? 'another server';
  const words = new Map([
    ...names.filter((name) => !ORDINARY.test(name)).map((name) => [name, server(name)] as const),
    [hostname(), '[machine]'],
    [userInfo().username, '[user]'],
  ]);
  const clean = (text: string): string => {
    let cleaned = redactor.redact(text).replaceAll(discovery.host.home, '~').replace(ADDRESS, '[address]');
    for (const [word, shown] of words)
      if (word.length >= MIN_NAME_CHARS) cleaned = cleaned.replace(wholeWord(word), shown);
    return makeHarmless(cleaned);
  };
  return Object.assign(clean, { server });
}

const wholeWord = (word: string): RegExp =>
  new RegExp(`(?<![\\w-])${word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}(?![\\w-])`, 'g');

/** Variables that say where an engine is, which its own client reads too. */
const OF_ENGINES: ReadonlySet<string> = new Set(
  Object.values(ENGINE_VARIABLES).flatMap(({ address, others }) => [address, ...others]),
);
/** A number, with a unit or without. */
const PLAIN_VALUE = /^\d{1,9}(?:\.\d{1,3})?[a-z]{0,2}$/i;

/** Only a value that the variable's own list of choices has, or a number, is told. */
function settingsIn(env: Readonly<Record<string, string | undefined>>): MaintainerReport['settings'] {
  const rows = new Map(settingsTable().map((row) => [row.name, row]));
  return Object.entries(env)
    .filter(([name, value]) => (name.startsWith('MCP_') || OF_ENGINES.has(name)) && value?.trim())
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, value = '']) => {
      const row = rows.get(name);
      const choices: readonly string[] = row?.allowed.match(/[a-z_]+/g) ?? [];
      const isTold = row !== undefined && (PLAIN_VALUE.test(value) || choices.includes(value));
      return { name, value: isTold ? value : null };
    });
}

function failedRuns(dir: string, clean: ReturnType<typeof cleanerFor>): readonly FailedRun[] {
  return readAudit(dir)
    .runs.flatMap(({ line, calls }) => {
      if (line === undefined || line.status === 'success') return [];
      const failedCalls: Record<string, number> = {};
      for (const { error } of calls)
        if (error !== undefined) failedCalls[kindOf(error)] = (failedCalls[kindOf(error)] ?? 0) + 1;
      const { at, status, durationMs, language = 'python', client, error } = line;
      return [
        {
          ...{ at, status, durationMs, language, calls: line.calls, failedCalls },
          client: clean(client),
          error: kindOf(error?.kind),
        },
      ];
    })
    .slice(-MAX_RUNS);
}

/** A code of ours, or a class that is named as Python's are: code may give its own classes any name. */
const kindOf = (kind: string | undefined): string =>
  kind === undefined ? '' : /^(?:E_[A-Z_]{1,30}|[A-Z][A-Za-z]{1,30}Error)$/.test(kind) ? kind : 'other';

/** Markdown; ends with a newline. */
export function reportText({
  versions,
  findings,
  servers,
  settings,
  runs,
  leftOut,
}: MaintainerReport): string {
  const { name, version, node, system, engine, image, problem } = versions;
  const rows = (lines: readonly string[]) =>
    lines.length === 0 ? ['- none'] : lines.map((line) => `- ${line}`);
  const lines = [
    `## ${name} ${version}`,
    '',
    ...rows([
      `node ${node}, ${system}`,
      engine === null ? 'no engine' : `${engine.program} ${engine.version}, ${engine.mode}`,
      image === null ? 'no image' : `image ${image.name}, ${image.id.slice(0, 19)}`,
      ...(problem === null ? [] : [problem]),
    ]),
    '',
    '### doctor',
    '',
    ...rows(findings.map((one) => `${one.status} **${one.name}**: ${one.detail}`)),
    '',
    '### Servers',
    '',
    ...rows(servers.map((one) => `${one.status} ${one.name}`)),
    '',
    '### Settings that are set',
    '',
    ...rows(settings.map((one) => `\`${one.name}\`: ${one.value ?? '(left out)'}`)),
    '',
    '### Runs that failed last',
    '',
    ...rows(runs.map(failedText)),
    '',
    '### Left out',
    '',
    ...rows(leftOut),
  ];
  return `${lines.join('\n')}\n`;
}

function failedText({
  at,
  status,
  error,
  language,
  durationMs,
  calls,
  failedCalls,
  client,
}: FailedRun): string {
  const failed = Object.entries(failedCalls).map(([code, count]) => `${count} × ${code}`);
  const ofCalls = failed.length === 0 ? '' : ` (${failed.join(', ')})`;
  return `${at} ${status} ${error}, ${language}, ${Math.round(durationMs)} ms, ${calls} calls${ofCalls}, ${client}`;
}

// `--version --json`, and the head of `report`: which versions meet here. Asks the engine what it is, and starts no container.

export type Versions = {
  readonly name: string;
  readonly version: string;
  readonly node: string;
  /** Platform and processor, such as `linux x64`. */
  readonly system: string;
  /** Null if no engine can be used; `problem` says why. */
  readonly engine: { readonly program: string; readonly version: string; readonly mode: string } | null;
  /** The image that a run would start from; null if it is not on this machine. */
  readonly image: { readonly name: string; readonly id: string } | null;
  readonly problem: string | null;
};

/** Prints them as JSON, also if some settings are wrong. */
export async function printVersions(): Promise<void> {
  printJson(await findVersions(examine('error', 'ends').settings, interruptSignal()));
}

/** Never rejects. */
async function findVersions(settings: Settings, signal: AbortSignal): Promise<Versions> {
  const own = {
    name: PACKAGE_NAME,
    version: VERSION,
    node: process.version,
    system: `${process.platform} ${process.arch}`,
  };
  let engine: Versions['engine'] = null;
  try {
    const { binary, status, images } = await chooseEngine(engineSelectionOf(settings), signal);
    engine = { program: binary, version: status.version, mode: status.mode };
    const choice = await localChoice(pythonProfile(settings), images, signal);
    const image = choice === undefined ? null : { name: choice.image, id: choice.id };
    return { ...own, engine, image, problem: null };
  } catch (thrown) {
    return { ...own, engine, image: null, problem: messageOf(thrown) };
  }
}
