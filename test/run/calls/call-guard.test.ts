// The guard, through the wire: forged calls meet the rule that denies them and reach no server; a limit is an error of
// its own call and of no other.

import { describe, expect, it } from 'vitest';
import type { BridgeEvent } from '../../../src/base/log/events.js';
import { type Policy, policyOf } from '../../../src/policy/rules/policy.js';
import type { PolicyFile } from '../../../src/policy/rules/policy-file.js';
import type { Admitted, Handlers } from '../../../src/run/calls/call-guard.js';
import { type GuestCall, toolCall } from '../../../src/run/calls/guest-call.js';
import type { Refusal, ToolDoc } from '../../../src/wire/frames.js';
import { NEVER } from '../../support/time.js';
import { type Heard, hear, type Scene } from '../../wire/host-end.js';

const tool = (name: string, changed: string | null = null): ToolDoc => ({
  name,
  alias: name.replaceAll('-', '_'),
  description: `Does ${name}`,
  inputSchema: {},
  outputSchema: null,
  observed: null,
  changed,
});
const TOOLS = [tool('erase-all'), tool('read'), tool('moved', 'its description')];

const emptyFile: PolicyFile = { version: 1, deny: [], perServer: {}, limits: {}, changedTools: 'flag' };
const file = (content: Partial<PolicyFile>) => ({
  file: { path: '/p.yaml', content: { ...emptyFile, ...content } },
});

type Question = readonly [method: string, params: Record<string, unknown>];
const call = (name: string, args: object = {}, server = 'open'): Question => [
  'tools.call',
  { server, tool: name, arguments: args },
];

const OF_OPEN = { server: 'open' };
/** Everything that can be asked of a server besides its tools. */
const QUESTIONS: readonly Question[] = [
  ['resources.list', OF_OPEN],
  ['resources.read', { ...OF_OPEN, uri: 'a:b' }],
  ['prompts.list', OF_OPEN],
  ['prompts.get', { ...OF_OPEN, prompt: 'p', arguments: { x: 'y'.repeat(200) } }],
];

type Answer = { readonly id: number; readonly value?: unknown; readonly error?: Refusal };

/** The answers in the order of the questions. */
async function ask(
  questions: readonly Question[],
  scene: Scene,
): Promise<readonly Answer[] & { readonly heard: Heard }> {
  const lines = questions.map(([method, params], id) =>
    Buffer.from(`${JSON.stringify({ type: 'call', id, method, params })}\n`),
  );
  const heard = await hear(lines, { tools: TOOLS, ...scene });
  expect(heard.violations).toEqual([]);
  const answers = heard.sent.map((line) => JSON.parse(line) as Answer).sort((a, b) => a.id - b.id);
  return Object.assign(answers, { heard });
}
const refusals = (answers: readonly Answer[]) =>
  answers.map(({ error }) => error && `${error.code} ${error.message}`);
/** Events of refusals, without what was asked of servers all the same. */
const refused = (events: readonly BridgeEvent[]) => events.filter(({ type }) => type !== 'run.request');
const OVER = 'Only the user can change that; go on without it.';

