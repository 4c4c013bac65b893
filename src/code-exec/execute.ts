// The tool `execute` as this server answers it. Every call goes one way: the call is checked, judged by the rules,
// queued, run, and told to the audit.

import { createHash } from 'node:crypto';
import { accessSync, constants, lstatSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import PQueue from 'p-queue';
import { messageOf } from '../base/errors.js';
import { isProcess } from '../base/files/file-lock.js';
import { clip } from '../base/text/text.js';
import { findCommand, processLimit } from './command-rules.js';
import type { ExecSettings } from './exec-settings.js';
import { type CommandArguments, commandReader, definitionFor } from './execute-definition.js';
import { clipText, type ExecuteResult, outcomeOf, refusalResult, resultOf } from './execute-result.js';
import { runCommand } from './run-command.js';

/** Record of a command, whether it ran or not; without output, and with a digest in place of the input. */
export type CommandTold = {
  readonly at: string;
  /** Clipped, like all that the caller has said. */
  readonly command: string;
  /** The first ones. */
  readonly args: readonly string[];
  readonly argCount: number;
  readonly cwd: string;
  readonly stdinBytes: number;
  readonly stdinSha256?: string;
  readonly outcome: string;
  readonly durationMs: number;
  readonly stdoutBytes: number;
  readonly stderrBytes: number;
};

/** Variables of ours that no command gets: the token would let it call the server, and its rules are none of its business. */
const OWN_VARIABLES = /^MCP_EXEC_/;
/** How many arguments of a call the audit shows, so that its line stays readable; later ones are left out. */
const MAX_ARGS_TOLD = 100;
const MAX_ARG_CHARS_TOLD = 1_000;
/** Each may hold as much input as a request may have. */
const MAX_WAITING = 1_000;

export class Execute {
  readonly definition: ReturnType<typeof definitionFor>;
  readonly #settings: ExecSettings;
  readonly #env: Readonly<Record<string, string>>;
  readonly #read: ReturnType<typeof commandReader>;
  readonly #queue: PQueue;
  readonly #limit: readonly string[] | undefined;
  readonly #tell: (told: CommandTold) => void;

  /** Throws E_SETTINGS. Removes temporary folders that a killed server has left behind. */
  constructor(
    settings: ExecSettings,
    env: Readonly<Record<string, string | undefined>>,
    tell: (told: CommandTold) => void,
  ) {
    this.definition = definitionFor(settings);
    this.#settings = settings;
    this.#read = commandReader(settings);
    this.#env = withoutOwn(env);
    this.#queue = new PQueue({ concurrency: settings.concurrency });
    this.#limit = processLimit(settings.processes, this.#env['PATH']);
    this.#tell = tell;
    sweepOwnFolders(tmpdir());
  }

  /** Never rejects for what the agent or the command did. */
  async call(args: unknown, signal: AbortSignal): Promise<ExecuteResult> {
    const given = this.#read(args ?? {});
    if ('problem' in given) return refusalResult(given.problem, given.remedy);
    if (this.#queue.size >= MAX_WAITING)
      return refusalResult(`Busy: ${MAX_WAITING} calls wait already. Try again later.`);
    return await this.#inTurn(given.values, signal);
  }

  /** A call that is cancelled while it waits is gone at once, with all that it holds: its caller is charged for it no more. */
  async #inTurn(command: CommandArguments, signal: AbortSignal): Promise<ExecuteResult> {
    const waiting = new AbortController();
    const leave = () => waiting.abort();
    signal.addEventListener('abort', leave, { once: true });
    if (signal.aborted) leave();
    const run = () => {
      signal.removeEventListener('abort', leave);
      return this.#run(command, signal);
    };
    try {
      return await this.#queue.add(run, { signal: waiting.signal });
    } catch (thrown) {
      if (waiting.signal.aborted) return refusalResult('The call was cancelled before its command began.');
      throw thrown;
    }
  }

  /** Resolves when no call runs any more. */
  async waitUntilIdle(): Promise<void> {
    await this.#queue.onIdle();
  }

  async #run(
    { command, args, stdin, timeout_ms: timeoutMs, cwd: wanted, env: added }: CommandArguments,
    signal: AbortSignal,
  ): Promise<ExecuteResult> {
    const { workdir, maxOutputBytes, tmp, allow, deny } = this.#settings;
    const cwd = resolve(workdir, wanted);
    const input = Buffer.from(stdin);
    const told = { at: new Date().toISOString(), ...clipCommand(command, args, cwd), ...digestOf(input) };
    const refuse = (message: string) => {
      this.#tell({ ...told, durationMs: 0, stdoutBytes: 0, stderrBytes: 0, outcome: 'refused' });
      return refusalResult(message);
    };
    if (!isFolder(cwd)) return refuse(`cwd: there is no folder '${clipText(cwd)}' that can be entered.`);
    const env = { ...this.#env, ...withoutOwn(added) };
    const found = findCommand(
      command,
      { path: env['PATH'] ?? '', rulesPath: this.#env['PATH'] ?? '', cwd },
      { allow, deny },
    );
    if ('refused' in found) return refuse(`command: ${clipText(found.refused)}`);
    let folder: string | undefined;
    try {
      folder = tmp === 'per-request' ? makeOwnFolder(tmpdir()) : undefined;
    } catch (thrown) {
      return refuse(`There is no room for a temporary folder: ${messageOf(thrown)}`);
    }
    try {
      const end = await runCommand(
        {
          path: found.path,
          args,
          stdin: input,
          cwd,
          env: folder === undefined ? env : { ...env, TMPDIR: folder },
          timeoutMs,
          limit: this.#limit,
        },
        maxOutputBytes,
        signal,
      );
      const { durationMs, output } = end;
      const measured = {
        durationMs,
        stdoutBytes: output.bytes('stdout'),
        stderrBytes: output.bytes('stderr'),
      };
      this.#tell({ ...told, ...measured, outcome: outcomeOf(end, timeoutMs) });
      return resultOf(end, timeoutMs);
    } finally {
      if (folder !== undefined) removeOwnFolder(folder);
    }
  }
}

const clipCommand = (
  command: string,
  args: readonly string[],
  cwd: string,
): Pick<CommandTold, 'command' | 'args' | 'argCount' | 'cwd'> => ({
  command: clip(command, MAX_ARG_CHARS_TOLD),
  args: args.slice(0, MAX_ARGS_TOLD).map((arg) => clip(arg, MAX_ARG_CHARS_TOLD)),
  argCount: args.length,
  cwd: clip(cwd, MAX_ARG_CHARS_TOLD),
});

function digestOf(input: Buffer): Pick<CommandTold, 'stdinBytes' | 'stdinSha256'> {
  if (input.length === 0) return { stdinBytes: 0 };
  return { stdinBytes: input.length, stdinSha256: createHash('sha256').update(input).digest('hex') };
}

function withoutOwn(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) =>
      value === undefined || OWN_VARIABLES.test(name) ? [] : [[name, value]],
    ),
  );
}

