// The clock of a run while one of its servers has a person asked: a real server that asks, a sandbox that does what the test
// says, and time that is played.

import { afterEach, describe, expect, it, vi } from 'vitest';
import { RawJson } from '../../src/base/json/json-text.js';
import { policyOf } from '../../src/policy/rules/policy.js';
import { KeptFiles } from '../../src/run/artifacts/kept-files.js';
import type { CallContext } from '../../src/run/calls/call-context.js';
import { callDirectly, type DirectServices } from '../../src/run/life/direct-call.js';
import { runCode } from '../../src/run/life/run.js';
import type { RunServices } from '../../src/run/life/run-request.js';
import type { AgentCapabilities } from '../../src/servers/asking/agent-capabilities.js';
import { hostile, poolOf, type TestPool } from '../servers/hostile.js';
import { approvalsWith, askedAgent } from '../support/approvals.js';
import { FakeContainer, greeted } from '../support/fake-container.js';
import { NEVER, until } from '../support/time.js';

const TIMEOUT_SECONDS = 30;
/** Far longer than the run, and shorter than a person may take in sum. */
const THINKS_MS = 200_000;
const MAX_WAIT_SECONDS = 300;
const ACCEPT = { action: 'accept', content: {} };
const TOOLS = ['ask', 'ask_and_go', 'hang', 'answers'];

let pool: TestPool | undefined;
afterEach(async () => {
  vi.useRealTimers();
  await pool?.[Symbol.asyncDispose]();
});

type Call = {
  readonly method?: string;
  readonly server?: string;
  readonly tool?: string;
  readonly [param: string]: unknown;
};

/** A person who answers when the test says so, question by question. */
function person() {
  const open: Array<() => void> = [];
  const agent = askedAgent(
    (_params, signal) =>
      new Promise((resolve, reject) => {
        open.push(() => resolve(ACCEPT));
        signal.addEventListener('abort', () => reject(new Error('taken back')));
      }),
    { form: true, url: true },
  );
  return { agent, answer: (at: number) => open[at]?.() };
}

type Options = {
  /** A limit of the operator's on one call. */
  readonly secondsPerCall?: number;
  /** A limit of the server's entry on one call. */
  readonly callTimeoutMs?: number;
  readonly agent: AgentCapabilities;
};

/** Servers `a` and `b`, started before time is played, and what a run needs of a bridge. */
async function bridge({ agent, secondsPerCall, callTimeoutMs }: Options) {
  const specs = ['a', 'b'].map((name) => ({ ...hostile('resources'), name, callTimeoutMs }));
  pool = poolOf(specs, {}, agent);
  for (const { name } of specs) await pool.get(name, NEVER);
  const docs = specs.map(({ name }) => ({
    name,
    alias: name,
    description: '',
    version: null,
    instructions: null,
    tools: TOOLS.map((tool) => ({
      name: tool,
      alias: tool,
      description: '',
      inputSchema: {},
      outputSchema: null,
      observed: null,
      changed: null,
    })),
  }));
  const policy = policyOf({ allow: undefined, deny: [], file: undefined }, []);
  const limit = secondsPerCall === undefined ? undefined : { max: secondsPerCall, rule: 'a test' };
  const limited = {
    ...policy,
    serverLimits: (server: string) => ({ ...policy.serverLimits(server), secondsPerCall: limit }),
  };
  const lease = pool.lease(['a', 'b'], agent);
  const { shared } = approvalsWith({ agent, waitSeconds: MAX_WAIT_SECONDS });
  const services = {
    servers: {
      wanted: { servers: ['a', 'b'], others: [] },
      open: async (server: string) => docs.find(({ name }) => name === server),
      discovered: () => [],
      known: { docOf: () => undefined, allDocs: () => [], changedOf: () => () => undefined },
      policy: () => limited,
      lease,
    },
    calls: {
      turn: async () => ({ [Symbol.dispose]: () => {} }),
      shapes: { learn: () => {} },
      audit: 'off',
      principal: 'local',
    },
    approvals: shared,
    autoload: 'never',
    kept: new KeptFiles({ stateDir: '/nowhere', keepSeconds: 0, quotaBytes: 0 }),
    observer: () => {},
  };
  return services;
}

const playTime = () => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
const turn = () => new Promise((resolve) => setImmediate(resolve));

const contextOf = (agent: AgentCapabilities): CallContext => ({
  caller: { client: 'test', agent, scope: '' },
  signal: NEVER,
  tell: () => {},
});

