// Questions about calls: where they are answered, what comes of each answer, and what they cost the run.

import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { ApprovalAnswer, Question } from '../../src/policy/approvals/question.js';
import { MAX_QUESTIONS } from '../../src/policy/approvals/run-approvals.js';
import { approvalsWith, askedAgent, decided, later, MemoryInbox, never } from '../support/approvals.js';
import { NEVER, PATIENTLY, until } from '../support/time.js';

const verdict = { is: 'ask', rule: 'the rule', isConditional: false } as const;
const call = (text = '{"id":1}', tool = 'erase') => ({ server: 'desk', tool, text, verdict });
const answer = (decision: ApprovalAnswer['decision'], by: ApprovalAnswer['by'] = 'page') => ({
  decision,
  by,
  who: 'ann',
});
const THINK_MS = 500;

describe('where a question is answered', () => {
  it('in the inbox, where the agent cannot ask', async () => {
    const inbox = new MemoryInbox(() => later(10, answer('once')));
    const { run, events } = approvalsWith({ inbox });
    using approvals = run();
    await approvals.pass(call(), NEVER);
    expect(inbox.posted).toMatchObject([
      {
        id: expect.stringMatching(/^q-[a-z2-9]{16}$/),
        object: { kind: 'tool', server: 'desk', tool: 'erase', calls: [{ arguments: '{"id":1}' }] },
        rule: 'the rule',
        run: 'run-1',
        client: 'tester 1',
        principal: undefined,
        session: undefined,
        offers: ['once', 'run', 'session', 'no'],
      },
    ]);
    expect(events).toMatchObject([{ type: 'run.asked', answer: 'once', by: 'page', who: 'ann' }]);
  });

  it('at both at once: the first answer counts, and the other place is told', async () => {
    const inbox = new MemoryInbox(() => later(THINK_MS, answer('no', 'command line')));
    const agent = askedAgent(never);
    using approvals = approvalsWith({ inbox, agent }).run();
    await expect(approvals.pass(call(), NEVER)).rejects.toThrow('denied by the user');
    expect(agent.takenBack()).toBe(1);
    expect(inbox.withdrawn).toEqual(['answered by command line']);

    const quick = askedAgent(() => later(THINK_MS, decided('once')));
    const waiting = new MemoryInbox(never);
    using others = approvalsWith({ inbox: waiting, agent: quick }).run();
    await others.pass(call(), NEVER);
    expect(waiting.withdrawn).toEqual(['answered by agent']);
  });

  it.each(['decline', 'cancel'])(
    'a dialog that is answered with %s at once was seen by nobody: the inbox still counts',
    async (action) => {
      // None of its time goes by while it is answered, however busy the machine is.
      vi.useFakeTimers({ toFake: ['performance'] });
      onTestFinished(() => void vi.useRealTimers());
      const inbox = new MemoryInbox(() => later(THINK_MS, answer('once')));
      const agent = askedAgent(async () => ({ action }));
      using approvals = approvalsWith({ inbox, agent }).run();
      await approvals.pass(call(), NEVER);
      expect(agent.asked).toHaveLength(1);
    },
  );

  it('an agent that fails has asked nobody', async () => {
    const inbox = new MemoryInbox(() => later(THINK_MS, answer('once')));
    const agent = askedAgent(() => Promise.reject(new Error('no screen')));
    using approvals = approvalsWith({ inbox, agent }).run();
    await approvals.pass(call(), NEVER);
    using alone = approvalsWith({ agent }).run();
    await expect(alone.pass(call(), NEVER)).rejects.toThrow(
      'the rule demands a question, and nobody can be asked',
    );
  });

  it('an inbox that fails does not keep the agent from being asked', async () => {
    const inbox = new MemoryInbox();
    inbox.post = () => {
      throw new Error('no disk');
    };
    const agent = askedAgent(() => later(THINK_MS, decided('once')));
    using approvals = approvalsWith({ inbox, agent }).run();
    await approvals.pass(call(), NEVER);
  });

  it.each([
    ['tester 1', ['decision', 'word']],
    ['codex-mcp-client 0.169.0', ['decision']],
  ])('in a dialog of %s with no field at which its user would be stuck', async (client, fields) => {
    const agent = askedAgent(() => later(THINK_MS, decided('once')));
    using approvals = approvalsWith({ agent }).run('run-1', { client });
    await approvals.pass(call(), NEVER);
    const { properties } = Object(agent.asked[0]?.['requestedSchema']);
    expect(Object.keys(properties)).toEqual(fields);
  });

  it('on the page, where the client has no forms; that it was opened is no answer', async () => {
    const inbox = new MemoryInbox(() => later(THINK_MS, answer('once')));
    inbox.page = 'http://127.0.0.1:1/secret';
    const done: string[] = [];
    const agent = {
      ...askedAgent(async () => ({ action: 'accept' }), { form: false, url: true }),
      elicitationDone: (id: string) => void done.push(id),
    };
    using approvals = approvalsWith({ inbox, agent }).run();
    await approvals.pass(call(), NEVER);
    expect(agent.asked).toMatchObject([
      {
        mode: 'url',
        url: `http://127.0.0.1:1/secret/${inbox.posted[0]?.id}`,
        message: expect.stringContaining("Server 'desk', tool 'erase'"),
      },
    ]);
    expect(done).toHaveLength(1);
  });

  it('on the page, where the question is too long for a dialog; of a principal elsewhere, never', async () => {
    const inbox = new MemoryInbox(() => later(THINK_MS, answer('once')));
    inbox.page = 'http://127.0.0.1:1/secret';
    const long = call(JSON.stringify({ text: 'x'.repeat(3_000) }));
    const agent = askedAgent(never);
    using approvals = approvalsWith({ inbox, agent }).run();
    await approvals.pass(long, NEVER);
    const [{ message, requestedSchema } = {}] = agent.asked;
    expect(message).toContain('It can be read and allowed at http://127.0.0.1:1/secret/q-');
    expect(requestedSchema).toMatchObject({ properties: { decision: { enum: ['no'] } } });

    const remote = askedAgent(never);
    using others = approvalsWith({ inbox, agent: remote, principal: 'token:ann#1' }).run();
    await others.pass(long, NEVER);
    expect(remote.asked[0]?.['message']).not.toContain('127.0.0.1');
  });
});

