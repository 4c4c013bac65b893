import { setImmediate } from 'node:timers/promises';
import { afterEach, expect, it, vi } from 'vitest';
import type { DownstreamSpec } from '../../src/hosts/downstream-spec.js';
import { isAlive } from '../support/processes.js';
import { NEVER, until } from '../support/time.js';
import { call, hostile, pidsOf, poolOf, type TestPool } from './hostile.js';

const pools: TestPool[] = [];
afterEach(async () => {
  vi.useRealTimers();
  await Promise.all(pools.splice(0).map((pool) => pool[Symbol.asyncDispose]()));
});

function pool(specs: readonly DownstreamSpec[], times = {}): TestPool {
  const made = poolOf(specs, times);
  pools.push(made);
  return made;
}

/** Rests are as long as a test says, and nobody's patience ends meanwhile. */
const stopClock = () => vi.useFakeTimers({ toFake: ['performance'] });

const named = (name: string, ...modes: string[]) => ({ ...hostile(...modes), name });
const count = ({ events }: TestPool, type: string) => events.filter((event) => event.type === type).length;

it('nothing starts before it is asked for, and those who ask together share one start', async () => {
  const servers = pool([named('a', 'slow-start=100'), named('b')]);
  expect(servers.states()).toMatchObject([
    { name: 'a', state: 'idle' },
    { name: 'b', state: 'idle' },
  ]);
  const gone = new AbortController();
  const first = servers.get('a', gone.signal);
  const others = [servers.get('a', NEVER), servers.get('a', NEVER)];
  expect(servers.states()[0]?.state).toBe('opening');
  gone.abort();
  await expect(first).rejects.toMatchObject({ code: 'E_CANCELLED' });
  const [one, two] = await Promise.all(others);
  expect(one).toBe(two);
  expect(servers.events.map(({ type }) => type)).toEqual([
    'downstream.connecting',
    'downstream.ready',
    // Some of its tools are odd.
    'downstream.unusable',
  ]);
  expect(servers.states()).toMatchObject([{ state: 'ready', reason: undefined }, { state: 'idle' }]);
  expect(servers.states()[0]?.tools).toBeGreaterThan(20);
});

it('several start in parallel', async () => {
  const specs = ['a', 'b', 'c'].map((name) => named(name, 'slow-start=400'));
  const servers = pool(specs);
  await Promise.all(specs.map(({ name }) => servers.get(name, NEVER)));
  expect(servers.events.map(({ type }) => type)).toEqual([
    ...specs.map(() => 'downstream.connecting'),
    ...specs.flatMap(() => ['downstream.ready', 'downstream.unusable']),
  ]);
});

it('one that crashed is started again by the next get', async () => {
  const servers = pool([named('a')]);
  const before = await servers.get('a', NEVER);
  await expect(call(before, 'crash')).rejects.toMatchObject({ code: 'E_SERVER_UNAVAILABLE' });
  expect(servers.states()[0]).toMatchObject({ state: 'idle', reason: "Server 'a' exited with code 7." });
  const after = await servers.get('a', NEVER);
  expect(after).not.toBe(before);
  expect(await call(after, 'echo', { text: 'back' })).toMatchObject({ content: [{ text: 'back' }] });
  expect(count(servers, 'downstream.closed')).toBe(1);
});

it('one that does not start rests, refuses at once with the reason, and is tried again later', async () => {
  const servers = pool([named('a', 'exit-early')], { restMs: 300 });
  stopClock();
  await expect(servers.get('a', NEVER)).rejects.toMatchObject({ message: expect.stringContaining('code 3') });
  const refused = servers.get('a', NEVER).catch((error: unknown) => error);
  expect(await Promise.race([refused, setImmediate('nothing yet')])).toMatchObject({
    code: 'E_SERVER_UNAVAILABLE',
    message: expect.stringContaining('cannot read its key'),
    remedy: expect.stringContaining('retry in 1 s'),
  });
  expect(count(servers, 'downstream.connecting')).toBe(1);
  expect(servers.states()[0]).toMatchObject({ state: 'resting', retryInMs: expect.any(Number) });
  vi.advanceTimersByTime(300);
  expect(servers.states()[0]?.state).toBe('idle');
  await expect(servers.get('a', NEVER)).rejects.toThrow();
  expect(count(servers, 'downstream.failed')).toBe(2);
  // The second rest is twice as long.
  expect(servers.states()[0]?.retryInMs).toBeGreaterThan(300);
});

