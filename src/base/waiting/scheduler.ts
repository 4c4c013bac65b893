// Decides whose run, call or request comes next: one kind of queue for all that has to wait for others. Every owner has a queue
// of its own and the queues are served in turn, so that an owner who asks for a thousand runs delays another's next run by one
// turn at most. Where one process does the work of everybody, a turn lasts until that process has nothing to do for a moment:
// then the work waits for something else, such as a server, and more can begin at nobody's cost.

import { asBridgeError, BridgeError } from '../errors.js';
import { inMegabytes } from '../text/sizes.js';

/** How much one owner may use; Infinity where nothing limits it. */
export type TurnLimits = {
  /** Runs that have a place. */
  readonly atOnce: number;
  /** Runs that have begun and not ended, with a place or without; twice `atOnce` without it. */
  readonly begun?: number;
  /** Runs that wait; a further one is refused. */
  readonly waiting: number;
  /** Seconds of processor time of its ended runs within one window. */
  readonly processorSeconds: number;
  /** Bytes of all its runs under way. */
  readonly memoryBytes: number;
};

/** Limits that limit nothing. */
export const UNLIMITED: TurnLimits = {
  atOnce: Number.POSITIVE_INFINITY,
  waiting: Number.POSITIVE_INFINITY,
  processorSeconds: Number.POSITIVE_INFINITY,
  memoryBytes: Number.POSITIVE_INFINITY,
};

/** Words of refusals for what has turns. */
const RUNS = { many: 'runs', refused: 'Nothing has run' };

/**
 * A place of an owner that crowds rests after a run, where its runs have taken more of the time than its fair share of all
 * places: others find a free processor then, and a sandbox that was made in the meantime.
 */
export type Rests = {
  /** Others are about when they have entered a run within this time; at most a minute. */
  readonly withinMs: number;
  /**
   * How long an owner may have run ahead of its share before it rests: a few runs in a row are no flood. Where undefined, each
   * turn is followed by a rest as long as the turn was, once for each other owner: the share of the process that does the work.
   */
  readonly aheadMs?: number;
  /** The longest rest, and what is remembered of runs beyond the share: more would serve nobody. */
  readonly maxMs: number;
  /** Calls `then` in `ms`; without it, a timer does. */
  readonly later?: (ms: number, then: () => void) => void;
};

/**
 * Options for work of the one process that serves everybody, such as requests and calls, which take a few milliseconds of that
 * process each: an owner is about for a second after the last one.
 */
export const OF_ONE_PROCESS = { settles: true, rests: { withinMs: 1_000, maxMs: 500 } } as const;

/** Something that only so many have at once, of whatever owner, such as a server. */
export type Bound = { readonly key: string; readonly max: number };

/** One run, from its arrival to its end. Disposed of, it has ended. */
export interface Turn extends Disposable {
  readonly isWaiting: boolean;
  /** How many of those that wait have their turn before it, as things are; 0 for one that does not wait. */
  readonly ahead: number;
  /** Whether its owner has used up its processor time. */
  readonly isUsedUp: boolean;
  /** Lets a held run have its turn from now on: what the run was held for is there. */
  ready(): void;
  /**
   * Has the run stand still from now on: its place is for others until `goOn`, while its memory counts on. False where the run
   * keeps its place, since as many of all owners stand already as may.
   */
  stand(): boolean;
  /**
   * Asks again for a place for a run that stands, ahead of runs that have had no place; `onTurn` is called when the run has its
   * place, and from now on one of `bound`.
   */
  goOn(onTurn: () => void, bound?: Bound): void;
  /** Stands, and resolves when the run goes on with a place of `bound`; also when `signal` ends the wait. */
  moveTo(bound: Bound | undefined, signal: AbortSignal): Promise<void>;
  /**
   * Says that the rest of the run can be cut short: `onWanted` is called when a run waits for the place, and ends the turn at
   * once.
   */
  lingers(onWanted: () => void): void;
  /** Counts what its owner has used of the processor, also when the turn has ended. */
  charge(processorSeconds: number): void;
  /** The run has ended, or is not wanted any more. Further calls do nothing. */
  end(usage?: { readonly processorSeconds: number }): void;
}

