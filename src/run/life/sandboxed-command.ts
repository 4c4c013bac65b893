// The life of one command in a sandbox, top to bottom: take a sandbox, start the command, gather its output, see how it
// ends, let go. It has no servers and is checked by nobody, and its end is its own: an exit status is no error.

import { basename } from 'node:path/posix';
import { asBridgeError } from '../../base/errors.js';
import type { Observer } from '../../base/log/events.js';
import type { OutputStream } from '../../base/process/streams.js';
import { makeHarmless } from '../../base/text/text.js';
import { Deadline } from '../../base/waiting/deadline.js';
import { type Capped, CappedOutput, type Whole } from '../../code-exec/capped-output.js';
import type { CommandEnd } from '../../code-exec/run-command.js';
import type { GuestError, Sandbox } from '../../sandbox/conversation/sandbox.js';
import { WORK } from '../../sandbox/spec/promises.js';
import type { SettingValues } from '../../settings/environment/variables.js';
import { type HostFrame, INPUT_PIECE_BYTES } from '../../wire/frames.js';
import { Artifacts, type Settled } from '../artifacts/artifacts.js';
import type { KeptFiles } from '../artifacts/kept-files.js';
import type { KeptThing } from '../artifacts/kept-run.js';
import { MAX_OUTPUT_CHARS } from '../artifacts/shown-amounts.js';
import { digestOf } from '../audit/digest.js';
import { keptText } from '../calls/call-audit.js';
import type { CallContext } from '../calls/call-context.js';
import { type CommandEnding, type CommandFailure, endingOf, recordedEnd } from '../outcome/command-ending.js';
import { CodeEnd } from '../outcome/conclude.js';
import { ownError } from '../outcome/ending-errors.js';
import { type Captured, capturedWithGap, type Outcome } from '../outcome/outcome.js';
import { NO_PICTURES } from '../outcome/pictures.js';
import { RunRecord } from './run-request.js';
import { endOf, keep, refuseCancelled, type Sandboxes, sandboxFactsOf, takeSandbox } from './sandbox-use.js';

// A command, and how the harness is told to start it. Pure.

/** A program that the image has, or an earlier command has made; its arguments as they are. */
export type Command = {
  readonly argv: readonly [string, ...string[]];
  readonly stdin: Buffer | undefined;
  /** Absolute. */
  readonly cwd: string;
  /** Besides the sandbox's own. */
  readonly env: Readonly<Record<string, string>>;
  /** Bytes of stdout and stderr together that are held for the answer: their head and their tail. */
  readonly maxOutputBytes: number;
  /** A command that writes more bytes than this to both streams together has all its output kept for reading later. */
  readonly shownBytes: number;
};

/** Text that an audit weighs: the argument vector. */
export const vectorText = ({ argv }: Command): string => JSON.stringify(argv);

/** A command has no servers: nothing that it sends is answered as a call. */
export const commandFrame = (
  { argv, stdin, cwd, env }: Command,
  timeoutSeconds: number,
): Extract<HostFrame, { type: 'run' }> => ({
  type: 'run',
  timeoutSeconds,
  loaded: [],
  discovered: [],
  files: [],
  program: {
    file: basename(argv[0]),
    args: argv.slice(1),
    stdin: stdin === undefined || goesAhead(stdin) ? null : stdin.toString('base64'),
    cwd,
    env,
    ways: [{ needs: [], steps: [argv] }],
  },
});

/**
 * Input of a command, where it is long: sent ahead of the run, onto the disk, since the input need fit neither into a frame nor
 * into the sandbox's memory.
 */
export function* inputOf({ stdin }: Command): Generator<Extract<HostFrame, { type: 'input' }>> {
  if (stdin === undefined || !goesAhead(stdin)) return;
  for (let at = 0; at < stdin.length; at += INPUT_PIECE_BYTES)
    yield { type: 'input', data: stdin.toString('base64', at, at + INPUT_PIECE_BYTES), folder: WORK };
}

const goesAhead = ({ length }: Buffer): boolean => length > INPUT_PIECE_BYTES;

export type CommandInput = { readonly command: Command; readonly timeoutSeconds: number };

/** How the command ended, and where the whole of a stream is of which the answer has not all; or why it has no end. */
export type CommandOutcome =
  | { readonly end: CommandEnd; readonly whole: Whole }
  | { readonly failed: Outcome };

/** A command that is under way. */
type CommandRun = {
  /** The id is unique among all bridges. */
  readonly request: CommandInput & { readonly id: string };
  readonly services: {
    readonly sandboxes: Sandboxes;
    readonly kept: KeptFiles;
    readonly audit: SettingValues['audit'];
    readonly observer: Observer;
  };
  readonly context: CallContext;
  readonly deadline: Deadline;
  readonly output: CommandOutput;
};

/** Never rejects for what command, agent or engine did. */
export async function runSandboxedCommand(
  request: CommandRun['request'],
  services: CommandRun['services'],
  context: CallContext,
): Promise<CommandOutcome> {
  const record = recordOf(request, services, context);
  using deadline = new Deadline(context.signal);
  const output = new CommandOutput(request.command.maxOutputBytes);
  const run: CommandRun = { request, services, context, deadline, output };
  const ended = await endedIn(run).catch((thrown: unknown) => ({ ending: notRun(deadline, thrown) }));
  const durationMs = record.ended(recordedEnd(ended.ending), [], 0);
  return outcomeOf(run, ended, durationMs);
}

