// Whose run comes next: queues of principals in turn, their limits with when to come back, the place of one that waits, and
// what a flood of one does to another, played on a clock of the test's own.

import { describe, expect, it } from 'vitest';
import type { BridgeError } from '../../src/base/errors.js';
import {
  type Rests,
  Scheduler,
  type Turn,
  type TurnLimits,
  UNLIMITED,
} from '../../src/base/waiting/scheduler.js';
import { NEVER } from '../support/time.js';

const WINDOW_MS = 60_000;

/** A scheduler on a clock that only the test moves; `order` has the names of runs in the order of their turns. */
function turnsOf(atOnce: number, rests?: Rests, standing?: number) {
  const clock = { ms: 0 };
  const order: string[] = [];
  const refused: string[] = [];
  const turns = new Scheduler({
    atOnce,
    windowMs: WINDOW_MS,
    now: () => clock.ms,
    ...(rests && { rests }),
    ...(standing === undefined ? {} : { standing }),
  });
  const enter = (
    owner: string,
    name = owner,
    change: Partial<TurnLimits> = {},
    memoryBytes = 1,
    isHeld = false,
  ): Turn =>
    turns.enter({
      isHeld,
      owner,
      memoryBytes,
      limits: { ...UNLIMITED, ...change },
      onTurn: () => void order.push(name),
      onRefused: ({ code }) => void refused.push(`${name} ${code}`),
    });
  return { turns, enter, order, refused, clock };
}

const HELD = [{}, 1, true] as const;

const refusal = (work: () => unknown): BridgeError => {
  try {
    work();
  } catch (thrown) {
    return thrown as BridgeError;
  }
  throw new Error('it was not refused');
};

describe('the order', () => {
  it('of one owner is that of arrival, as many at once as there may be', () => {
    const { turns, enter, order } = turnsOf(2);
    const runs = ['a', 'b', 'c', 'd'].map((name) => enter('ann', name));
    expect(order).toEqual(['a', 'b']);
    expect(runs.map(({ isWaiting, ahead }) => [isWaiting, ahead])).toEqual([
      [false, 0],
      [false, 0],
      [true, 0],
      [true, 1],
    ]);
    runs[1]?.end();
    expect(order).toEqual(['a', 'b', 'c']);
    expect([turns.running, turns.waiting, runs[3]?.ahead]).toEqual([2, 1, 0]);
  });

  it('of several goes round, so that a flood of one delays the next run of another by one turn', () => {
    const { enter, order } = turnsOf(1);
    const first = enter('ann', 'ann 0');
    const flood = Array.from({ length: 100 }, (_, at) => enter('ann', `ann ${at + 1}`));
    const ben = enter('ben', 'ben 1');
    const eve = enter('eve', 'eve 1');
    const again = enter('ben', 'ben 2');
    expect([ben.ahead, eve.ahead, again.ahead, flood[0]?.ahead, flood[1]?.ahead]).toEqual([0, 1, 3, 2, 4]);
    const places = [ben, eve, again].map(({ ahead }) => ahead);
    for (const run of [first, ben, eve, flood[0]]) run?.end();
    expect(order).toEqual(['ann 0', 'ben 1', 'eve 1', 'ann 1', 'ben 2']);
    // What was told is what came: so many had their turn between.
    expect(places).toEqual(['ben 1', 'eve 1', 'ben 2'].map((name) => order.indexOf(name) - 1));
  });

  it('passes over an owner that has as many under way as it may', () => {
    const { enter, order } = turnsOf(3);
    const [one] = [enter('ann', 'a1', { atOnce: 1 }), enter('ann', 'a2', { atOnce: 1 })];
    enter('ben', 'b1');
    expect(order).toEqual(['a1', 'b1']);
    one?.end();
    expect(order).toEqual(['a1', 'b1', 'a2']);
  });

  it('one that is not wanted any more leaves its place to the next, and is counted nowhere', () => {
    const { turns, enter, order } = turnsOf(1);
    const [one, two, three] = ['a', 'b', 'c'].map((name) => enter('ann', name));
    two?.end();
    two?.end();
    expect(three?.ahead).toBe(0);
    one?.end();
    one?.end();
    expect(order).toEqual(['a', 'c']);
    three?.end();
    expect([turns.running, turns.waiting]).toEqual([0, 0]);
  });

  it('memory: runs wait while those under way have all that their owner may have', () => {
    const { enter, order } = turnsOf(8);
    const large = { memoryBytes: 100 };
    const first = enter('ann', 'a1', large, 60);
    enter('ann', 'a2', large, 60);
    enter('ben', 'b1', large, 60);
    expect(order).toEqual(['a1', 'b1']);
    first.end();
    expect(order).toEqual(['a1', 'b1', 'a2']);
    expect(refusal(() => enter('ann', 'a3', large, 101))).toMatchObject({ code: 'E_LIMIT' });
  });
});