describe('what comes of it', () => {
  it('nobody answers: it expires, and what is left of the time counts for the next one', async () => {
    const inbox = new MemoryInbox();
    const { run, events } = approvalsWith({ inbox, waitSeconds: 1 });
    using approvals = run();
    await expect(approvals.pass(call(), NEVER)).rejects.toThrow('nobody answered within 1 s');
    await expect(approvals.pass(call('{"id":2}'), NEVER)).rejects.toThrow('1 s for questions of one run');
    expect(inbox.withdrawn).toEqual(['expired']);
    expect(events).toMatchObject([{ answer: 'expired', by: undefined }]);
  });

  it('the run ends: the question is taken back', async () => {
    const inbox = new MemoryInbox();
    const approvals = approvalsWith({ inbox }).run();
    const passing = approvals.pass(call(), NEVER);
    await expect.poll(() => inbox.posted.length, PATIENTLY).toBe(1);
    approvals[Symbol.dispose]();
    await expect(passing).rejects.toThrow('the run has ended');
    expect(inbox.withdrawn).toEqual(['cancelled']);
  });

  it('nobody wants the answer any more: the question is taken back, and another call is another question', async () => {
    const inbox = new MemoryInbox();
    using approvals = approvalsWith({ inbox }).run();
    const abandon = new AbortController();
    const passing = approvals.pass(call(), abandon.signal);
    await expect.poll(() => inbox.posted.length, PATIENTLY).toBe(1);
    abandon.abort('cancelled');
    await expect(passing).rejects.toThrow();
    await expect.poll(() => inbox.withdrawn, PATIENTLY).toEqual(['cancelled']);
  });

  it('nobody wants a call any more that is not put yet: one like it that comes at once is asked all the same', async () => {
    const inbox = new MemoryInbox(() => later(0, answer('once')));
    using approvals = approvalsWith({ inbox }).run();
    const gone = new AbortController();
    const lost = approvals.pass(call('{"id":1}'), gone.signal);
    gone.abort();
    const next = approvals.pass(call('{"id":2}'), NEVER);
    await expect(lost).rejects.toThrow();
    await next;
    const taken = approvals.pass(call('{"id":3}'), NEVER);
    approvals.takeBack();
    await Promise.all([
      approvals.pass(call('{"id":4}'), NEVER),
      expect(taken).rejects.toThrow('not approved'),
    ]);
    expect(inbox.posted.map(({ object }) => object.calls)).toEqual([
      [{ arguments: '{"id":2}' }],
      [{ arguments: '{"id":4}' }],
    ]);
  });

  it('session: of a named session only for that one, else for all runs of the bridge', async () => {
    const inbox = new MemoryInbox(() => later(5, answer('session')));
    const { run } = approvalsWith({ inbox });
    const pass = async (id: string, session?: string) => {
      using approvals = run(id, { session });
      await approvals.pass(call(), NEVER);
    };
    await pass('run-1', 'blue');
    await pass('run-2', 'blue');
    expect(inbox.posted).toHaveLength(1);
    await pass('run-3', 'red');
    await pass('run-4');
    await pass('run-5');
    expect(inbox.posted).toHaveLength(3);
  });

  it('run: for the rules that have asked, and for no others', async () => {
    const inbox = new MemoryInbox(() => later(5, answer('run')));
    using approvals = approvalsWith({ inbox }).run();
    const asked = (rule: string) => ({ ...call(), verdict: { ...verdict, rule } });
    for (const rule of ['one', 'one', 'one and another', 'another', 'one and another'])
      await approvals.pass(asked(rule), NEVER);
    expect(inbox.posted.map(({ rule }) => rule)).toEqual(['one', 'one and another', 'another']);
  });

  it('run: answers what is open already about the same tool, too', async () => {
    const inbox: MemoryInbox = new MemoryInbox(async (question) => {
      if (question.object.calls[0]?.arguments !== '{"id":1}') return never();
      await until(() => inbox.posted.length === 2);
      return answer('run');
    });
    using approvals = approvalsWith({ inbox }).run();
    const first = approvals.pass(call('{"id":1}'), NEVER);
    await expect.poll(() => inbox.posted.length, PATIENTLY).toBe(1);
    const second = approvals.pass(call('{"id":2}'), NEVER);
    await Promise.all([first, second]);
    expect(inbox.withdrawn.sort()).toEqual(['answered by page', 'cancelled']);
  });

  it('always: is written with its reason, and holds from then on', async () => {
    const inbox = new MemoryInbox(() => later(5, { ...answer('always'), word: 'a copy' }));
    const { run, written } = approvalsWith({ inbox, canWrite: true });
    for (const id of ['run-1', 'run-2']) {
      using approvals = run(id);
      await approvals.pass(call(), NEVER);
    }
    expect(written).toEqual([{ server: 'desk', tool: 'erase', reason: 'a copy' }]);
    expect(inbox.posted).toHaveLength(1);
  });

  it('what was refused is refused again without a question; other arguments are another one', async () => {
    const inbox = new MemoryInbox(() => later(5, answer('no')));
    using approvals = approvalsWith({ inbox }).run();
    for (const text of ['{"id":1}', '{"id":1}', '{"id":2}'])
      await expect(approvals.pass(call(text), NEVER)).rejects.toThrow('denied by the user');
    expect(inbox.posted).toHaveLength(2);
  });

  it('too many questions in one run', async () => {
    const inbox = new MemoryInbox(() => later(0, answer('once')));
    using approvals = approvalsWith({ inbox }).run();
    const passing = Array.from({ length: MAX_QUESTIONS + 1 }, (_, n) =>
      approvals.pass(call('{}', `tool-${n}`), NEVER),
    );
    const refused = (await Promise.allSettled(passing)).filter(({ status }) => status === 'rejected');
    expect(refused).toHaveLength(1);
    expect(inbox.posted).toHaveLength(MAX_QUESTIONS);
  });
});

