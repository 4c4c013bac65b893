// Processor time of everything that a call makes run, from its start to the removal of its container. An engine's monitors and
// containers are not below the process that asked for them, so the whole benchmark runs in a control group of its own, and by a
// mount of its own the engine makes its containers' groups in there. Only root can do that, and only with the hierarchy of
// version 1 that counts processor time: what else hangs on that hierarchy stays as it is.

import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { figure } from './statistics.mjs';

/** Says to the program in the group which one it is. */
const GROUP = 'BENCH_CONTROL_GROUP';
/** The group takes the place of the hierarchy: of two mounts on one another, readers of the kernel's list take the lower one. */
const ENTER = `echo $$ > "$0/cgroup.procs" && mount --bind "$0" /mnt && umount "$1" && mount --move /mnt "$1" && shift && exec "$@"`;
const REMOVED_WITHIN_MS = 10_000;
const POLL_MS = 100;
/** The engine's last helpers, and a sandbox that takes the place of another, are there within this time. */
const QUIET_WITHIN_MS = 30_000;
/** Quiet is so little in each of so many looks. */
const QUIET = { ms: 3, looks: 3 };
/** Of the engine's own command line. */
const MOST = 0.5;
const AIM = 0.35;

/** @param {number} ms */
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * Where processor time is counted, by the text of /proc/self/mountinfo and of /proc/self/cgroup: the hierarchy's mount, and the
 * group of this process below it. Undefined where there is no such hierarchy of version 1.
 *
 * @param {string} mounts
 * @param {string} groups
 */
export function countingGroup(mounts, groups) {
  const found = mounts.split('\n').find((line) => / - cgroup \S+ (?:\S+,)?cpuacct\b/.test(line));
  const [, , , root = '', mount] = found?.split(' ') ?? [];
  const path = groups
    .split('\n')
    .find((line) => line.split(':')[1]?.split(',').includes('cpuacct'))
    ?.split(':')[2];
  if (mount === undefined || path === undefined) return undefined;
  const below = root !== '/' && `${path}/`.startsWith(`${root}/`) ? path.slice(root.length) : path;
  return { mount, group: resolve(join(mount, below)) };
}

const ownGroup = () =>
  existsSync('/proc/self/mountinfo')
    ? countingGroup(readFileSync('/proc/self/mountinfo', 'utf8'), readFileSync('/proc/self/cgroup', 'utf8'))
    : undefined;

/** Why processor time cannot be counted here; undefined where it can. */
export function whyNotCounted() {
  if (process.env[GROUP] !== undefined) return undefined;
  if (ownGroup() === undefined)
    return 'processor time is counted by a control group of version 1 (cpuacct), and this machine has none';
  return process.getuid?.() === 0
    ? 'processor time is counted by a control group of its own, which could not be made here (`unshare --mount`)'
    : 'processor time is counted by a control group of its own, which only root can make';
}

/**
 * Starts this program once more, in a control group of its own, and gives the exit code; undefined where this one is in such a
 * group, or none can be had.
 */
export async function runInGroup() {
  const own = ownGroup();
  if (process.env[GROUP] !== undefined || own === undefined || process.getuid?.() !== 0) return undefined;
  const group = join(own.group, `mcp-sandbox-bridge-bench-${process.pid}`);
  try {
    mkdirSync(group);
  } catch {
    return undefined;
  }
  const inside = ['--mount', '--propagation', 'private', 'sh', '-c', ENTER, group, own.mount];
  // The one inside decides what an interrupt means; the group has to be removed after it.
  process.on('SIGINT', () => {});
  try {
    if ((await exitCodeOf('unshare', [...inside, 'true'], { stdio: 'ignore' })) !== 0) return undefined;
    const env = { ...process.env, [GROUP]: group };
    return await exitCodeOf('unshare', [...inside, ...programOf(process)], { stdio: 'inherit', env });
  } finally {
    await removeGroup(group);
  }
}