describe('what is denied', () => {
  it('a denied tool, by the name that only its server knows', async () => {
    const answers = await ask([call('erase-all'), call('erase_all'), call('read')], {
      rules: { deny: ['*.erase*'] },
    });
    expect(refusals(answers)).toEqual([
      `E_DENIED Tool 'erase-all' of server 'open' is denied by MCP_BRIDGE_DENY '*.erase*'. ${OVER}`,
      `E_DENIED Tool 'erase_all' of server 'open' is denied by MCP_BRIDGE_DENY '*.erase*'. ${OVER}`,
      undefined,
    ]);
    expect(answers.heard.reached).toEqual(['open read {}']);
    expect(refused(answers.heard.events)).toMatchObject([
      { type: 'run.refused', run: 'run-1', server: 'open', tool: 'erase-all', code: 'E_DENIED' },
      { type: 'run.refused', tool: 'erase_all' },
    ]);
  });

  it('refuses every question to a denied server, loaded or not', async () => {
    const args = { server: 'shut' };
    const questions: Question[] = [
      call('any', {}, 'shut'),
      ['tools.list', args],
      ['docs.get', { ...args, tool: null }],
      ['servers.load', args],
      ['resources.list', args],
      ['resources.read', { ...args, uri: 'a:b' }],
      ['prompts.list', args],
      ['prompts.get', { ...args, prompt: 'p', arguments: {} }],
    ];
    const answers = await ask(questions, { rules: { deny: ['shut'] } });
    for (const refusal of refusals(answers)) {
      expect(refusal).toMatch(
        /^E_DENIED (Server 'shut'|Tool 'any' of server 'shut') is denied by MCP_BRIDGE_DENY 'shut'\. Only/,
      );
    }
    expect(answers.heard.reached).toEqual([]);
    const loaded = await ask([call('echo'), ['tools.list', { server: 'open' }]], {
      rules: { deny: ['open'] },
    });
    expect(loaded.map(({ error }) => error?.code)).toEqual(['E_DENIED', 'E_DENIED']);
  });

  it('is not shown in any list', async () => {
    const answers = await ask(
      [
        ['tools.list', { server: 'open' }],
        ['docs.get', { server: 'open', tool: null }],
        ['docs.search', { query: 'does erase read echo', limit: 10 }],
        ['docs.get', { server: 'open', tool: 'erase-all' }],
      ],
      { rules: { deny: ['*.erase*'] } },
    );
    const shown = JSON.stringify(answers.slice(0, 3));
    expect(shown).toContain('"read"');
    expect(shown).not.toContain('erase');
    expect(answers[3]?.error?.code).toBe('E_TOOL_UNKNOWN');
  });

  it('a mistyped name is on no allow list, and is told what it may have meant', async () => {
    const answers = await ask([call('raed'), call('eraze-all')], { rules: { allow: ['open.read'] } });
    expect(refusals(answers)).toEqual([
      `E_DENIED Tool 'raed' of server 'open' is denied by MCP_BRIDGE_ALLOW, which does not name it. ${OVER}`,
      `E_DENIED Tool 'eraze-all' of server 'open' is denied by MCP_BRIDGE_ALLOW, which does not name it. ${OVER}`,
    ]);
    const near = await ask([call('reead')], { rules: { allow: ['open.read'] } });
    expect(refusals(near)[0]).toContain("does not name it. Did you mean 'read'?");
  });

  it('a tool that has changed, where that is refused', async () => {
    const questions: Question[] = [call('moved'), ['tools.list', { server: 'open' }]];
    const strict = await ask(questions, { rules: file({ changedTools: 'refuse' }) });
    expect(refusals(strict)[0]).toBe(
      `E_DENIED Tool 'moved' of server 'open' is denied by changedTools in /p.yaml: its description. ${OVER}`,
    );
    expect(JSON.stringify(strict[1])).not.toContain('moved');
    const open = await ask(questions, {});
    expect(open[0]).toMatchObject({ value: { content: [] } });
    expect(JSON.stringify(open[1])).toContain('its description');
  });

  it('resources and prompts, where the server is not', async () => {
    const deny = { open: { deny: [], resources: 'deny', limits: {} } } as const;
    const answers = await ask([['resources.list', { server: 'open' }], call('read')], {
      rules: file({ perServer: deny }),
    });
    expect(refusals(answers)).toEqual([
      `E_DENIED 'resources/list' of server 'open' is denied by perServer.open.resources in /p.yaml. ${OVER}`,
      undefined,
    ]);
    expect(refused(answers.heard.events)).toMatchObject([{ type: 'run.refused', tool: 'resources/list' }]);
  });

  it('resources and prompts, where an allow list names only tools', async () => {
    const answers = await ask([...QUESTIONS, call('read')], { rules: { allow: ['open.read'] } });
    expect(answers.map(({ error }) => error?.code)).toEqual([
      'E_DENIED',
      'E_DENIED',
      'E_DENIED',
      'E_DENIED',
      undefined,
    ]);
    expect(answers.heard.reached).toEqual(['open read {}']);
  });
});

