// One command, from its argument vector to how it ended: no shell, output capped in memory, and at its deadline, or when
// nobody waits any more, its whole process group is killed, with processes that left the group (setsid, daemons), found by a
// variable that every process of a call inherits. Relies on POSIX process groups and on /proc, without which nothing outside
// the group is found; a process that left the group and cleared its environment ends with the machine. Knows nothing of MCP.

import { ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { messageOf } from '../base/errors.js';
import { groupOptions, onExit, signalGroup } from '../base/process/process-group.js';

import { processIds } from '../base/process/process-stat.js';
import { heardOut } from '../base/process/streams.js';
import { CappedOutput } from './capped-output.js';

export type ResolvedCommand = {
  /** A path, as command-rules.ts has found it. */
  readonly path: string;
  readonly args: readonly string[];
  readonly stdin: Buffer;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly limit: readonly string[] | undefined;
};

/** `signal` where one ended it; neither for what could not be started. */
export type CommandEnd = {
  readonly exitCode: number | undefined;
  readonly signal: NodeJS.Signals | undefined;
  /** Why we killed the command; undefined where it ended by itself. */
  readonly killedFor: 'timeout' | 'cancelled' | undefined;
  /** Why the command did not start, in the kernel's word (ENOENT, EACCES, E2BIG); undefined where it did. */
  readonly notStarted: string | undefined;
  readonly output: CappedOutput;
  readonly durationMs: number;
};

/** Time between SIGTERM and SIGKILL, for a command that tidies up on SIGTERM; one that ignores SIGTERM has no more. */
const TERM_GRACE_MS = 200;

/** Runs `command`; never rejects. `maxOutputBytes` is for both streams. At the end nothing that the command started is left. */
export async function runCommand(
  command: ResolvedCommand,
  maxOutputBytes: number,
  signal: AbortSignal,
): Promise<CommandEnd> {
  const mark = randomUUID();
  const marked = { ...command, env: { ...command.env, [CALL_VARIABLE]: mark } };
  return await runToEnd(marked, mark, maxOutputBytes, signal);
}

function runToEnd(
  command: ResolvedCommand,
  mark: string,
  maxOutputBytes: number,
  signal: AbortSignal,
): Promise<CommandEnd> {
  const startedAt = performance.now();
  const output = new CappedOutput(maxOutputBytes);
  return new Promise((resolve) => {
    let killedFor: CommandEnd['killedFor'];
    let killTimer: NodeJS.Timeout | undefined;
    let gone = Promise.resolve();
    const child = startProcess(command);
    if (!(child instanceof ChildProcess)) {
      const none = { exitCode: undefined, signal: undefined, killedFor: undefined, durationMs: 0 };
      resolve({ ...none, notStarted: child.notStarted, output });
      return;
    }
    const unhook = onExit(() => signalGroupOf(child, 'SIGKILL'));
    const stop = (why: 'timeout' | 'cancelled') => {
      if (killedFor !== undefined) return;
      killedFor = why;
      signalGroupOf(child, 'SIGTERM');
      killTimer = setTimeout(() => signalGroupOf(child, 'SIGKILL'), TERM_GRACE_MS);
    };
    const onAbort = () => stop('cancelled');
    const timer = setTimeout(() => stop('timeout'), command.timeoutMs);
    const finish = (end: Pick<CommandEnd, 'exitCode' | 'signal' | 'notStarted'>) => {
      clearTimeout(timer);
      clearTimeout(killTimer);
      signal.removeEventListener('abort', onAbort);
      unhook();
      for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.destroy();
      const durationMs = performance.now() - startedAt;
      resolve(gone.then(() => ({ ...end, killedFor, output, durationMs })));
    };
    child.once('error', (thrown: NodeJS.ErrnoException) => {
      if (child.pid !== undefined) return;
      finish({ exitCode: undefined, signal: undefined, notStarted: thrown.code ?? thrown.message });
    });
    child.once('exit', (exitCode, exitSignal) => {
      // Processes that the command started end with its call: at once, since a fork bomb grows while its output drains.
      gone = killAllOf(mark, (name) => signalGroupOf(child, name));
      const end = { exitCode: exitCode ?? undefined, signal: exitSignal ?? undefined, notStarted: undefined };
      const outputs = [child.stdout, child.stderr].filter((stream) => stream !== null);
      void heardOut(outputs).then(() => finish(end));
    });
    child.stdout?.on('data', (chunk: Buffer) => output.add('stdout', chunk));
    child.stderr?.on('data', (chunk: Buffer) => output.add('stderr', chunk));
    // A command need not read what it is given.
    child.stdin?.on('error', () => {});
    child.stdin?.end(command.stdin);
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
  });
}

/** Some of the kernel's refusals are thrown (E2BIG), and some come as an event (ENOENT). */
function startProcess({
  path,
  args,
  cwd,
  env,
  limit = [],
}: ResolvedCommand): ChildProcess | Pick<CommandEnd, 'notStarted'> {
  const [program = path, ...rest] = [...limit, path, ...args];
  try {
    return spawn(program, rest, { cwd, env, ...groupOptions(), stdio: ['pipe', 'pipe', 'pipe'] });
  } catch (thrown) {
    return { notStarted: (thrown as NodeJS.ErrnoException).code ?? messageOf(thrown) };
  }
}

function signalGroupOf({ pid, exitCode }: ChildProcess, name: NodeJS.Signals): void {
  if (pid !== undefined) signalGroup(pid, name, exitCode !== null);
}

/**
 * The variable that holds the call's own mark; not of our settings, so that a server that a command starts does not stumble
 * over it.
 */
const CALL_VARIABLE = 'EXECUTE_CALL';

/** How often processes are looked for again at most: some start others faster than we find them. */
const MAX_ROUNDS = 200;
const ROUND_PAUSE_MS = 10;

/**
 * Resolves when none is left that can be found. All are stopped before the first is killed: a stopped process still counts
 * against the limit on processes, so a fork bomb fills it with those that do nothing, where each that is killed makes room
 * for the next. Under gVisor, which keeps threads of the host for each process that there was, that room was what ended it.
 */
async function killAllOf(mark: string, signalGroup: (name: NodeJS.Signals) => void): Promise<void> {
  const stopped = new Set<number>();
  for (let round = 0; round < MAX_ROUNDS; round++) {
    signalGroup('SIGSTOP');
    const running = processesOf(mark).filter((pid) => !stopped.has(pid));
    if (running.length === 0) break;
    for (const pid of running) {
      signalProcess(pid, 'SIGSTOP');
      stopped.add(pid);
    }
    await pause(0);
  }
  // A process that has cleared its environment is still in the group.
  if (stopped.size === 0) return signalGroup('SIGKILL');
  for (let round = 0; round < MAX_ROUNDS; round++) {
    signalGroup('SIGKILL');
    const left = processesOf(mark);
    if (left.length === 0) return;
    for (const pid of left) signalProcess(pid, 'SIGKILL');
    await pause(ROUND_PAUSE_MS);
  }
}

function processesOf(mark: string): readonly number[] {
  const entry = Buffer.from(`${CALL_VARIABLE}=${mark}\0`);
  return processIds().filter((pid) => environmentOf(pid)?.includes(entry) === true);
}

/** Undefined for processes of others, and for those that have just ended. */
function environmentOf(pid: number): Buffer | undefined {
  try {
    return readFileSync(`/proc/${pid}/environ`);
  } catch {
    return undefined;
  }
}

function signalProcess(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // The process has ended meanwhile.
  }
}
