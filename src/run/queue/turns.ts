// Whose run comes next, or whose call or request. Every principal has a queue of its own and the queues are served in turn, so
// that whoever asks for a thousand runs delays another's next run by one turn at most. Pure: no timers, and the clock is given.

import { BridgeError } from '../../base/errors.js';
import { inMegabytes } from '../../base/text/sizes.js';

/** How much one principal may use; Infinity where nothing limits it. */
export type TurnLimits = {
  /** Runs under way. */
  readonly runsAtOnce: number;
  /** Runs that wait; a further one is refused. */
  readonly runsWaiting: number;
  /** Seconds of processor time of its ended runs within one window. */
  readonly processorSeconds: number;
  /** Bytes of all its runs under way. */
  readonly memoryBytes: number;
};

/** Nothing is limited. */
export const UNLIMITED: TurnLimits = {
  runsAtOnce: Number.POSITIVE_INFINITY,
  runsWaiting: Number.POSITIVE_INFINITY,
  processorSeconds: Number.POSITIVE_INFINITY,
  memoryBytes: Number.POSITIVE_INFINITY,
};

/** Words of refusals for what has turns. */
export type TurnWords = { readonly one: string; readonly many: string; readonly refused: string };

const RUNS: TurnWords = { one: 'run', many: 'runs', refused: 'Nothing has run' };

export type TurnsOptions = {
  /** Without it, runs. */
  readonly words?: TurnWords;
  /** Runs of all principals under way. */
  readonly runsAtOnce: number;
  /** Length of the window in which processor time is counted, in ms. */
  readonly windowMs: number;
  /** In ms, and never going back. */
  readonly now: () => number;
  /** Runs of all principals that may stand at once, without a place; without it, any number. */
  readonly standing?: number;
  /** Without it, whoever has more runs waiting has the next turn as soon as there is a place. */
  readonly rests?: Rests;
};

/**
 * A place of an owner that crowds rests after a run, where its runs have taken more of the time than its fair share of all
 * places: others find a free processor then, and a sandbox that was made in the meantime.
 */
export type Rests = {
  /** Others are about when they have entered a run within this time; at most a minute. */
  readonly withinMs: number;
  /** For so long an owner may have run ahead of its share before it rests: a few runs in a row are no flood. */
  readonly aheadMs: number;
  /** The longest rest, and what is remembered of runs beyond the share: more would serve nobody. */
  readonly maxMs: number;
  /** Calls `then` in `ms`. */
  readonly later: (ms: number, then: () => void) => void;
};