type TurnRequest = {
  /** Whose run it is. */
  readonly owner: string;
  readonly limits: TurnLimits;
  /** Most memory that the run may have while it is under way. */
  readonly memoryBytes: number;
  /** True for a run that waits for something else first: it counts as waiting, and has no turn before `ready` is called. */
  readonly isHeld?: boolean;
  /** The run needs one of these as well. Other runs of its owner do not wait behind one that only lacks this. */
  readonly bound?: Bound | undefined;
  /** Runs that belong together in the queue of their owner: a group with fewer ahead goes first. */
  readonly group?: string;
  /** Called once, when its turn has come: before `enter` returns where nothing is ahead. */
  readonly onTurn: () => void;
  /** Called instead where its owner has used up its processor time while it waited; it has ended then. */
  readonly onRefused: (error: BridgeError) => void;
};

export type RefusedTurn = { readonly refused: BridgeError };

type QueueEntry = TurnRequest & {
  /** `returning` has stood, and waits for a place again. */
  state: 'held' | 'waiting' | 'running' | 'standing' | 'returning' | 'ended';
  /** How many of its group were ahead or under way when it came. */
  readonly rank: number;
  /** When the run had its first place, and when its last one. */
  begunAt: number;
  beganAt: number;
  /** How the process had spent its time by then, where turns settle. */
  loopAt: ReturnType<typeof performance.eventLoopUtilization> | undefined;
  /** How long it had a place before it stood. */
  ranMs: number;
  hasBound: boolean;
};

/** The runs of one owner. */
type OwnerQueue = {
  /** Runs that wait, in their order, with those that are held. */
  readonly waiting: QueueEntry[];
  readonly running: Set<QueueEntry>;
  /** Runs that stand, or return: they have their memory, and no place. */
  readonly standing: Set<QueueEntry>;
  /** Bytes of all that have begun. */
  memoryBytes: number;
  /** Oldest first, within the window. */
  used: { readonly at: number; readonly seconds: number }[];
  /** How many of its places rest: they are taken, and nothing is under way in them. */
  resting: number;
  /** How long its runs have taken beyond its share, in ms, as it was `aheadAt` by the clock. */
  aheadMs: number;
  aheadAt: number;
};

/** How long the scheduler remembers that an owner has entered something. */
const MAX_ABOUT_MS = 60_000;
/** Longest wait that is told to somebody who has to come back, in seconds. */
const MAX_RETRY_SECONDS = 3_600;
/** How much of a new run's time goes into the mean. */
const MEAN_SHARE = 0.2;
/** Most runs of one owner that have begun and not ended, with those that stand: a multiple of those that may be under way. */
const STANDING_TIMES = 2;
/** How long a run takes before one has ended. */
const FIRST_GUESS_MS = 1_000;
/** A turn settles when the process was idle for so long since it began. */
const IDLE_MS = 1;
/** How often that is looked at, while somebody has a turn. */
const LOOK_MS = 2;
/** The longest that one turn lasts, however busy the process is. */
const MAX_TURN_MS = 100;

export class Scheduler {
  readonly #options;
  readonly #words;
  readonly #now: () => number;
  /** The queue of each owner. */
  readonly #queues = new Map<string, OwnerQueue>();
  /** Queues in the order of their next turn: the one that had the last turn is the last. */
  #order: OwnerQueue[] = [];
  /** When each owner has last entered something, by the clock: oldest first, none more than a minute before the newest. */
  readonly #enteredAt = new Map<string, number>();
  /** Runs whose rest can be cut short, and what does it. */
  readonly #lingering = new Map<QueueEntry, () => void>();
  /** How many have one, by the key of the bound. */
  readonly #bounds = new Map<string, number>();
  #running = 0;
  #standing = 0;
  /** How long a run has a place, and how long it takes from its begin to its end. */
  #meanMs = FIRST_GUESS_MS;
  #meanWholeMs = FIRST_GUESS_MS;
  #looking: NodeJS.Timeout | undefined;

