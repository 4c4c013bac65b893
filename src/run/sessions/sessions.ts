// The sessions of one principal: which of them a name or a handle means, how many there may be, and what is said of those that
// have ended. A name never leads to a new session without a word where there was one before.

import { BridgeError, messageOf } from '../../base/errors.js';
import type { Observer } from '../../base/log/events.js';
import { shownName } from '../../base/text/shown-name.js';
import { livingAt } from '../../engine/machine/first-process.js';
import type { Sandbox } from '../../sandbox/conversation/sandbox.js';
import type { Settings } from '../../settings/environment/settings.js';
import type { CallProblem, Outcome, SessionTold } from '../outcome/outcome.js';
import { Session } from './session.js';
import type { SessionUse } from './session-call.js';
import { SessionFiles } from './session-file.js';

const HANDLE = /^s-[a-z0-9]{16}$/;
/** Ends that are remembered for whoever asks for them. */
const MAX_REMEMBERED = 200;
const BRIDGE_ENDED = 'the bridge that ran it has ended';
/** To replace a file may take milliseconds; the answer is on its way by then. */
const TELL_AFTER_MS = 10;

export type AskedSession = {
  /** Or its handle. */
  readonly name: string;
  /** Refused where there is none, instead of made. */
  readonly isRequired: boolean;
};

/** A call's use of its session: nobody else has it until this is disposed. */
export type Entered = Disposable & {
  readonly session: Session;
  readonly isNew: boolean;
  /** Why the one before it has ended; undefined where there was none. */
  readonly before: string | undefined;
  /** Why what was to go on between two calls has stopped; undefined where nothing was. */
  readonly stopped: string | undefined;
  /** How long it has waited for other calls. */
  readonly waitedMs: number;
  /** Gives the session its sandbox, which has just been started. */
  readonly adopt: (sandbox: Sandbox) => Sandbox;
};

export class Sessions implements Disposable {
  readonly #options;
  readonly #files: SessionFiles;
  readonly #live = new Map<string, Session>();
  /** Why sessions ended, by scope and name, and by handle. */
  readonly #ended = new Map<string, string>();
  #isClosing = false;

  constructor(options: {
    readonly limits: Settings['sessions'];
    /** Most at once; asked for each new one. */
    readonly most: () => number;
    readonly stateDir: string;
    /** Whose they are, by id; null for the user who started the bridge. */
    readonly principal: string | null;
    /** Within which their names mean them, whoever calls; without it, the scope of each caller. */
    readonly scope?: string;
    /** Gets rid of a sandbox behind the caller's back. */
    readonly retire: (sandbox: Sandbox) => void;
    readonly observer: Observer;
    /** One has ended. */
    readonly onEnded?: (session: Session) => void;
  }) {
    this.#options = options;
    this.#files = new SessionFiles(options.stateDir);
  }

  get size(): number {
    return this.#live.size;
  }

  /**
   * Whether a call that comes now has to wait for another one of its session. Where it has not, what the last call has left
   * stands still for the new one, and leaves it the place.
   */
  mustWait({ name }: Pick<AskedSession, 'name'>, caller: { readonly scope: string }): boolean {
    this.#settle();
    const known = this.#find(name, this.#options.scope ?? caller.scope);
    if (known?.isBusy === true) return true;
    known?.makeRoom();
    return false;
  }

  /**
   * The session that is meant, made where it is asked for by name for the first time. Waits while another call has it, which
   * `onWait` is told. Throws E_CANCELLED when `signal` ends the wait.
   */
  async enter(
    asked: AskedSession,
    caller: { readonly scope: string; readonly client: string },
    signal: AbortSignal,
    onWait: (session: Session) => void,
  ): Promise<Entered | CallProblem> {
    const { client } = caller;
    const scope = this.#options.scope ?? caller.scope;
    const since = performance.now();
    let waited = 0;
    for (;;) {
      this.#settle();
      const known = this.#find(asked.name, scope);
      if (known === undefined) {
        const made = this.#make(asked, scope, client);
        if ('message' in made) return made;
        await made.session.enter(signal);
        return this.#entryFor(made.session, { isNew: true, before: made.before, waitedMs: waited });
      }
      if (known.isBusy) onWait(known);
      const wasBusy = known.isBusy;
      if (!(await known.enter(signal)))
        throw new BridgeError('E_CANCELLED', 'The run was cancelled.', { fault: 'agent' });
      if (wasBusy) waited = performance.now() - since;
      if (known.ended !== undefined) continue;
      return this.#entryFor(known, { isNew: known.calls === 0, before: undefined, waitedMs: waited });
    }
  }

