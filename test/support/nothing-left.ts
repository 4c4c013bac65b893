// Things that a suite may not leave behind: containers with our label, processes that we started, folders of ours.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { engineCommand } from './engine-under-test.js';

const LABEL = 'mcp-sandbox-bridge';

/**
 * Names of the containers of this test run's bridges, in any state: those that the engine lists, and those that were started
 * from a template, of which it does not know. Those of another bridge of this user, such as the one that an agent uses at the
 * same time, do not count, as long as that bridge lives.
 */
export const ourContainers = (): string[] => [...ourListed(), ...clocked()];

/** Those of the same that the engine lists. */
export const ourListed = (extraFilter?: string): string[] =>
  containers(extraFilter)
    .filter(({ owner }) => !isOfAnotherRun(owner))
    .map(({ name }) => name);

/** Those of them that are no template, which waits as long as its bridge is used, and no trial of one. */
export const ourSandboxes = (): string[] => ourContainers().filter((name) => !isOfTemplate(name));

/** Those of these that run. */
export const runningSandboxes = (): string[] =>
  [...ourListed('status=running'), ...clocked()].filter((name) => !isOfTemplate(name));

/** Whether a container, or a file of that name, is of a template, or of a trial of one. */
export const isOfTemplate = (name: string): boolean => /-template(?:-trial)?(?:\.|$)/.test(name);

/** Names of the sandboxes that have a clock of ours, which removes them when they end. */
const clocked = (): string[] =>
  processIds().flatMap((pid) => {
    const words = read(`/proc/${pid}/cmdline`).split('\0');
    const [, , bundle = '', , name = ''] = words.slice(words.indexOf('clock'));
    return basename(bundle) === `${name}.bundle` && bundle.includes(process.env['TEST_ROOT'] ?? '')
      ? [name]
      : [];
  });

/** Command lines of the engine's monitors of such containers, which know of some that the engine does not. */
export function ourMonitors(): string[] {
  const others = containers().filter(({ owner }) => isOfAnotherRun(owner));
  return processesWith('-n mcp-sandbox-bridge-').filter(
    (line) => !others.some(({ name }) => line.includes(`-n ${name} `)),
  );
}

/**
 * Command lines of the processes of such containers, whether or not the engine knows of them. They are another run's where their
 * monitor, or what is mounted in them, lies in none of this run's folders.
 */
export const ourSandboxProcesses = (): string[] => harnesses().map(({ line }) => line);

/** The same without those of templates. */
export const runningHarnesses = (): string[] =>
  harnesses()
    .filter(({ pid }) => !above(pid).some((line) => MONITOR_OF_TEMPLATE.test(line)))
    .map(({ line }) => line);

const harnesses = (): ReadonlyArray<{ readonly pid: string; readonly line: string }> =>
  processIds()
    .map((pid) => ({ pid, line: commandLine(pid) }))
    .filter(({ pid, line }) => line.includes('/ipc/entrypoint.py') && !isOutside(pid));

const MONITOR_OF_TEMPLATE = /\s-n \S+-template\s/;

/** Where the monitors of the bridges here have the pid files of their containers. */
const PID_FILE = /\s-p (\S+\/run\/[0-9a-f]+\/mcp-sandbox-bridge-\S+\.pid)\s/;

function isOutside(pid: string): boolean {
  const root = process.env['TEST_ROOT'];
  if (root === undefined) return false;
  const pidFile = above(pid).flatMap((line) => PID_FILE.exec(line)?.[1] ?? [])[0];
  if (pidFile !== undefined) return !pidFile.startsWith(root);
  // Not to be read where the process is another user's.
  const mounts = read(`/proc/${pid}/mountinfo`);
  return mounts.includes(' /ipc ') && !mounts.includes(basename(root));
}

/** Command lines of the processes that it descends from, the nearest first. */
function above(pid: string): string[] {
  const lines: string[] = [];
  for (let next = parentOf(pid); next > 1; next = parentOf(String(next)))
    lines.push(commandLine(String(next)));
  return lines;
}

const parentOf = (pid: string): number =>
  Number(/^PPid:\s*(\d+)/m.exec(read(`/proc/${pid}/status`))?.[1] ?? 0);

function containers(extraFilter?: string): ReadonlyArray<{ readonly name: string; readonly owner: number }> {
  const filters = [
    `--filter=label=${LABEL}`,
    ...(extraFilter === undefined ? [] : [`--filter=${extraFilter}`]),
  ];
  return lines(engineCommand('ps', '--all', ...filters, '--format={{.Names}}\t{{.Labels}}')).map((line) => ({
    name: line.slice(0, line.indexOf('\t')),
    owner: Number(OWNER.exec(line)?.[1]),
  }));
}

/** As podman and docker print labels. */
const OWNER = new RegExp(`${LABEL}\\.owner-pid[:=](\\d+)`);

/**
 * Whether a bridge lives, and neither in a home of this run nor in this process. A test's bridge that has died is still
 * this run's.
 */
function isOfAnotherRun(owner: number): boolean {
  const environment = read(`/proc/${owner}/environ`);
  const root = process.env['TEST_ROOT'];
  return environment !== '' && root !== undefined && owner !== process.pid && !environment.includes(root);
}

/** Names of our volumes, but for those that an operator keeps. */
export const ourVolumes = (): string[] =>
  lines(engineCommand('volume', 'ls', `--filter=label=${LABEL}`, '--format={{.Name}}'));

const lines = (text: string): string[] => text.split('\n').filter((line) => line !== '');

/** Command lines of every living process that descends from `pid`. */
export const descendants = (pid: number): string[] =>
  descendantPids(pid).map((child) => read(`/proc/${child}/cmdline`).replaceAll('\0', ' '));

/** Pids of every living process that descends from `pid`. */
export function descendantPids(pid: number): number[] {
  const parents = new Map<number, number>();
  for (const entry of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    const stat = read(`/proc/${entry}/stat`);
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (fields[0] !== undefined && fields[0] !== 'Z') parents.set(Number(entry), Number(fields[1]));
  }
  const isBelow = (child: number): boolean => {
    const parent = parents.get(child);
    return parent !== undefined && parent > 0 && (parent === pid || isBelow(parent));
  };
  return [...parents.keys()].filter(isBelow);
}

/** Command lines of living processes anywhere that contain `mark`, and whose environment contains `within`. */
export function processesWith(mark: string, within = ''): string[] {
  return processIds()
    .filter((pid) => within === '' || read(`/proc/${pid}/environ`).includes(within))
    .map(commandLine)
    .filter((line) => line.includes(mark));
}

const processIds = (): string[] =>
  readdirSync('/proc').filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid);

const commandLine = (pid: string): string => read(`/proc/${pid}/cmdline`).replaceAll('\0', ' ');

/** Command lines that carry the traffic of sandboxes: slirp4netns with the network that only ours are told of, and pasta. */
export const networkHelpers = (): string[] => [
  ...processesWith('--cidr=169.254.0.0/16'),
  ...processesWith('--no-map-gw -t none'),
];

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

/** Paths of all files below `folder`, which is listed again where a part of it goes meanwhile, as that of a sandbox that ends does. */
export function filesBelow(folder: string): readonly string[] {
  for (;;) {
    try {
      return readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath ?? entry.path, entry.name));
    } catch (thrown) {
      if (Object(thrown).code !== 'ENOENT' || !existsSync(folder)) throw thrown;
    }
  }
}
