// Who decides whether code gets one more server: the setting, or the user, who is asked once for each and never twice
// at a time.

import { describe, expect, it } from 'vitest';
import { canLoad, OnDemand } from '../../../src/run/calls/on-demand.js';
import type { AgentCapabilities } from '../../../src/servers/asking/agent-capabilities.js';
import { NO_AGENT } from '../../../src/servers/asking/agent-capabilities.js';
import type { ServerDoc } from '../../../src/wire/frames.js';
import { NEVER, pause } from '../../support/time.js';

type Parts = ConstructorParameters<typeof OnDemand>[0];

const signal = () => NEVER;
const brief = (name: string) => ({ name, alias: name, description: '', loaded: false, tools: null });
const NAMES = ['github', ...Array.from({ length: 20 }, (_, n) => `s${n}`)];

/** A user who answers as `answer` says; `questions` are those that were put, `most` how many at a time. */
function user(answer: (n: number, ends: AbortSignal) => Promise<string>) {
  const seen = { questions: [] as string[], now: 0, most: 0 };
  const agent: AgentCapabilities = {
    ...NO_AGENT,
    elicits: () => ({ form: true, url: false }),
    elicit: async (params, ends) => {
      seen.most = Math.max(seen.most, ++seen.now);
      seen.questions.push(String(params['message']));
      expect(params['requestedSchema']).toEqual({ type: 'object', properties: {} });
      try {
        return { action: await answer(seen.questions.length, ends) };
      } finally {
        seen.now--;
      }
    },
  };
  return { agent, seen };
}

function onDemand(parts: Partial<Parts>) {
  const opened: string[] = [];
  const clock: string[] = [];
  const made = new OnDemand({
    mode: 'ask',
    agent: NO_AGENT,
    discovered: NAMES.map(brief),
    open: async (name) => {
      opened.push(name);
      return { name } as ServerDoc;
    },
    stopClock: () => {
      clock.push('stop');
      return () => void clock.push('go');
    },
    ...parts,
  });
  return { made, opened, clock };
}
const PASS = 'Pass servers=["github"] in the call to load it.';

describe('who decides', () => {
  it('always: nobody is asked', async () => {
    const { made, opened } = onDemand({ mode: 'always' });
    expect(await made.load('github', signal())).toEqual({ name: 'github' });
    expect(opened).toEqual(['github']);
  });

  it.each<[string, Partial<Parts>, string]>([
    ['never', { mode: 'never' }, 'MCP_BRIDGE_AUTOLOAD is never'],
    ['ask, and a client that cannot', {}, 'the user has to be asked first, and this client cannot ask'],
    ['a user who declines', { agent: user(async () => 'decline').agent }, 'the user said no'],
    [
      'a user who closes the question',
      { agent: user(async () => 'cancel').agent },
      'the user closed the question without an answer',
    ],
    ['an answer that is none', { agent: user(async () => 'sure').agent }, 'the user said no'],
    ['a client that fails', { agent: user(() => Promise.reject(new Error('gone\u001b[31m'))).agent }, 'gone'],
  ])('%s: refused, with the way that works', async (_what, parts, why) => {
    const { made, opened } = onDemand(parts);
    await expect(made.load('github', signal())).rejects.toMatchObject({
      code: 'E_DENIED',
      advice: `Server 'github' is not loaded from inside the run: ${why}. ${PASS}`,
    });
    expect(opened).toEqual([]);
  });

  it('a user who accepts, having been told what it means, while the clock stands still', async () => {
    const { agent, seen } = user(async () => 'accept');
    const { made, clock } = onDemand({ agent });
    await made.load('github', signal());
    expect(seen.questions).toEqual([
      "Code in the sandbox wants to use the MCP server 'github'. If you accept, it can call the tools of that server until this run ends. Load it?",
    ]);
    expect(clock).toEqual(['stop', 'go']);
  });

  it('a server that is not configured', async () => {
    const { made } = onDemand({ mode: 'always' });
    await expect(made.load('githb', signal())).rejects.toMatchObject({
      code: 'E_SERVER_UNKNOWN',
      message: "There is no server 'githb'. Did you mean 'github'?",
    });
  });

  it('whether it would work can be told beforehand', () => {
    const { agent } = user(async () => 'accept');
    expect([canLoad('always', NO_AGENT), canLoad('ask', agent)]).toEqual([true, true]);
    expect([canLoad('ask', NO_AGENT), canLoad('never', agent)]).toEqual([false, false]);
  });
});

describe('questions', () => {
  it('each server is asked for once, whatever the answer was, by whomever', async () => {
    const { agent, seen } = user(async () => 'decline');
    const { made } = onDemand({ agent });
    const tries = [1, 2, 3].map(() => made.load('github', signal()));
    for (const result of await Promise.allSettled(tries)) expect(result.status).toBe('rejected');
    await expect(made.load('github', signal())).rejects.toThrow('the user said no');
    expect(seen.questions).toHaveLength(1);
  });

  it('one at a time, and no more than a person reads', async () => {
    const { agent, seen } = user(async () => 'accept');
    const { made, opened } = onDemand({ agent });
    const results = await Promise.allSettled(NAMES.map((name) => made.load(name, signal())));
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(8);
    expect([seen.questions.length, seen.most, opened.length]).toEqual([8, 1, 8]);
    expect(results.at(-1)).toMatchObject({
      reason: { message: expect.stringContaining('the user was asked 8 times in this run already') },
    });
  });

  it('one who no longer waits leaves the question to the others', async () => {
    let accept: (action: string) => void = () => {};
    const { agent } = user(() => new Promise((resolve) => (accept = resolve)));
    const { made, opened } = onDemand({ agent });
    const controller = new AbortController();
    const first = made.load('github', controller.signal);
    const second = made.load('github', signal());
    await new Promise((resolve) => setImmediate(resolve));
    controller.abort();
    await expect(first).rejects.toMatchObject({ code: 'E_CANCELLED' });
    accept('accept');
    await second;
    expect(opened).toEqual(['github']);
  });

  it('a user who is not there costs the run no more than the time for all questions', async () => {
    const { agent, seen } = user(
      (_n, ends) =>
        new Promise((_, reject) => ends.addEventListener('abort', () => reject(new Error('gone')))),
    );
    const { made, clock } = onDemand({ agent, maxAskingMs: 50 });
    await expect(made.load('github', signal())).rejects.toThrow('the user did not answer in time');
    await pause(5);
    await expect(made.load('s1', signal())).rejects.toThrow(/in time|is used up/);
    await expect(made.load('s2', signal())).rejects.toThrow('the time for asking the user is used up');
    expect(seen.questions.length).toBeLessThan(3);
    expect(clock.filter((word) => word === 'stop')).toHaveLength(
      clock.filter((word) => word === 'go').length,
    );
  });

  it('the end of the run takes the question back, and starts no clock', async () => {
    let taken: unknown;
    const { agent } = user((_n, ends) => {
      return new Promise((_, reject) => {
        ends.addEventListener('abort', () => {
          taken = ends.reason;
          reject(new Error('taken back'));
        });
      });
    });
    const { made, clock } = onDemand({ agent });
    const asking = made.load('github', signal());
    asking.catch(() => {});
    await new Promise((resolve) => setImmediate(resolve));
    made[Symbol.dispose]();
    await expect(asking).rejects.toMatchObject({ code: 'E_DENIED' });
    expect([taken, clock]).toEqual(['cancelled', ['stop']]);
  });
});
