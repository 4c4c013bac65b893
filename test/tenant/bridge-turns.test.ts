// Runs of several principals over one engine: whose turn it is, what each may use, what it is told while it waits, and when a
// bridge ends. The sandboxes are a stand-in that a test opens one by one; each run ends as one whose sandbox was lost.

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { BridgeError } from '../../src/base/errors.js';
import type { BridgeEvent } from '../../src/base/log/events.js';
import { LOCAL_USER, type Principal } from '../../src/base/principal.js';
import { byCommandLine, type CallEvent } from '../../src/run/calls/call-context.js';
import type { RunInput } from '../../src/run/life/run-request.js';
import type { Outcome } from '../../src/run/outcome/outcome.js';
import type { WarmPool } from '../../src/sandbox/launch/warm-pool.js';
import type { SandboxProfile } from '../../src/sandbox/spec/profile.js';
import {
  hostileEntry,
  openBridges,
  principalNamed,
  type TestBridges,
} from '../service/principals/principal-bridges.js';
import { NEVER, pause, until } from '../support/time.js';

const [ANN, BEN] = [principalNamed('ann'), principalNamed('ben')];

let bridges: TestBridges;
/** Ends the runs that have asked for a sandbox, in that order. */
let started: {
  readonly end: () => void;
  readonly kind: SandboxProfile;
  readonly isBeside: boolean | undefined;
}[];

function open(...given: Parameters<typeof openBridges>): void {
  bridges = openBridges(...given);
  started = [];
  vi.spyOn(bridges.service.warm, 'of').mockImplementation(
    (kind) =>
      ({
        take: (signal: AbortSignal, { isBeside }: { isBeside?: boolean } = {}) =>
          new Promise((_resolve, reject) => {
            const lost = new BridgeError('E_SANDBOX_LOST', 'The sandbox was lost.', { fault: 'engine' });
            started.push({ kind, isBeside, end: () => reject(lost) });
            signal.addEventListener('abort', () => reject(lost));
          }),
        giveBack: () => {},
        retire: () => {},
        fill: () => {},
      }) as unknown as WarmPool,
  );
  vi.spyOn(bridges.service, 'start').mockImplementation(
    (kind, signal) =>
      new Promise((_resolve, reject) => {
        const lost = new BridgeError('E_SANDBOX_LOST', 'The sandbox was lost.', { fault: 'engine' });
        started.push({ kind, isBeside: undefined, end: () => reject(lost) });
        signal.addEventListener('abort', () => reject(lost));
      }),
  );
  vi.spyOn(bridges.service, 'sweepOnce').mockImplementation(() => {});
}

beforeEach(() => open({}, { env: { MCP_BRIDGE_CONCURRENCY: '1', MCP_BRIDGE_WARM: '0' } }));
afterEach(async () => {
  await bridges[Symbol.asyncDispose]();
  vi.restoreAllMocks();
});

const run = (
  principal: Principal,
  tell: (event: CallEvent) => void = () => {},
  signal: AbortSignal = NEVER,
  session: Pick<RunInput, 'session'> = {},
): Promise<Outcome> =>
  bridges
    .of(principal)
    .run(
      { task: { type: 'cell', code: '1' }, servers: [], files: [], timeoutSeconds: 30, ...session },
      byCommandLine(signal, tell),
    );

/** A call of Ann's in the session of this name. */
const call = (name: string, signal: AbortSignal = NEVER, principal = ANN): Promise<Outcome> =>
  run(principal, undefined, signal, { session: { name, isRequired: false } });

const statusOf = async (ending: Promise<Outcome>) => (await ending).error?.type;