/** @param {Pick<NodeJS.Process, 'execPath' | 'execArgv' | 'argv'>} process */
const programOf = ({ execPath, execArgv, argv }) => [execPath, ...execArgv, ...argv.slice(1)];

/**
 * Undefined where the program cannot be started.
 *
 * @param {string} program
 * @param {readonly string[]} args
 * @param {import('node:child_process').SpawnOptions} options
 * @returns {Promise<number | undefined>}
 */
const exitCodeOf = (program, args, options) =>
  new Promise((resolve) => {
    const child = spawn(program, args, options);
    child.on('error', () => resolve(undefined));
    child.on('exit', (code) => resolve(code ?? 1));
  });

/** @param {string} group */
async function removeGroup(group) {
  const until = performance.now() + REMOVED_WITHIN_MS;
  for (;;) {
    try {
      return removeTree(group);
    } catch (thrown) {
      if (performance.now() > until) return console.error(`left behind: ${group} (${thrown})`);
      await pause(POLL_MS);
    }
  }
}

/** @param {string} group */
function removeTree(group) {
  for (const entry of readdirSync(group, { withFileTypes: true }))
    if (entry.isDirectory()) removeTree(join(group, entry.name));
  rmdirSync(group);
}

/** Milliseconds of processor time that the group of this program has used. */
function usedMs() {
  const { mount } = /** @type {{ mount: string }} */ (ownGroup());
  return Number(readFileSync(join(mount, 'cpuacct.usage'), 'utf8')) / 1e6;
}

/** The processes whose time is counted: none where it cannot be. */
export function pidsCounted() {
  const mount = process.env[GROUP] === undefined ? undefined : ownGroup()?.mount;
  /** @param {string} group @returns {number[]} */
  const below = (group) => [
    ...readFileSync(join(group, 'cgroup.procs'), 'utf8').split('\n').filter(Boolean).map(Number),
    ...readdirSync(group, { withFileTypes: true }).flatMap((entry) =>
      entry.isDirectory() ? below(join(group, entry.name)) : [],
    ),
  ];
  return mount === undefined ? [] : below(mount);
}

/** Waits until nothing computes but now and then. Throws where that does not come. */
async function quiet() {
  const until = performance.now() + QUIET_WITHIN_MS;
  let last = usedMs();
  for (let looks = 0; looks < QUIET.looks; ) {
    await pause(POLL_MS);
    const used = usedMs();
    looks = used - last < QUIET.ms ? looks + 1 : 0;
    last = used;
    if (performance.now() > until) throw new Error('the processor did not come to rest after a call');
  }
  return last;
}

/**
 * Milliseconds of processor time that `work` takes and all that it leaves to be done, without what this process itself takes.
 *
 * @param {() => Promise<unknown>} work
 */
export async function processorTime(work) {
  const before = await quiet();
  const own = process.cpuUsage();
  await work();
  const after = await quiet();
  const { user, system } = process.cpuUsage(own);
  return after - before - (user + system) / 1000;
}

/**
 * Row of the processor time of `call`, taken in turns with the engine's own command line.
 *
 * @param {{ times: (full: number, quick: number) => number }} stage
 * @param {{ run: () => Promise<number>, engine: { name: string } }} bare
 * @param {string} name
 * @param {() => Promise<unknown>} call
 */
export async function processorRow(stage, bare, name, call) {
  const measure = `processor time of a ${name}, with its container's start and removal`;
  const skipped = whyNotCounted();
  if (skipped !== undefined) return { measure, skipped };
  const [calls, runs] = /** @type {[number[], number[]]} */ ([[], []]);
  for (let round = 0; round < stage.times(12, 3); round++) {
    calls.push(await processorTime(call));
    runs.push(await processorTime(() => bare.run()));
  }
  const ours = figure(name, calls);
  const theirs = figure(`bare ${bare.engine.name} run, same flags`, runs);
  const ratio = ours.p50 / theirs.p50;
  const judged = { target: `<= ${MOST}, aim ${AIM}`, met: ratio <= MOST };
  return { measure, unit: 'ms', ours, theirs, ratio, ...judged, plotted: false };
}