it('an owner crowds while it has more waiting and somebody else, who has not, is about', () => {
  const { turns, enter, clock } = turnsOf(1);
  const first = enter('ann', 'a1');
  const second = enter('ann', 'a2');
  // Nobody else is there.
  expect(turns.othersWaiting('ann', 10_000) > 0).toBe(false);
  const ben = enter('ben', 'b1');
  expect([turns.othersWaiting('ann', 10_000) > 0, turns.othersWaiting('ben', 10_000) > 0]).toEqual([
    false,
    false,
  ]);
  ben.end();
  expect([turns.othersWaiting('ann', 10_000) > 0, turns.othersWaiting('ben', 10_000) > 0]).toEqual([
    true,
    false,
  ]);
  clock.ms += 20_000;
  expect(turns.othersWaiting('ann', 10_000) > 0).toBe(false);
  expect(turns.othersWaiting('ann', 60_000) > 0).toBe(true);
  second.end();
  expect(turns.othersWaiting('ann', 60_000) > 0).toBe(false);
  first.end();
});

describe('a place rests after a run of an owner that crowds', () => {
  const ONE = { atOnce: 1 };

  /** One whose rests end when the test says so; `lengths` are those that have begun, in ms. */
  function restingTurns(atOnce: number, aheadMs = 0) {
    const lengths: number[] = [];
    const ends: (() => void)[] = [];
    const later: Rests['later'] = (ms, then) => {
      lengths.push(ms);
      ends.push(then);
    };
    const played = turnsOf(atOnce, { withinMs: 10_000, aheadMs, maxMs: 2_000, later });
    /** Somebody has a run, which is over at once. */
    const comes = (owner: string) => played.enter(owner).end();
    return { ...played, comes, lengths, endRests: () => ends.splice(0).forEach((end) => void end()) };
  }

  it('until it has run no longer than its share, and is taken meanwhile', () => {
    const { turns, enter, order, clock, comes, lengths, endRests } = restingTurns(2);
    const first = enter('ann', 'a1', ONE);
    enter('ann', 'a2', ONE);
    comes('ben');
    clock.ms += 300;
    first.end();
    expect([lengths, order, turns.running]).toEqual([[300], ['a1', 'ben'], 0]);
    // Nobody else waits for it.
    comes('ben');
    expect(order.slice(2)).toEqual(['ben']);
    endRests();
    expect(order.slice(3)).toEqual(['a2']);
  });

  it.each([
    [2, 1, 100],
    [2, 9, 500],
    [8, 9, 125],
    [2, 19, 1_000],
    [2, 99, 2_000],
  ])(
    'the longer the less is its fair share: of %i places, with %i others, %i ms after one of 100 ms',
    (places, others, ms) => {
      const { enter, clock, comes, lengths } = restingTurns(places);
      const first = enter('ann', 'a1', ONE);
      enter('ann', 'a2', ONE);
      for (let other = 0; other < others; other++) comes(`other ${other}`);
      clock.ms += 100;
      first.end();
      expect(lengths).toEqual([ms]);
    },
  );

  it('not after a few in a row, and the sooner again the longer it had none', () => {
    const { enter, clock, comes, lengths } = restingTurns(2, 250);
    const runs = Array.from({ length: 9 }, (_, at) => enter('ann', `a${at}`, ONE));
    for (let other = 0; other < 19; other++) comes(`other ${other}`);
    const takes = (ms: number) => {
      clock.ms += ms;
      runs.shift()?.end();
    };
    takes(100);
    takes(100);
    expect(lengths).toEqual([]);
    takes(100);
    // 300 ms but for a tenth of the last 200, and 250 are allowed.
    expect(lengths).toEqual([300]);
  });

  it('of one that runs something now and then does not, though two of its runs meet', () => {
    const { enter, clock, comes, lengths } = restingTurns(2, 250);
    for (let round = 0; round < 20; round++) {
      for (let other = 0; other < 19; other++) comes(`other ${other}`);
      const runs = [enter('ann', 'a1', ONE), enter('ann', 'a2', ONE)];
      for (const run of runs) {
        clock.ms += 120;
        run.end();
      }
      clock.ms += 2_500;
    }
    expect(lengths).toEqual([]);
  });

  it('one of its several places does, and the others do not', () => {
    const { enter, order, comes, clock } = restingTurns(8);
    const runs = ['a1', 'a2', 'a3', 'a4', 'a5'].map((name) => enter('ann', name, { atOnce: 2 }));
    comes('ben');
    clock.ms += 100;
    runs[0]?.end();
    expect(order).toEqual(['a1', 'a2', 'ben']);
    comes('ben');
    runs[1]?.end();
    expect(order).toEqual(['a1', 'a2', 'ben', 'ben']);
  });

  it('not where nobody else is about, nor where the other one waits, nor where it has no more waiting', () => {
    const { enter, order, comes, clock, lengths } = restingTurns(1);
    comes('ben');
    clock.ms += 20_000;
    const first = enter('ann', 'a1', ONE);
    const second = enter('ann', 'a2', ONE);
    first.end();
    expect(order.slice(1)).toEqual(['a1', 'a2']);
    // Ben floods as well: whoever waits has its turn.
    enter('ann', 'a3', ONE);
    const bens = [enter('ben', 'b1', ONE), enter('ben', 'b2', ONE)];
    second.end();
    bens[0]?.end();
    expect(order.slice(3)).toEqual(['b1', 'a3']);
    expect(lengths).toEqual([]);
  });

  it('a further run has to wait, or is refused where none may', () => {
    const { enter, order, comes, clock } = restingTurns(2);
    const first = enter('ann', 'a1', ONE);
    enter('ann', 'a2', ONE);
    comes('ben');
    clock.ms += 100;
    first.end();
    expect(refusal(() => enter('ann', 'a3', { ...ONE, waiting: 1 }))).toMatchObject({ code: 'E_BUSY' });
    expect(order).toEqual(['a1', 'ben']);
  });
});