describe('turns', () => {
  it('of a principal come between those of another that has asked for many', async () => {
    const order: string[] = [];
    const noting =
      (name: string) =>
      ({ type }: CallEvent) => {
        if (type === 'preparing') order.push(name);
      };
    const runs = Array.from({ length: 20 }, () => run(ANN, noting('ann')));
    runs.push(run(BEN, noting('ben')));
    for (let count = 0; count < 21; count++) {
      await until(() => started.length > count);
      started[count]?.end();
    }
    await Promise.all(runs);
    expect(order.slice(0, 3)).toEqual(['ann', 'ben', 'ann']);
    expect(order).toHaveLength(21);
  });

  it('a run that waits is told how many come before it, which is so', async () => {
    const places: (() => number)[] = [];
    const tell = (event: CallEvent) => {
      if (event.type === 'queued') places.push(() => event.place.ahead);
    };
    const runs = [run(ANN), run(ANN, tell), run(ANN, tell), run(BEN, tell)];
    await until(() => places.length === 3);
    // Of Ann's two that wait the first comes after Ben's.
    expect(places.map((ahead) => ahead())).toEqual([1, 2, 0]);
    started[0]?.end();
    await until(() => started.length === 2);
    expect(places.map((ahead) => ahead())).toEqual([0, 1, 0]);
    for (const at of [1, 2, 3]) {
      started[at]?.end();
      await until(() => started.length > at + 1 || at === 3);
    }
    expect(await Promise.all(runs.map(statusOf))).toEqual(Array(4).fill('E_SANDBOX_LOST'));
  });

  it('a run that is cancelled while it waits starts nothing, and its place is free at once', async () => {
    bridges.rules.set(ANN.id, { quotas: { runsWaiting: 1 } });
    const first = run(ANN);
    const cancelling = new AbortController();
    const second = run(ANN, undefined, cancelling.signal);
    expect(await statusOf(run(ANN))).toBe('E_BUSY');
    cancelling.abort('cancelled');
    expect((await second).status).toBe('cancelled');
    const third = run(ANN);
    expect(started).toHaveLength(1);
    started[0]?.end();
    await until(() => started.length === 2);
    started[1]?.end();
    expect(await Promise.all([first, third].map(statusOf))).toEqual(Array(2).fill('E_SANDBOX_LOST'));
  });

  it('one principal cannot end the runs of another', async () => {
    const own = run(ANN);
    await until(() => started.length === 1);
    await bridges.of(BEN)[Symbol.asyncDispose]();
    let isOver = false;
    void own.then(() => {
      isOver = true;
    });
    await pause(20);
    expect(isOver).toBe(false);
    started[0]?.end();
    expect(await statusOf(own)).toBe('E_SANDBOX_LOST');
  });
});

describe('quotas', () => {
  it('waiting runs: a further one is refused with when to come back, which is told, and has not begun', async () => {
    bridges.rules.set(ANN.id, { quotas: { runsWaiting: 1 } });
    const runs = [run(ANN), run(ANN)];
    const refused = await run(ANN);
    expect(refused.error).toMatchObject({
      type: 'E_BUSY',
      message: 'Nothing has run: 1 of your runs waits already, and no more may wait.',
      remedy: expect.stringMatching(/^Make the same call again in \d+ s\.$/),
    });
    // A change counts for the next run.
    bridges.rules.set(ANN.id, { quotas: { runsWaiting: 2 } });
    runs.push(run(ANN), run(BEN), run(LOCAL_USER), run(LOCAL_USER));
    for (let count = 0; count < runs.length; count++) {
      await until(() => started.length > count);
      started[count]?.end();
    }
    expect(await Promise.all(runs.map(statusOf))).toEqual(Array(6).fill('E_SANDBOX_LOST'));
    const told = bridges.events.filter(({ type }: BridgeEvent) => type === 'run.started');
    expect(told).toHaveLength(6);
    expect(bridges.events.filter(({ type }: BridgeEvent) => type === 'run.rejected')).toEqual([
      expect.objectContaining({
        principal: ANN.id,
        servers: [],
        language: 'python',
        error: {
          kind: 'E_BUSY',
          message: 'Nothing has run: 1 of your runs waits already, and no more may wait.',
        },
      }),
    ]);
  });

  it('waiting runs: a call is known to be refused before it is read, while another principal has room', async () => {
    bridges.rules.set(ANN.id, { quotas: { runsWaiting: 2 } });
    const isRefused = (principal: Principal, coming = 0) =>
      bridges.refusalAhead(principal, coming)?.retryAfterSeconds !== undefined;
    expect([isRefused(ANN), isRefused(ANN, 2), isRefused(ANN, 3)]).toEqual([false, false, true]);
    const runs = [run(ANN), run(ANN), run(ANN)];
    await until(() => bridges.service.turns.waiting === 2);
    expect([isRefused(ANN), isRefused(BEN), isRefused(LOCAL_USER, 1_000)]).toEqual([true, false, false]);
    // What goes on with a call that asks may be as large as the call.
    const asking = vi.spyOn(bridges.jobsOf(ANN), 'inRound', 'get').mockReturnValue(1);
    expect([isRefused(ANN), isRefused(ANN, 1)]).toEqual([false, true]);
    asking.mockReturnValue(0);
    for (let count = 0; count < runs.length; count++) {
      await until(() => started.length > count);
      started[count]?.end();
    }
    await Promise.all(runs);
    expect(isRefused(ANN)).toBe(false);
  });

  it('the user who started the bridge waits for as long as it takes, as ever', async () => {
    const runs = Array.from({ length: 80 }, () => run(LOCAL_USER));
    for (let count = 0; count < runs.length; count++) {
      await until(() => started.length > count);
      started[count]?.end();
    }
    expect(new Set(await Promise.all(runs.map(statusOf)))).toEqual(new Set(['E_SANDBOX_LOST']));
  });

  it('memory: a run of a kind that may have more than all of its principal is refused', async () => {
    bridges.rules.set(ANN.id, { quotas: { memoryBytes: 100 * 1024 ** 2 } });
    expect((await run(ANN)).error).toMatchObject({
      type: 'E_LIMIT',
      message: expect.stringContaining('512 MB, but all of your runs together only 100 MB'),
    });
  });
});