it('one that crashes at every call rests after the third, and an answer makes up for all', async () => {
  const servers = pool([hostile()], { restMs: 300 });
  stopClock();
  const crash = async () => {
    const server = await servers.get('hostile', NEVER);
    await expect(call(server, 'crash')).rejects.toMatchObject({ code: 'E_SERVER_UNAVAILABLE' });
    await until(() => servers.states()[0]?.state !== 'ready');
  };
  for (let n = 0; n < 2; n++) await crash();
  await call(await servers.get('hostile', NEVER), 'pid');
  for (let n = 0; n < 3; n++) await crash();
  await expect(servers.get('hostile', NEVER)).rejects.toMatchObject({
    code: 'E_SERVER_UNAVAILABLE',
    message: expect.stringContaining('3 times in a row'),
    remedy: expect.stringContaining('retry in'),
  });
  vi.advanceTimersByTime(300);
  await call(await servers.get('hostile', NEVER), 'pid');
});

it('an unknown name is answered with the near one and the names, cut when they are many', async () => {
  const servers = pool(Array.from({ length: 25 }, (_, number) => named(`server-${number}`)));
  await expect(servers.get('servr_7', NEVER)).rejects.toMatchObject({
    code: 'E_SERVER_UNKNOWN',
    message: "There is no server 'servr_7'. Did you mean 'server-7'?",
    remedy: expect.stringMatching(/server-0, .*server-19 and 5 more\.$/),
  });
  await expect(pool([]).get('__proto__', NEVER)).rejects.toMatchObject({
    remedy: 'No MCP server is configured.',
  });
});

it('an idle one is ended, but not while a call is under way', async () => {
  const servers = pool([named('a')], { idleMs: 150 });
  const server = await servers.get('a', NEVER);
  const [pid] = await pidsOf(server);
  await call(server, 'sleep', { ms: 400 });
  expect(servers.states()[0]?.state).toBe('ready');
  await until(() => servers.states()[0]?.state === 'idle');
  await until(() => !isAlive(Number(pid)));
  await expect(call(await servers.get('a', NEVER), 'pid')).resolves.toBeDefined();
});

it('a new configuration keeps what is unchanged and ends the rest after its last call', async () => {
  const servers = pool([named('same'), named('changed'), named('removed')]);
  const same = await servers.get('same', NEVER);
  const changed = await servers.get('changed', NEVER);
  const [pid] = await pidsOf(changed);
  const sleeping = call(changed, 'sleep', { ms: 200 });
  servers.adopt([named('same'), { ...named('changed'), env: { NEW: '1' } }, named('added')]);
  expect(servers.states().map(({ name }) => name)).toEqual(['same', 'changed', 'added']);
  expect(await servers.get('same', NEVER)).toBe(same);
  expect(await servers.get('changed', NEVER)).not.toBe(changed);
  expect(await sleeping).toMatchObject({ content: [{ text: 'slept 200 ms' }] });
  await until(() => !isAlive(Number(pid)));
  await expect(servers.get('removed', NEVER)).rejects.toMatchObject({ code: 'E_SERVER_UNKNOWN' });
});