describe('what is too much', () => {
  it('waiting runs: a further one is refused with when to come back, and others are not', () => {
    const { enter, clock } = turnsOf(1);
    const limit = { waiting: 2 };
    const first = enter('ann', 'a1', limit);
    enter('ann', 'a2', limit);
    enter('ann', 'a3', limit);
    expect(refusal(() => enter('ann', 'a4', limit))).toMatchObject({
      code: 'E_BUSY',
      message: 'Nothing has run: 2 of your runs wait already, and no more may wait.',
      remedy: 'Make the same call again in 3 s.',
      retryAfterSeconds: 3,
    });
    const other = enter('ben', 'b1', limit);
    expect(other.isWaiting).toBe(true);
    // Runs that take long are waited for longer.
    clock.ms += 60_000;
    first.end();
    other.end();
    enter('ann', 'a4', limit);
    expect(refusal(() => enter('ann', 'a5', limit)).retryAfterSeconds).toBeGreaterThan(20);
  });

  it('none may wait: a run that need not wait has its turn', () => {
    const { enter } = turnsOf(1);
    const limit = { waiting: 0 };
    const first = enter('ann', 'a1', limit);
    expect(refusal(() => enter('ann', 'a2', limit)).code).toBe('E_BUSY');
    first.end();
    expect(enter('ann', 'a2', limit).isWaiting).toBe(false);
  });

  it('a run is refused before it comes where it would be when it has come, with those that come before it', () => {
    const { turns, enter } = turnsOf(2);
    const limits = { ...UNLIMITED, atOnce: 1, waiting: 2 };
    const taken = () =>
      [0, 1, 2, 3].filter((coming) => !turns.refusalAhead({ owner: 'ann', limits }, coming));
    expect([taken(), turns.kept]).toEqual([[0, 1, 2], 0]);
    const runs = [enter('ann', 'a1', limits)];
    expect(taken()).toEqual([0, 1]);
    runs.push(enter('ann', 'a2', limits));
    expect(taken()).toEqual([0]);
    runs.push(enter('ann', 'a3', limits));
    expect(taken()).toEqual([]);
    expect(turns.refusalAhead({ owner: 'ann', limits }, 0)).toMatchObject(
      refusal(() => enter('ann', 'a4', limits)),
    );
    expect(turns.refusalAhead({ owner: 'ben', limits }, 0)).toBeUndefined();
    for (const run of runs) run.end();
    expect(taken()).toEqual([0, 1, 2]);
  });

  it('a run is refused before it comes where as many wait for their session as may, though a place is free', () => {
    const { turns, enter } = turnsOf(2);
    const limits = { ...UNLIMITED, waiting: 1 };
    const isRefused = () => turns.refusalAhead({ owner: 'ann', limits }, 0) !== undefined;
    enter('ann', 'a1', limits);
    expect(isRefused()).toBe(false);
    const held = enter('ann', 'a2', limits, 1, true);
    expect(isRefused()).toBe(true);
    held.end();
    expect(isRefused()).toBe(false);
  });

  it('a run is not refused before it comes for one that can be cut short, and is for processor time', () => {
    const { turns, enter } = turnsOf(1);
    const limits = { ...UNLIMITED, waiting: 0, atOnce: 1, processorSeconds: 5 };
    const refusedNow = () => turns.refusalAhead({ owner: 'ann', limits }, 0)?.message;
    const run = enter('ann', 'a1', limits);
    expect(refusedNow()).toContain('no more may');
    run.lingers(() => {});
    expect(refusedNow()).toBeUndefined();
    turns.charge('ann', 6);
    expect(refusedNow()).toContain('5 s of processor time');
  });

  it('processor time: refused until enough of it is out of the window', () => {
    const { enter, clock } = turnsOf(1);
    const limit = { processorSeconds: 10 };
    for (const seconds of [6, 6]) {
      clock.ms += 10_000;
      enter('ann', 'a', limit).end({ processorSeconds: seconds });
    }
    expect(refusal(() => enter('ann', 'a', limit))).toMatchObject({
      code: 'E_BUSY',
      message: expect.stringContaining('10 s of processor time'),
      retryAfterSeconds: 50,
    });
    expect(enter('ben', 'b', limit).isWaiting).toBe(false);
    clock.ms += 50_000;
    expect(enter('ann', 'a', limit).isWaiting).toBe(true);
  });

  it('processor time that is used up while others of its runs wait: those are refused, too', () => {
    const { turns, enter, refused } = turnsOf(1);
    const limit = { processorSeconds: 10 };
    const first = enter('ann', 'a1', limit);
    enter('ann', 'a2', limit);
    enter('ben', 'b1', limit);
    first.end({ processorSeconds: 11 });
    expect([refused, turns.running, turns.waiting]).toEqual([['a2 E_BUSY'], 1, 0]);
  });
});