describe('limits', () => {
  it('calls per run, of all and of one server; what was denied does not count', async () => {
    const questions = [call('none', {}, 'shut'), call('read'), call('erase-all'), call('read'), call('read')];
    const answers = await ask(questions, {
      rules: { deny: ['shut', '*.erase*'], ...file({ limits: { callsPerRun: 2 } }) },
    });
    expect(answers.map(({ error }) => error?.code)).toEqual([
      'E_DENIED',
      undefined,
      'E_DENIED',
      undefined,
      'E_LIMIT',
    ]);
    expect(answers[4]?.error?.message).toBe(
      'Limit callsPerRun: at most 2, got 3 calls in one run. It is set by limits.callsPerRun in /p.yaml. ' +
        'Make fewer calls in one run, or split the work over several.',
    );
    const own = { open: { deny: [], resources: 'allow', limits: { callsPerRun: 1 } } } as const;
    const second = await ask([call('read'), call('read')], { rules: file({ perServer: own }) });
    expect(second[1]?.error?.message).toContain('It is set by perServer.open.limits.callsPerRun in /p.yaml.');
  });

  it('whatever is asked of a server is a call of it: resources, prompts, and the server itself', async () => {
    const questions: Question[] = [
      ...QUESTIONS,
      ['servers.load', { server: 'later' }],
      // It is loaded already, so nothing is started.
      ['servers.load', OF_OPEN],
      call('read'),
    ];
    const answers = await ask(questions, { rules: file({ limits: { callsPerRun: 5 } }) });
    expect(answers.map(({ error }) => error?.code === 'E_LIMIT')).toEqual([...Array(6).fill(false), true]);
    const own = { open: { deny: [], resources: undefined, limits: { callsPerRun: 3 } } } as const;
    const second = await ask([...QUESTIONS], { rules: file({ perServer: own }) });
    expect(second.map(({ error }) => error?.code === 'E_LIMIT')).toEqual([false, false, false, true]);
    expect(second[3]?.error?.message).toContain("got 4 calls of server 'open' in one run");
  });

  it('count bytes and seconds of resources and prompts', async () => {
    const aborted: string[] = [];
    const work = (_name: string, signal: AbortSignal) =>
      new Promise<void>((_resolve, reject) =>
        signal.addEventListener('abort', () => {
          aborted.push(String(signal.reason));
          reject(new Error('aborted'));
        }),
      );
    const rules = file({ limits: { bytesPerCall: 100, secondsPerCall: 0.05 } });
    const answers = await ask(QUESTIONS, { rules, work });
    expect(refusals(answers).map((text) => text?.split(',')[0])).toEqual([
      ...Array(3).fill('E_LIMIT Limit secondsPerCall: at most 0.05'),
      'E_LIMIT Limit bytesPerCall: at most 100',
    ]);
    expect(new Set(aborted)).toEqual(new Set(['timeout']));
    expect(refused(answers.heard.events)).toHaveLength(4);
    const listed = await ask([['prompts.list', OF_OPEN]], { rules: file({ limits: { bytesPerCall: 20 } }) });
    expect(refusals(listed)[0]).toContain("bytes for the result of 'prompts/list' of server 'open'.");
  });

  it('count bytes of arguments and of a result as UTF-8', async () => {
    const rules = file({ limits: { bytesPerCall: 100 } });
    const answers = await ask(
      [
        call('read', { x: 'a'.repeat(93) }),
        call('read', { x: 'a'.repeat(10) }),
        call('read', { x: 'a'.repeat(60) }),
      ],
      { rules },
    );
    expect(answers.map(({ error }) => error?.code)).toEqual(['E_LIMIT', undefined, 'E_LIMIT']);
    expect(answers[0]?.error?.message).toContain(
      "got 101 bytes for the arguments of 'read' of server 'open'.",
    );
    // It has run; only its answer stays out.
    expect(answers[2]?.error?.message).toContain("bytes for the result of 'read' of server 'open'.");
    expect(answers.heard.reached).toHaveLength(2);
  });

  it('seconds per call end that call, on the server too', async () => {
    const aborted: string[] = [];
    const work = (name: string, signal: AbortSignal) =>
      new Promise<void>((resolve, reject) => {
        if (name === 'read') return resolve();
        signal.addEventListener('abort', () => {
          aborted.push(String(signal.reason));
          reject(new Error('aborted'));
        });
      });
    const answers = await ask([call('echo'), call('read')], {
      rules: file({ limits: { secondsPerCall: 1 } }),
      work,
    });
    expect(answers[0]?.error).toMatchObject({
      code: 'E_LIMIT',
      message: expect.stringMatching(
        /^Limit secondsPerCall: at most 1, got \d+(\.\d)? s without an answer from 'echo' of server 'open'\. It is set by limits\.secondsPerCall in \/p\.yaml\. /,
      ),
    });
    expect(answers[1]).toHaveProperty('value');
    expect(aborted).toEqual(['timeout']);
  });

  it.each([
    ['of one server', { callsInFlightPerServer: 3 }],
    ['of one run', { callsInFlight: 3 }],
  ])('calls in flight %s wait for each other, and all are answered', async (_whose, limits) => {
    let now = 0;
    let most = 0;
    const work = async () => {
      most = Math.max(most, ++now);
      await new Promise((resolve) => setImmediate(resolve));
      now--;
    };
    const answers = await ask(
      Array.from({ length: 20 }, (_, n) => (n % 2 === 0 ? call('read') : (QUESTIONS[0] ?? call('read')))),
      { rules: file({ limits }), work },
    );
    expect(answers.every(({ error }) => error?.code !== 'E_LIMIT')).toBe(true);
    expect(most).toBe(3);
  });
});