describe('calls of one session that wait for it', () => {
  const forty = (make: () => Promise<Outcome>) => {
    const ended: string[] = [];
    const all = Array.from({ length: 40 }, () =>
      make().then(({ error }) => void ended.push(error?.type ?? '')),
    );
    return { all: Promise.all(all), ended };
  };

  it.each([
    ['runs, as the control', () => run(ANN)],
    ['calls of one session', () => call('data')],
    ['calls of one session, while there is a place for each', () => call('data'), '64'],
  ])('are counted among those that wait: %s', async (_what, make, concurrency = '1') => {
    await bridges[Symbol.asyncDispose]();
    open({}, { env: { MCP_BRIDGE_CONCURRENCY: concurrency, MCP_BRIDGE_WARM: '0' } });
    bridges.rules.set(ANN.id, { quotas: { runsWaiting: 2 } });
    const { all, ended } = forty(make);
    await until(() => ended.length >= 37 && started.length === 1);
    expect(ended).toEqual(Array(37).fill('E_BUSY'));
    for (const count of [1, 2, 3]) {
      await until(() => started.length === count);
      started[count - 1]?.end();
    }
    await all;
    expect(ended).toHaveLength(40);
    expect([bridges.service.turns.running, bridges.service.turns.waiting]).toEqual([0, 0]);
  });

  it('hold no place meanwhile, and are counted no more once they are cancelled', async () => {
    await bridges[Symbol.asyncDispose]();
    open({}, { env: { MCP_BRIDGE_CONCURRENCY: '2', MCP_BRIDGE_WARM: '0' } });
    bridges.rules.set(ANN.id, { quotas: { runsWaiting: 1, runsAtOnce: 2 } });
    const first = call('data');
    await until(() => started.length === 1);
    const cancelling = new AbortController();
    const second = call('data', cancelling.signal);
    expect(await statusOf(call('data'))).toBe('E_BUSY');
    // Another session has the second place.
    const other = call('more');
    await until(() => started.length === 2);
    cancelling.abort('cancelled');
    expect(await statusOf(second)).toBe('E_CANCELLED');
    expect(bridges.service.turns.waiting).toBe(0);
    const third = call('data');
    started[0]?.end();
    started[1]?.end();
    await until(() => started.length === 3);
    started[2]?.end();
    expect(await Promise.all([first, other, third].map(statusOf))).toEqual(Array(3).fill('E_SANDBOX_LOST'));
  });

  it('are refused at once where their principal has used up its processor time meanwhile', async () => {
    bridges.rules.set(ANN.id, { quotas: { processorSeconds: 1 } });
    const first = call('data');
    await until(() => started.length === 1);
    const second = call('data');
    bridges.service.turns.charge(ANN.id, 2);
    expect(await statusOf(second)).toBe('E_BUSY');
    started[0]?.end();
    expect(await statusOf(first)).toBe('E_SANDBOX_LOST');
    expect(bridges.of(ANN).sessions.size).toBe(0);
  });
});

describe('sandboxes that wait', () => {
  it('are for others while one principal has more runs waiting, and for it where it is alone', async () => {
    const flood = Array.from({ length: 4 }, () => run(ANN));
    await until(() => started.length === 1);
    const ben = run(BEN);
    for (let count = 0; count < 5; count++) {
      await until(() => started.length > count);
      started[count]?.end();
    }
    await Promise.all([...flood, ben]);
    // Ann alone, Ben, Ann with two more waiting, with one more, and with none.
    expect(started.map(({ isBeside }) => isBeside)).toEqual([false, false, true, true, false]);
  });
});

