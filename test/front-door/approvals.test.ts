// Calls that wait for a person, through a client of 2025 that can ask: what the person is shown, what they decide, and that
// nothing is sent before that.

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  type CallToolResult,
  ElicitRequestSchema,
  type ElicitResult,
} from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, it } from 'vitest';
import type { Question } from '../../src/policy/approvals/question.js';
import {
  bridgeEnv,
  MAIN,
  type Payload,
  startBridge,
  type TestBridge,
  tempHome,
} from '../support/start-bridge.js';
import { eventually, PATIENTLY, pause, until } from '../support/time.js';
import { REACH_SECONDS } from './reached.js';

const SERVER = fileURLToPath(new URL('../fixtures/approved-server.mjs', import.meta.url));
/** No person is faster; what comes sooner is a host without a screen. */
const THINK_MS = 600;
/** After which the sandbox stands still. */
const FREEZES_AFTER_MS = 2_000;
/** Longer than the code's whole time, and than it takes until the sandbox stands still. */
const LONG_THINK_MS = FREEZES_AFTER_MS + REACH_SECONDS * 2_000;

type Asked = { readonly message: string; readonly at: number };
type Answer = (message: string, signal: AbortSignal) => Promise<ElicitResult>;

const decide = (decision: string, word?: string): ElicitResult => ({
  action: 'accept',
  content: { decision, ...(word === undefined ? {} : { word }) },
});
const thought =
  (result: ElicitResult, ms = THINK_MS): Answer =>
  () =>
    pause(ms).then(() => result);
const never: Answer = () => new Promise(() => {});

type Scene = { readonly bridge: TestBridge; readonly asked: Asked[]; readonly sent: () => string[] };

async function withBridge(
  answer: Answer | undefined,
  env: Readonly<Record<string, string>>,
  then: (scene: Scene) => Promise<void>,
  log = join(tempHome(), 'calls.log'),
): Promise<void> {
  const asked: Asked[] = [];
  const entry = (name: string) => ({ command: process.execPath, args: [SERVER, log, name] });
  await using bridge = await startBridge(
    { desk: entry('desk'), till: entry('till') },
    {
      env: { MCP_BRIDGE_APPROVE: 'destructive', MCP_BRIDGE_APPROVE_TRUST: 'desk', ...env },
      capabilities: answer === undefined ? {} : { elicitation: {} },
      prepare: (client) => {
        if (answer === undefined) return;
        client.setRequestHandler(ElicitRequestSchema, ({ params }, { signal }) => {
          asked.push({ message: params.message, at: performance.now() });
          return answer(params.message, signal);
        });
      },
    },
  );
  const sent = () => (existsSync(log) ? readFileSync(log, 'utf8').trimEnd().split('\n') : []);
  await then({ bridge, asked, sent });
}

const desk = { servers: ['desk'] };
const textOf = ({ content }: CallToolResult): string =>
  content.map((block) => (block.type === 'text' ? block.text : '')).join('\n');

/** What `approvals` prints; throws where it fails. */
const command = (bridge: TestBridge, ...args: readonly string[]): string =>
  execFileSync(process.execPath, [MAIN, 'approvals', ...args], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    env: bridgeEnv(bridge.home, { MCP_BRIDGE_STATE_DIR: bridge.stateDir }),
  });

/** The question of this bridge that waits now. */
function questionOf(bridge: TestBridge): Question | undefined {
  const { approvals } = JSON.parse(command(bridge, '--json')) as {
    readonly approvals: ReadonlyArray<Question & { readonly pid: number }>;
  };
  return approvals.find(({ pid }) => pid === bridge.pid);
}

/** The same as soon as there is one; undefined where `isOver` comes first. */
async function waitingQuestion(bridge: TestBridge, isOver = () => false): Promise<Question | undefined> {
  let found: Question | undefined;
  await until(() => {
    found = questionOf(bridge);
    return found !== undefined || isOver();
  }, 'a question that waits');
  return found;
}

const SAID = (call: string) => `try:
    r = await ${call}
except runtime.MCPError as e:
    r = [e.code, str(e)]
r`;

