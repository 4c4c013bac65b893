// What test-main.mjs is made of: running a program with a time limit, and looking for what tests left behind.

import { spawn } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';

/** Environment variable that marks every process of one test run. */
export const MARK = 'MCP_SANDBOX_TEST_RUN';

const LABEL = 'mcp-sandbox-bridge';
const KEPT_CHARS = 1_000_000;

/**
 * Runs argv, showing its output unless quiet; after the time limit its process group is killed. With a `niceness` (0 to 19) it
 * gives way to what runs beside it. Resolves to the exit code and the last million characters of output. Never throws.
 */
export function run(argv, { timeoutMs = 120_000, cwd, quiet = false, niceness = 0 } = {}) {
  const [program, ...args] = niceness === 0 ? argv : ['nice', '-n', String(niceness), ...argv];
  return new Promise((resolve) => {
    let output = '';
    const child = spawn(program, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
    if (niceness !== 0 && child.pid !== undefined) giveWay(child.pid, niceness);
    const timer = setTimeout(() => {
      output += `\n${argv[0]} was stopped after ${timeoutMs / 1000} s\n`;
      if (!quiet) console.log(`stopped after ${timeoutMs / 1000} s`);
      process.kill(-child.pid, 'SIGKILL');
    }, timeoutMs);
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => {
        output = (output + text).slice(-KEPT_CHARS);
        if (!quiet) process.stdout.write(text);
      });
    }
    const end = (exitCode) => {
      clearTimeout(timer);
      resolve({ exitCode, output });
    };
    child.on('error', (error) => {
      output += error.message;
      end(127);
    });
    // Not 'close': something left behind may hold the pipes, and is found later.
    child.on('exit', (code) => setTimeout(end, 200, code ?? 137));
  });
}

/**
 * What is detached is a session of its own, and where the kernel groups processes by session (sched_autogroup), a process's
 * niceness only counts within its group: between groups their own niceness does.
 */
function giveWay(pid, niceness) {
  try {
    writeFileSync(`/proc/${pid}/autogroup`, String(niceness));
  } catch {
    // There are no groups here, or it has ended already.
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

/** Names of containers with our label, in any state; `as` is an argv prefix that changes the user. */
export async function containersOf(as) {
  // Its warnings are none: one that makes its user's namespace anew says something of mounts.
  const argv = [
    ...as,
    'podman',
    '--log-level=error',
    'ps',
    '--all',
    `--filter=label=${LABEL}`,
    '--format={{.Names}} {{.Status}}',
  ];
  const { exitCode, output } = await run(argv, { quiet: true, cwd: '/' });
  return exitCode === 0 ? output.split('\n').filter(Boolean) : [`podman ps failed: ${output}`];
}

/** Living processes that carry the mark, besides this one and podman's own keeper of a user's namespace. */
export function processesOf(mark) {
  return readdirSync('/proc')
    .filter((pid) => /^\d+$/.test(pid) && Number(pid) !== process.pid)
    .filter((pid) => read(pid, 'environ').split('\0').includes(`${MARK}=${mark}`))
    .filter(
      (pid) =>
        !/^(?:catatonit|podman pause)/.test(read(pid, 'comm')) && !/^catatonit/.test(read(pid, 'cmdline')),
    )
    .map((pid) => `${pid} ${read(pid, 'cmdline').replaceAll('\0', ' ').slice(0, 160)}`);
}

/** Our folders among the temporary ones. */
export function listTemporary() {
  return [...new Set([tmpdir(), '/tmp', '/var/tmp'])].flatMap((folder) =>
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
