// The name of a tool is read in dialogs, on the page, in a terminal, in refusals, logs and answers. Everywhere it is the same,
// and that of no other tool.

import { expect, it } from 'vitest';
import type { BridgeEvent } from '../../src/base/log/events.js';
import { describeEvent } from '../../src/base/log/log.js';
import { didYouMean } from '../../src/base/text/closest.js';
import { makeHarmless } from '../../src/base/text/text.js';
import { toolOf } from '../../src/cli/approvals/text.js';
import { eventWords } from '../../src/cli/serving/events.js';
import { type Question, questionText } from '../../src/policy/approvals/question.js';
import { policyOf } from '../../src/policy/rules/policy.js';
import { planPieces } from '../../src/run/answer/pieces.js';
import { digestOf } from '../../src/run/audit/digest.js';
import type { Outcome } from '../../src/run/outcome/outcome.js';
import { plainPage } from '../../src/watch/front/plain-page.js';
import { approvalsWith, MemoryInbox } from '../support/approvals.js';
import { until } from '../support/time.js';
import { hear } from '../wire/host-end.js';

const TOOL = 'delete_all\rlist\u001b[31m_notes';
/** What a function for output makes of it. */
const TAKEN_FOR = 'list_notes';
const SHOWN = 'delete_all\\x0dlist\\x1b[31m_notes';
const SERVER = 'io.github/desk';

const question: Question = {
  id: 'q-aaaabbbbccccdddd',
  object: { kind: 'tool', server: SERVER, tool: TOOL, calls: [{ arguments: '{}' }] },
  rule: 'the rule',
  run: 'a-1',
  client: 'tester 1',
  principal: undefined,
  session: undefined,
  offers: ['once', 'always', 'no'],
  askedAt: '2026-11-25T12:00:00.000Z',
  expiresAt: '2026-11-25T12:10:00.000Z',
};
const told = (event: object): string =>
  describeEvent({ run: 'a-1', server: SERVER, tool: TOOL, ...event } as BridgeEvent, eventWords())[1];
const call = { call: 1, allowed: true, rule: '', failed: false, durationMs: 1, arguments: digestOf('{}') };

/** The refusal of a call, as a terminal would show it. */
async function refused(tool: string, rules: { readonly deny: readonly string[] }): Promise<string> {
  const params = { server: 'open', tool, arguments: {} };
  const frame = JSON.stringify({ type: 'call', id: 1, method: 'tools.call', params });
  const policy = policyOf({ allow: undefined, file: undefined, ...rules }, []);
  const { sent } = await hear([Buffer.from(`${frame}\n`)], { policy });
  return JSON.parse(sent[0] ?? '{}').error.message;
}

async function waiting(): Promise<string> {
  const inbox = new MemoryInbox();
  using approvals = approvalsWith({ inbox }).run();
  const verdict = { is: 'ask', rule: 'r', isConditional: false } as const;
  const ends = new AbortController();
  const passing = approvals.pass({ server: SERVER, tool: TOOL, text: '{}', verdict }, ends.signal);
  await until(() => inbox.posted.length === 1);
  const { waiting } = approvals;
  ends.abort();
  await passing.catch(() => {});
  return waiting;
}

it.each<[string, () => string | Promise<string>]>([
  ['a dialog', () => questionText(question)],
  [
    'the page',
    () => {
      const { object, principal: _principal, session: _session, ...facts } = question;
      const shown = {
        ...facts,
        server: object.server,
        tool: object.tool,
        calls: [],
        callCount: 1,
        token: '',
      };
      return plainPage({ open: [shown], ended: [], notice: undefined });
    },
  ],
  ['the command line', () => toolOf(question)],
  ['what a run waits for', waiting],
  ['a refusal', () => refused(TOOL, { deny: ['open.*'] })],
  ['a refusal of an unknown tool', () => refused(TOOL, { deny: [] })],
  ['the log of a call', () => told({ type: 'run.call', ...call })],
  ['the log of a refusal', () => told({ type: 'run.refused', code: 'E_DENIED', message: '' })],
  ['the log of a question', () => told({ type: 'run.asked', calls: [], answer: 'no', durationMs: 1 })],
  ['a plan', () => ownOf({ calls: [{ server: SERVER, tool: TOOL, text: '{}' }], isStopped: true })],
  ['a suggestion', () => didYouMean(TOOL, [TOOL])],
])('%s', async (_where, text) => {
  const shown = await text();
  expect(shown).toContain(SHOWN);
  // Whatever shows it afterwards loses nothing of it.
  expect(makeHarmless(shown)).toContain(SHOWN);
  expect(shown).not.toContain(TAKEN_FOR);
});

it('a function for output loses it', () => {
  expect(makeHarmless(TOOL)).toBe(TAKEN_FOR);
});

it.each([
  [toolOf(question), `io\\.github/desk.${SHOWN}`],
  [
    toolOf({ ...question, object: { ...question.object, server: 'io', tool: 'github/desk.x' } }),
    'io.github/desk.x',
  ],
])('a server with a dot is not that of another tool: %s', (shown, as) => {
  expect(shown).toBe(as);
});

function ownOf(planned: object): string {
  const outcome = { planned: { notListed: 0, ...planned } } as unknown as Outcome;
  return planPieces(outcome)
    .map(({ own }) => own)
    .join('\n');
}
