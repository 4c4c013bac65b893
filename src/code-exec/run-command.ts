// One command, from its argument vector to how it ended: no shell, output capped in memory, and at its deadline, or when
// nobody waits any more, its whole process group is killed, with what has left the group. Relies on POSIX process groups;
// knows nothing of MCP.

import { ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { messageOf } from '../base/errors.js';
import { onExit } from '../base/process/exit-hook.js';
import { groupOptions, signalGroup } from '../base/process/process-group.js';
import { heardOut } from '../base/process/streams.js';
import { CappedOutput } from './capped-output.js';
import { CALL_VARIABLE, killAllOf } from './end-of-call.js';
import type { ProcessLimit } from './process-limit.js';

export type ResolvedCommand = {
  /** A path, as command-rules.ts has found it. */
  readonly path: string;
  readonly args: readonly string[];
  readonly stdin: Buffer;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly limit: ProcessLimit | undefined;
};

/** `signal` where one ended it; neither for what could not be started. */
export type CommandEnd = {
  readonly exitCode: number | undefined;
  readonly signal: NodeJS.Signals | undefined;
  /** Why we killed it; undefined where it ended by itself. */
  readonly killedFor: 'timeout' | 'cancelled' | undefined;
  /** Why it did not start, in the kernel's word (ENOENT, EACCES, E2BIG); undefined where it did. */
  readonly notStarted: string | undefined;
  readonly output: CappedOutput;
  readonly durationMs: number;
};

/** For a command that minds SIGTERM to tidy up; the one that does not has no more. */
const TERM_GRACE_MS = 200;

/** Never rejects; `maxOutputBytes` is of both streams together. When it resolves, nothing that the command has started is left. */
export async function runCommand(
  command: ResolvedCommand,
  maxOutputBytes: number,
  signal: AbortSignal,
): Promise<CommandEnd> {
  const mark = randomUUID();
  const marked = { ...command, env: { ...command.env, [CALL_VARIABLE]: mark } };
  return await ended(marked, mark, maxOutputBytes, signal);
}

function ended(
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
    const child = started(command);
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
      // What it started is its own, and nothing of a call outlives it. At once, since a fork bomb grows while its output drains.
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
function started({
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
