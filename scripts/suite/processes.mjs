// Programs that the suite starts: how one is run and ended, and how what tests left behind is found. Everything that a run starts
// carries a mark in its environment, by which it is told from anybody else's and ended with the run.

import { spawn, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';

/** Environment variable that marks every process of one test run. Tests keep what begins with MCP_ from the bridges that they start. */
export const MARK = 'SUITE_RUN';

const LABEL = 'mcp-sandbox-bridge';
const KEPT_CHARS = 1_000_000;
const LOOK_MS = 1_000;
/** How often what carries the mark is ended again, since it may be starting something at that moment. */
const ROUNDS = 50;

const running = new Set();

/**
 * Runs argv, showing its output unless quiet, in a process group of its own. It is killed when nothing has been heard of it for
 * `silentMs`: neither output nor, where it is given, a change of `sign()`. Resolves to the exit code, the last million characters of
 * output, and whether it was stopped. Never throws.
 */
export function run(
  argv,
  /** @type {{ silentMs?: number, cwd?: string, env?: NodeJS.ProcessEnv, quiet?: boolean, sign?: () => unknown }} */
  { silentMs = 600_000, cwd, env = process.env, quiet = false, sign } = {},
) {
  const [program, ...args] = argv;
  return new Promise((resolve) => {
    let output = '';
    let heardAt = performance.now();
    let last = sign?.();
    let stopped = false;
    const child = spawn(program, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
    running.add(child);
    const watch = setInterval(
      () => {
        const now = sign?.();
        if (now !== last) [last, heardAt] = [now, performance.now()];
        if (performance.now() - heardAt < silentMs) return;
        const words = `${program} was stopped: nothing was heard of it for ${silentMs / 1000} s`;
        stopped = true;
        clearInterval(watch);
        output += `\n${words}\n`;
        if (!quiet) console.log(words);
        killGroup(child);
      },
      Math.min(LOOK_MS, silentMs),
    );
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => {
        heardAt = performance.now();
        output = (output + text).slice(-KEPT_CHARS);
        if (!quiet) process.stdout.write(text);
      });
    }
    const end = (exitCode) => {
      clearInterval(watch);
      running.delete(child);
      resolve({ exitCode, output, stopped });
    };
    child.on('error', (error) => {
      output += error.message;
      end(127);
    });
    // Not 'close': something left behind may hold the pipes, and is found later.
    child.on('exit', (code) => setTimeout(end, 200, code ?? 137));
  });
}

function killGroup(/** @type {{ pid?: number }} */ { pid }) {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It has ended by itself.
  }
}

/**
 * Ends whatever this run has started and what that has started, whoever it runs as: processes that carry the mark, then the
 * containers that have lost their bridge by that, of each user (`users`, argv prefixes), and temporary folders. What is among
 * `before` stays. Synchronous, since the run itself is ending.
 */
export function endEverything(mark, before, users) {
  for (let round = 0; round < ROUNDS; round++) {
    for (const child of running) killGroup(child);
    const left = markedPids(mark);
    for (const pid of left) kill(pid);
    if (left.length === 0) break;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
  }
  for (const as of users) {
    const names = orphans(as).filter((name) => !before.includes(name));
    if (names.length > 0) ask([...as, 'podman', 'rm', '--force', '--time=0', ...names]);
  }
  for (const folder of listTemporary().filter((name) => !before.includes(name)))
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}

function kill(pid) {
  try {
    process.kill(Number(pid), 'SIGKILL');
  } catch {
    // It is gone, or a sudo's, which ends with what it waits for.
  }
}

/** Flags for podman that make it start a container here; the default runtime may refuse the machine's cgroups. */
export async function chooseOciRuntime(image) {
  const probe = [
    'run',
    '--rm',
    '--network=none',
    '--ulimit=nofile=1024:1024',
    '--ulimit=nproc=4096:4096',
    image,
    'true',
  ];
  for (const flags of [[], ['--runtime=runc'], ['--runtime=crun']]) {
    if ((await run(['podman', ...flags, ...probe], { quiet: true })).exitCode === 0) return flags;
  }
  throw new Error('podman starts no container with its default runtime, runc or crun');
}

/** Names of containers with our label whose bridge is gone; `as` is an argv prefix that changes the user. */
export function orphans(as = []) {
  const format = `{{.Names}} {{index .Labels "${LABEL}.owner-pid"}}`;
  const listed = ask([...as, 'podman', 'ps', '--all', `--filter=label=${LABEL}`, `--format=${format}`]);
  return listed
    .split('\n')
    .filter((line) => line !== '' && read(line.split(' ')[1], 'stat') === '')
    .map((line) => line.split(' ')[0]);
}

/** What a program prints; '' where it fails, as where there is no podman. */
function ask(/** @type {string[]} */ [program, ...args]) {
  return spawnSync(program, args, { cwd: '/', encoding: 'utf8', timeout: 120_000 }).stdout ?? '';
}

/** Command lines of the living processes that carry the mark, but for this one. */
export const processesOf = (mark) =>
  markedPids(mark).map((pid) => `${pid} ${read(pid, 'cmdline').replaceAll('\0', ' ').slice(0, 160)}`);

const markedPids = (mark) =>
  readdirSync('/proc')
    .filter((pid) => /^\d+$/.test(pid) && Number(pid) !== process.pid)
    .filter((pid) => read(pid, 'environ').split('\0').includes(`${MARK}=${mark}`))
    .filter((pid) => !isKeeper(pid));

/** Podman's keeper of a user's namespace, which all containers of that user share. */
const isKeeper = (pid) =>
  /^(?:catatonit|podman pause)/.test(read(pid, 'comm')) || /^catatonit/.test(read(pid, 'cmdline'));

/** Our folders among the temporary ones of this run, and where engines keep large files. */
export function listTemporary() {
  return [tmpdir(), '/var/tmp'].flatMap((folder) =>
    readdirSync(folder)
      .filter((name) => name.startsWith('mcp-sandbox-bridge'))
      .map((name) => `${folder}/${name}`),
  );
}

function read(pid, file) {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    // Gone in the meantime, or not ours to read.
    return '';
  }
}