async function endedIn(run: CommandRun) {
  refuseCancelled(run.deadline);
  using taken = await takeSandbox(run.services.sandboxes, run.deadline);
  return await attend(run, taken.sandbox);
}

function recordOf(
  { id, command, timeoutSeconds }: CommandRun['request'],
  { audit, observer }: CommandRun['services'],
  { caller: { client } }: CallContext,
): RunRecord {
  const vector = vectorText(command);
  const about = { code: digestOf(vector), argumentsText: keptText(vector, audit), language: 'command' };
  return new RunRecord({ run: id, client, servers: [], ...about, timeoutSeconds }, observer);
}

/** Starts the command, and resolves when it has ended and what it left is kept. */
async function attend({ request, services, context, deadline, output }: CommandRun, sandbox: Sandbox) {
  const { command, timeoutSeconds } = request;
  const { kept, observer } = services;
  const artifacts = new Artifacts(kept, request.id, observer, { sharedBytes: command.shownBytes });
  using codeEnd = new CodeEnd(deadline);
  let raised: GuestError | undefined;
  deadline.start(timeoutSeconds * 1000);
  sandbox.run(
    commandFrame(command, timeoutSeconds),
    {
      onOutput: (stream, text, base64) => {
        output.add(stream, text, base64);
        artifacts.addOutput(stream, text);
        context.tell({ type: 'output', stream, text, base64 });
      },
      onGuest: (frame) => {
        if (frame.type === 'raised') raised ??= frame.error;
      },
      onFile: (frame) => artifacts.addFile(frame),
      onGuestEnd: (report) => codeEnd.onReport(report),
    },
    inputOf(command),
  );
  context.tell({ type: 'started', meter: { calls: 0, inFlight: 0, waitingFor: '', asking: '' } });
  const end = await endOf(sandbox, deadline, codeEnd, artifacts);
  const facts = sandboxFactsOf(sandbox, 0);
  const settled = await keep(artifacts, deadline);
  const heard = { raised, stderr: output.held.stderr.text };
  return { ending: endingOf(end, deadline.cause, heard, facts), settled, note: codeEnd.note };
}

/** Ending of a command that never reached its sandbox, or lost the bridge on the way. */
function notRun({ cause }: Deadline, thrown: unknown): CommandEnding {
  const { code, message, remedy, fault } = asBridgeError(thrown);
  const status = cause !== undefined ? 'cancelled' : fault === 'agent' ? 'validation_error' : 'error';
  return { failure: { status, error: ownError(code, message, remedy) } };
}

function outcomeOf(
  run: CommandRun,
  {
    ending,
    settled,
    note,
  }: { readonly ending: CommandEnding; readonly settled?: Settled; readonly note?: string | undefined },
  durationMs: number,
): CommandOutcome {
  if ('failure' in ending) return { failed: failedOutcome(run, ending.failure, durationMs, settled, note) };
  const whole = { stdout: settled?.stdout?.uri, stderr: settled?.stderr?.uri };
  return { end: { ...ending.own, output: run.output.capped, durationMs }, whole };
}

/** Told as of every run, with what the command had written until then. */
function failedOutcome(
  { request: { timeoutSeconds }, output }: CommandRun,
  { status, exitCode, signal, error }: CommandFailure,
  durationMs: number,
  settled: Settled | undefined,
  note: string | undefined,
): Outcome {
  return {
    status,
    exitCode,
    signal,
    error,
    stdout: output.capturedStream('stdout', settled?.stdout),
    stderr: output.capturedStream('stderr', settled?.stderr),
    left: settled?.left,
    note,
    ...{ result: undefined, pictures: NO_PICTURES, servers: [], calls: 0 },
    timeoutSeconds,
    durationMs,
  };
}

/** Output of a command, gathered once: held for the answer, whatever the answer turns out to be. */
class CommandOutput {
  readonly capped: CappedOutput;
  readonly #chars = { stdout: 0, stderr: 0 };

  constructor(maxBytes: number) {
    this.capped = new CappedOutput(maxBytes);
  }

  /** `base64` where it is no text. */
  add(stream: OutputStream, text: string, base64: string | null): void {
    this.#chars[stream] += text.length;
    this.capped.add(stream, base64 === null ? Buffer.from(text) : Buffer.from(base64, 'base64'));
  }

  /** As much of both streams as is held, and no more than an outcome shows. */
  get held(): Readonly<Record<OutputStream, Capped>> {
    return this.capped.result(Math.min(this.capped.heldBytes, 2 * MAX_OUTPUT_CHARS), {});
  }

  capturedStream(stream: OutputStream, whole: KeptThing | undefined): Captured {
    const { text, dropped: droppedBytes, gap } = this.held[stream];
    if (gap === undefined) return { text: makeHarmless(text), dropped: 0, whole };
    // One by one: what the head leaves open must not swallow the line between.
    const [head, tail] = [text.slice(0, gap.start - 1), text.slice(gap.end + 1)];
    const dropped = Math.max(0, this.#chars[stream] - head.length - tail.length);
    return capturedWithGap(makeHarmless(head), makeHarmless(tail), { dropped, droppedBytes, whole });
  }
}
