// The life of one run of code, top to bottom: open its servers, take a sandbox, have the code checked, start it, answer
// its calls, see how it ends, let go. Measures time and counts calls itself; what the harness says is a claim to be
// shown, not believed.

import PQueue from 'p-queue';
import { asBridgeError, BridgeError } from '../../base/errors.js';
import { shownName } from '../../base/text/shown-name.js';
import { clipHarmlessLine } from '../../base/text/text.js';
import { Deadline } from '../../base/waiting/deadline.js';
import { waitAtMost, waitForAbort } from '../../base/waiting/unless-aborted.js';
import { START_TIME_MS } from '../../hosts/downstream-spec.js';
import { StandingClock } from '../../policy/approvals/standing-clock.js';
import type { Sandbox } from '../../sandbox/conversation/sandbox.js';
import type { Ahead, CheckAnswer } from '../../sandbox/conversation/turn.js';
import type { NamedTool, ServerDoc } from '../../wire/frames.js';
import { digestOf } from '../audit/digest.js';
import type { CallContext } from '../calls/call-context.js';
import { type AskingWords, LoadedServers } from '../calls/on-demand.js';
import {
  type Conclusion,
  conclude,
  concludeFailure,
  concludePlan,
  concludeRefused,
} from '../outcome/conclude.js';
import type { Outcome } from '../outcome/outcome.js';
import { Transcript } from '../outcome/transcript.js';
import { fileOf, isPythonTask, languageOf } from '../programs/task.js';
import { INTERRUPT_WITHIN_MS, type SessionUse } from '../sessions/session-call.js';
import { type Conversed, converse, type EndedByCheck, type OpenServers, onDemandOf } from './conversation.js';
import { preflight } from './preflight.js';
import { type Run, type RunInput, RunRecord, type RunServices } from './run-request.js';
import { refuseCancelled, sandboxFactsOf, takeSandbox } from './sandbox-use.js';

/** Never rejects for what guest, agent, downstream or engine did: that is an Outcome. */
export async function runCode(
  input: RunInput,
  services: RunServices,
  context: CallContext,
): Promise<Outcome> {
  const { id: run, observer } = services;
  const { servers: named, others } = services.servers.wanted;
  const { task, timeoutSeconds } = input;
  const about = { servers: [...named, ...others], code: digestOf(task.code), language: languageOf(task) };
  const record = new RunRecord({ run, client: context.caller.client, ...about, timeoutSeconds }, observer);
  using deadline = new Deadline(context.signal);
  const transcript = new Transcript();
  const { conclusion, servers, calls, data } = await runToEnd({
    input,
    services,
    context,
    deadline,
    transcript,
  }).catch((thrown: unknown) => {
    const conclusion = concludeFailure(deadline.cause, asBridgeError(thrown), transcript);
    return { conclusion, servers: named, calls: 0, data: [] };
  });
  const durationMs = record.ended(conclusion, servers, calls, data);
  return { ...conclusion, calls, servers, timeoutSeconds, durationMs };
}

async function runToEnd(run: Run): Promise<{
  readonly conclusion: Conclusion;
  readonly calls: number;
  /** Servers that the run had in the end; those that it named where it did not get that far. */
  readonly servers: readonly string[];
  /** Data folders that its code could see, as the audit has them. */
  readonly data: readonly string[];
}> {
  const { services, deadline } = run;
  refuseCancelled(deadline);
  // Side by side with the sandbox and the check.
  const opening = startOpening(services, deadline);
  using taken = await takeChecked(run);
  const { sandbox, checked } = taken;
  const nothingRun = { servers: services.servers.wanted.servers, calls: 0, data: [] };
  if (checked !== undefined && 'conclusion' in checked)
    return { conclusion: checked.conclusion, ...nothingRun };
  const servers = await open(run, opening);
  if (checked !== undefined) demandTools(checked.named, servers);
  const conversed = await converse(
    run,
    sandbox,
    servers,
    checked === undefined ? (ahead) => checkAhead(run, sandbox, servers, ahead) : undefined,
  );
  if ('conclusion' in conversed) return { conclusion: conversed.conclusion, ...nothingRun };
  const seen = sandbox.spec.data;
  const data = seen.map(({ target, isWritable }) => (isWritable ? `${target}:rw` : target));
  return { ...concludeRun(run, servers, conversed), data };
}

/**
 * A sandbox that has checked the code. One whose processes cannot be seen from here, and that is lost over the check, is
 * replaced, once: it may have ended while it waited, which shows only when it is asked something. No code has run in it.
 * Nothing is checked yet where the run can go with the check: it waits for no server, and has nothing large to send twice.
 */
async function takeChecked(
  run: Run,
): Promise<
  Disposable & { readonly sandbox: Sandbox; readonly checked: Awaited<ReturnType<typeof check>> | undefined }