  constructor(options: {
    /** Words for what has turns; without them, those for runs. */
    readonly words?: typeof RUNS;
    /** Places of all owners together. */
    readonly atOnce: number;
    /** Places that one owner may have, whatever its limits say; without it, all. */
    readonly ofOne?: number;
    /** Length of the window in which processor time is counted, in ms; without it, none is. */
    readonly windowMs?: number;
    /** A clock in ms that never goes back; without it, the clock of this process. */
    readonly now?: () => number;
    /** Runs of all owners that may stand at once, without a place; without it, any number. */
    readonly standing?: number;
    /** Whether a turn gives up its place as soon as its work waits for something else than this process. */
    readonly settles?: boolean;
    /** Rests of owners; without them, an owner with more runs waiting has the next turn as soon as there is a place. */
    readonly rests?: Rests;
  }) {
    this.#options = options;
    this.#words = options.words ?? RUNS;
    this.#now = options.now ?? (() => performance.now());
  }

  /** Runs that wait, of all owners together. */
  get waiting(): number {
    let waiting = 0;
    for (const queue of this.#queues.values()) waiting += queue.waiting.length;
    return waiting;
  }

  /**
   * How many other owners are about, with no run that has to wait, while `owner` has more runs waiting: about are those that
   * have entered a run within `withinMs`, at most a minute. Anything that has to be shared is better left to these owners.
   */
  othersWaiting(owner: string, withinMs: number): number {
    return this.#wantsMore(owner) ? this.#othersAbout(owner, withinMs) : 0;
  }

  /** Runs that have a place, of all owners together. */
  get running(): number {
    return this.#running;
  }

  /** Owners and bounds of which something is kept. */
  get kept(): number {
    return this.#queues.size + this.#bounds.size;
  }

  /**
   * A place in the queue as a promise. The place is given back when `signal` ends the wait: what wanted the turn finds the same
   * signal aborted. `onQueued` is called when the run is ready and still has to wait.
   */
  place(
    wait: Omit<TurnRequest, 'onTurn' | 'onRefused'>,
    signal: AbortSignal,
    onQueued: (turn: Turn) => void = () => {},
  ): {
    /** Resolves when the turn has come, or with why there is none. Also when the wait has ended: the turn has ended then. */
    readonly turn: Promise<Turn | RefusedTurn>;
    /** Why there is no place, where a run was refused at once and never waited. */
    readonly refused: RefusedTurn | undefined;
    /** Tells that a held run waits for nothing else now. */
    readonly ready: () => void;
  } {
    let ready = () => {};
    let atOnce: RefusedTurn | undefined;
    const turn = new Promise<Turn | RefusedTurn>((resolve) => {
      let hasTurn = false;
      let turn: Turn | undefined;
      const settle = (as: Turn | RefusedTurn) => {
        signal.removeEventListener('abort', onAbort);
        resolve(as);
      };
      const onAbort = () => {
        if (turn === undefined) return;
        if (!hasTurn) turn.end();
        settle(turn);
      };
      const onTurn = () => {
        hasTurn = true;
        if (turn !== undefined) settle(turn);
      };
      const onRefused = (refused: BridgeError) => settle({ refused });
      try {
        turn = this.enter({ ...wait, onTurn, onRefused });
      } catch (thrown) {
        atOnce = { refused: asBridgeError(thrown) };
        return settle(atOnce);
      }
      if (hasTurn) return settle(turn);
      const queued = turn;
      if (wait.isHeld !== true) onQueued(queued);
      ready = () => {
        queued.ready();
        if (queued.isWaiting) onQueued(queued);
      };
      signal.addEventListener('abort', onAbort, { once: true });
      if (signal.aborted) onAbort();
    });
    return { turn, refused: atOnce, ready: () => ready() };
  }

  /**
   * Why a run of `owner` that nobody has seen yet would be refused, if `coming` others came before it; undefined where it may
   * have a place, or wait. Where as many wait as may, a place that is free counts for nothing: those that wait could not use it.
   */
  refusalAhead(
    { owner, limits }: Pick<TurnRequest, 'owner' | 'limits'>,
    coming: number,
  ): BridgeError | undefined {
    const queue = this.#queues.get(owner) ?? newQueue();
    const usedUp = this.#usedUp(queue, limits);
    if (usedUp !== undefined) return usedUp;
    const lasting = (entries: Iterable<QueueEntry>) =>
      [...entries].filter((entry) => !this.#lingering.has(entry)).length;
    const places = Math.min(limits.atOnce, this.#places, mostBegun(limits) - lasting(queue.standing));
    const waiting = this.#waitingOf(queue);
    const isFull = waiting > 0 && waiting >= limits.waiting;
    const free = isFull ? 0 : Math.max(0, places - lasting(queue.running));
    return coming < free ? undefined : this.#tooManyWait(queue, limits, coming - free);
  }

  /** Waits for a turn, or until `signal` ends the wait. For an owner who may have any number waiting; throws otherwise. */
  async take(wait: Omit<TurnRequest, 'onTurn' | 'onRefused'>, signal: AbortSignal): Promise<Turn> {
    const turn = await this.place(wait, signal).turn;
    if ('refused' in turn) throw turn.refused;
    return turn;
  }

  /**
   * Queues a run. Throws E_BUSY, with when to come back, where its owner has used up what it may; E_LIMIT where no run of
   * this size can ever have its turn.
   */
  enter(request: TurnRequest): Turn {
    this.#forgetIdle();
    this.#noteEntered(request.owner);
    this.#refuseWhereTooMuch(request, this.#queueOf(request.owner));
    // Looked up anew: a run that was ended for this one may have had the empty queue forgotten.
    const queue = this.#queueOf(request.owner);
    const entry: QueueEntry = {
      ...request,
      state: request.isHeld === true ? 'held' : 'waiting',
      rank: rankIn(queue, request.group),
      begunAt: 0,
      beganAt: 0,
      loopAt: undefined,
      ranMs: 0,
      hasBound: false,
    };
    const isBehind = ({ rank, state }: QueueEntry) => rank > entry.rank && state !== 'returning';
    // Ten thousand calls of one run may wait here, so that nothing looks at each of them for each.
    const behind = entry.group === undefined ? -1 : queue.waiting.findIndex(isBehind);
    if (behind < 0) queue.waiting.push(entry);
    else queue.waiting.splice(behind, 0, entry);
    this.#serve();
    return this.#turnOf(entry);
  }

  #turnOf(entry: QueueEntry): Turn {
    const scheduler = this;
    return {
      get isWaiting() {
        return isWaiting(entry);
      },
      get ahead() {
        return scheduler.#aheadOf(entry);
      },
      get isUsedUp() {
        const queue = scheduler.#queues.get(entry.owner);
        return queue !== undefined && scheduler.#usedUp(queue, entry.limits) !== undefined;
      },
      ready: () => this.#makeReady(entry),
      stand: () => this.#stand(entry),
      goOn: (onTurn, bound) => this.#goOn(entry, onTurn, bound),
      moveTo: (bound, signal) => this.#moveTo(entry, bound, signal),
      lingers: (onWanted) => {
        if (hasEnded(entry)) return;
        this.#lingering.set(entry, onWanted);
        this.#serve();
      },
      charge: (seconds) => this.charge(entry.owner, seconds),
      end: (usage) => this.#end(entry, usage?.processorSeconds ?? 0),
      [Symbol.dispose]: () => this.#end(entry, 0),
    };
  }

  /** Counts processor time that `owner` has used, for anything; once that is all it may use, its runs that wait are refused. */
  charge(owner: string, processorSeconds: number): void {
    if (processorSeconds <= 0) return;
    const queue = this.#queueOf(owner);
    queue.used.push({ at: this.#now(), seconds: processorSeconds });
    this.#refuseWaiting(queue);
  }

  #makeReady(entry: QueueEntry): void {
    if (entry.state !== 'held') return;
    entry.state = 'waiting';
    this.#serve();
  }

  #stand(entry: QueueEntry): boolean {
    const { standing = Number.POSITIVE_INFINITY } = this.#options;
    if (entry.state !== 'running' || this.#standing >= standing) return false;
    const queue = this.#queueOf(entry.owner);
    entry.state = 'standing';
    entry.ranMs += this.#now() - entry.beganAt;
    queue.running.delete(entry);
    queue.standing.add(entry);
    this.#running--;
    this.#standing++;
    this.#serve();
    return true;
  }

  async #moveTo(entry: QueueEntry, bound: Bound | undefined, signal: AbortSignal): Promise<void> {
    this.#stand(entry);
    await new Promise<void>((resolve) => {
      const settle = () => {
        signal.removeEventListener('abort', settle);
        resolve();
      };
      signal.addEventListener('abort', settle, { once: true });
      this.#goOn(entry, settle, bound);
      if (signal.aborted || entry.state !== 'returning') settle();
    });
  }

  #goOn(entry: QueueEntry, onTurn: () => void, bound: Bound | undefined): void {
    if (entry.state !== 'standing') return;
    const queue = this.#queueOf(entry.owner);
    Object.assign(entry, { state: 'returning', onTurn, bound: bound ?? entry.bound });
    // Behind those that have returned before it, and ahead of whoever has used nothing yet.
    const behind = queue.waiting.findIndex(({ state }) => state !== 'returning');
    queue.waiting.splice(behind < 0 ? queue.waiting.length : behind, 0, entry);
    this.#order.splice(this.#order.indexOf(queue), 1);
    this.#order.unshift(queue);
    this.#serve();
  }

  /** Whether a run would begin if its owner had a place: it is not held, and its bound has room. */
  readonly #wants = (entry: QueueEntry): boolean => isWaiting(entry) && this.#hasBound(entry);

  #hasBound({ bound, hasBound }: Pick<QueueEntry, 'bound'> & Partial<QueueEntry>): boolean {
    return bound === undefined || hasBound === true || (this.#bounds.get(bound.key) ?? 0) < bound.max;
  }

  #wantsMore(owner: string): boolean {
    return this.#queues.get(owner)?.waiting.some(this.#wants) ?? false;
  }