/** Half of these took no longer, and 95 in 100. */
const percentile = (times: readonly number[], part: number): number =>
  [...times].sort((one, other) => one - other)[Math.floor(times.length * part)] ?? 0;

/**
 * Plays runs of `runMs` each: a neighbour asks for one every `everyMs`, and `flood` runs of another owner wait all the
 * time. Returns how long each run of the neighbour took, its waiting included.
 */
function played(atOnce: number, flood: number, floodMs = 100) {
  const [runMs, everyMs] = [100, 330];
  const { turns, clock } = turnsOf(atOnce);
  const events: { readonly at: number; readonly happen: () => void }[] = [];
  const at = (ms: number, happen: () => void) => void events.push({ at: ms, happen });
  const took: number[] = [];
  // As by default: one of the places is left to others.
  const limits = { ...UNLIMITED, atOnce: Math.max(1, atOnce - 1), waiting: 100 };
  const start = (owner: string, ms: number, onEnd: () => void) => {
    const turn = turns.enter({
      owner,
      limits,
      memoryBytes: 1,
      onTurn: () =>
        at(clock.ms + ms, () => {
          turn.end();
          onEnd();
        }),
      onRefused: () => {},
    });
  };
  const floods = () => start('flood', floodMs, floods);
  for (let run = 0; run < flood; run++) at(0, floods);
  const arrives = () => {
    const since = clock.ms;
    at(since + everyMs, arrives);
    start('neighbour', runMs, () => took.push(clock.ms - since));
  };
  at(0, arrives);
  while (took.length < 300) {
    events.sort((one, other) => one.at - other.at);
    const next = events.shift();
    if (next === undefined) throw new Error('nothing happens any more');
    clock.ms = next.at;
    next.happen();
  }
  return took;
}