/** Code that makes these calls at once and ends when the first `awaited` of them are answered. */
async function start(calls: readonly Call[], options: Options, awaited = calls.length) {
  const services = await bridge(options);
  const container = new FakeContainer();
  let answered = 0;
  container.onFrame = ({ type }) => {
    if (type === 'check') container.say({ type: 'checked', named: [] });
    if (type === 'run')
      for (const [id, { method = 'tools.call', server = 'a', tool = 'ask', ...params }] of calls.entries())
        container.sayAsGuest({
          type: 'call',
          id,
          method,
          params: method === 'tools.call' ? { server, tool, arguments: params } : { server, ...params },
        } as never);
    if ((type === 'reply' || type === 'refusal') && ++answered === awaited) {
      container.sayAsGuest({ type: 'result', value: 1, repr: '1', exact: true });
      container.say({ type: 'exited', code: 0, signal: null, memoryKills: null });
    }
  };
  const sandbox = await greeted(container);
  const freezes = vi.spyOn(sandbox, 'freezeProcesses');
  const sandboxes = { take: async () => sandbox, giveBack: () => {}, retire: () => {} };
  playTime();
  const ended = runCode(
    {
      task: { type: 'cell', code: '1' },
      timeoutSeconds: TIMEOUT_SECONDS,
      servers: ['a', 'b'],
      files: [],
    },
    { ...services, id: 'run-1', sandboxes } as unknown as RunServices,
    contextOf(options.agent),
  );
  /** Which calls were answered so. */
  const told = (as: 'reply' | 'refusal') =>
    container.sent.filter(({ type }) => type === as).map(({ id }) => id);
  const begun = () => container.sent.some(({ type }) => type === 'run');
  await until(begun);
  return {
    container,
    ended,
    freezes,
    told,
    isStopped: () => container.sent.some(({ type }) => type === 'stop'),
    /** Code that was told to stop says nothing more, and is killed. */
    killed: async () => {
      await pass(10_000);
      return await ended;
    },
  };
}

/** Plays time, with turns for what comes of it. */
async function pass(ms: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(ms);
  for (let turns = 0; turns < 10; turns++) await turn();
}

