// One way to run another program to its end: an argument vector, never a shell; output capped in memory; the whole
// process group ended on abort, on timeout and at our own exit. execa is used here and nowhere else. For programs
// that talk back (containers, downstream servers) see their own floors.

import { constants } from 'node:os';
import type { Options, ResultPromise } from 'execa';
import { BridgeError } from '../errors.js';
import { isFile } from '../files/is-file.js';
import { MB_BYTES } from '../text/sizes.js';
import { HeadTail, linesOf } from '../text/text.js';
import { mergedVariables } from './environment.js';
import { groupOptions, onExit, signalGroup } from './process-group.js';

import { type Start, startOf } from './start-of.js';
import { heardOut } from './streams.js';

type RunOptions = {
  readonly timeoutMs: number;
  /** Limit for stdout and for stderr, each; the middle of a longer output is dropped. Default 8 MiB. */
  readonly maxBytes?: number;
  /** Added to our own environment; undefined takes a variable away. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
  readonly input?: string;
  /** Every line of both streams as it comes, without its newline. */
  readonly onLine?: (line: string) => void;
  /** Has the number of the process, which leads a group of its own. */
  readonly onStarted?: (pid: number) => void;
  /** How long the program may tidy up after SIGTERM before SIGKILL. Default 2 s. */
  readonly graceMs?: number;
};

export type ProcessResult = {
  /** The exit code as a shell reports it: 128 plus the signal's number when one ended the program. */
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly durationMs: number;
};

const DEFAULT_MAX_BYTES = 8 * MB_BYTES;
const DEFAULT_GRACE_MS = 2_000;
const TAIL_LINES = 12;

/**
 * Runs `argv` until it ends, whatever its exit code. Throws E_PROCESS when the program cannot be started or does
 * not end in time, and E_CANCELLED when `signal` aborts; by then its process group is gone.
 */
export async function run(
  argv: readonly [string, ...string[]],
  options: RunOptions,
  signal: AbortSignal,
): Promise<ProcessResult> {
  const [program, ...args] = argv;
  const startedAt = performance.now();
  const start = startOfVector(program, args, options);
  // Loaded when first needed: it is a third of all modules, and a host that only lists our tools needs none of it.
  const { execa } = await import('execa');
  // Not before: loading takes a while, and a signal that has aborted says nothing more.
  if (signal.aborted) throw cancelledError(program);
  const child = execa(start.file, start.args, execaOptions(options, start.isVerbatim));
  if (child.pid !== undefined) options.onStarted?.(child.pid);
  const stdout = collect(child.stdout, options);
  const stderr = collect(child.stderr, options);
  const end = endOnDemand(child, options, signal);
  try {
    const result = await child;
    if (end.cause() === 'cancelled') throw cancelledError(program);
    if (end.cause() === 'timeout') throw tooSlow(program, options.timeoutMs, stderr.text() || stdout.text());
    if (result.exitCode === undefined && result.signal === undefined) throw notStarted(program, result);
    // An error of its input may be known before all that it said is.
    await heardOut([child.stdout, child.stderr]);
    return {
      exitCode: result.exitCode ?? 128 + signalNumber(result.signal),
      stdout: stdout.text(),
      stderr: stderr.text(),
      durationMs: performance.now() - startedAt,
    };
  } finally {
    end.release();
  }
}

/** Our own environment with `more` on top, for a program that talks back. Handed on whole; nothing is read of it. */
export function environmentWith(more: Readonly<Record<string, string | undefined>>): NodeJS.ProcessEnv {
  const { env } = process;
  return { ...env, ...more };
}

/** The last lines of what a program said, for an error message. */
export function tailOf(result: Pick<ProcessResult, 'stdout' | 'stderr'>): string {
  return lastLines(result.stderr.trim() === '' ? result.stdout : result.stderr);
}

function startOfVector(program: string, args: readonly string[], { env = {}, cwd = '' }: RunOptions): Start {
  const { platform } = process;
  // Only Windows looks a program up by these.
  const merged = platform === 'win32' ? mergedVariables(environmentWith({}), env, platform) : {};
  try {
    return startOf(program, args, { platform, env: merged, cwd, isFile });
  } catch (thrown) {
    if (thrown instanceof BridgeError) throw thrown;
    throw notStarted(program, thrown as NodeJS.ErrnoException);
  }
}