describe('a flood of one principal', () => {
  it.each([2, 4, 8])('does not double the p95 of another, with %i runs at once', (atOnce) => {
    const [calm, flooded] = [played(atOnce, 0), played(atOnce, 90)];
    expect([percentile(calm, 0.5), percentile(calm, 0.95)]).toEqual([100, 100]);
    expect(percentile(flooded, 0.95)).toBeLessThan(2 * percentile(calm, 0.95));
  });

  it('of runs that take ten times as long does not, either', () => {
    const flooded = played(2, 90, 1_000);
    expect(percentile(flooded, 0.95)).toBeLessThan(200);
  });

  it('with a single place costs one turn at most', () => {
    const flooded = played(1, 90);
    expect(Math.max(...flooded)).toBeLessThanOrEqual(200);
  });
});

describe('one that is held for something of its own', () => {
  it('is counted among those that wait, and is passed over until it is ready', () => {
    const { turns, enter, order } = turnsOf(1);
    const held = enter('ann', 'held', ...HELD);
    const [second, third] = [enter('ann', 'second'), enter('ann', 'third')];
    expect([order, turns.waiting, held.isWaiting, third.ahead]).toEqual([['second'], 2, false, 0]);
    held.ready();
    expect([held.isWaiting, held.ahead, third.ahead]).toEqual([true, 0, 1]);
    second.end();
    expect(order).toEqual(['second', 'held']);
    third.end();
    held.end();
    expect([turns.running, turns.waiting]).toEqual([0, 0]);
  });

  it('is refused where too many wait, also while there is a place', () => {
    const { enter } = turnsOf(4);
    enter('ann', 'one', { waiting: 1 }, 1, true);
    expect(refusal(() => enter('ann', 'two', { waiting: 1 }, 1, true)).code).toBe('E_BUSY');
    // What needs not wait is not refused, as the control.
    expect(enter('ann', 'three', { waiting: 1 }).isWaiting).toBe(false);
  });

  it('is refused when its owner has used up its processor time', () => {
    const { turns, enter, refused } = turnsOf(1);
    enter('ann', 'held', { processorSeconds: 1 }, 1, true);
    turns.charge('ben', 2);
    expect(refused).toEqual([]);
    turns.charge('ann', 2);
    expect([refused, turns.waiting]).toEqual([['held E_BUSY'], 0]);
  });
});