  /** How many other owners have entered a run within `withinMs`, and have none waiting. */
  #othersAbout(owner: string, withinMs: number): number {
    const since = this.#now() - withinMs;
    let others = 0;
    for (const [other, at] of this.#enteredAt)
      if (other !== owner && at >= since && !this.#wantsMore(other)) others++;
    return others;
  }

  #noteEntered(owner: string): void {
    const now = this.#now();
    this.#enteredAt.delete(owner);
    this.#enteredAt.set(owner, now);
    for (const [other, at] of this.#enteredAt) {
      if (now - at <= MAX_ABOUT_MS) break;
      this.#enteredAt.delete(other);
    }
  }

  #queueOf(owner: string): OwnerQueue {
    const known = this.#queues.get(owner);
    if (known !== undefined) return known;
    const queue = newQueue();
    this.#queues.set(owner, queue);
    // Before the one that has had the last turn, which would have the next one otherwise where it is alone.
    this.#order.splice(Math.max(0, this.#order.length - 1), 0, queue);
    return queue;
  }

  #refuseWhereTooMuch(request: TurnRequest, queue: OwnerQueue): void {
    const { limits, memoryBytes, isHeld = false } = request;
    if (memoryBytes > limits.memoryBytes) throw tooLarge(memoryBytes, limits.memoryBytes);
    const usedUp = this.#usedUp(queue, limits);
    if (usedUp !== undefined) throw usedUp;
    const mustWait = () =>
      isHeld ||
      queue.waiting.some(this.#wants) ||
      this.#running >= this.#options.atOnce ||
      !this.#hasBound(request) ||
      !this.#hasRoom(queue, request);
    while (!isHeld && this.#lingering.size > 0 && mustWait() && this.#reclaim(queue, request));
    if (queue.waiting.length < limits.waiting || !mustWait()) return;
    const tooMany = this.#tooManyWait(queue, limits);
    if (tooMany !== undefined) throw tooMany;
  }

  /** Runs that wait already go first; one that waits for its bound alone is in nobody's way. */
  #waitingOf({ waiting }: OwnerQueue): number {
    return waiting.filter((entry) => !isWaiting(entry) || this.#hasBound(entry)).length;
  }

  /** Why no more may wait, where `coming` others of this owner are about to. */
  #tooManyWait(queue: OwnerQueue, limits: TurnLimits, coming = 0): BridgeError | undefined {
    const waiting = this.#waitingOf(queue) + coming;
    if (waiting < limits.waiting) return undefined;
    const atOnce = Math.max(1, Math.min(limits.atOnce, this.#places, this.#options.atOnce));
    const freeAgainMs = Math.max(this.#meanMs / atOnce, this.#meanWholeMs / mostBegun(limits));
    const { many } = this.#words;
    const count = `${waiting} of your ${many} ${waiting === 1 ? 'waits' : 'wait'}`;
    return busyError(
      this.#words,
      `${count} already, and no more may wait`,
      (freeAgainMs * (waiting + 1)) / 1000,
    );
  }

  #usedUp(queue: OwnerQueue, { processorSeconds }: TurnLimits): BridgeError | undefined {
    const freeInMs = this.#processorFreeInMs(queue, processorSeconds);
    if (freeInMs === 0) return undefined;
    return busyError(
      this.#words,
      `your ${this.#words.many} have used ${processorSeconds} s of processor time, the most that they may use`,
      freeInMs / 1000,
    );
  }

  /** Ms until the owner's use within the window is below the limit; 0 where it is. */
  #processorFreeInMs(queue: OwnerQueue, limitSeconds: number): number {
    if (queue.used.length === 0 && limitSeconds > 0) return 0;
    const since = this.#now() - this.#windowMs;
    queue.used = queue.used.filter(({ at }) => at > since);
    let left = queue.used.reduce((sum, { seconds }) => sum + seconds, 0);
    if (left < limitSeconds) return 0;
    for (const { at, seconds } of queue.used) {
      left -= seconds;
      if (left < limitSeconds) return at - since;
    }
    return this.#windowMs;
  }

  /** Gives turns as long as there is one to give. */
  #serve(): void {
    for (;;) {
      const entry = this.#running < this.#options.atOnce ? this.#nextEntry() : undefined;
      if (entry === undefined) {
        if (!this.#reclaimForOne()) return;
        continue;
      }
      this.#begin(entry);
      entry.onTurn();
    }
  }

  #begin(entry: QueueEntry): void {
    const { bound, hasBound, state } = entry;
    const now = this.#now();
    if (state === 'returning') this.#standing--;
    else entry.begunAt = now;
    entry.state = 'running';
    entry.beganAt = now;
    this.#running++;
    if (bound !== undefined && !hasBound) {
      entry.hasBound = true;
      this.#bounds.set(bound.key, (this.#bounds.get(bound.key) ?? 0) + 1);
    }
    if (this.#options.settles !== true) return;
    entry.loopAt = performance.eventLoopUtilization();
    this.#looking ??= setInterval(() => this.#settle(), LOOK_MS);
  }

  /** Has those stand whose work waits for something else by now. */
  #settle(): void {
    const now = this.#now();
    for (const queue of [...this.#queues.values()])
      for (const entry of [...queue.running]) {
        if (entry.state !== 'running') continue;
        const ms = now - entry.beganAt;
        if (ms < MAX_TURN_MS && performance.eventLoopUtilization(entry.loopAt).idle < IDLE_MS) continue;
        this.#restAfter(entry.owner, queue, ms);
        this.#stand(entry);
      }
    this.#lookNoMore();
  }

  #lookNoMore(): void {
    if (this.#running > 0) return;
    clearInterval(this.#looking);
    this.#looking = undefined;
  }

  /** Has one that only lingers end for the first one that waits and can have its place; false where there is none. */
  #reclaimForOne(): boolean {
    if (this.#lingering.size === 0) return false;
    return this.#order.some((queue) => {
      const entry = queue.waiting.find(this.#wants);
      return entry !== undefined && this.#reclaim(queue, entry);
    });
  }

  /** Has a run that only lingers end for one run of this owner's queue; false where there is none. */
  #reclaim(queue: OwnerQueue, request: Pick<QueueEntry, 'limits' | 'memoryBytes'>): boolean {
    const isOfOthers = this.#hasRoom(queue, request);
    // With room of its own and a place of all there is nothing to wait for.
    if (isOfOthers && this.#running < this.#options.atOnce) return false;
    for (const [entry, onWanted] of this.#lingering) {
      if (entry.state !== 'running' || !(isOfOthers || queue.running.has(entry))) continue;
      this.#lingering.delete(entry);
      onWanted();
      if (hasEnded(entry)) return true;
    }
    return false;
  }

  /** Takes the first run out of the first queue whose owner may have one more under way; that queue is the last then. */
  #nextEntry(): QueueEntry | undefined {
    for (const [place, queue] of this.#order.entries()) {
      const entry = queue.waiting.find(this.#wants);
      if (entry === undefined || !this.#hasRoom(queue, entry)) continue;
      queue.waiting.splice(queue.waiting.indexOf(entry), 1);
      if (!queue.standing.delete(entry)) queue.memoryBytes += entry.memoryBytes;
      queue.running.add(entry);
      this.#order.splice(place, 1);
      this.#order.push(queue);
      return entry;
    }
    return undefined;
  }

  #aheadOf(entry: QueueEntry): number {
    const own = this.#queues.get(entry.owner);
    const place = own?.waiting.filter(this.#wants).indexOf(entry) ?? -1;
    if (place < 0) return 0;
    let ahead = place;
    let comesLater = false;
    for (const queue of this.#order) {
      if (queue === own) comesLater = true;
      // Each of the queues has one turn in a round; those in front of it have theirs in this round, too.
      else ahead += Math.min(queue.waiting.filter(this.#wants).length, comesLater ? place : place + 1);
    }
    return ahead;
  }

  #end(entry: QueueEntry, processorSeconds: number): void {
    const { state } = entry;
    if (state === 'ended') return;
    entry.state = 'ended';
    this.#lingering.delete(entry);
    const queue = this.#queueOf(entry.owner);
    if (state !== 'running' && state !== 'standing') queue.waiting.splice(queue.waiting.indexOf(entry), 1);
    const now = this.#now();
    if (state !== 'held' && state !== 'waiting') {
      queue.memoryBytes -= entry.memoryBytes;
      if (queue.standing.delete(entry)) this.#standing--;
      this.#leaveBound(entry);
      let ms = 0;
      if (queue.running.delete(entry)) {
        this.#running--;
        ms = now - entry.beganAt;
      }
      entry.ranMs += ms;
      this.#meanMs += MEAN_SHARE * (entry.ranMs - this.#meanMs);
      this.#meanWholeMs += MEAN_SHARE * (now - entry.begunAt - this.#meanWholeMs);
      this.charge(entry.owner, processorSeconds);
      // After a turn that has settled its place has rested already.
      this.#restAfter(entry.owner, queue, this.#options.settles === true ? ms : entry.ranMs);
    }
    this.#forgetIdle();
    this.#serve();
    this.#lookNoMore();
  }

  #leaveBound({ bound, hasBound }: QueueEntry): void {
    if (bound === undefined || !hasBound) return;
    const left = (this.#bounds.get(bound.key) ?? 1) - 1;
    if (left === 0) this.#bounds.delete(bound.key);
    else this.#bounds.set(bound.key, left);
  }

  #restAfter(owner: string, queue: OwnerQueue, ms: number): void {
    const { rests } = this.#options;
    if (rests === undefined) return;
    const others = this.#othersAbout(owner, rests.withinMs);
    const restMs = rests.aheadMs === undefined ? ms * others : this.#beyondShare(queue, ms, others, rests);
    if (restMs <= 0 || others === 0 || !queue.waiting.some(this.#wants)) return;
    queue.resting++;
    const later = rests.later ?? ((after, then) => void setTimeout(then, after).unref());
    later(Math.min(rests.maxMs, restMs), () => {
      queue.resting--;
      this.#serve();
      this.#forgetIdle();
    });
  }

  /** How long a rest gives others their share of all places, after a run that took `ms`. */
  #beyondShare(queue: OwnerQueue, ms: number, others: number, { aheadMs = 0, maxMs }: Rests): number {
    const now = this.#now();
    const share = this.#options.atOnce / (others + 1);
    const before = Math.max(0, queue.aheadMs - (now - queue.aheadAt) * share);
    queue.aheadMs = Math.min(before + ms, aheadMs + maxMs);
    queue.aheadAt = now;
    return (queue.aheadMs - aheadMs) / share;
  }

  /** Refuses runs that have had no turn yet; a run that stood has begun, and ends as it would have without standing. */
  #refuseWaiting(queue: OwnerQueue): void {
    if (queue.used.length === 0) return;
    for (const entry of [...queue.waiting]) {
      if (entry.state === 'returning') continue;
      const usedUp = this.#usedUp(queue, entry.limits);
      if (usedUp === undefined) continue;
      queue.waiting.splice(queue.waiting.indexOf(entry), 1);
      entry.state = 'ended';
      entry.onRefused(usedUp);
    }
  }

  /** Owners of whom nothing is known that matters: there may be many over the years. */
  #forgetIdle(): void {
    const since = this.#now() - this.#windowMs;
    for (const [owner, queue] of this.#queues) {
      const isBusy = queue.waiting.length + queue.running.size + queue.standing.size + queue.resting > 0;
      if (isBusy || queue.used.some(({ at }) => at > since)) continue;
      this.#queues.delete(owner);
      this.#order.splice(this.#order.indexOf(queue), 1);
    }
  }

  get #windowMs(): number {
    return this.#options.windowMs ?? 0;
  }

  /** Most places of one owner. */
  get #places(): number {
    return this.#options.ofOne ?? this.#options.atOnce;
  }

  #hasRoom(queue: OwnerQueue, entry: Pick<QueueEntry, 'limits' | 'memoryBytes'>): boolean {
    const { limits, memoryBytes } = entry;
    // One that returns has begun, and has its memory already.
    const hasBegun = queue.standing.has(entry as QueueEntry);
    const mayBegin = hasBegun || queue.running.size + queue.standing.size < mostBegun(limits);
    return (
      mayBegin &&
      queue.running.size + queue.resting < Math.min(limits.atOnce, this.#places) &&
      queue.memoryBytes + (hasBegun ? 0 : memoryBytes) <= limits.memoryBytes
    );
  }
}