describe('what is asked', () => {
  it('nothing where nobody has switched it on', async () => {
    await withBridge(never, { MCP_BRIDGE_APPROVE: 'off' }, async ({ bridge, asked, sent }) => {
      expect(await bridge.run('await mcp_desk.erase(id=1)', desk)).toMatchObject({ result: 'did erase' });
      expect(asked).toEqual([]);
      expect(sent()).toEqual(['erase {"id":1}']);
    });
  });

  it('what a trusted server calls destructive, and all of a server that is not trusted', async () => {
    await withBridge(thought(decide('once')), {}, async ({ bridge, asked, sent }) => {
      const code = `await mcp_desk.peek(id=1)
await mcp_desk.add(id=2)
await mcp_desk.erase(id=3, text="Grüße \\u202e 漢字")
await mcp_till.peek(id=4)`;
      const payload = await bridge.run(code, { servers: ['desk', 'till'] });
      expect(payload.error).toBeUndefined();
      expect(payload).toMatchObject({ status: 'success', result: 'did peek' });
      expect(sent()).toHaveLength(4);
      const [first, second, ...more] = asked.map(({ message }) => message);
      expect(more).toEqual([]);
      expect(first).toMatch(
        /^Server 'desk', tool 'erase': may this be called\? One call\.\nAsked by MCP_BRIDGE_APPROVE=destructive, for run \S+ of front-door 1\.0\.0\.\n/,
      );
      expect(first).toMatch(/\n1> \{"id":3,"text":"Grüße \\u202e 漢字"\}$/);
      expect(second).toContain("Server 'till', tool 'peek'");
    });
  });
});

describe('the place of a run', () => {
  const ONE = { MCP_BRIDGE_CONCURRENCY: '1' };

  it('is for others while it stands still for an answer, and its own again afterwards', async () => {
    let decideNow = (_result: ElicitResult) => {};
    const decision = new Promise<ElicitResult>((resolve) => {
      decideNow = resolve;
    });
    await withBridge(
      () => decision,
      ONE,
      async ({ bridge, asked }) => {
        const order: string[] = [];
        const asks = bridge.run('await mcp_desk.erase(id=1)', desk).then((payload) => {
          order.push('asks');
          return payload;
        });
        await until(() => asked.length === 1);
        expect((await bridge.run('6 * 7')).result).toBe(42);
        order.push('other');
        decideNow(decide('once'));
        expect(await asks).toMatchObject({ status: 'success', result: 'did erase' });
        expect(order).toEqual(['other', 'asks']);
      },
    );
  });

  it('is its own while it computes, as the control', async () => {
    await withBridge(never, ONE, async ({ bridge }) => {
      const order: string[] = [];
      const first = bridge.run('import time\ntime.sleep(4)').then(() => order.push('first'));
      await bridge.run('6 * 7');
      order.push('other');
      await first;
      expect(order).toEqual(['first', 'other']);
    });
  });
});