  /**
   * Ends those that no call has, and the others when theirs has ended. Another bridge may be called by their names from now
   * on, and has to know of it.
   */
  close(): void {
    this.#isClosing = true;
    for (const session of this.#live.values()) {
      if (this.#options.scope !== undefined) this.#tell(session, BRIDGE_ENDED);
      if (!session.isBusy) session.end(BRIDGE_ENDED);
    }
  }

  /** Ends all of them. */
  [Symbol.dispose](): void {
    this.close();
    for (const session of this.#live.values()) session.end(BRIDGE_ENDED);
  }

  /** Removes sessions that have ended or are about to end: they are none any more. */
  #settle(): void {
    for (const session of this.#live.values()) {
      const { ended } = session;
      if (ended === undefined) continue;
      this.#live.delete(session.handle);
      this.#remember(session, ended);
    }
  }

  #entryFor(session: Session, how: Pick<Entered, 'isNew' | 'before' | 'waitedMs'>): Entered {
    return {
      ...how,
      session,
      stopped: session.takeStopped(),
      adopt: (sandbox) => {
        session.adopt(sandbox);
        this.#tell(session);
        return sandbox;
      },
      [Symbol.dispose]: () => this.#leave(session),
    };
  }

  #find(name: string, scope: string): Session | undefined {
    for (const session of this.#live.values()) {
      const isMeant = HANDLE.test(name) ? session.handle === name : keyOf(session) === keyOf({ scope, name });
      if (isMeant) return session;
    }
    return undefined;
  }

  #make(
    { name, isRequired }: AskedSession,
    scope: string,
    client: string,
  ): Pick<Entered, 'session' | 'before'> | CallProblem {
    const before = this.#whyEnded(name, scope, client);
    const why = before === undefined ? 'none was made in this connection' : `it has ended: ${before}`;
    if (HANDLE.test(name))
      return sessionProblem(
        `session: there is no session '${name}' of yours: ${before === undefined ? 'no running bridge has made it' : why}.`,
        'Pass a name of your own to begin a session, and do the work of the old one again.',
      );
    if (isRequired)
      return sessionProblem(
        `session: there is no session '${shownName(name)}': ${why}.`,
        'Leave out require_session to begin it anew, and do its earlier work again.',
      );
    const obstacle = this.#makeRoom();
    if (obstacle !== undefined) return obstacle;
    const session = new Session({
      name,
      scope,
      client,
      limits: this.#options.limits,
      wasEndedByHand: (handle) => this.#files.isMarkedEnded(handle),
      onEnded: (ended) => this.#whenEnded(ended),
    });
    this.#live.set(session.handle, session);
    this.#ended.delete(keyOf({ scope, name }));
    this.#attempt(() => this.#files.forgetOrphans({ name, scope: this.#options.scope ?? null, client }));
    return { session, before };
  }

  /** Told until one is made of its name, which then takes its place. */
  #whyEnded(name: string, scope: string, client: string): string | undefined {
    if (HANDLE.test(name)) return this.#ended.get(name);
    const orphan = this.#files.orphan({ name, scope: this.#options.scope ?? null, client });
    const ofOurs = this.#options.scope === undefined ? undefined : orphan?.ended;
    const known = this.#ended.get(keyOf({ scope, name })) ?? ofOurs ?? undefined;
    if (orphan === undefined || known !== undefined) return known;
    const last = orphan.lastCallAt.slice(0, 19).replace('T', ' ');
    return `the bridge that ran it is gone; its last call was at ${last} UTC`;
  }

  #makeRoom(): CallProblem | undefined {
    const most = this.#options.most();
    while (this.#live.size >= most) {
      const idlest = this.#findIdlest();
      if (idlest === undefined)
        return sessionProblem(
          most === 0
            ? 'session: sessions are switched off here (MCP_BRIDGE_SESSIONS is 0).'
            : `session: all ${most} sessions (MCP_BRIDGE_SESSIONS sets the limit) are busy.`,
          most === 0
            ? 'Leave out session, and do everything in one call.'
            : 'Wait until a call of one of them has ended, or leave out session.',
        );
      this.#drop(
        idlest,
        `only ${most} sessions may exist at once (MCP_BRIDGE_SESSIONS), and it was idle for longest`,
      );
    }
    return undefined;
  }

  /**
   * Ends sessions that hold too much memory together, the one that nobody has called for longest first, but not the last one.
   */
  #heedMemory(): void {
    const { memoryBytes: most } = this.#options.limits;
    while (this.#live.size > 1) {
      const held = [...this.#live.values()].reduce((sum, session) => sum + session.memoryBytes, 0);
      const idlest = held > most ? this.#findIdlest() : undefined;
      if (idlest === undefined) return;
      const [all, mb] = [held, most].map((bytes) => Math.round(bytes / 1_000_000));
      this.#drop(
        idlest,
        `sessions held ${all} MB together, more than ${mb} (MCP_BRIDGE_SESSION_MEMORY), and it was idle for longest`,
      );
    }
  }

  #findIdlest(): Session | undefined {
    return [...this.#live.values()]
      .filter(({ isBusy }) => !isBusy)
      .sort((one, other) => one.idleSince - other.idleSince)[0];
  }

  /** Ends a session, which makes room at once, although its container may take a moment to go. */
  #drop(session: Session, why: string): void {
    session.end(why);
    this.#live.delete(session.handle);
    this.#remember(session, why);
  }

  #leave(session: Session): void {
    if (session.sandbox === undefined && session.ended === undefined)
      session.end('its sandbox did not start');
    if (this.#isClosing) session.end(BRIDGE_ENDED);
    session.leave();
    this.#settle();
    if (session.ended !== undefined) return;
    setTimeout(() => {
      if (this.#live.has(session.handle)) this.#tell(session);
    }, TELL_AFTER_MS).unref();
    this.#heedMemory();
  }

  #whenEnded(session: Session): void {
    const { sandbox, ended = '' } = session;
    this.#options.onEnded?.(session);
    if (this.#live.delete(session.handle)) this.#remember(session, ended);
    this.#tellEnd(session, ended);
    if (sandbox !== undefined) this.#options.retire(sandbox);
  }

  #remember(session: Session, why: string): void {
    // One whose sandbox did not start was none.
    if (session.sandbox === undefined) return;
    for (const key of [keyOf(session), session.handle]) {
      this.#ended.delete(key);
      this.#ended.set(key, why);
    }
    for (const [oldest] of this.#ended) {
      if (this.#ended.size <= MAX_REMEMBERED) break;
      this.#ended.delete(oldest);
    }
  }

  /** Tells people of the session by a file; trouble with the file fails no call. */
  #tell(session: Session, why: string | null = null): void {
    const { sandbox, name, handle, client, createdAt, lastCallAt, calls } = session;
    if (sandbox === undefined) return;
    const { principal, scope = null, limits } = this.#options;
    const { idleSeconds, lifeSeconds } = limits;
    const { pid } = sandbox;
    this.#attempt(() =>
      this.#files.write({
        handle,
        name,
        client,
        principal,
        scope,
        container: sandbox.name,
        process: (pid === undefined ? undefined : livingAt(pid)) ?? null,
        memoryLimitBytes: sandbox.spec.memoryBytes,
        createdAt: createdAt.toISOString(),
        lastCallAt: lastCallAt.toISOString(),
        calls,
        idleSeconds,
        lifeSeconds,
        ended: why,
      }),
    );
  }

  /**
   * A name of a session that outlives the connection outlives this bridge too, and somebody may ask for the session then. Where
   * the bridge ends, its connection may go on with another bridge.
   */
  #tellEnd(session: Session, why: string): void {
    if (this.#options.scope === undefined && !this.#isClosing)
      return this.#attempt(() => this.#files.remove(session.handle));
    this.#tell(session, why);
    this.#attempt(() => this.#files.unmarkEnded(session.handle));
  }

  #attempt(write: () => void): void {
    try {
      write();
    } catch (thrown) {
      this.#options.observer({ type: 'bridge.fault', where: 'sessions', message: messageOf(thrown) });
    }
  }
}