const newQueue = (): OwnerQueue => ({
  waiting: [],
  running: new Set(),
  standing: new Set(),
  memoryBytes: 0,
  used: [],
  resting: 0,
  aheadMs: 0,
  aheadAt: 0,
});

/** Whether a run can have its turn as soon as there is a place, and one of its bound. */
const isWaiting = ({ state }: QueueEntry): boolean => state === 'waiting' || state === 'returning';

const hasEnded = ({ state }: QueueEntry): boolean => state === 'ended';

/** Most runs of an owner that have begun: one gives up its place whenever it stands, so as many begin as may stand. */
const mostBegun = ({ begun, atOnce }: TurnLimits): number => begun ?? STANDING_TIMES * atOnce;

/** How many of a group there are in the queue of an owner. */
function rankIn({ waiting, running, standing }: OwnerQueue, group: string | undefined): number {
  if (group === undefined || waiting.length + running.size + standing.size === 0) return 0;
  return [...waiting, ...running, ...standing].filter((entry) => entry.group === group).length;
}

/**
 * Gives the place of a run that stands still to others. The function returned resolves, at every call, when the run has a place
 * again; undefined where the run keeps its place.
 */
export function standAside(turn: Turn): (() => Promise<void>) | undefined {
  if (!turn.stand()) return undefined;
  let returning: Promise<void> | undefined;
  return () => {
    returning ??= new Promise((resolve) => turn.goOn(resolve));
    return returning;
  };
}

function busyError({ refused }: typeof RUNS, why: string, retryInSeconds: number): BridgeError {
  const seconds = Math.min(MAX_RETRY_SECONDS, Math.max(1, Math.ceil(retryInSeconds)));
  return new BridgeError('E_BUSY', `${refused}: ${why}.`, {
    fault: 'agent',
    remedy: `Make the same call again in ${seconds} s.`,
    retryAfterSeconds: seconds,
  });
}

const tooLarge = (bytes: number, limit: number): BridgeError =>
  new BridgeError(
    'E_LIMIT',
    `Nothing has run: a run of this kind may use ${inMegabytes(bytes)}, but all of your runs together only ${inMegabytes(limit)}.`,
    { fault: 'operator', remedy: 'Ask the operator for a higher memory quota.' },
  );
