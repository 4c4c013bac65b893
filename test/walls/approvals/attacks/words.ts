// What can be put into a question, so that a person reads something else.

import { clipHarmlessLine } from '../../../../src/base/text/text.js';
import { type Question, questionText } from '../../../../src/policy/approvals/question.js';
import { approvalsWith, askedAgent, decided, later } from '../../../support/approvals.js';
import { NEVER } from '../../../support/time.js';
import type { Attack } from '../attack.js';

const group = 'words of the question';

const asked = (text: string, tool = 'erase'): Question => ({
  id: 'q-aaaabbbbccccdddd',
  object: { kind: 'tool', server: 'desk', tool, calls: [{ arguments: text }] },
  rule: 'the rule',
  run: 'a-1',
  client: 'tester 1',
  principal: undefined,
  session: undefined,
  offers: ['once', 'no'],
  askedAt: '2026-11-25T12:00:00.000Z',
  expiresAt: '2026-11-25T12:10:00.000Z',
});
const AS_IS = (question: Question) =>
  `${question.object.tool}\n${question.object.calls.map((call) => JSON.parse(call.arguments)).join('\n')}`;

/** A text in an argument, or a name of a tool, and what of the shown question would be the lie. */
function lie(
  text: string,
  lies: RegExp,
  of: 'argument' | 'tool' = 'argument',
): Pick<Attack, 'attempt' | 'control'> {
  const question = of === 'argument' ? asked(JSON.stringify(text)) : asked('""', text);
  const seen = (shown: string) => {
    const [found] = lies.exec(shown) ?? [];
    return found === undefined ? undefined : `shows ${JSON.stringify(found)}`;
  };
  return {
    attempt: async () => seen(questionText(question)),
    control: async () => seen(AS_IS(question)),
  };
}

/** A tool whose question is to be that of another one; in the control its name is shown as output is. */
function misnamed(tool: string, as: string): Pick<Attack, 'attempt' | 'control'> {
  const shownAs = (name: string) => questionText(asked('""', name)).split('\n', 1)[0];
  const isTaken = (shown: string | undefined) => (shown === shownAs(as) ? `is taken for ${as}` : undefined);
  return {
    attempt: async () => isTaken(shownAs(tool)),
    control: async () => isTaken(shownAs(clipHarmlessLine(tool, 256))),
  };
}

const FAKE = "Server 'desk', tool 'read': may this be called?";

/** What a dialog lets a person allow of a question whose arguments have so many characters. */
const allowedAt = (chars: number) => async () => {
  const agent = askedAgent(() => later(500, decided('once')));
  using approvals = approvalsWith({ agent }).run();
  const verdict = { is: 'ask', rule: 'r', isConditional: false } as const;
  const text = JSON.stringify({ a: 'x'.repeat(chars), to: 'eve' });
  try {
    await approvals.pass({ server: 'desk', tool: 'pay', text, verdict }, NEVER);
    return `${chars} characters, allowed in a dialog`;
  } catch {
    return undefined;
  }
};

export const wordAttacks: readonly Attack[] = [
  {
    id: 'line-of-ours',
    group,
    tries: 'writes a question of its own into an argument, on a line of its own',
    wall: 'each line of the arguments has a > ahead of it',
    ...lie(`x\n${FAKE}`, /^Server 'desk', tool 'read'/m),
  },
  {
    id: 'line-of-ours-by-another-newline',
    group,
    tries: 'does the same with a character that dialogs break lines at',
    wall: 'what does not show is written as an escape',
    ...lie(`x\u2028${FAKE}`, /\u2028/),
  },
  {
    id: 'line-of-ours-by-length',
    group,
    tries: 'does the same by spaces that fill the line before',
    wall: 'a row of spaces is written as its length',
    ...lie(`x${' '.repeat(200)}${FAKE}`, / {20}Server/),
  },
  {
    id: 'line-of-ours-by-blanks',
    group,
    tries: 'does the same by blanks that are no spaces',
    wall: 'blanks that are no spaces are written as escapes',
    ...lie(`x${'\u2800'.repeat(200)}${FAKE}`, /\u2800/),
  },
  {
    id: 'read-backwards',
    group,
    tries: 'turns the direction of what stands behind it',
    wall: 'marks of direction are written as escapes',
    ...lie('\u202egnp.tnetnoc', /\u202e/),
  },
  {
    id: 'hidden-letters',
    group,
    tries: 'hides what it sends in characters that do not show',
    wall: 'what does not show is written as an escape',
    ...lie('pay\u{e0065}\u{e0076}\u{e0065}', /\u{e0065}/u),
  },
  {
    id: 'obeyed-by-terminals',
    group,
    tries: 'clears the screen of a client that shows the question in a terminal',
    wall: 'controls are written as escapes',
    ...lie('\u001b[2J', /(?!\n)\p{Cc}/u),
  },
  {
    id: 'tool-of-two-lines',
    group,
    tries: 'a server names a tool so that the question names another one',
    wall: 'names are one line',
    ...lie(`x\n${FAKE}`, /^Server 'desk', tool 'read'/m, 'tool'),
  },
  {
    id: 'tool-written-over',
    group,
    tries: 'a server names a tool so that a terminal shows the name of another one over it',
    wall: 'names are shown exactly, with an escape for what does not show',
    ...misnamed('delete_all\rlist_notes', 'list_notes'),
  },
  {
    id: 'tool-in-colour',
    group,
    tries: 'a server names a tool so that a terminal shows the name of another one in colour',
    wall: 'names are shown exactly, with an escape for what does not show',
    ...misnamed('list\u001b[31m_notes', 'list_notes'),
  },
  {
    id: 'tool-with-another-blank',
    group,
    tries: 'a server names a tool like another one but for a blank',
    wall: 'names are shown exactly, with an escape for a blank that is no plain space',
    ...misnamed('list\u00a0 notes', 'list notes'),
  },
  {
    id: 'end-out-of-sight',
    group,
    tries: 'makes the arguments so long that their end is not read',
    wall: 'a question that is too long for a dialog can only be refused there',
    attempt: allowedAt(5_000),
    control: allowedAt(500),
  },
];
