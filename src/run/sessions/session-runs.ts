// A call of run_python in a session: which servers its code has, and what the answer says of the session besides.

import type { Outcome, SessionTold } from '../outcome/outcome.js';
import type { SessionUse } from './session-use.js';
import type { Entered } from './sessions.js';

/** Below this nobody has noticed that a call waited for another one. */
const NOTICED_MS = 1_000;

export type SessionServers = {
  /** Names, and `*`: those that this call asks for, and those that the session has. */
  readonly names: readonly string[];
  /** Names of servers that the session has not had yet. */
  readonly added: readonly string[];
  /** Names of servers that the session had and that no run may have any more. */
  readonly lost: readonly string[];
};

/** `objectionTo` says whether a run may have a server now; `wanted` what names stand for. */
export function serversOf(
  { session, isNew }: Entered,
  asked: readonly string[],
  objectionTo: (names: readonly string[]) => unknown,
  wanted: (names: readonly string[]) => {
    readonly servers: readonly string[];
    readonly others: readonly string[];
  },
): SessionServers {
  const has = session.servers.filter((name) => objectionTo([name]) === undefined);
  const lost = session.servers.filter((name) => !has.includes(name));
  const names = [...new Set([...has, ...asked])];
  const { servers, others } = wanted(names);
  const added = isNew ? [] : [...servers, ...others].filter((name) => !has.includes(name));
  return { names, added, lost };
}

export const useOf = ({ session }: Entered, added: readonly string[]): SessionUse => ({
  name: session.name,
  title: session.title,
  facts: () => session.facts(),
  added,
  answered: (goesOn) => session.answered(goesOn),
  willEnd: (why) => session.willEnd(why),
});

/** Facts about the session for the first line of the answer. */
export function sessionTold(
  { session, isNew, before, stopped, waitedMs }: Entered,
  { status }: Pick<Outcome, 'status'>,
  lost: readonly string[],
): SessionTold {
  const { name, handle, calls: call, ended } = session;
  const wasCut = (status === 'timeout' || status === 'cancelled') && ended === undefined && call > 0;
  const says = [
    ...(isNew
      ? [before === undefined ? 'new' : `new, and empty, since the one before has ended: ${before}`]
      : []),
    ...(stopped === undefined ? [] : [`its threads have stood still since ${stopped}`]),
    ...(ended === undefined ? [] : [`it has ended with this call: ${ended}`]),
    ...(wasCut ? ['interrupted; its state is kept'] : []),
    ...(lost.length === 0 ? [] : [`without ${lost.join(', ')}, which it may not have any more`]),
    ...(waitedMs < NOTICED_MS ? [] : [`waited ${Math.round(waitedMs / 1000)} s for its call before`]),
  ];
  return { name, handle, call, says: says.length === 0 && call < 2 ? ['call 1'] : says };
}