describe('what is decided', () => {
  it('no, with a word that the code reads, and nothing is sent', async () => {
    await withBridge(thought(decide('no', 'use the test account')), {}, async ({ bridge, asked, sent }) => {
      const { result } = await bridge.run(SAID('mcp_desk.erase(id=1)'), desk);
      expect(result).toEqual([
        'E_DENIED',
        expect.stringMatching(/^denied by the user: use the test account\. Go on without it/),
      ]);
      const { error, errorType } = await bridge.run('await mcp_desk.erase(id=1)', desk);
      expect([errorType, error]).toEqual([
        'MCPError',
        expect.stringContaining('denied by the user: use the'),
      ]);
      // The same call again in one run is no second question.
      const twice = `${SAID('mcp_desk.erase(id=7)')}\n${SAID('mcp_desk.erase(id=7)')}`;
      const before = asked.length;
      expect((await bridge.run(twice, desk)).result).toEqual(result);
      expect(asked.length).toBe(before + 1);
      expect(sent()).toEqual([]);
    });
  });

  it.each([
    ['declined', { action: 'decline' }, 'denied by the user: no reason was given.'],
    ['closed', { action: 'cancel' }, 'not approved: the user closed the question without an answer.'],
    [
      'accepted without a decision',
      { action: 'accept', content: {} },
      'denied by the user: the answer holds none',
    ],
    ['accepted with one that was not offered', decide('always'), 'denied by the user: the answer holds none'],
  ] as const)('%s: nothing is sent', async (_what, answer, message) => {
    await withBridge(thought(answer), {}, async ({ bridge, sent }) => {
      const { result } = await bridge.run(SAID('mcp_desk.erase(id=1)'), desk);
      expect(result).toEqual(['E_DENIED', expect.stringContaining(message)]);
      expect(sent()).toEqual([]);
    });
  });

  it('a host without a screen, which declines at once, has asked nobody: the command line answers', async () => {
    const atOnce: Answer = async () => ({ action: 'decline' });
    await withBridge(atOnce, {}, async ({ bridge, asked, sent }) => {
      let running: Promise<Payload> | undefined;
      let question: Question | undefined;
      // An answer that is late on a busy machine is taken for a person's: then it is asked again.
      while (question === undefined) {
        const before = asked.length;
        let isOver = false;
        running = bridge.run(SAID('mcp_desk.erase(id=1)'), desk).finally(() => {
          isOver = true;
        });
        // This process answers nothing while it waits for a command.
        await until(() => asked.length > before || isOver);
        question = await waitingQuestion(bridge, () => isOver);
      }
      const { id, object } = question;
      expect(object).toMatchObject({ server: 'desk', tool: 'erase', calls: [{ arguments: '{"id":1}' }] });
      expect(sent()).toEqual([]);
      command(bridge, 'allow', id);
      expect(await running).toMatchObject({ result: 'did erase' });
      expect(sent()).toEqual(['erase {"id":1}']);
      expect(() => command(bridge, 'deny', id)).toThrow();
    });
  });

  it('a client that cannot ask: the command line refuses with a word', async () => {
    await withBridge(undefined, {}, async ({ bridge, sent }) => {
      const running = bridge.run(SAID('mcp_desk.erase(id=1)'), desk);
      command(bridge, 'deny', (await waitingQuestion(bridge))?.id ?? '', '--word', 'not today');
      const { result } = await running;
      expect(result).toEqual(['E_DENIED', expect.stringContaining('denied by the user: not today')]);
      expect(sent()).toEqual([]);
    });
  });

  it('sends nothing where nobody answers in time', async () => {
    await withBridge(undefined, { MCP_BRIDGE_APPROVE_WAIT: '2' }, async ({ bridge, sent }) => {
      const { result } = await bridge.run(SAID('mcp_desk.erase(id=1)'), desk);
      expect(result).toEqual(['E_DENIED', expect.stringContaining('not approved')]);
      expect(sent()).toEqual([]);
    });
  });

  it('for the run, and for the session', async () => {
    let decision = 'run';
    await withBridge(
      () => pause(THINK_MS).then(() => decide(decision)),
      {},
      async ({ bridge, asked }) => {
        const twice = 'await mcp_desk.erase(id=1)\nawait mcp_desk.erase(id=2)';
        expect(await bridge.run(twice, desk)).toMatchObject({ status: 'success' });
        expect(asked).toHaveLength(1);
        decision = 'session';
        expect(await bridge.run(twice, desk)).toMatchObject({ status: 'success' });
        expect(asked).toHaveLength(2);
        expect(await bridge.run(twice, desk)).toMatchObject({ status: 'success' });
        expect(asked).toHaveLength(2);
        // By the tool: another one is another question.
        await bridge.run('await mcp_desk.pay(id=1)', desk);
        expect(asked).toHaveLength(3);
      },
    );
  });

  it('writes an answer for always into the policy file, and leaves its comments', async () => {
    const file = join(tempHome(), 'policy.yaml');
    // A decision is about an entry, and the file for its calls belongs to that.
    const log = join(tempHome(), 'calls.log');
    const before = '# mine\nversion: 1\napprovals:\n  mode: destructive # ask\n  trust: [desk]\n';
    writeFileSync(file, before, { mode: 0o600 });
    await withBridge(
      thought(decide('always', 'the desk is a copy')),
      { MCP_BRIDGE_POLICY: file },
      async ({ bridge, asked }) => {
        const code = 'await mcp_desk.erase(id=1)';
        expect(await bridge.run(code, desk)).toMatchObject({ status: 'success' });
        const written = readFileSync(file, 'utf8');
        expect(written.startsWith(before)).toBe(true);
        expect(written).toMatch(
          / {2}always:\n {4}- server: desk\n {6}tool: erase\n {6}entry: "?[0-9a-f]{32}"?\n {6}since: "\d{4}-\d\d-\d\d"\n {6}reason: the desk is a copy\n$/,
        );
        expect(await bridge.run(code, desk)).toMatchObject({ status: 'success' });
        expect(asked).toHaveLength(1);
      },
      log,
    );
    const calls = async ({ bridge, asked }: Scene) => {
      expect(await bridge.run('await mcp_desk.erase(id=1)', desk)).toMatchObject({ status: 'success' });
      expect(asked).toEqual([]);
    };
    await withBridge(never, { MCP_BRIDGE_POLICY: file }, calls, log);
  });

  it('by the arguments: a condition, also of one that was allowed for the run', async () => {
    const file = join(tempHome(), 'policy.yaml');
    const policy = `version: 1
approvals:
  rules:
    - {action: deny, tools: [desk.pay], when: 'args.amount > 1000'}
    - {action: ask, tools: [desk.pay], when: 'args.amount > 100'}
`;
    writeFileSync(file, policy, { mode: 0o600 });
    const env = { MCP_BRIDGE_APPROVE: 'off', MCP_BRIDGE_POLICY: file };
    await withBridge(thought(decide('once')), env, async ({ bridge, asked, sent }) => {
      const code = `await mcp_desk.pay(amount=5)
await mcp_desk.pay(amount=500)
${SAID('mcp_desk.pay(amount=5000)')}`;
      const { result } = await bridge.run(code, desk);
      expect(result).toEqual(['E_DENIED', expect.stringContaining('(args.amount > 1000). Only the user')]);
      expect(asked.map(({ message }) => message)).toEqual([expect.stringContaining('"amount":500}')]);
      expect(sent()).toEqual(['pay {"amount":5}', 'pay {"amount":500}']);
    });
  });
});