/** One run, from its arrival to its end. */
export interface Turn {
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
  /** Asks for a place for the run again, ahead of runs that have had none; `onTurn` is called when the run has its place. */
  goOn(onTurn: () => void): void;
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

export type TurnRequest = {
  /** Whose run it is. */
  readonly owner: string;
  readonly limits: TurnLimits;
  /** Most memory that the run may have while it is under way. */
  readonly memoryBytes: number;
  /**
   * True for a run that waits for something else first: it counts among those that wait, and has no turn before it is `ready`.
   */
  readonly isHeld?: boolean;
  /** Called once, when its turn has come: before `enter` returns where nothing is ahead. */
  readonly onTurn: () => void;
  /** Called instead where its owner has used up its processor time while it waited; it has ended then. */
  readonly onRefused: (error: BridgeError) => void;
};

type QueueEntry = TurnRequest & {
  /** `returning` has stood, and waits for a place again. */
  state: 'held' | 'waiting' | 'running' | 'standing' | 'returning' | 'ended';
  beganAt: number;
  /** How long it had a place before it stood. */
  ranMs: number;
  onWanted: (() => void) | undefined;
};

type Used = { readonly at: number; readonly seconds: number };

/** The runs of one owner. */
type Lane = {
  /** In their order, with those that are held. */
  readonly waiting: QueueEntry[];
  readonly running: Set<QueueEntry>;
  /** Runs that stand, or return: they have their memory, and no place. */
  readonly standing: Set<QueueEntry>;
  /** Oldest first, within the window. */
  used: Used[];
  /** How many of its places rest: they are taken, and nothing is under way in them. */
  resting: number;
  /** How long its runs have taken beyond its share, in ms, as it was `aheadAt` by the clock. */
  aheadMs: number;
  aheadAt: number;
};

/** For how long it is known that an owner has entered something. */
const MAX_ABOUT_MS = 60_000;
/** Longest wait that is told to somebody who has to come back, in seconds. */
const MAX_RETRY_SECONDS = 3_600;
/** How much of a new run's time goes into the mean. */
const MEAN_SHARE = 0.2;
/** Runs of one owner that have begun and not ended, those that stand among them, as a multiple of those that may be under way. */
const STANDING_TIMES = 2;
/** How long a run takes before one has ended. */
const FIRST_GUESS_MS = 1_000;

export class Turns {
  readonly #options: TurnsOptions;
  readonly #words: TurnWords;
  /** By owner. */
  readonly #lanes = new Map<string, Lane>();
  /** In the order in which they have their next turn: the one that had the last turn is the last. */
  #order: Lane[] = [];
  /** By owner, oldest first, by the clock: when each has entered last. Only of the last minutes. */
  readonly #enteredAt = new Map<string, number>();
  #running = 0;
  #standing = 0;
  #meanMs = FIRST_GUESS_MS;

  constructor(options: TurnsOptions) {
    this.#options = options;
    this.#words = options.words ?? RUNS;
  }

  /** Runs that wait, of all owners together. */
  get waiting(): number {
    let waiting = 0;
    for (const lane of this.#lanes.values()) waiting += lane.waiting.length;
    return waiting;
  }

  /**
   * How many other owners are about while `owner` has more runs waiting, and have none that has to wait: those that have entered a
   * run within `withinMs`, at most a minute. What has to be shared is better left to them.
   */
  crowded(owner: string, withinMs: number): number {
    return this.#wantsMore(owner) ? this.#othersAbout(owner, withinMs) : 0;
  }

  /** Runs under way, of all owners together. */
  get running(): number {
    return this.#running;
  }

  /**
   * Queues a run. Throws E_BUSY, with when to come back, where its owner has used up what it may; E_LIMIT where no run of
   * this size can ever have its turn.
   */
  enter(request: TurnRequest): Turn {
    this.#forgetIdle();
    this.#noteEntered(request.owner);
    const lane = this.#laneOf(request.owner);
    this.#refuseWhereTooMuch(request, lane);
    const state = request.isHeld === true ? 'held' : 'waiting';
    const entry: QueueEntry = { ...request, state, beganAt: 0, ranMs: 0, onWanted: undefined };
    lane.waiting.push(entry);
    this.#serve();
    const turns = this;
    return {
      get isWaiting() {
        return isWaiting(entry);
      },
      get ahead() {
        return turns.#aheadOf(entry);
      },
      get isUsedUp() {
        return turns.#usedUp(turns.#laneOf(entry.owner), entry.limits) !== undefined;
      },
      ready: () => this.#ready(entry),
      stand: () => this.#stand(entry),
      goOn: (onTurn) => this.#goOn(entry, onTurn),
      lingers: (onWanted) => {
        entry.onWanted = onWanted;
        this.#serve();
      },
      charge: (seconds) => this.charge(entry.owner, seconds),
      end: (usage) => this.#end(entry, usage?.processorSeconds ?? 0),
    };
  }

  /** Counts processor time that `owner` has used, whatever for; where that is all that it may, its runs that wait are refused. */
  charge(owner: string, processorSeconds: number): void {
    if (processorSeconds <= 0) return;
    const lane = this.#laneOf(owner);
    lane.used.push({ at: this.#options.now(), seconds: processorSeconds });
    this.#refuseWaiting(lane);
  }

  #ready(entry: QueueEntry): void {
    if (entry.state !== 'held') return;
    entry.state = 'waiting';
    this.#serve();
  }

  #stand(entry: QueueEntry): boolean {
    const lane = this.#laneOf(entry.owner);
    const { standing = Number.POSITIVE_INFINITY } = this.#options;
    if (entry.state !== 'running' || this.#standing >= standing) return false;
    entry.state = 'standing';
    entry.ranMs += this.#options.now() - entry.beganAt;
    lane.running.delete(entry);
    lane.standing.add(entry);
    this.#running--;
    this.#standing++;
    this.#serve();
    return true;
  }

  #goOn(entry: QueueEntry, onTurn: () => void): void {
    if (entry.state !== 'standing') return;
    const lane = this.#laneOf(entry.owner);
    Object.assign(entry, { state: 'returning', onTurn });
    // Behind those that have returned before it, and ahead of whoever has used nothing yet.
    const behind = lane.waiting.findIndex(({ state }) => state !== 'returning');
    lane.waiting.splice(behind < 0 ? lane.waiting.length : behind, 0, entry);
    this.#order.splice(this.#order.indexOf(lane), 1);
    this.#order.unshift(lane);
    this.#serve();
  }

  /** Runs that are held want no place yet. */
  #wantsMore(owner: string): boolean {
    return this.#lanes.get(owner)?.waiting.some(isWaiting) ?? false;
  }