it('what a run holds stays the same server until it lets go, whatever the configuration says meanwhile', async () => {
  const servers = pool([named('changed'), named('removed'), named('unopened')]);
  using held = servers.lease(['changed', 'removed', 'unopened']);
  const [changed, removed] = [await held.get('changed', NEVER), await held.get('removed', NEVER)];
  const pids = [...(await pidsOf(changed)), ...(await pidsOf(removed))];
  servers.adopt([{ ...named('changed'), env: { NEW: '1' } }]);
  expect(await held.get('changed', NEVER)).toBe(changed);
  expect(await held.get('removed', NEVER)).toBe(removed);
  expect(held.specOf('removed')).toEqual(named('removed'));
  // Its first call comes after the change, and one that crashes is started again as it was.
  const unopened = await held.get('unopened', NEVER);
  await expect(call(unopened, 'crash')).rejects.toMatchObject({ code: 'E_SERVER_UNAVAILABLE' });
  pids.push(...(await pidsOf(await held.get('unopened', NEVER))));
  expect(pids.every(isAlive)).toBe(true);
  // A later run has what is configured then.
  expect(await servers.get('changed', NEVER)).not.toBe(changed);
  await expect(servers.get('removed', NEVER)).rejects.toMatchObject({ code: 'E_SERVER_UNKNOWN' });
  const sleeping = call(removed, 'sleep', { ms: 200 });
  held[Symbol.dispose]();
  expect(await sleeping).toMatchObject({ content: [{ text: 'slept 200 ms' }] });
  await until(() => !pids.some(isAlive));
});

it('two that hold the same server: it ends with the last', async () => {
  const servers = pool([named('a')]);
  const [one, two] = [servers.lease(['a']), servers.lease(['a'])];
  const [pid] = await pidsOf(await one.get('a', NEVER));
  servers.adopt([]);
  one[Symbol.dispose]();
  one[Symbol.dispose]();
  expect(isAlive(Number(pid))).toBe(true);
  expect(await pidsOf(await two.get('a', NEVER))).toEqual([pid]);
  two[Symbol.dispose]();
  await until(() => !isAlive(Number(pid)));
});

it('what is asked for later is held from then on', async () => {
  const servers = pool([named('a')]);
  using held = servers.lease([]);
  const server = await held.get('a', NEVER);
  servers.adopt([]);
  expect(await held.get('a', NEVER)).toBe(server);
  await expect(held.get('b', NEVER)).rejects.toMatchObject({ code: 'E_SERVER_UNKNOWN' });
});

it('disposing ends the well-behaved by asking, whoever else takes longer, and leaves nothing', async () => {
  const servers = poolOf([named('stubborn', 'stubborn'), named('a'), named('b')]);
  const live = await Promise.all(['a', 'b'].map((name) => servers.get(name, NEVER)));
  const pids = (await Promise.all(live.map(pidsOf))).flat();
  const [stubborn = 0] = await pidsOf(await servers.get('stubborn', NEVER));
  const hanging = live.map((server) => call(server, 'hang').catch((error: unknown) => error));
  // Nobody's time to go by themselves is up.
  stopClock();
  const disposed = servers[Symbol.asyncDispose]();
  await until(() => !pids.some(isAlive));
  expect(isAlive(stubborn)).toBe(true);
  for (const error of await Promise.all(hanging))
    expect(error).toMatchObject({ code: 'E_SERVER_UNAVAILABLE' });
  await expect(servers.get('a', NEVER)).rejects.toMatchObject({ code: 'E_SHUTDOWN' });
  vi.useRealTimers();
  await disposed;
  expect(isAlive(stubborn)).toBe(false);
});

it('disposing ends the stubborn, and those that are still starting', async () => {
  const servers = poolOf([named('stubborn', 'stubborn', 'stubborn-grandchild'), named('mute', 'mute')]);
  const pids = await pidsOf(await servers.get('stubborn', NEVER));
  const starting = servers.get('mute', NEVER);
  const refused = expect(starting).rejects.toMatchObject({ code: 'E_SHUTDOWN' });
  await servers[Symbol.asyncDispose]();
  await refused;
  expect(pids).toHaveLength(2);
  await until(() => !pids.some(isAlive));
  expect(count(servers, 'downstream.failed')).toBe(0);
});
