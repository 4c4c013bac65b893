// `sessions`: which sessions there are, and their end at the user's word. The bridge that has one sees that its container has
// ended, finds the mark that says who wanted it, and tells whoever calls it next.

import { setTimeout as sleep } from 'node:timers/promises';
import { BridgeError } from '../../base/errors.js';
import { ownCommand } from '../../base/process/own-command.js';
import { isAlive, isHere } from '../../base/process/owner.js';
import { findClosest } from '../../base/text/closest.js';
import { clip, nameList } from '../../base/text/text.js';

import { isLiving, killLiving } from '../../engine/machine/first-process.js';
import { duration } from '../../run/answer/files.js';
import { SessionFiles, type SessionRecord } from '../../run/sessions/session-file.js';
import { Launcher } from '../../sandbox/launch/launcher.js';
import { heldBytes } from '../../sandbox/limits/measure.js';
import { wordOfId } from '../../service/principals/principal-rules.js';
import { principalStateDirs } from '../../settings/files/state-dir.js';
import { type Prepared, prepare } from '../serving/prepare.js';
import { columns } from '../terminal/columns.js';
import { interruptSignal } from '../terminal/interrupt.js';
import { coloursFor, megabytes, printJson, usageError, visibleText } from '../terminal/output.js';
import { hangText, paragraph, widthOf } from '../terminal/wrap.js';

const MAX_ECHO_CHARS = 80;
/** The bridge of a session sees the end of a process within milliseconds, and one elsewhere when its client has ended. */
const GONE_WITHIN_MS = 10_000;
const LOOK_AGAIN_MS = 25;

export function sessions({ json }: { readonly json?: true }): void {
  const { settings } = prepare('error', 'ends');
  const live = liveSessions(settings.stateDir);
  if (json) return printJson(sessionsJson(live));
  process.stdout.write(live.length === 0 ? paragraph(NO_SESSIONS) : sessionsText(live));
}

/** Throws E_ARGUMENTS where the word means none, or several; E_STATE or E_ENGINE_BROKEN where it could not be ended. */
export async function endSession(word: string): Promise<void> {
  const prepared = prepare('error', 'ends');
  const session = findSession(word, liveSessions(prepared.settings.stateDir));
  const named = `Session '${visibleText(session.name)}' (${session.handle})`;
  process.stdout.write(
    (await endLive(session, prepared, interruptSignal()))
      ? `${named} has ended. Its next caller is told that you ended it.\n`
      : `${named} was killed, but its bridge (process ${session.owner.pid}) has not confirmed it yet.\n`,
  );
}

/**
 * Ends a session; false where its bridge has not confirmed that within ten seconds. Throws E_STATE or E_ENGINE_BROKEN where it
 * could not be ended.
 */
export async function endLive(
  session: ListedSession,
  prepared: Prepared,
  signal: AbortSignal,
): Promise<boolean> {
  const { files, handle } = session;
  files.markEnded(handle);
  try {
    await kill(session, prepared, signal);
  } catch (thrown) {
    files.unmarkEnded(handle);
    throw thrown;
  }
  const until = performance.now() + GONE_WITHIN_MS;
  const isThere = () => files.all().some((each) => each.handle === handle && each.ended === null);
  while (isThere() && performance.now() < until) await sleep(LOOK_AGAIN_MS);
  return !isThere();
}

function findSession(word: string, live: readonly ListedSession[]): ListedSession {
  const [found, ...others] = meantBy(word, live);
  const echo = visibleText(clip(word, MAX_ECHO_CHARS));
  if (found === undefined) {
    const near = findClosest(
      word,
      live.map(({ name }) => name),
    );
    throw usageError(
      `There is no session '${echo}'.${near === undefined ? '' : ` Did you mean '${visibleText(near)}'?`}`,
      live.length === 0 ? 'No session is alive.' : `To list the sessions: ${ownCommand('sessions')}`,
    );
  }
  if (others.length === 0) return found;
  const handles = [found, ...others].map(({ handle, client }) => `${handle} of ${visibleText(client)}`);
  throw usageError(
    `${handles.length} sessions have the name '${echo}': ${nameList(handles)}.`,
    `Give its handle: ${ownCommand('sessions', 'end', found.handle)}`,
  );
}