describe('one verdict', () => {
  it('is what the caller is refused by and what the audit is told', async () => {
    const questions = [call('erase-all', { a: 1 }), call('any', {}, 'shut'), call('read', { b: 2 })];
    // The more special rule would be met first, were the tool judged without its server.
    const { heard, ...answers } = await ask(questions, { rules: { deny: ['*.erase*', 'shut.a*', 'shut'] } });
    expect([answers[0]?.error?.message, answers[1]?.error?.message]).toEqual([
      expect.stringContaining("is denied by MCP_BRIDGE_DENY '*.erase*'."),
      expect.stringContaining("is denied by MCP_BRIDGE_DENY 'shut'."),
    ]);
    expect([...heard.audited].sort((a, b) => a.call - b.call)).toMatchObject([
      { call: 0, tool: 'erase-all', allowed: false, rule: "MCP_BRIDGE_DENY '*.erase*'", error: 'E_DENIED' },
      { call: 1, server: 'shut', allowed: false, rule: "MCP_BRIDGE_DENY 'shut'", error: 'E_DENIED' },
      { call: 2, tool: 'read', allowed: true, rule: 'no rule', argumentsText: '{"b":2}' },
    ]);
  });

  it('is asked for once by each call', async () => {
    const asked: string[] = [];
    const policy = policyOf({ allow: undefined, deny: [], file: undefined }, []);
    const counting: Policy = {
      ...policy,
      tool: (server, tool) => {
        // Documentation is judged too, when it is shown.
        if (!('description' in tool)) asked.push(tool.name);
        return policy.tool(server, tool);
      },
      request: (server, method) => {
        asked.push(method);
        return policy.request(server, method);
      },
    };
    const { heard } = await ask([call('read'), ['resources.list', OF_OPEN]], { policy: counting });
    expect(heard.audited).toHaveLength(2);
    expect(asked.sort()).toEqual(['read', 'resources/list']);
  });

  it('is on every call that a handler takes, or it does not compile', () => {
    const handlers = {} as Handlers;
    const made: GuestCall = toolCall('open', 'read', {});
    const forged = { ...made, verdict: { allowed: true, rule: 'mine' } };
    const attempts = [
      // @ts-expect-error A call that nobody has judged.
      () => handlers['tools.call'](made, NEVER),
      // @ts-expect-error A verdict of one's own: only the guard has its mark.
      (): Admitted => forged,
    ];
    expect(attempts).toHaveLength(2);
  });
});