describe('the time in which a person thinks', () => {
  it('control: a call that asks nobody costs the run its time', async () => {
    const { agent } = person();
    const { freezes, isStopped, killed } = await start([{ tool: 'hang' }], { agent });
    await pass(TIMEOUT_SECONDS * 1000);
    expect(isStopped()).toBe(true);
    expect(await killed()).toMatchObject({ status: 'timeout' });
    expect(freezes).not.toHaveBeenCalled();
  });

  it.each<[string, Call]>([
    ['of a form', {}],
    ['of a page', { mode: 'url', url: 'https://example.com/', elicitationId: 'e1' }],
    ['asked over a resource', { method: 'resources.read', uri: 'hostile:asks' }],
  ])('%s is not the run’s, and its sandbox stands still meanwhile', async (_what, call) => {
    const { agent, answer } = person();
    const { ended, freezes, isStopped } = await start([call], { agent });
    await until(() => agent.asked.length === 1);
    await pass(THINKS_MS);
    expect([isStopped(), freezes.mock.calls.length]).toEqual([false, 1]);
    answer(0);
    expect(await ended).toMatchObject({ status: 'success' });
  });

  it.each<[string, Partial<Options>]>([
    ['an operator’s limit on one call', { secondsPerCall: 20 }],
    ['the limit of the server’s entry', { callTimeoutMs: 20_000 }],
  ])(
    'does not count against %s either, but for a call of a server that asks nobody',
    async (_what, limits) => {
      const { agent, answer } = person();
      const { ended, told } = await start([{}, { server: 'b', tool: 'hang' }], { agent, ...limits });
      await until(() => agent.asked.length === 1);
      await pass(20_000);
      await until(() => told('refusal').length > 0);
      answer(0);
      expect(await ended).toMatchObject({ status: 'success' });
      expect([told('refusal'), told('reply')]).toEqual([[1], [0]]);
    },
  );

  it('of two questions at once ends with the last answer', async () => {
    const { agent, answer } = person();
    const { ended, isStopped } = await start([{}, { server: 'b' }], { agent });
    await until(() => agent.asked.length === 2);
    await pass(THINKS_MS / 2);
    answer(0);
    await pass(THINKS_MS / 2);
    expect(isStopped()).toBe(false);
    answer(1);
    expect(await ended).toMatchObject({ status: 'success' });
  });

  it('goes on being the run’s from the answer on', async () => {
    const { agent, answer } = person();
    const { told, isStopped, killed } = await start([{}, { tool: 'hang' }], { agent });
    await until(() => agent.asked.length === 1);
    await pass(THINKS_MS);
    answer(0);
    await until(() => told('reply').length === 1);
    await pass((TIMEOUT_SECONDS - 1) * 1000);
    expect(isStopped()).toBe(false);
    await pass(1_000);
    expect(isStopped()).toBe(true);
    expect(await killed()).toMatchObject({ status: 'timeout' });
  });

  it('ends where the code no longer awaits the call', async () => {
    const { agent } = person();
    const { container, isStopped, killed } = await start([{}, { server: 'b', tool: 'hang' }], { agent });
    await until(() => agent.asked.length === 1);
    await pass(THINKS_MS);
    container.sayAsGuest({ type: 'abandon', id: 0 });
    await until(() => agent.takenBack() === 1);
    await pass((TIMEOUT_SECONDS - 1) * 1000);
    expect(isStopped()).toBe(false);
    await pass(1_000);
    expect(isStopped()).toBe(true);
    expect(await killed()).toMatchObject({ status: 'timeout' });
  });

  it('ends where the server answers the call and leaves its question open', async () => {
    const { agent } = person();
    const { isStopped, killed } = await start(
      [
        { tool: 'ask_and_go', ms: 200 },
        { server: 'b', tool: 'hang' },
      ],
      { agent },
    );
    await until(() => agent.takenBack() === 1);
    await pass(TIMEOUT_SECONDS * 1000);
    expect(isStopped()).toBe(true);
    expect(await killed()).toMatchObject({ status: 'timeout' });
  });

  it.each([
    ['an agent that cannot ask', askedAgent(async () => ACCEPT, { form: false, url: false })],
    ['an agent that fails', askedAgent(() => Promise.reject(new Error('no screen')))],
  ])('is none where nobody is asked: %s', async (_what, agent) => {
    const { told, isStopped, killed } = await start([{}, { tool: 'hang' }], { agent });
    await until(() => told('reply').length === 1);
    await pass(TIMEOUT_SECONDS * 1000);
    expect(isStopped()).toBe(true);
    expect(await killed()).toMatchObject({ status: 'timeout' });
  });

  it('is bounded in sum: a server that is never answered has no more of it than approvals have', async () => {
    const { agent } = person();
    const { isStopped, killed } = await start([{}], { agent });
    await until(() => agent.asked.length === 1);
    await pass((MAX_WAIT_SECONDS + TIMEOUT_SECONDS - 1) * 1000);
    expect(isStopped()).toBe(false);
    await pass(1_000);
    expect(isStopped()).toBe(true);
    const outcome = await killed();
    expect(outcome).toMatchObject({ status: 'timeout' });
    expect(outcome.error?.message).toContain('while the user had a question of a to answer');
    expect(agent.takenBack()).toBe(1);
  });

  it('is bounded in sum, however many questions it is cut into', async () => {
    const { agent, answer } = person();
    const { isStopped, killed } = await start([{ times: 8 }, { tool: 'hang' }], { agent });
    for (let asked = 1; asked <= 4; asked++) {
      await until(() => agent.asked.length === asked);
      await pass(100_000);
      if (!isStopped()) answer(asked - 1);
      else break;
    }
    expect(isStopped()).toBe(true);
    expect(await killed()).toMatchObject({ status: 'timeout' });
    expect(agent.asked.length).toBe(4);
  });
});

describe('a call of the agent’s own', () => {
  const call = {
    id: 'a-1',
    language: 'command',
    server: 'a',
    args: {},
    timeoutSeconds: TIMEOUT_SECONDS,
    softTimeoutSeconds: TIMEOUT_SECONDS,
  };
  const direct = async (tool: string, agent: AgentCapabilities) => {
    const services = await bridge({ agent });
    playTime();
    const answer = callDirectly({ ...call, tool }, services as unknown as DirectServices, contextOf(agent));
    answer.catch(() => {});
    return { answer };
  };

  it('control: ends when its server is silent for too long', async () => {
    const { agent } = person();
    const { answer } = await direct('hang', agent);
    await pass(TIMEOUT_SECONDS * 1000);
    await expect(answer).rejects.toMatchObject({ code: 'E_SERVER_UNAVAILABLE' });
  });

  it('waits for a person, as long as one may take', async () => {
    const { agent, answer: say } = person();
    const { answer } = await direct('ask', agent);
    await until(() => agent.asked.length === 1);
    await pass(THINKS_MS);
    say(0);
    expect(await answer).toBeInstanceOf(RawJson);
  });

  it('ends when that is over', async () => {
    const { agent } = person();
    const { answer } = await direct('ask', agent);
    await until(() => agent.asked.length === 1);
    await pass((MAX_WAIT_SECONDS + TIMEOUT_SECONDS) * 1000);
    await expect(answer).rejects.toMatchObject({ code: 'E_SERVER_UNAVAILABLE' });
  });
});