function execaOptions(options: RunOptions, isVerbatim: boolean) {
  return {
    reject: false,
    buffer: false,
    encoding: 'utf8',
    stripFinalNewline: false,
    ...groupOptions(),
    windowsVerbatimArguments: isVerbatim,
    ...(options.input === undefined ? { stdin: 'ignore' } : { input: options.input }),
    ...(options.env === undefined ? {} : { env: options.env }),
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
  } as const satisfies Options;
}

function collect(stream: NodeJS.ReadableStream, options: RunOptions): { text(): string } {
  const kept = new HeadTail(options.maxBytes ?? DEFAULT_MAX_BYTES);
  const { onLine } = options;
  let rest = '';
  stream.setEncoding('utf8');
  stream.on('data', (text: string) => {
    kept.add(text);
    if (onLine === undefined) return;
    // A carriage return ends a line too: progress bars overwrite theirs.
    const lines = (rest + text).split(/[\r\n]+/);
    rest = (lines.pop() ?? '').slice(-DEFAULT_MAX_BYTES);
    for (const line of lines) if (line !== '') onLine(line);
  });
  stream.on('end', () => {
    if (rest !== '') onLine?.(rest);
  });
  return { text: () => kept.toString() };
}

function endOnDemand(
  child: ResultPromise<ReturnType<typeof execaOptions>>,
  options: RunOptions,
  signal: AbortSignal,
) {
  let cause: 'cancelled' | 'timeout' | undefined;
  let killTimer: NodeJS.Timeout | undefined;
  const kill = (name: NodeJS.Signals) => {
    if (child.pid !== undefined) signalGroup(child.pid, name, child.exitCode !== null);
  };
  const stop = (why: 'cancelled' | 'timeout') => {
    if (cause !== undefined) return;
    cause = why;
    kill('SIGTERM');
    killTimer = setTimeout(kill, options.graceMs ?? DEFAULT_GRACE_MS, 'SIGKILL');
  };
  const onAbort = () => stop('cancelled');
  signal.addEventListener('abort', onAbort, { once: true });
  // The caller, once told of the start, may have aborted at once.
  if (signal.aborted) onAbort();
  const timer = setTimeout(stop, options.timeoutMs, 'timeout');
  const unhook = onExit(() => kill('SIGKILL'));
  child.once('exit', async () => {
    // Stragglers of a program that was told to end have no more grace than it had.
    if (cause !== undefined) kill('SIGKILL');
    // A daemon that the program leaves behind may hold its pipes for ever.
    await heardOut([child.stdout, child.stderr]);
    child.stdout.destroy();
    child.stderr.destroy();
  });
  return {
    cause: () => cause,
    release: () => {
      for (const each of [timer, killTimer]) clearTimeout(each);
      signal.removeEventListener('abort', onAbort);
      unhook();
    },
  };
}

function cancelledError(program: string): BridgeError {
  return new BridgeError('E_CANCELLED', `${program} was cancelled.`, { fault: 'agent' });
}

function tooSlow(program: string, timeoutMs: number, said: string): BridgeError {
  const tail = lastLines(said);
  return new BridgeError(
    'E_PROCESS',
    `${program} did not end within ${Math.round(timeoutMs / 1000)} s.${tail === '' ? '' : ` It said: ${tail}`}`,
    { fault: 'operator', waitedMs: timeoutMs },
  );
}

function notStarted(program: string, result: { readonly code?: string | undefined }): BridgeError {
  return new BridgeError(
    'E_PROCESS',
    `${program} could not be started (${result.code ?? 'no reason given'}).`,
    {
      fault: 'operator',
      remedy:
        result.code === 'ENOENT'
          ? `Install ${program} or put it on PATH.`
          : `Check that ${program} may be executed.`,
      cause: result,
    },
  );
}

function lastLines(text: string): string {
  return linesOf(text.trim()).slice(-TAIL_LINES).join('\n');
}

function signalNumber(name: string | undefined): number {
  return name === undefined ? 0 : (constants.signals[name as NodeJS.Signals] ?? 0);
}
