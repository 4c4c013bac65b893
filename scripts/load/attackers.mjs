// Attacks on a bridge that serves several over HTTP, as data: who makes each, and what its attackers may do. The others are measured
// beside it (under-attack.mjs); what attackers do is in attacker.mjs.

const server = { servers: ['desk'] };

/** `inCode` says that it needs runs, and so containers; `asks` that nobody answers what its runs ask. */
export const ATTACKS = [
  {
    name: 'waiting',
    says: 'forty calls of one session, each with 5 MB of files, of a principal of which two may wait',
    by: { crowd: { ...server, quotas: { runsWaiting: 2 } } },
    inCode: true,
  },
  {
    name: 'between-calls',
    says: 'four sessions that compute after their calls, by keep_running and by a goodbye ahead',
    by: { lingerer: server },
    inCode: true,
  },
  {
    name: 'unanswered',
    says: 'three principals with three questions each that nobody answers',
    by: Object.fromEntries([1, 2, 3].map((at) => [`asker${at}`, { ...server, policy: '~/asks.json' }])),
    inCode: true,
  },
  { name: 'lists', says: 'a server whose tools have changed after each list', by: { lister: server } },
  {
    name: 'notifications',
    says: 'a server that sends 20,000 notifications a second',
    by: { notifier: server },
  },
  { name: 'lines', says: 'a server that writes 20,000 lines a second to stderr', by: { writer: server } },
];

export const ATTACK_NAMES = ATTACKS.map(({ name }) => name);

/** Of the principals file: every attacker, and each of `others`. */
export const rulesFor = (others) => ({
  version: 1,
  tokens: Object.assign({}, ...others.map((name) => ({ [name]: server })), ...ATTACKS.map(({ by }) => by)),
});

/** The policy of those whose calls are asked about. */
export const ASKS = { version: 1, approvals: { mode: 'all' } };