describe('while a person thinks', () => {
  it('the clock of the run stands, and so does its sandbox', async () => {
    await withBridge(thought(decide('once'), LONG_THINK_MS), {}, async ({ bridge }) => {
      const code = `import threading, time
gaps, last, going = [], time.monotonic(), True
def tick():
    global last
    while going:
        now = time.monotonic()
        gaps.append(now - last)
        last = now
        time.sleep(0.02)
thread = threading.Thread(target=tick)
thread.start()
await mcp_desk.erase(id=1)
going = False
thread.join()
max(gaps)`;
      const payload = await bridge.run(code, { ...desk, timeout: REACH_SECONDS });
      expect(payload).toMatchObject({ status: 'success' });
      expect(payload.result).toBeGreaterThan((LONG_THINK_MS - FREEZES_AFTER_MS) / 2_000);
    });
  });

  it('what nobody answers expires, and nothing is sent', async () => {
    await withBridge(never, { MCP_BRIDGE_APPROVE_WAIT: '2' }, async ({ bridge, sent }) => {
      const code = `${SAID('mcp_desk.erase(id=1)')}\nfirst = r\n${SAID('mcp_desk.erase(id=2)')}\n[first, r]`;
      const { result } = await bridge.run(code, desk);
      expect(result).toEqual([
        ['E_DENIED', expect.stringContaining('not approved: nobody answered within 2 s.')],
        ['E_DENIED', expect.stringContaining('the 2 s for questions of one run are used up')],
      ]);
      expect(sent()).toEqual([]);
    });
  });

  it('a run that is cancelled takes its question back', async () => {
    let takenBack = 0;
    const answer: Answer = (_message, signal) =>
      new Promise(() => signal.addEventListener('abort', () => takenBack++));
    await withBridge(answer, {}, async ({ bridge, asked, sent }) => {
      const ending = new AbortController();
      const running = bridge.run('await mcp_desk.erase(id=1)', { ...desk, signal: ending.signal });
      running.catch(() => {});
      await expect.poll(() => asked.length, PATIENTLY).toBe(1);
      ending.abort();
      await expect.poll(() => takenBack, PATIENTLY).toBe(1);
      expect(await bridge.run('1')).toMatchObject({ result: 1 });
      expect(sent()).toEqual([]);
    });
  });

  it('a bridge that is killed has sent nothing', async () => {
    await withBridge(never, {}, async ({ bridge, asked, sent }) => {
      bridge.run('await mcp_desk.erase(id=1)', desk).catch(() => {});
      await expect.poll(() => asked.length, PATIENTLY).toBe(1);
      process.kill(bridge.pid, 'SIGKILL');
      await pause(500);
      expect(sent()).toEqual([]);
    });
  });

  it('a call that outlives its host is answered with what it waits for', async () => {
    let allow = () => {};
    const allowed = new Promise<void>((resolve) => {
      allow = resolve;
    });
    const answer: Answer = async () => {
      await allowed;
      return decide('once');
    };
    await withBridge(answer, { MCP_BRIDGE_PATIENCE: '3' }, async ({ bridge, sent }) => {
      const rest = async (part: CallToolResult): Promise<CallToolResult> => {
        const [handle] = /r-[a-z2-9]{16}/.exec(textOf(part)) ?? [];
        if (handle === undefined) throw new Error(textOf(part));
        return await bridge.call({ wait: handle });
      };
      let part = await bridge.call({ code: 'await mcp_desk.erase(id=1)', ...desk });
      // Before that it may be told that its sandbox is being set up.
      while (!textOf(part).includes('Waits for')) part = await rest(part);
      expect(textOf(part)).toContain(
        'Waits for the user to approve desk.erase, with an answer in a dialog of this client or with the command `approvals`.',
      );
      expect(sent()).toEqual([]);
      allow();
      do part = await rest(part);
      while (textOf(part).startsWith('[running '));
      expect(textOf(part)).toContain('did erase');
    });
  });
});