function isFolder(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

const PREFIX = 'execute-';
/**
 * The name of a call's temporary folder says which process made it, so that the next start finds what a killed server left
 * behind.
 */
const OWNED = /^execute-(?<pid>\d+)-/;

/** A temporary folder of one call, below `parent`, that only its user may enter. */
export const makeOwnFolder = (parent: string): string =>
  mkdtempSync(join(parent, `${PREFIX}${process.pid}-`));

/** Never throws: what cannot be removed, such as a folder that something still writes to, is swept at the next start. */
export function removeOwnFolder(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true, maxRetries: 2 });
  } catch {
    // Left for the sweep.
  }
}

/**
 * Removes folders of servers that are gone. One with our own pid is of an earlier start of this very machine. One of another
 * user stays: what is removed of it could be made to lead elsewhere meanwhile.
 */
export function sweepOwnFolders(parent: string): void {
  for (const name of entriesOf(parent)) {
    const pid = Number(OWNED.exec(name)?.groups?.['pid'] ?? Number.NaN);
    if (Number.isNaN(pid) || (pid !== process.pid && isProcess(pid))) continue;
    if (isOwnFolder(join(parent, name))) removeOwnFolder(join(parent, name));
  }
}

function isOwnFolder(path: string): boolean {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  return stats?.isDirectory() === true && stats.uid === process.getuid?.();
}

function entriesOf(parent: string): readonly string[] {
  try {
    return readdirSync(parent);
  } catch {
    return [];
  }
}