  /** How many other owners have entered a run within `withinMs`, and have none waiting. */
  #othersAbout(owner: string, withinMs: number): number {
    const since = this.#options.now() - withinMs;
    let others = 0;
    for (const [other, at] of this.#enteredAt)
      if (other !== owner && at >= since && !this.#wantsMore(other)) others++;
    return others;
  }

  #noteEntered(owner: string): void {
    const now = this.#options.now();
    this.#enteredAt.delete(owner);
    this.#enteredAt.set(owner, now);
    for (const [other, at] of this.#enteredAt) {
      if (now - at <= MAX_ABOUT_MS) break;
      this.#enteredAt.delete(other);
    }
  }

  #laneOf(owner: string): Lane {
    const known = this.#lanes.get(owner);
    if (known !== undefined) return known;
    const [running, standing] = [new Set<QueueEntry>(), new Set<QueueEntry>()];
    const lane: Lane = { waiting: [], running, standing, used: [], resting: 0, aheadMs: 0, aheadAt: 0 };
    this.#lanes.set(owner, lane);
    // Before the one that has had the last turn, which would have the next one otherwise where it is alone.
    this.#order.splice(Math.max(0, this.#order.length - 1), 0, lane);
    return lane;
  }

  #refuseWhereTooMuch(request: TurnRequest, lane: Lane): void {
    const { limits, memoryBytes, isHeld = false } = request;
    if (memoryBytes > limits.memoryBytes) throw tooLarge(memoryBytes, limits.memoryBytes);
    const usedUp = this.#usedUp(lane, limits);
    if (usedUp !== undefined) throw usedUp;
    const mustWait = () =>
      isHeld ||
      lane.waiting.some(isWaiting) ||
      this.#running >= this.#options.runsAtOnce ||
      !hasRoom(lane, request);
    while (!isHeld && mustWait() && this.#reclaim(lane, request));
    // Runs that wait already go first.
    if (mustWait() && lane.waiting.length >= limits.runsWaiting) {
      const atOnce = Math.max(1, Math.min(limits.runsAtOnce, this.#options.runsAtOnce));
      const freeAgainMs = (this.#meanMs * (lane.waiting.length + 1)) / atOnce;
      const { one, many } = this.#words;
      const count = lane.waiting.length === 1 ? `1 ${one} waits` : `${lane.waiting.length} ${many} wait`;
      throw busy(this.#words, `${count} already, and no more may`, freeAgainMs / 1000);
    }
  }

  #usedUp(lane: Lane, { processorSeconds }: TurnLimits): BridgeError | undefined {
    const freeInMs = this.#processorFreeInMs(lane, processorSeconds);
    if (freeInMs === 0) return undefined;
    return busy(
      this.#words,
      `the last ones have used ${processorSeconds} s of processor time, all that they may`,
      freeInMs / 1000,
    );
  }

  /** In how many ms its use within the window is below the limit; 0 where it is. */
  #processorFreeInMs(lane: Lane, limitSeconds: number): number {
    const since = this.#options.now() - this.#options.windowMs;
    lane.used = lane.used.filter(({ at }) => at > since);
    let left = lane.used.reduce((sum, { seconds }) => sum + seconds, 0);
    if (left < limitSeconds) return 0;
    for (const { at, seconds } of lane.used) {
      left -= seconds;
      if (left < limitSeconds) return at - since;
    }
    return this.#options.windowMs;
  }

  /** Gives turns as long as there is one to give. */
  #serve(): void {
    for (;;) {
      const entry = this.#running < this.#options.runsAtOnce ? this.#next() : undefined;
      if (entry === undefined) {
        if (!this.#reclaimForOne()) return;
        continue;
      }
      if (entry.state === 'returning') this.#standing--;
      entry.state = 'running';
      entry.beganAt = this.#options.now();
      this.#running++;
      entry.onTurn();
    }
  }

  /** Has one that only lingers end for the first one that waits and can have its place; false where there is none. */
  #reclaimForOne(): boolean {
    return this.#order.some((lane) => {
      const entry = lane.waiting.find(isWaiting);
      return entry !== undefined && this.#reclaim(lane, entry);
    });
  }

  /** Has a run that only lingers end for one run of this owner's queue; false where there is none. */
  #reclaim(lane: Lane, request: Pick<QueueEntry, 'limits' | 'memoryBytes'>): boolean {
    const isOfOthers = hasRoom(lane, request);
    // With room of its own and a place of all there is nothing to wait for.
    if (isOfOthers && this.#running < this.#options.runsAtOnce) return false;
    const lanes = isOfOthers ? this.#order : [lane];
    for (const { running } of lanes)
      for (const entry of running) {
        const { onWanted } = entry;
        if (onWanted === undefined) continue;
        entry.onWanted = undefined;
        onWanted();
        if (entry.state === 'ended') return true;
      }
    return false;
  }

  /** Takes the first run out of the first queue whose owner may have one more under way; that queue is the last then. */
  #next(): QueueEntry | undefined {
    for (const [place, lane] of this.#order.entries()) {
      const entry = lane.waiting.find(isWaiting);
      if (entry === undefined || !hasRoom(lane, entry)) continue;
      lane.waiting.splice(lane.waiting.indexOf(entry), 1);
      lane.standing.delete(entry);
      lane.running.add(entry);
      this.#order.splice(place, 1);
      this.#order.push(lane);
      return entry;
    }
    return undefined;
  }

  #aheadOf(entry: QueueEntry): number {
    const own = this.#lanes.get(entry.owner);
    const place = own?.waiting.filter(isWaiting).indexOf(entry) ?? -1;
    if (place < 0) return 0;
    let ahead = place;
    let comesLater = false;
    for (const lane of this.#order) {
      if (lane === own) comesLater = true;
      // Each of the queues has one turn in a round; those in front of it have theirs in this round, too.
      else ahead += Math.min(lane.waiting.filter(isWaiting).length, comesLater ? place : place + 1);
    }
    return ahead;
  }

  #end(entry: QueueEntry, processorSeconds: number): void {
    const { state } = entry;
    if (state === 'ended') return;
    entry.state = 'ended';
    const lane = this.#laneOf(entry.owner);
    const at = lane.waiting.indexOf(entry);
    if (at >= 0) lane.waiting.splice(at, 1);
    if (lane.standing.delete(entry)) this.#standing--;
    const now = this.#options.now();
    if (lane.running.delete(entry)) {
      this.#running--;
      entry.ranMs += now - entry.beganAt;
    }
    if (state !== 'held' && state !== 'waiting') {
      this.#meanMs += MEAN_SHARE * (entry.ranMs - this.#meanMs);
      if (processorSeconds > 0) lane.used.push({ at: now, seconds: processorSeconds });
      this.#refuseWaiting(lane);
      this.#restAfter(entry, lane, now);
    }
    this.#serve();
  }

  #restAfter({ owner, ranMs }: QueueEntry, lane: Lane, now: number): void {
    const { rests, runsAtOnce } = this.#options;
    if (rests === undefined) return;
    const others = this.#othersAbout(owner, rests.withinMs);
    const share = runsAtOnce / (others + 1);
    const before = Math.max(0, lane.aheadMs - (now - lane.aheadAt) * share);
    lane.aheadMs = Math.min(before + ranMs, rests.aheadMs + rests.maxMs);
    lane.aheadAt = now;
    if (lane.aheadMs <= rests.aheadMs || others === 0 || !lane.waiting.some(isWaiting)) return;
    lane.resting++;
    rests.later(Math.min(rests.maxMs, (lane.aheadMs - rests.aheadMs) / share), () => {
      lane.resting--;
      this.#serve();
    });
  }

  /** Refuses runs that have had no turn yet; a run that stood has begun, and ends as it would have without standing. */
  #refuseWaiting(lane: Lane): void {
    for (const entry of [...lane.waiting]) {
      if (entry.state === 'returning') continue;
      const usedUp = this.#usedUp(lane, entry.limits);
      if (usedUp === undefined) continue;
      lane.waiting.splice(lane.waiting.indexOf(entry), 1);
      entry.state = 'ended';
      entry.onRefused(usedUp);
    }
  }

  /** Owners of whom nothing is known that matters: there may be many over the years. */
  #forgetIdle(): void {
    const since = this.#options.now() - this.#options.windowMs;
    for (const [owner, lane] of this.#lanes) {
      const isBusy = lane.waiting.length + lane.running.size + lane.standing.size > 0;
      if (isBusy || lane.used.some(({ at }) => at > since)) continue;
      this.#lanes.delete(owner);
      this.#order.splice(this.#order.indexOf(lane), 1);
    }
  }
}