describe('many calls', () => {
  it('fifty that are gathered are one question with a list', async () => {
    await withBridge(thought(decide('once')), {}, async ({ bridge, asked, sent }) => {
      const code = 'import asyncio\nlen(await asyncio.gather(*[mcp_desk.erase(id=n) for n in range(50)]))';
      expect(await bridge.run(code, desk)).toMatchObject({ result: 50 });
      expect(asked).toHaveLength(1);
      expect(asked[0]?.message).toContain('50 calls.');
      expect(asked[0]?.message.match(/^\d+> \{"id":\d+\}$/gm)).toHaveLength(50);
      expect(sent()).toHaveLength(50);
    });
  });

  it('two tools are two questions, one after the other', async () => {
    await withBridge(thought(decide('once'), 1_000), {}, async ({ bridge, asked, sent }) => {
      const code = `import asyncio
await asyncio.gather(mcp_desk.erase(id=1), mcp_desk.pay(id=2), mcp_desk.peek(id=3))`;
      expect(await bridge.run(code, desk)).toMatchObject({ status: 'success' });
      const [first, second, ...more] = asked;
      expect(more).toEqual([]);
      expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThan(900);
      // What need not wait does not.
      expect(sent()[0]).toBe('peek {"id":3}');
    });
  });

  it('a question that is too long for a dialog can only be refused there', async () => {
    await withBridge(thought(decide('once')), {}, async ({ bridge, asked, sent }) => {
      const { result } = await bridge.run(SAID('mcp_desk.erase(text="x" * 5000)'), desk);
      expect(asked[0]?.message).toMatch(
        /too many for a dialog\. It can be read and allowed at http:\S+; here it can only be refused\.$/,
      );
      expect(result).toEqual(['E_DENIED', expect.stringContaining('none of the decisions')]);
      expect(sent()).toEqual([]);
    });
  });
});

describe('in a session', () => {
  const call = async (bridge: TestBridge, session: string, code: string, args = {}) =>
    textOf(await bridge.call({ session, code, ...desk, ...args }));

  it('what is allowed for the session holds in that one alone', async () => {
    await withBridge(thought(decide('session')), {}, async ({ bridge, asked }) => {
      for (const session of ['a', 'a', 'b'])
        expect(await call(bridge, session, 'await mcp_desk.erase(id=1)')).toContain('did erase');
      expect(asked).toHaveLength(2);
    });
  });

  it('a call that is cancelled while a person thinks leaves it as it was', async () => {
    await withBridge(never, {}, async ({ bridge, asked, sent }) => {
      await call(bridge, 'c', 'x = 1');
      const ending = new AbortController();
      const cancelled = bridge
        .call({ session: 'c', code: 'x = 2\nawait mcp_desk.erase(id=1)', ...desk }, { signal: ending.signal })
        .catch(() => 'cancelled');
      expect(await eventually(() => asked.length === 1)).toBe(true);
      // By then its sandbox stands still.
      await pause(3_000);
      ending.abort('enough');
      expect(await cancelled).toBe('cancelled');
      expect(await call(bridge, 'c', 'x')).toMatch(/: call 3\]\n=> 2$/);
      expect(sent()).toEqual([]);
    });
  });

  it('a plan stops at the first write and leaves it as it was', async () => {
    await withBridge(never, {}, async ({ bridge, sent }) => {
      await call(bridge, 'p', 'x = 1');
      const planned = await call(bridge, 'p', 'x = 2\nawait mcp_desk.erase(id=9)\nx = 3', { mode: 'plan' });
      expect(planned).toMatch(/^\[session p \(s-[a-z0-9]{16}\): call 2/);
      expect(planned).toContain('{"id":9}');
      expect(await call(bridge, 'p', 'x')).toMatch(/=> 2$/);
      expect(sent()).toEqual([]);
    });
  });
});

