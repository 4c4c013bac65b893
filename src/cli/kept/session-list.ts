// The sessions of all bridges that live, as a table and as JSON, and which of them a word means. Ends nothing.

import { ownCommand } from '../../base/process/own-command.js';
import { isAlive, isHere } from '../../base/process/owner.js';
import { lives } from '../../engine/machine/first-process.js';
import { duration } from '../../run/answer/files.js';
import { SessionFiles, type SessionRecord } from '../../run/sessions/session-file.js';
import { heldBytes } from '../../sandbox/limits/held-memory.js';
import { wordOfId } from '../../service/principals/principal-source.js';
import { principalStateDirs } from '../../settings/files/principal-state.js';
import { columns } from '../terminal/columns.js';
import { coloursFor, megabytes, visible } from '../terminal/output.js';
import { hanging, widthOf } from '../terminal/wrap.js';

export type ListedSession = SessionRecord & {
  /** Where its record lies. */
  readonly files: SessionFiles;
  /** What it holds; undefined where nobody here can see it. */
  readonly heldBytes: number | undefined;
};

/** Those of the user and of all principals, the one that was called last first. What dead bridges had is left for the next one. */
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
export function processHere({ owner, process }: SessionRecord): SessionRecord['process'] {
  return process !== null && isHere(owner) && lives(process) ? process : null;
}

/** Those that a person means by a name or a handle. */
export const meantBy = (word: string, sessions: readonly ListedSession[]): readonly ListedSession[] => {
  const byHandle = sessions.filter(({ handle }) => handle === word);
  return byHandle.length > 0 ? byHandle : sessions.filter(({ name }) => name === word);
};

export const sessionsJson = (sessions: readonly ListedSession[]): object => ({
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

export const NO_SESSIONS = `No session lives. \`${ownCommand('run', 'FILE', '--session', 'NAME')}\` makes one, and so does an agent that names one in run_python. A session ends with its bridge, when it was idle for too long, and when it is ended.\n`;

/** For people; ends with a newline. */
export function sessionsText(sessions: readonly ListedSession[], nowMs = Date.now()): string {
  const paint = coloursFor(process.stdout);
  const width = widthOf(process.stdout);
  const ago = (iso: string) => duration(Math.max(0, Math.round((nowMs - Date.parse(iso)) / 1000)));
  const head = ['name', 'handle', 'age', 'last call', 'calls', 'memory', 'client', 'principal'];
  const rows = sessions.map((session) => [
    visible(session.name),
    session.handle,
    ago(session.createdAt),
    `${ago(session.lastCallAt)} ago`,
    String(session.calls),
    memory(session),
    paint.dim(visible(session.client)),
    paint.dim(session.principal === null ? '' : visible(wordOfId(session.principal))),
  ]);
  const hasPrincipals = sessions.some(({ principal }) => principal !== null);
  const shown = [head.map((word) => paint.dim(word)), ...rows].map((row) =>
    hasPrincipals ? row : row.slice(0, -1),
  );
  const unseen = sessions.some(({ heldBytes: held }) => held === undefined)
    ? ' "at most" is the limit, where what a session holds cannot be seen from here.'
    : '';
  const next = `${sessions.length === 1 ? '1 session' : `${sessions.length} sessions`}. \`${ownCommand('sessions', 'end', 'NAME')}\` ends one, by its name or handle.${unseen}`;
  return `${columns(shown, { width, wraps: [0], drops: [6, 2, 4, 7] })}\n${hanging(next, 0, width)}\n`;
}

const memory = ({ heldBytes: held, memoryLimitBytes }: ListedSession): string =>
  held === undefined ? `at most ${megabytes(memoryLimitBytes)}` : megabytes(held);