/** Judged by its process where that is this machine's, else through the engine. */
async function kill(
  session: ListedSession,
  { settings, discovery, observer }: Prepared,
  signal: AbortSignal,
): Promise<void> {
  const process = processHere(session);
  if (process !== null && killLiving(process)) return;
  await using launcher = new Launcher(settings, discovery.host, observer);
  const trouble = await launcher.killByName(session.container, signal);
  if (trouble === undefined) return;
  throw new BridgeError(
    'E_ENGINE_BROKEN',
    `Session '${visibleText(session.name)}' could not be ended: ${trouble}`,
    {
      fault: 'engine',
      remedy: `It may have ended just now: see \`${ownCommand('sessions')}\`. Otherwise it ends with its bridge, process ${session.owner.pid}.`,
    },
  );
}

export type ListedSession = SessionRecord & {
  /** Where its record lies. */
  readonly files: SessionFiles;
  /** Bytes that the session holds; undefined where nobody here can see them. */
  readonly heldBytes: number | undefined;
};

/**
 * The sessions of the user and of all principals, the one that was called last first. What dead bridges had is left for the
 * next one.
 */
export function liveSessions(stateDir: string): readonly ListedSession[] {
  return [stateDir, ...principalStateDirs(stateDir)]
    .flatMap((dir) => {
      const files = new SessionFiles(dir);
      return files.all().map((record) => ({ ...record, files }));
    })
    .filter(({ owner, ended }) => ended === null && isAlive(owner))
    .map((session) => {
      const process = processHere(session);
      return { ...session, heldBytes: heldBytes(process?.pid, undefined) };
    })
    .sort((one, other) => (one.lastCallAt < other.lastCallAt ? 1 : -1));
}

/** The first process of its container, where that runs on this machine and has not ended: a number may be another's by now. */
function processHere({ owner, process }: SessionRecord): SessionRecord['process'] {
  return process !== null && isHere(owner) && isLiving(process) ? process : null;
}

/** The sessions that a person means by a name or a handle. */
const meantBy = (word: string, sessions: readonly ListedSession[]): readonly ListedSession[] => {
  const byHandle = sessions.filter(({ handle }) => handle === word);
  return byHandle.length > 0 ? byHandle : sessions.filter(({ name }) => name === word);
};

const sessionsJson = (sessions: readonly ListedSession[]): object => ({
  sessions: sessions.map(({ name, handle, createdAt, lastCallAt, calls, client, principal, ...session }) => ({
    ...{ name, handle, createdAt, lastCallAt, calls },
    ...(session.heldBytes === undefined ? {} : { memoryBytes: session.heldBytes }),
    memoryLimitBytes: session.memoryLimitBytes,
    client,
    ...(principal === null ? {} : { principal: wordOfId(principal) }),
    bridge: session.owner.pid,
    container: session.container,
    idleSeconds: session.idleSeconds,
    lifeSeconds: session.lifeSeconds,
  })),
});

const NO_SESSIONS = `No sessions. \`${ownCommand('run', 'FILE', '--session', 'NAME')}\` starts one; so does an agent that names one in run_python. A session ends with its bridge, or after some time without a call.\n`;

/** Text for people; ends with a newline. */
export function sessionsText(sessions: readonly ListedSession[], nowMs = Date.now()): string {
  const paint = coloursFor(process.stdout);
  const width = widthOf(process.stdout);
  const ago = (iso: string) => duration(Math.max(0, Math.round((nowMs - Date.parse(iso)) / 1000)));
  const head = ['name', 'handle', 'age', 'last call', 'calls', 'memory', 'client', 'principal'];
  const rows = sessions.map((session) => [
    visibleText(session.name),
    session.handle,
    ago(session.createdAt),
    `${ago(session.lastCallAt)} ago`,
    String(session.calls),
    memory(session),
    paint.dim(visibleText(session.client)),
    paint.dim(session.principal === null ? '' : visibleText(wordOfId(session.principal))),
  ]);
  const hasPrincipals = sessions.some(({ principal }) => principal !== null);
  const shown = [head.map((word) => paint.dim(word)), ...rows].map((row) =>
    hasPrincipals ? row : row.slice(0, -1),
  );
  const unseen = sessions.some(({ heldBytes: held }) => held === undefined)
    ? ' "at most" is the limit, if the memory in use cannot be seen from here.'
    : '';
  const next = `${sessions.length === 1 ? '1 session' : `${sessions.length} sessions`}. \`${ownCommand('sessions', 'end', 'NAME')}\` ends one, by its name or handle.${unseen}`;
  return `${columns(shown, { width, wraps: [0], drops: [6, 2, 4, 7] })}\n${hangText(next, 0, width)}\n`;
}

const memory = ({ heldBytes: held, memoryLimitBytes }: ListedSession): string =>
  held === undefined ? `at most ${megabytes(memoryLimitBytes)}` : megabytes(held);