describe('a plan', () => {
  it('reads, and stops at the first write with a list', async () => {
    await withBridge(never, {}, async ({ bridge, asked, sent }) => {
      const code = `import asyncio
print(await mcp_desk.peek(id=1))
try:
    await asyncio.gather(*[mcp_desk.add(id=n) for n in (2, 3)])
except BaseException:
    pass
print("beyond")
await mcp_desk.erase(id=4)`;
      const { content, structuredContent } = await bridge.call({ code, mode: 'plan', ...desk });
      const planned = [2, 3].map((id) => ({ server: 'desk', tool: 'add', arguments: { id } }));
      expect(structuredContent).toMatchObject({ status: 'success', stdout: ['did peek'], planned });
      expect((content[0] as { text: string }).text).toBe(
        `[plan] The code was stopped at its first call that writes. Nothing was changed. It would call:
[plan] desk.add {"id":2}
[plan] desk.add {"id":3}
did peek`,
      );
      expect(asked).toEqual([]);
      expect(sent()).toEqual(['peek {"id":1}']);
    });
  });

  it('says that there is nothing to write', async () => {
    await withBridge(undefined, {}, async ({ bridge }) => {
      const code = 'await mcp_desk.peek(id=1)';
      const { content } = await bridge.call({ code, mode: 'plan', ...desk });
      expect((content[0] as { text: string }).text).toBe(
        "[plan] The code made no call that writes: it would change nothing.\n=> 'did peek'",
      );
    });
  });
});

it('a command for a configured server waits as well', async () => {
  const env = { MCP_BRIDGE_TOOLS: 'execute', MCP_BRIDGE_EXECUTE_SERVER: 'desk' };
  await withBridge(thought(decide('no', 'not now')), env, async ({ bridge, asked, sent }) => {
    const args = { command: 'rm', args: ['-r', '/'] };
    const { content } = await bridge.client.callTool({ name: 'execute', arguments: args });
    expect(JSON.stringify(content)).toContain('denied by the user: not now');
    expect(asked[0]?.message).toContain('{"command":"rm","args":["-r","/"]}');
    expect(sent()).toEqual([]);
  });
});

it('the audit has question, answer, who and how long', async () => {
  await withBridge(thought(decide('no', 'not at this hour')), {}, async ({ bridge }) => {
    await bridge.run(SAID('mcp_desk.erase(id=1)'), desk);
    const { readdirSync } = await import('node:fs');
    const folder = join(bridge.stateDir, 'audit');
    const lines = () =>
      readdirSync(folder).flatMap((name) => readFileSync(join(folder, name), 'utf8').split('\n'));
    const questions = () =>
      lines()
        .filter((line) => line.includes('"kind":"question"') && line.includes('not at this hour'))
        .map((line) => JSON.parse(line) as { readonly durationMs: number });
    expect(await eventually(() => questions().length === 1)).toBe(true);
    expect(questions()[0]).toMatchObject({
      question: expect.stringMatching(/^q-[a-z2-9]{16}$/),
      server: 'desk',
      tool: 'erase',
      callCount: 1,
      rule: 'MCP_BRIDGE_APPROVE=destructive',
      answer: 'no',
      word: 'not at this hour',
      by: 'agent',
      who: 'front-door 1.0.0',
    });
    expect(questions()[0]?.durationMs).toBeGreaterThan(500);
  });
});