> {
  const taken = await takeSandbox(run.services.sandboxes, run.deadline);
  const { servers, others } = run.services.servers.wanted;
  const isAlone = servers.length + others.length + run.input.files.length === 0;
  if (isAlone && isPythonTask(run.input.task) && taken.sandbox.isSeen)
    return { ...taken, checked: undefined };
  const checked = await check(run, taken.sandbox);
  const isLost = 'isLost' in checked && checked.isLost && run.deadline.cause === undefined;
  // Nothing takes the place of a session without a word.
  if (!isLost || run.services.session !== undefined) return { ...taken, checked };
  taken[Symbol.dispose]();
  const another = await takeSandbox(run.services.sandboxes, run.deadline);
  return { ...another, checked: await check(run, another.sandbox) };
}

/** A run that ends before they are open lets them go on opening. */
function startOpening({ servers, session }: RunServices, { signal }: Deadline) {
  const asked = session?.added ?? [];
  const { wanted } = servers;
  const [mine, rest] = [wanted.servers, wanted.others].map((names) =>
    names.filter((name) => !asked.includes(name)),
  );
  const opening = openServers(mine ?? [], rest ?? [], servers, signal);
  opening.catch(() => {});
  return opening;
}

/** Checks code that may begin at once, and tells whether it has. Throws what it asks of servers that they have not. */
async function checkAhead(
  run: Run,
  sandbox: Sandbox,
  servers: OpenServers,
  ahead: Ahead,
): Promise<{ readonly hasBegun: boolean } | EndedByCheck> {
  const checked = await check(run, sandbox, ahead);
  if (!('conclusion' in checked)) demandTools(checked.named, servers);
  return checked;
}

/** Throws what code asks of servers by `named` that they have not. */
function demandTools(named: readonly NamedTool[], { loaded, discovered }: OpenServers): void {
  const objection = preflight(named, loaded.allShown, discovered);
  if (objection !== undefined) throw objection;
}

/**
 * The tools that the code names, or what the run has come to over its check. Its clock runs meanwhile, and stands then, but for
 * code that has begun.
 */
async function check(
  { input, services, deadline, transcript }: Run,
  sandbox: Sandbox,
  ahead?: Ahead,
): Promise<{ readonly named: readonly NamedTool[]; readonly hasBegun: boolean } | EndedByCheck> {
  const { task, timeoutSeconds } = input;
  deadline.start(timeoutSeconds * 1000);
  // Leave code that is not Python to its own compiler, in its run.
  const answering: Promise<CheckAnswer> = isPythonTask(task)
    ? sandbox.check(task.code, fileOf(task), ahead)
    : Promise.resolve({ type: 'checked', named: [] });
  const answer =
    (await Promise.race([answering, sandbox.ended, waitForAbort(deadline.signal)])) ??
    (await stopCheck(sandbox, answering, { session: services.session, isAhead: ahead !== undefined }));
  // Code that has begun is ended as code that runs, also where it was to be ended before.
  if (answer !== undefined && 'type' in answer && answer.type === 'begun')
    return { named: [], hasBegun: true };
  deadline.pause();
  if (answer === undefined || 'how' in answer || deadline.cause !== undefined) {
    const end = answer !== undefined && 'how' in answer ? answer : undefined;
    const conclusion = conclude(end, deadline.cause, input, transcript, sandboxFactsOf(sandbox, 0));
    return { conclusion, isLost: end?.how === 'lost' && !sandbox.isSeen };
  }
  if (answer.type === 'checked') return { named: answer.named, hasBegun: false };
  return { conclusion: concludeRefused(answer.error, task, sandbox.spec, transcript), isLost: false };
}

/**
 * There is no other way to stop a compiler than to end its sandbox; that of a session is given a moment, and what it answers
 * then is returned.
 */
async function stopCheck(
  sandbox: Sandbox,
  answering: Promise<CheckAnswer>,
  { session, isAhead }: { readonly session: SessionUse | undefined; readonly isAhead: boolean },
): Promise<CheckAnswer | undefined> {
  let late: CheckAnswer | undefined;
  const answered = answering.then((answer) => {
    late = answer;
  });
  if (session !== undefined) await waitAtMost(INTERRUPT_WITHIN_MS, answered);
  if (late !== undefined) return late;
  session?.willEnd('its code took too long to compile');
  sandbox.kill();
  // Code that was sent ahead may have begun in this very moment, which shows in what the sandbox has still said.
  if (isAhead) await waitAtMost(INTERRUPT_WITHIN_MS, sandbox.ended);
  return late;
}

/** Throws what kept a server from opening. */
async function open(run: Run, opening: ReturnType<typeof startOpening>): Promise<OpenServers> {
  const { servers } = run.services;
  const { docs, failed } = await opening;
  const loaded = new LoadedServers(docs, servers.policy);
  await addToSession(run, loaded, failed);
  return { loaded, discovered: servers.discovered(loaded.names, failed), failed };
}