/** Whether it can have its turn as soon as there is a place. */
const isWaiting = ({ state }: QueueEntry): boolean => state === 'waiting' || state === 'returning';

function hasRoom(lane: Lane, entry: Pick<QueueEntry, 'limits' | 'memoryBytes'>): boolean {
  const { limits, memoryBytes } = entry;
  let taken = memoryBytes;
  // One that returns has its memory already.
  for (const other of [...lane.running, ...lane.standing]) if (other !== entry) taken += other.memoryBytes;
  // One that has begun gives up its place whenever it stands: as many of one owner as may stand are all that begin.
  const mayStand =
    lane.standing.has(entry as QueueEntry) ||
    lane.running.size + lane.standing.size < STANDING_TIMES * limits.runsAtOnce;
  return mayStand && lane.running.size + lane.resting < limits.runsAtOnce && taken <= limits.memoryBytes;
}

function busy({ refused, many }: TurnWords, why: string, retryInSeconds: number): BridgeError {
  const seconds = Math.min(MAX_RETRY_SECONDS, Math.max(1, Math.ceil(retryInSeconds)));
  return new BridgeError('E_BUSY', `${refused}: of your own ${many}, ${why}.`, {
    fault: 'agent',
    remedy: `Make the same call again in ${seconds} s.`,
    retryAfterSeconds: seconds,
  });
}

const tooLarge = (bytes: number, limit: number): BridgeError =>
  new BridgeError(
    'E_LIMIT',
    `Nothing has run: a run of this kind may have ${inMegabytes(bytes)}, and all of your runs together ${inMegabytes(limit)}.`,
    { fault: 'operator', remedy: 'Ask the operator for a higher memory quota.' },
  );