describe('a place', () => {
  it('is left to others while one principal floods, and not where that is the user who started the bridge', async () => {
    await bridges[Symbol.asyncDispose]();
    open({}, { env: { MCP_BRIDGE_CONCURRENCY: '3', MCP_BRIDGE_WARM: '0' } });
    const flood = Array.from({ length: 10 }, () => run(ANN));
    await until(() => started.length === 2);
    const ben = run(BEN);
    await until(() => started.length === 3);
    expect(bridges.service.turns.waiting).toBe(8);
    await bridges.of(ANN)[Symbol.asyncDispose]();
    await bridges.of(BEN)[Symbol.asyncDispose]();
    await Promise.all([...flood, ben]);
    expect([bridges.service.turns.running, bridges.service.turns.waiting]).toEqual([0, 0]);
    const own = Array.from({ length: 3 }, () => run(LOCAL_USER));
    await until(() => started.length === 6);
    for (const { end } of started) end();
    await Promise.all(own);
  });
});

it('the volume of commands is another for each principal, also where the operator has named one', async () => {
  await bridges[Symbol.asyncDispose]();
  open(
    {},
    { env: { MCP_BRIDGE_TOOLS: 'execute', MCP_BRIDGE_EXECUTE_WORK: 'team', MCP_BRIDGE_CONCURRENCY: '3' } },
  );
  const command = {
    argv: ['true'],
    stdin: undefined,
    cwd: '/work',
    env: {},
    maxOutputBytes: 1000,
    shownBytes: 1000,
  } as const;
  const runs = [ANN, BEN, LOCAL_USER].map(async (principal) => {
    await bridges.of(principal).runCommand({ command, timeoutSeconds: 5 }, byCommandLine(NEVER));
  });
  await until(() => started.length === 3);
  const volumes = started.map(({ kind }) => kind.volumes[0]?.name);
  for (const { end } of started) end();
  await Promise.all(runs);
  expect(volumes).toEqual([
    expect.stringMatching(/^team-[0-9a-f]{32}$/),
    expect.stringMatching(/^team-[0-9a-f]{32}$/),
    'team',
  ]);
  expect(volumes[0]).not.toBe(volumes[1]);
});

describe('a bridge', () => {
  beforeEach(async () => {
    await bridges[Symbol.asyncDispose]();
    open({ a: hostileEntry() }, { idleMs: 100, env: { MCP_BRIDGE_WARM: '0' } });
  });

  it('is one for each principal, and ends when nobody has used it for a while', async () => {
    const bridge = bridges.of(ANN);
    expect(bridges.of(ANN)).toBe(bridge);
    expect(bridges.of(BEN)).not.toBe(bridge);
    expect(bridges.size).toBe(2);
    await until(() => bridges.size === 0);
    expect(bridges.of(ANN)).not.toBe(bridge);
  });

  it('is another one for a credential with other rights, and the same one for a newer credential', () => {
    const token = { ...ANN, scopes: ['runs', 'files'], expiresAtMs: 1 };
    const bridge = bridges.of(token);
    expect(bridges.of({ ...token, scopes: ['files', 'runs'], expiresAtMs: 2, name: 'Ann' })).toBe(bridge);
    expect(bridges.of({ ...token, scopes: ['runs'] })).not.toBe(bridge);
    expect(bridges.of({ ...token, servers: [] })).not.toBe(bridge);
    expect(bridges.of({ ...token, groups: ['admins'] } as Principal)).not.toBe(bridge);
  });

  it('that is held, or has a run under way, is not ended', async () => {
    using held = bridges.hold(ANN);
    const running = run(BEN);
    await until(() => started.length === 1);
    await pause(400);
    expect(bridges.of(ANN)).toBe(held.bridge);
    expect(bridges.size).toBe(2);
    started[0]?.end();
    await running;
    held[Symbol.dispose]();
    held[Symbol.dispose]();
    await until(() => bridges.size === 0);
  });

  it('of the user who started it stays', async () => {
    const bridge = bridges.of(LOCAL_USER);
    await pause(400);
    expect(bridges.of(LOCAL_USER)).toBe(bridge);
  });

  it('is made no more after the end', async () => {
    await bridges[Symbol.asyncDispose]();
    expect(() => bridges.of(ANN)).toThrow('The bridge is closing.');
  });
});