/** Servers that a session has not had yet go to code of its earlier calls as well, which may not have them unasked. */
async function addToSession(
  run: Run,
  loaded: LoadedServers,
  failed: ReadonlyMap<string, string>,
): Promise<void> {
  const { services, deadline } = run;
  const { added = [], name = '' } = services.session ?? {};
  if (added.length === 0) return;
  const discovered = services.servers.discovered(loaded.names, failed);
  // Nothing of this call runs yet, and what ran of earlier ones stands still for it.
  const { standAside } = services;
  using clock = new StandingClock(deadline, { freeze: () => () => {}, standAside });
  using onDemand = onDemandOf(run, { discovered }, clock, {
    words: wordsOfSession(name),
    isAskedByCode: false,
  });
  for (const server of added) loaded.add(await onDemand.load(server, deadline.signal));
}

function concludeRun(
  { input, deadline, transcript }: Run,
  { loaded, failed, discovered }: OpenServers,
  { end, facts, left, savedNote, lateNote, planned }: Conversed,
) {
  const spec = { ...facts.spec, aliases: discovered.map(({ alias }) => alias) };
  const conclusion =
    planned?.isStopped === true && deadline.cause === undefined
      ? concludePlan(transcript)
      : conclude(end, deadline.cause, input, transcript, { ...facts, spec });
  const notes = [failureNote(failed), savedNote, conclusion.note, lateNote].filter(
    (line) => line !== undefined,
  );
  const note = notes.length === 0 ? undefined : notes.join('\n');
  const whole = { ...conclusion, note, left, ...(planned === undefined ? {} : { planned }) };
  return { conclusion: whole, calls: facts.calls, servers: loaded.names };
}

// How a person is asked for a server that a session has not had yet, and what the agent reads where the answer is no.

function wordsOfSession(session: string): AskingWords {
  const name = shownName(session);
  return {
    question: (server) =>
      `A call in the session '${name}' wants to use the MCP server '${shownName(server)}'. If you accept, code of its earlier calls can call the tools of that server too, until the session ends. Load it?`,
    refused: (server, why) =>
      new BridgeError(
        'E_DENIED',
        `servers: '${shownName(server)}' is not added to the session '${name}', whose earlier code would get it too: ${why}.`,
        {
          fault: 'agent',
          remedy:
            'Nothing was run. Leave out session, or begin another session with all servers that it needs.',
        },
      ),
  };
}

// The servers that a run begins with. Those that it names must all open; those that it takes because it takes all of them
// cost only themselves when they do not: a few are opened at a time, within a time for all of them.

/** Each may start an interpreter and a package manager, and the machine has the sandbox to start as well. */
const AT_ONCE = 8;
/** As long as one server may take; one that is slower goes on opening, for the next run. */
const ALL_WITHIN_MS = START_TIME_MS;
const MAX_REASON_CHARS = 200;
const MAX_NAMED = 5;

/** Rejects when one of `named` does not open, never because of `others`. */
export async function openServers(
  named: readonly string[],
  others: readonly string[],
  {
    open,
    allWithinMs = ALL_WITHIN_MS,
  }: {
    /** Opens and describes one; rejects when it does not open or `signal` ends the wait. */
    readonly open: (server: string, signal: AbortSignal) => Promise<ServerDoc>;
    readonly allWithinMs?: number;
  },
  signal: AbortSignal,
): Promise<{
  readonly docs: readonly ServerDoc[];
  /** Why a server did not open, by its name. */
  readonly failed: ReadonlyMap<string, string>;
}> {
  const failed = new Map<string, string>();
  using deadline = new Deadline(signal);
  deadline.start(allWithinMs);
  const queue = new PQueue({ concurrency: AT_ONCE });
  const attempt = async (server: string): Promise<readonly ServerDoc[]> => {
    try {
      if (deadline.signal.aborted) throw new Error();
      return [await open(server, deadline.signal)];
    } catch (thrown) {
      if (signal.aborted) throw thrown;
      const reason =
        deadline.cause === 'timeout'
          ? `it did not start within ${allWithinMs / 1000} s`
          : clipHarmlessLine(asBridgeError(thrown).message, MAX_REASON_CHARS);
      failed.set(server, reason);
      return [];
    }
  };
  const [mine, rest] = await Promise.all([
    Promise.all(named.map((server) => open(server, signal))),
    Promise.all(others.map((server) => queue.add(() => attempt(server)))),
  ]);
  return { docs: [...mine, ...rest.flat()], failed };
}

/** One line for the reader of an answer; undefined where all opened. */
export function failureNote(failed: ReadonlyMap<string, string>): string | undefined {
  if (failed.size === 0) return undefined;
  const named = [...failed]
    .slice(0, MAX_NAMED)
    .map(([server, reason]) => `'${shownName(server)}' (${reason})`);
  const more = failed.size > MAX_NAMED ? ` and ${failed.size - MAX_NAMED} more` : '';
  return `Of servers=["*"], not loaded: ${named.join(', ')}${more}.`;
}