const keyOf = ({ scope, name }: { readonly scope: string; readonly name: string }): string =>
  JSON.stringify([scope, name]);

const sessionProblem = (message: string, remedy: string): CallProblem => ({
  type: 'E_SESSION',
  message,
  remedy,
});

// A call of run_python in a session: which servers its code has, and what the answer says of the session besides.

/** Below this nobody has noticed that a call waited for another one. */
const NOTICED_MS = 1_000;

/** `objectionTo` says whether a run may have a server now; `wanted` what names stand for. */
export function serversOf(
  { session, isNew }: Entered,
  asked: readonly string[],
  objectionTo: (names: readonly string[]) => unknown,
  wanted: (names: readonly string[]) => {
    readonly servers: readonly string[];
    readonly others: readonly string[];
  },
): {
  /** Names, and `*`: those that this call asks for, and those that the session has. */
  readonly names: readonly string[];
  /** Names of servers that the session has not had yet. */
  readonly added: readonly string[];
  /** Names of servers that the session had and that no run may have any more. */
  readonly lost: readonly string[];
} {
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
  begins: () => session.begins(),
  added,
  answered: (goesOn) => session.onAnswered(goesOn),
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
    ...(isNew ? [before === undefined ? 'new' : `new and empty; the one before has ended: ${before}`] : []),
    ...(stopped === undefined ? [] : [`its threads were paused: ${stopped}`]),
    ...(ended === undefined ? [] : [`it has ended with this call: ${ended}`]),
    ...(wasCut ? ['interrupted; its state is kept'] : []),
    ...(lost.length === 0 ? [] : [`without ${lost.join(', ')}, which it may no longer use`]),
    ...(waitedMs < NOTICED_MS ? [] : [`waited ${Math.round(waitedMs / 1000)} s for the call before it`]),
  ];
  return { name, handle, call, says: says.length === 0 && call < 2 ? ['call 1'] : says };
}
