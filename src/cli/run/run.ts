// `run SCRIPT.py`: the agent's tool from a shell. What the code prints goes where it would have gone, files go in and
// out by option, progress goes to stderr, and the exit code is the code's own.

import { basename } from 'node:path';
import { stringify } from '../../base/json/json-text.js';
import type { HeadTail } from '../../base/text/text.js';
import { madeVisibleJson } from '../../base/text/unseen.js';
import { LinkedSignal } from '../../base/waiting/linked-signal.js';
import { Progress } from '../../mcp/requests/progress.js';
import { runPython } from '../../mcp/tools/run-python.js';
import type { Question } from '../../policy/approvals/question.js';
import { payloadOf } from '../../run/answer/payload.js';
import { pictureLines, sessionLine } from '../../run/answer/pieces.js';
import { byCommandLine } from '../../run/calls/call-context.js';
import type { Outcome } from '../../run/outcome/outcome.js';
import { RunQuestions } from '../approvals/run-questions.js';
import { prepare } from '../serving/prepare.js';
import { interruptSignal, signalOfLostReader } from '../terminal/interrupt.js';
import { sayDim, sayNote, usageError } from '../terminal/output.js';

import { PassedOn } from '../terminal/pass-on.js';
import { endRun, showError, shownBy, withBridge, withData } from './command-bridge.js';
import { Collected } from './exec.js';
import { readInput, readStdin } from './exec-input.js';

/** Both streams, each character of which may take six in JSON, are one string of at most 512 MB. */
const MAX_JSON_STREAM_CHARS = 32 * 1024 ** 2;
/** How `mcp/_brief.py` in the sandbox counts what it leaves out of a long value. */
const CUT_VALUE = /… [\d,]+ more (?:item|character|byte)s?/;

export async function run(
  script: string,
  options: {
    readonly servers: readonly string[];
    readonly timeout?: number;
    /** Paths; each arrives under its last part. */
    readonly file: readonly string[];
    readonly out?: string;
    /** The image in place of MCP_BRIDGE_IMAGE. */
    readonly image?: string;
    /** Each as in MCP_BRIDGE_DATA, whose folders they replace; a path may be relative. */
    readonly data: readonly string[];
    /** The session that it is a call of; it outlives this command. */
    readonly session?: string;
    /** Refused where there is no such session yet. */
    readonly requireSession?: true;
    readonly json?: true;
  },
): Promise<void> {
  const { session, requireSession } = options;
  if (requireSession && session === undefined)
    throw usageError('--require-session is given without --session.', 'Add --session NAME, or leave it out.');
  if (session !== undefined && options.image !== undefined)
    throw usageError(
      '--image is given with --session, whose image is that of the shared bridge.',
      'Leave one out, or set MCP_BRIDGE_IMAGE, which decides for both.',
    );
  if (options.data.length > 0 && session !== undefined)
    throw usageError(
      '--data is given with --session, whose code sees the folders of its bridge.',
      'Leave one of them out, or set MCP_BRIDGE_DATA.',
    );
  const prepared = withData(prepare('warn', 'ends', options.image), options.data);
  const source =
    script === '-' ? await readStdin() : readInput(script, 'Name a Python file, or - for stdin.');
  const files = options.file.map((path) => ({
    name: basename(path),
    base64: readInput(path).toString('base64'),
  }));
  const { servers, timeout } = options;
  const args = { code: source.toString(), servers, files, ...(timeout === undefined ? {} : { timeout }) };
  const outputs = options.json ? new Collected(MAX_JSON_STREAM_CHARS) : new PassedOn();
  const readerGone = signalOfLostReader();
  using linked = new LinkedSignal(interruptSignal(), readerGone);
  const { signal } = linked;
  const say = (outcome: Outcome) =>
    outputs instanceof Collected ? writeJson(outcome, outputs) : showEnd(outcome, outputs);
  const { stdin, stderr } = process;
  await using questions = new RunQuestions(prepared.settings.stateDir, {
    isOwn: ({ question, pid }) =>
      session === undefined ? pid === process.pid : isOfSession(question, session),
    // Code that came from stdin has left nothing there for keys.
    hasKeys: script !== '-' && stdin.isTTY === true && stderr.isTTY === true,
  });
  const onProgress = (sentence: string) => {
    if (!questions.isAsking) sayNote(sentence);
  };
  const end = async (outcome: Outcome) => {
    const unanswered = await questions.end();
    await endRun(outcome, { prepared, out: options.out, readerGone, unanswered, say });
  };
  if (session !== undefined) {
    const asked = { ...args, session, ...(requireSession ? { require_session: true } : {}) };
    // In the shared bridge, which stays when this command has ended.
    const { callInSession } = await import('../windows/session-call.js');
    const outcome = await callInSession(asked, { onProgress, output: outputs }, signal);
    if (outcome.session !== undefined && !options.json) sayNote(`session ${sessionLine(outcome.session)}`);
    return await end(outcome);
  }
  await withBridge(prepared, async (bridge) => {
    using signs = new Progress(({ message }) => onProgress(message));
    const context = byCommandLine(signal, shownBy(signs, outputs));
    await end(await runPython(bridge.settings).call(args, context, bridge));
  });
}

/** Whether this command's call of the session asks, as far as that can be told: a session has one call at a time. */
function isOfSession({ session: title = '', principal }: Question, named: string): boolean {
  const [, name, handle] = /^(.*) \((s-[a-z0-9]+)\)$/.exec(title) ?? [];
  return principal === undefined && (named === name || named === handle);
}

function writeJson(outcome: Outcome, collected: Collected): true {
  const whole = (stream: HeadTail) => ({
    text: stream.toString().toWellFormed(),
    dropped: stream.dropped,
    droppedBytes: stream.droppedBytes,
  });
  const all = { ...outcome, stdout: whole(collected.stdout), stderr: whole(collected.stderr) };
  process.stdout.write(`${madeVisibleJson(stringify(payloadOf(all, true)))}\n`);
  return true;
}

/** Says what the code has not printed itself; false where some of its output is missing. */
export function showEnd({ stdout, result, pictures, error, status }: Outcome, outputs: PassedOn): boolean {
  // Code may leave its last line open; the value stands on a line of its own.
  const gap = outputs.stdout.isLineOpen ? '\n' : '';
  const isWhole = outputs.end();
  if (result !== undefined && result.repr !== '') {
    process.stdout.write(`${gap}${result.repr}\n`);
    if (CUT_VALUE.test(result.repr)) sayDim('The value is too long to show. print(…) writes all of it.');
  }
  // A terminal shows no pictures; that there are some is worth a line.
  for (const line of pictureLines(pictures, stdout.text)) sayDim(line);
  if (error !== undefined) showError(status, error);
  return isWhole;
}