describe('what it costs the run', () => {
  it('its clock stands while anything is open, once, and it says what it waits for', async () => {
    const answers = new Map<string, () => void>();
    const inbox = new MemoryInbox(
      ({ object }: Question) =>
        new Promise((resolve) => answers.set(object.tool, () => resolve(answer('once')))),
    );
    const { run, clock } = approvalsWith({ inbox, agent: askedAgent(never) });
    using approvals = run();
    const passing = [approvals.pass(call('{}', 'a'), NEVER), approvals.pass(call('{}', 'b'), NEVER)];
    await expect.poll(() => answers.size, PATIENTLY).toBe(2);
    expect(approvals.waiting).toBe(
      'Waits for the user to approve desk.a and 1 more, with an answer in a dialog of this client or with the command `approvals`.',
    );
    answers.get('a')?.();
    await passing[0];
    expect(clock).toEqual(['stop']);
    answers.get('b')?.();
    await passing[1];
    await expect.poll(() => clock, PATIENTLY).toEqual(['stop', 'go']);
    expect(approvals.waiting).toBe('');
  });

  it('calls of one tool that come together are one question, and those that come later another', async () => {
    const inbox = new MemoryInbox(() => later(300, answer('once')));
    using approvals = approvalsWith({ inbox }).run();
    const together = Array.from({ length: 50 }, (_, n) => approvals.pass(call(`{"id":${n}}`), NEVER));
    await expect.poll(() => inbox.posted.length, PATIENTLY).toBe(1);
    const late = approvals.pass(call('{"id":50}'), NEVER);
    await Promise.all([...together, late]);
    expect(inbox.posted.map(({ object }) => object.calls.length)).toEqual([50, 1]);
  });
});
