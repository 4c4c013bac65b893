// What code can write into the arguments of a call, so that a condition reads something else than the server does: readers of
// JSON differ (Go's encoding/json, pydantic in its default mode, JavaScript).

import type { Attack } from '../attack.js';
import { through } from '../attack.js';
import { calling, played } from '../scene.js';

const group = 'arguments of calls';

type Schema = Readonly<Record<string, unknown>>;

/** What of a call with these arguments reaches the server where a rule denies by this condition. */
const denied = (when: string, text: string, schema?: Schema) => async () => {
  const section = { rules: [{ action: 'deny' as const, when }] };
  const parts = { section, tools: ['pay'], ...(schema === undefined ? {} : { schema }) };
  return through((await played([calling('pay', text)], parts)).reached);
};
/** The same where everything is asked about, and nobody answers, unless a rule allows it. */
const allowed = (when: string, text: string) => async () => {
  const section = { mode: 'all' as const, rules: [{ action: 'allow' as const, when }] };
  return through((await played([calling('pay', text)], { section, tools: ['pay'] })).reached);
};

const TOO_MUCH = 'args.amount > 1000';
const LIST: Schema = { type: 'object', properties: { ids: { type: 'array', items: { type: 'string' } } } };

const FOLDS = 'members that some reader takes for one another are unclear';
const TYPES = 'values of two types are compared by no condition: that is unclear';

export const argumentAttacks: readonly Attack[] = [
  {
    id: 'name-in-another-case',
    group,
    tries: 'passes the large amount under a name that Go takes for the same',
    wall: FOLDS,
    attempt: denied(TOO_MUCH, '{"amount":5,"Amount":5000}'),
    control: denied(TOO_MUCH, '{"amount":5,"Account":5000}'),
  },
  {
    id: 'name-in-another-case-alone',
    group,
    tries: 'does the same where the condition asks first whether the name is there',
    wall: FOLDS,
    attempt: denied('has(args.amount) && args.amount > 1000', '{"AMOUNT":5000}'),
    control: denied('has(args.amount) && args.amount > 1000', '{"ACCOUNT":5000}'),
  },
  {
    id: 'name-that-looks-alike',
    group,
    tries: 'does the same with letters, blanks and signs that only some readers see',
    wall: FOLDS,
    attempt: denied('has(args.task)', '{"ta\\u017f\\u212a\\u200b ":1}'),
    control: denied('has(args.task)', '{"tasks":1}'),
  },
  {
    id: 'prototype-of-what-is-filled',
    group,
    tries: 'hides the argument in __proto__, from which Object.assign brings it back',
    wall: 'an object with such a member is unclear',
    attempt: denied('has(args.force)', '{"__proto__":{"force":true}}'),
    control: denied('has(args.force)', '{"proto":{"force":true}}'),
  },
  {
    id: 'text-for-yes',
    group,
    tries: 'passes "true" where the condition compares with true, and pydantic converts',
    wall: TYPES,
    attempt: denied('args.force == true', '{"force":"true"}'),
    control: denied('args.force == true', '{"force":false}'),
  },
  {
    id: 'number-for-yes',
    group,
    tries: 'does the same with 1',
    wall: TYPES,
    attempt: denied('args.force == true', '{"force":1}'),
    control: denied('args.force == true', '{"force":false}'),
  },
  {
    id: 'text-for-one-of-a-list',
    group,
    tries: 'passes "42" where the condition looks for 42 in a list',
    wall: TYPES,
    attempt: denied('args.to in [42, 43]', '{"to":"42"}'),
    control: denied('args.to in [42, 43]', '{"to":44}'),
  },
  {
    id: 'null-for-what-is-left-out',
    group,
    tries: 'passes null, for which the server puts what it does by default',
    wall: 'null is compared with null alone',
    attempt: denied('args.recursive == true', '{"recursive":null}'),
    control: denied('args.recursive != null && args.recursive == true', '{"recursive":null}'),
  },
  {
    id: 'against-the-schema',
    group,
    tries: 'passes a list as a text, which the server reads as a list, so that the condition counts letters',
    wall: 'a value that does not fit the schema of the tool is unclear',
    attempt: denied('size(args.ids) == 0', '{"ids":"[]"}', LIST),
    control: denied('size(args.ids) == 0', '{"ids":["a"]}', LIST),
  },
  {
    id: 'digits-that-no-double-keeps',
    group,
    tries: 'passes a fraction that is over the limit, and that JavaScript rounds down to it',
    wall: 'numbers that a double does not keep cannot be judged',
    attempt: denied(TOO_MUCH, '{"amount":1000.00000000000000001}'),
    control: denied(TOO_MUCH, '{"amount":1000.0}'),
  },
  {
    id: 'allowed-by-another-reading',
    group,
    tries: 'has a rule that allows small amounts allow what Go reads as a large one',
    wall: 'what is unclear is not met where it allows',
    attempt: allowed('args.amount <= 1000', '{"amount":5,"aMOUNT":5000}'),
    control: allowed('args.amount <= 1000', '{"amount":5}'),
  },
];
