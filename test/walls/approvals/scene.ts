// Where attacks by code are tried: everything of the host that a frame of the guest reaches, with a real guard and real questions,
// and a person in place of the inbox.

import type { ApprovalAnswer, Decision, Question } from '../../../src/policy/approvals/question.js';
import { type Policy, policyOf } from '../../../src/policy/rules/policy.js';
import type { ApprovalSection, PolicyFile } from '../../../src/policy/rules/policy-file.js';
import type { ToolHints } from '../../../src/servers/server/tool-list.js';
import type { ToolDoc } from '../../../src/wire/frames.js';
import { approvalsWith, later, MemoryInbox } from '../../support/approvals.js';
import { type Heard, hear } from '../../wire/host-end.js';

export const doc = (name: string, inputSchema: ToolDoc['inputSchema'] = {}): ToolDoc => ({
  name,
  alias: name.replaceAll('-', '_'),
  description: '',
  inputSchema,
  outputSchema: null,
  observed: null,
  changed: null,
});

type Person = (question: Question, nth: number) => Decision | ApprovalAnswer | undefined;

export type SceneParts = {
  readonly section?: Partial<ApprovalSection>;
  readonly tools?: readonly string[];
  /** Of each of these tools. */
  readonly schema?: ToolDoc['inputSchema'];
  readonly hints?: Partial<ToolHints>;
  /** What the person decides of each question; undefined leaves it open for a second, until it expires. */
  readonly person?: Person;
  /** In place of the policy that the section makes; asked anew each time. */
  readonly policy?: (usual: Policy) => Policy;
};

export type Frame = Readonly<Record<string, unknown>> | string;
export type Played = {
  readonly reached: readonly string[];
  readonly questions: readonly Question[];
  readonly heard: Heard;
};

export const answered = (decision: Decision): ApprovalAnswer => ({ decision, by: 'page', who: 'ann' });

let ids = 0;
/** A frame that calls a tool of the server `open`. `text` is the JSON of its arguments. */
export const calling = (tool: string, text = '{}', more: object = {}): string => {
  const frame = JSON.stringify({
    type: 'call',
    id: ++ids,
    method: 'tools.call',
    params: { server: 'open', tool, arguments: 'HERE' },
    ...more,
  });
  return frame.replace('"HERE"', () => text);
};

/** What comes of these frames, which the code sends at once. */
export async function played(
  frames: readonly Frame[],
  { section = { mode: 'all' }, tools = [], schema, hints, person = () => 'no', policy }: SceneParts = {},
): Promise<Played> {
  const content: PolicyFile = {
    version: 1,
    deny: [],
    perServer: {},
    limits: {},
    changedTools: 'flag',
    approvals: { trust: [], reads: [], rules: [], always: [], ...section },
  };
  const usual = policyOf({ allow: undefined, deny: [], file: { path: '/p.yaml', content } }, []);
  let nth = 0;
  const inbox = new MemoryInbox((question) => {
    const decision = person(question, nth++);
    if (decision === undefined) return undefined;
    return later(20, typeof decision === 'string' ? answered(decision) : decision);
  });
  using approvals = approvalsWith({ inbox, waitSeconds: 3 }).run();
  const lines = frames.map((frame) =>
    Buffer.from(`${typeof frame === 'string' ? frame : JSON.stringify(frame)}\n`),
  );
  const docs = tools.map((name) => doc(name, schema));
  const told = hints && { readOnly: undefined, destructive: undefined, openWorld: undefined, ...hints };
  const heard = await hear(lines, {
    approvals,
    tools: docs,
    policy: policy === undefined ? usual : policy(usual),
    ...(told === undefined ? {} : { hints: told }),
  });
  return { reached: heard.reached, questions: inbox.posted, heard };
}