describe('one that stands', () => {
  it('gives its place to others, and has it again before those that have had none', () => {
    const { turns, enter, order } = turnsOf(1);
    const asks = enter('ann', 'asks');
    const [next, later] = [enter('ben', 'next'), enter('ben', 'later')];
    expect(asks.stand()).toBe(true);
    expect([order, turns.running]).toEqual([['asks', 'next'], 1]);
    asks.goOn(() => void order.push('asks again'));
    expect([asks.isWaiting, later.ahead]).toEqual([true, 1]);
    next.end();
    expect(order).toEqual(['asks', 'next', 'asks again']);
    asks.end();
    later.end();
    expect([order.at(-1), turns.running, turns.waiting]).toEqual(['later', 0, 0]);
  });

  it('has its place again at once where one is free', () => {
    const { enter, order } = turnsOf(2);
    const asks = enter('ann', 'asks');
    asks.stand();
    asks.goOn(() => void order.push('asks again'));
    expect(order).toEqual(['asks', 'asks again']);
  });

  it('is followed by no more of its owner than could stand as well', () => {
    const { enter, order } = turnsOf(2);
    const one = { atOnce: 1 };
    for (const owner of ['ann', 'eve'])
      for (const name of ['first', 'second', 'third']) {
        const asks = enter(owner, `${owner} ${name}`, one);
        if (!asks.isWaiting) expect(asks.stand(), `${owner} ${name}`).toBe(true);
      }
    // Whatever Ann and Eve have asked, and nobody answers, both places are for Ben.
    expect([enter('ben').isWaiting, enter('ben').isWaiting]).toEqual([false, false]);
    expect(order).toEqual(['ann first', 'ann second', 'eve first', 'eve second', 'ben', 'ben']);
  });

  it('goes on where its owner has another one under way, when that has ended or stands', () => {
    const { enter, order } = turnsOf(4);
    const one = { atOnce: 1 };
    const first = enter('ann', 'first', one);
    first.stand();
    const second = enter('ann', 'second', one);
    first.goOn(() => void order.push('first again'));
    expect(order).toEqual(['first', 'second']);
    second.stand();
    expect(order.at(-1)).toBe('first again');
    first.end();
    const third = enter('ann', 'third', one);
    expect(third.isWaiting).toBe(false);
  });

  it('keeps its memory, and its place where as many of all stand already', () => {
    const { turns, enter, order } = turnsOf(4, undefined, 2);
    const small = { memoryBytes: 2, atOnce: 1 };
    const ann = enter('ann', 'ann 1', small);
    expect(ann.stand()).toBe(true);
    const more = enter('ann', 'ann 2', small);
    enter('ann', 'ann 3', small);
    // A third has no memory, although a run of Ann's has ended.
    more.end();
    expect(order).toEqual(['ann 1', 'ann 2', 'ann 3']);
    enter('ann', 'ann 4', { memoryBytes: 2 });
    expect(order).not.toContain('ann 4');
    expect([enter('ben').stand(), enter('eve').stand()]).toEqual([true, false]);
    ann.end();
    expect([order.at(-1), turns.running]).toEqual(['ann 4', 3]);
  });

  it('that ends while it stands or returns leaves nothing behind', () => {
    const { turns, enter } = turnsOf(1);
    const [one, two] = [enter('ann'), enter('ann')];
    one.stand();
    expect(two.stand()).toBe(true);
    const other = enter('ben');
    two.goOn(() => {});
    one.end();
    two.end();
    other.end();
    expect([turns.running, turns.waiting]).toEqual([0, 0]);
  });

  it('is not refused its place for processor time: it has begun, and ends as others do', () => {
    const { turns, enter, order, refused } = turnsOf(1);
    const asks = enter('ann', 'asks', { processorSeconds: 1 });
    asks.stand();
    const other = enter('ben');
    asks.goOn(() => void order.push('again'));
    turns.charge('ann', 2);
    other.end();
    expect([refused, order.at(-1), asks.isUsedUp]).toEqual([[], 'again', true]);
  });
});

