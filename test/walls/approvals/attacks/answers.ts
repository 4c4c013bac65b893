// What a client, and whoever answers in its place, can say of what a person did.

import type { ApprovalAnswer, Decision } from '../../../../src/policy/approvals/question.js';
import { approvalsWith, askedAgent, decided, later, MemoryInbox, never } from '../../../support/approvals.js';
import { NEVER } from '../../../support/time.js';
import type { Attack } from '../attack.js';

const group = 'answers';
const THINK_MS = 500;
const verdict = { is: 'ask', rule: 'r', isConditional: false } as const;
type Scene = Parameters<typeof approvalsWith>[0];

/** Whether a call is sent, where it is answered so. */
const sentWith = (scene: () => Scene) => async () => {
  using approvals = approvalsWith(scene()).run();
  const call = { server: 'desk', tool: 'erase', text: '{}', verdict };
  try {
    await approvals.pass(call, NEVER);
    return 'a call that nobody has allowed';
  } catch {
    return undefined;
  }
};
const dialogSays = (answer: Readonly<Record<string, unknown>>, ms = THINK_MS) =>
  sentWith(() => ({ agent: askedAgent(() => later(ms, answer)) }));
const ALLOWS = dialogSays(decided('once'));
const inboxSays = (answer: ApprovalAnswer, ms = 10) =>
  sentWith(() => ({ inbox: new MemoryInbox(() => later(ms, answer)), waitSeconds: 3 }));
const page = (decision: string): ApprovalAnswer => ({
  decision: decision as Decision,
  by: 'page',
  who: 'ann',
});

/** Where the person refuses in one place, and the other place says yes. */
const inboxFirst = (inboxMs: number, dialogMs: number) =>
  sentWith(() => ({
    inbox: new MemoryInbox(() => later(inboxMs, page('no'))),
    agent: askedAgent(() => later(dialogMs, decided('once'))),
  }));

export const answerAttacks: readonly Attack[] = [
  {
    id: 'accepted-without-a-decision',
    group,
    tries: 'a client that accepts every dialog, without filling it in',
    wall: 'only a decision that was offered allows anything',
    attempt: dialogSays({ action: 'accept', content: {} }),
    control: ALLOWS,
  },
  {
    id: 'accepted-without-content',
    group,
    tries: 'accepts with no content at all',
    wall: 'only a decision that was offered allows anything',
    attempt: dialogSays({ action: 'accept' }),
    control: ALLOWS,
  },
  {
    id: 'not-offered',
    group,
    tries: 'answers `always` where that was not offered',
    wall: 'only a decision that was offered allows anything',
    attempt: dialogSays(decided('always')),
    control: sentWith(() => ({
      agent: askedAgent(() => later(THINK_MS, decided('always'))),
      canWrite: true,
    })),
  },
  {
    id: 'inherited-decision',
    group,
    tries: 'answers with a decision that is no text',
    wall: 'only a decision that was offered allows anything',
    attempt: dialogSays({ action: 'accept', content: { decision: ['once'] } }),
    control: ALLOWS,
  },
  {
    id: 'unknown-action',
    group,
    tries: 'answers with an action that MCP does not know',
    wall: 'anything but accept allows nothing',
    attempt: dialogSays({ action: 'approve', content: { decision: 'once' } }),
    control: ALLOWS,
  },
  {
    id: 'opened-the-page',
    group,
    tries: 'has the opening of the page taken for its answer',
    wall: 'a page is answered on the page',
    attempt: sentWith(() => {
      const inbox = new MemoryInbox(never);
      inbox.page = 'http://127.0.0.1:1/x';
      const agent = askedAgent(() => later(THINK_MS, decided('once')), { form: false, url: true });
      return { inbox, agent, waitSeconds: 3 };
    }),
    control: sentWith(() => {
      const inbox = new MemoryInbox(() => later(THINK_MS, page('once')));
      inbox.page = 'http://127.0.0.1:1/x';
      return { inbox, agent: askedAgent(never, { form: false, url: true }) };
    }),
  },
  {
    id: 'too-late',
    group,
    tries: 'allows a call after its question has expired',
    wall: 'a question ends with its time',
    attempt: inboxSays(page('once'), 5_000),
    control: inboxSays(page('once')),
  },
  {
    id: 'second-answer',
    group,
    tries: 'allows in a dialog what a person has refused elsewhere a moment before',
    wall: 'the first answer counts',
    attempt: inboxFirst(THINK_MS, THINK_MS + 300),
    control: inboxFirst(THINK_MS + 300, THINK_MS),
  },
  {
    id: 'inbox-not-offered',
    group,
    tries: 'puts a decision into the inbox that was not offered',
    wall: 'what was not offered is no decision, whoever says it',
    attempt: inboxSays(page('always')),
    control: inboxSays(page('once')),
  },
  {
    id: 'inbox-made-up',
    group,
    tries: 'puts a decision into the inbox that does not exist',
    wall: 'what was not offered is no decision, whoever says it',
    attempt: inboxSays(page('yes')),
    control: inboxSays(page('once')),
  },
];