describe('one that only lingers', () => {
  it('ends as soon as somebody waits for its place, and not before', () => {
    const { enter, order } = turnsOf(2);
    const first = enter('ann', 'first');
    first.lingers(() => {
      order.push('cut');
      first.end({ processorSeconds: 1 });
    });
    enter('ben', 'ben');
    expect(order).toEqual(['first', 'ben']);
    enter('eve', 'eve');
    expect(order).toEqual(['first', 'ben', 'cut', 'eve']);
  });

  it('makes room for its own owner, whose next run is not refused for it', () => {
    const { enter, order } = turnsOf(4);
    const alone = { atOnce: 1, waiting: 0 };
    const first = enter('ann', 'first', alone);
    expect(refusal(() => enter('ann', 'refused', alone)).code).toBe('E_BUSY');
    first.lingers(() => first.end());
    enter('ann', 'second', alone);
    expect(order).toEqual(['first', 'second']);
  });

  it('is no use to those whose own limits hold them up', () => {
    const { enter, order } = turnsOf(2);
    const first = enter('ann', 'first');
    enter('ben', 'ben', { atOnce: 1 });
    first.lingers(() => void order.push('cut'));
    enter('ben', 'ben 2', { atOnce: 1 });
    expect(order).toEqual(['first', 'ben']);
  });
});

describe('one that also needs what only so many have at once', () => {
  /** Runs that need the bound `key`, which one has at once; `order` has them as they begin. */
  function bounded() {
    const turns = new Scheduler({ atOnce: 4 });
    const order: string[] = [];
    const enter = (name: string, key?: string, change: Partial<TurnLimits> = {}, owner = 'ann'): Turn =>
      turns.enter({
        owner,
        limits: { ...UNLIMITED, ...change },
        memoryBytes: 0,
        group: name,
        bound: key === undefined ? undefined : { key, max: 1 },
        onTurn: () => void order.push(name),
        onRefused: () => {},
      });
    return { turns, enter, order };
  }

  it('is passed over while there is none, and holds up nothing else of its owner', () => {
    const { turns, enter, order } = bounded();
    const slow = enter('slow', 'a');
    const [second, quick] = [enter('second', 'a'), enter('quick', 'b')];
    expect([order, second.isWaiting, turns.waiting]).toEqual([['slow', 'quick'], true, 1]);
    // Nobody is refused for those that wait for something else.
    const other = enter('other', undefined, { waiting: 0 });
    expect(other.isWaiting).toBe(false);
    expect(refusal(() => enter('third', 'a', { waiting: 0 })).code).toBe('E_BUSY');
    slow.end();
    expect(order).toEqual(['slow', 'quick', 'other', 'second']);
    for (const turn of [second, quick, other]) turn.end();
    expect([turns.running, turns.waiting, turns.kept]).toEqual([0, 0, 0]);
  });

  it('keeps its own turn while it waits for that, and counts once', async () => {
    const { turns, enter, order } = bounded();
    const alone = { begun: 1 };
    const call = enter('call', undefined, alone);
    const next = enter('next', undefined, alone);
    const holder = enter('holder', 'a', {}, 'eve');
    let isThere = false;
    const moving = call.moveTo({ key: 'a', max: 1 }, NEVER).then(() => {
      isThere = true;
    });
    await Promise.resolve();
    expect([isThere, next.isWaiting]).toEqual([false, true]);
    holder.end();
    await moving;
    expect([order, next.isWaiting]).toEqual([['call', 'holder'], true]);
    call.end();
    expect(next.isWaiting).toBe(false);
    next.end();
    expect(turns.kept).toBe(0);
  });

  it('leaves nothing behind where it is not wanted any more while it waits for that', async () => {
    const { turns, enter } = bounded();
    const [holder, call] = [enter('holder', 'a'), enter('call')];
    const leaving = new AbortController();
    const moving = call.moveTo({ key: 'a', max: 1 }, leaving.signal);
    leaving.abort();
    await moving;
    call[Symbol.dispose]();
    holder.end();
    expect([turns.running, turns.waiting, turns.kept]).toEqual([0, 0, 0]);
  });
});

it('of an owner with nothing under way nothing is kept but what it has used of the processor', () => {
  const { turns, enter, clock } = turnsOf(2);
  enter('ann').end();
  expect(turns.kept).toBe(0);
  enter('ben').end({ processorSeconds: 1 });
  expect(turns.kept).toBe(1);
  clock.ms += 2 * WINDOW_MS;
  enter('eve').end();
  expect(turns.kept).toBe(0);
});
