// What code can write into its frames.

import { Plan } from '../../../../src/policy/approvals/plan.js';
import { layeredPolicy, type Policy, policyOf } from '../../../../src/policy/rules/policy.js';
import { approvalsWith, later, MemoryInbox } from '../../../support/approvals.js';
import { NEVER } from '../../../support/time.js';
import { hear } from '../../../wire/host-end.js';
import { type Attack, through } from '../attack.js';
import { answered, calling, doc, type Frame, played, type SceneParts } from '../scene.js';

const group = 'frames of the code';
const once = () => 'once' as const;

/** What reaches the server of these frames. */
const reaching = (frames: readonly Frame[], parts?: SceneParts) => async () =>
  through((await played(frames, parts)).reached);

/** Calls whose arguments a rule is to see; nobody allows them. */
const LIMIT = { rules: [{ action: 'ask' as const, when: 'args.amount > 100' }] };
const under = (text: string) => reaching([calling('echo', text)], { section: LIMIT });
const PATTERN = { rules: [{ action: 'ask' as const, when: 'args.a.matches("^(a+)+$")' }] };
/** The same as another expression: the first one rests when it has taken too long. */
const REFRESHED = { rules: [{ action: 'ask' as const, when: 'args.a.matches("^(a+)+$") ' }] };
const UNDER = under('{"amount":50}');

const nested = (levels: number) => `{"amount":50,"x":${'['.repeat(levels)}${']'.repeat(levels)}}`;

/** Two runs, or sessions, after another: what the second one may still send without a question. */
const afterwards =
  (
    first: { readonly run: string; readonly session?: string },
    second: typeof first,
    decision: 'run' | 'session',
  ) =>
  async () => {
    const inbox = new MemoryInbox((question) =>
      question.run === first.run ? later(5, answered(decision)) : later(5, answered('no')),
    );
    const { run } = approvalsWith({ inbox });
    const pass = async ({ run: id, session }: typeof first) => {
      using approvals = run(id, { session });
      const verdict = { is: 'ask', rule: 'r', isConditional: false } as const;
      const call = { server: 'open', tool: 'echo', text: '{}', verdict };
      await approvals.pass(call, NEVER);
    };
    await pass(first);
    try {
      await pass(second);
      return 'a call that nobody was asked about';
    } catch {
      return undefined;
    }
  };

type AskRules = ReadonlyArray<{ readonly action: 'ask'; readonly when: string }>;

/** Each list of rules is a policy of its own, on top of those before. */
const layersOf = (lists: readonly AskRules[]): Policy =>
  lists
    .map((rules, at) => {
      const content = { version: 1, deny: [], perServer: {}, limits: {}, changedTools: 'flag' } as const;
      const approvals = { trust: [], reads: [], rules, always: [] };
      const file = { path: `/${at}.yaml`, content: { ...content, approvals } };
      return policyOf({ allow: undefined, deny: [], file }, []);
    })
    .reduce((one, other) => layeredPolicy(one, other));

/** One run whose `first` call is allowed for the run, and what reaches the server of its `second`, which nobody allows. */
const afterOne = (lists: readonly AskRules[], first: string, second: string) => async () => {
  const inbox = new MemoryInbox((question) =>
    later(5, answered(question.object.calls[0]?.arguments === first ? 'run' : 'no')),
  );
  using approvals = approvalsWith({ inbox }).run();
  const policy = layersOf(lists);
  const reached = async (text: string) =>
    (await hear([Buffer.from(`${calling('echo', text)}\n`)], { policy, approvals })).reached;
  if ((await reached(first)).length !== 1) throw new Error('the first call was not allowed');
  return through(await reached(second));
};

const when = (condition: string) => ({ action: 'ask', when: condition }) as const;
const PAYMENTS = [[when('args.amount > 1000'), when('args.amount > 100')]];
/** What one list asks about, and then the other, on one call. */
const RECIPIENTS = [when('args.to == "mother"'), when('args.amount > 100')];
/** Two layers that both ask about money for one person, and of which the second alone asks about that for others. */
const LAYERS = [[when('args.to == "mother"')], [when('args.amount > 0')]];
const PEOPLE = [[when('args.to != ""')], [when('args.to == "eve"')]];

const planned = (isPlan: boolean, frame: string) => async () => {
  using plan = new Plan(() => {});
  const chunks = [Buffer.from(`${frame}\n`)];
  const scene = { tools: [doc('erase')], ...(isPlan ? { plan } : {}) };
  // A planned call is answered by nothing.
  const heard = await Promise.race([hear(chunks, scene), later(500, undefined)]);
  return heard === undefined || heard.reached.length === 0 ? undefined : through(heard.reached);
};

export const frameAttacks: readonly Attack[] = [
  {
    id: 'forged-approval',
    group,
    tries: 'says in its frame that the call was approved',
    wall: 'nothing of a frame but server, tool and arguments is looked at',
    attempt: reaching([
      calling('echo', '{}', { approved: true, verdict: { allowed: true }, decision: 'once' }),
    ]),
    control: reaching([calling('echo')], { person: once }),
  },
  {
    id: 'asked-for-ever',
    group,
    tries: 'makes the same refused call again and again until the person gives in',
    wall: 'what a person has refused is refused again without a question',
    attempt: async () => {
      const inbox = new MemoryInbox(() => later(5, answered('no')));
      using approvals = approvalsWith({ inbox }).run();
      for (let n = 0; n < 5; n++) await tryPass(approvals, '{}');
      return inbox.posted.length > 1 ? `${inbox.posted.length} questions` : undefined;
    },
    control: async () => {
      const inbox = new MemoryInbox(() => later(5, answered('no')));
      using approvals = approvalsWith({ inbox }).run();
      for (let n = 0; n < 5; n++) await tryPass(approvals, `{"n":${n}}`);
      return inbox.posted.length > 1 ? `${inbox.posted.length} questions` : undefined;
    },
  },
  {
    id: 'by-its-alias',
    group,
    tries: 'calls a tool that is asked about by the name that Python has for it',
    wall: 'real names count, never aliases',
    attempt: reaching([calling('erase_all')], { tools: ['erase-all'], section: askFor('open.erase-all') }),
    control: reaching([calling('erase-all')], {
      tools: ['erase-all'],
      section: askFor('open.erase-all'),
      person: once,
    }),
  },
  {
    id: 'look-alike',
    group,
    tries: 'calls a tool of a server whose name only looks like one that is asked about',
    wall: 'what asks means look-alikes too',
    attempt: reaching([calling('ER\u200bASE')], { tools: ['ER\u200bASE'], section: askFor('open.erase') }),
    control: reaching([calling('browse')], { tools: ['browse'], section: askFor('open.erase') }),
  },
  {
    id: 'look-alike-by-controls',
    group,
    tries: 'calls a tool of a server whose name a terminal would show as one that is asked about',
    wall: 'what asks means what a name with controls in it would be shown as, too',
    attempt: reaching([calling('read\rer\u001b[31mase')], {
      tools: ['read\rer\u001b[31mase'],
      section: askFor('open.erase'),
    }),
    control: reaching([calling('read\rbrowse')], {
      tools: ['read\rbrowse'],
      section: askFor('open.erase'),
    }),
  },
  {
    id: 'allowed-look-alike',
    group,
    tries: 'calls a tool that looks like one that a rule allows',
    wall: 'what allows means the name exactly',
    attempt: reaching([calling('Read')], { tools: ['Read'], section: allowOnly('open.read') }),
    control: reaching([calling('read')], { tools: ['read'], section: allowOnly('open.read') }),
  },
  {
    id: 'two-of-one-name',
    group,
    tries: 'writes an argument twice, so that the condition reads the small one and the server the large one',
    wall: 'arguments that readers read differently meet every condition that asks or denies',
    attempt: under('{"amount":5000,"amount":50}'),
    control: UNDER,
  },
  {
    id: 'two-of-one-name-escaped',
    group,
    tries: 'does the same with one of the two written in escapes',
    wall: 'members are counted as they are written, and as they are read',
    attempt: under('{"\\u0061mount":5000,"amount":50}'),
    control: UNDER,
  },
  {
    id: 'number-of-its-own',
    group,
    tries: 'passes a number that is another one when it is read as a double',
    wall: 'numbers that are no doubles cannot be judged',
    attempt: under('{"amount":50,"id":9007199254740993}'),
    control: UNDER,
  },
  {
    id: 'condition-that-fails',
    group,
    tries: 'leaves out what the condition looks at, so that it fails',
    wall: 'a condition that fails counts as met where it asks or denies',
    attempt: under('{}'),
    control: UNDER,
  },
  {
    id: 'condition-of-another-type',
    group,
    tries: 'passes a text where the condition compares a number',
    wall: 'a condition that fails counts as met where it asks or denies',
    attempt: under('{"amount":"5000"}'),
    control: UNDER,
  },
  {
    id: 'condition-too-deep',
    group,
    tries: 'nests its arguments so deeply that they cannot be judged',
    wall: 'what cannot be judged meets every condition that asks or denies',
    attempt: under(nested(70)),
    control: under(nested(5)),
  },
  {
    id: 'condition-for-ever',
    group,
    tries: 'has a pattern of the condition take for ever on what it passes',
    wall: 'a condition has a second, and what it has not said by then counts as met',
    attempt: reaching([calling('echo', `{"a":"${'a'.repeat(60)}!"}`)], { section: PATTERN }),
    control: reaching([calling('echo', '{"a":"!"}')], { section: REFRESHED }),
  },
  {
    id: 'gathered-later',
    group,
    tries:
      'sends a further call while a person reads the question about the first, to be allowed along with it',
    wall: 'a question is about the calls that it lists, and a further one is another question',
    attempt: lateCall('once'),
    control: lateCall('run'),
  },
  {
    id: 'another-run',
    group,
    tries: 'uses in another run what was allowed for one',
    wall: 'what is allowed for a run ends with it',
    attempt: afterwards({ run: 'run-1' }, { run: 'run-2' }, 'run'),
    control: afterwards({ run: 'run-1' }, { run: 'run-2' }, 'session'),
  },
  {
    id: 'another-session',
    group,
    tries: 'uses in another session what was allowed for one',
    wall: 'what is allowed for a named session holds in it alone',
    attempt: afterwards({ run: 'run-1', session: 'a' }, { run: 'run-2', session: 'b' }, 'session'),
    control: afterwards({ run: 'run-1', session: 'a' }, { run: 'run-2', session: 'a' }, 'session'),
  },
  {
    id: 'session-without-a-name',
    group,
    tries: 'names its session so that it is taken for the one without a name',
    wall: 'no name of a session is that of the bridge itself',
    attempt: afterwards({ run: 'run-1' }, { run: 'run-2', session: '' }, 'session'),
    control: afterwards({ run: 'run-1' }, { run: 'run-2' }, 'session'),
  },
  {
    id: 'another-rule',
    group,
    tries: 'has a small payment allowed for the run, and makes a large one that another rule asks about',
    wall: 'what is decided of a rule that goes by the arguments holds for that rule',
    attempt: afterOne(PAYMENTS, '{"amount":200}', '{"amount":5000}'),
    control: afterOne(PAYMENTS, '{"amount":200}', '{"amount":300}'),
  },
  {
    id: 'another-rule-besides',
    group,
    tries:
      'has a small payment to one person allowed for the run, and makes a large one that a second rule asks about too',
    wall: 'a decision holds for all rules that have asked, and for no more',
    attempt: afterOne([RECIPIENTS], '{"to":"mother","amount":5}', '{"to":"mother","amount":5000}'),
    control: afterOne([RECIPIENTS], '{"to":"mother","amount":5}', '{"to":"mother","amount":6}'),
  },
  {
    id: 'another-layer',
    group,
    tries:
      'has a payment allowed that the operator asks about, and makes one that the policy of its principal asks about too',
    wall: 'a decision holds for all rules that have asked, whichever layer has them, and for no more',
    attempt: afterOne(PEOPLE, '{"to":"mother"}', '{"to":"eve"}'),
    control: afterOne(PEOPLE, '{"to":"mother"}', '{"to":"father"}'),
  },
  {
    id: 'another-layer-first',
    group,
    tries:
      'has a payment allowed that both layers ask about, and makes one that only the second layer asks about',
    wall: 'a decision holds for all rules that have asked together',
    attempt: afterOne(LAYERS, '{"to":"mother","amount":5}', '{"to":"eve","amount":5}'),
    control: afterOne(LAYERS, '{"to":"mother","amount":5}', '{"to":"mother","amount":6}'),
  },
  {
    id: 'unclear-to-one-layer',
    group,
    tries:
      'has a payment allowed for the run that both layers ask about, and makes one whose recipient is said twice, so that nobody can tell',
    wall: 'a decision for a run holds for no call of which a rule is unclear',
    attempt: afterOne(LAYERS, '{"to":"mother","amount":5}', '{"to":"eve","amount":5,"to":"mother"}'),
    control: afterOne(LAYERS, '{"to":"mother","amount":5}', '{"amount":5,"to":"mother"}'),
  },
  {
    id: 'abandoned',
    group,
    tries: 'gives a call up while the person reads, and has it sent all the same when they allow it',
    wall: 'a call that nobody waits for is not sent',
    attempt: abandoned(true),
    control: abandoned(false),
  },
  {
    id: 'denied-meanwhile',
    group,
    tries: 'has a call sent that the policy denies by the time that a person allows it',
    wall: 'the policy is asked again when the person has answered',
    attempt: deniedMeanwhile(true),
    control: deniedMeanwhile(false),
  },
  {
    id: 'plan-that-writes',
    group,
    tries: 'writes in a run that is to plan only',
    wall: 'a plan executes what is known to read',
    attempt: planned(true, calling('erase')),
    control: planned(false, calling('erase')),
  },
  {
    id: 'asked-to-death',
    group,
    tries: 'asks a person hundreds of questions',
    wall: 'a run has a number of questions',
    attempt: async () => {
      const { questions } = await played(floodOf(80), { tools: toolsOf(80), person: once });
      return questions.length > 50 ? `${questions.length} questions` : undefined;
    },
    control: async () => {
      const { questions } = await played(floodOf(40), { tools: toolsOf(40), person: once });
      return questions.length === 40 ? '40 questions' : undefined;
    },
  },
];

function askFor(pattern: string) {
  return { rules: [{ action: 'ask' as const, tools: [pattern] }] };
}

function allowOnly(pattern: string) {
  return { mode: 'all' as const, rules: [{ action: 'allow' as const, tools: [pattern] }] };
}

const toolsOf = (count: number) => Array.from({ length: count }, (_, n) => `t${n}`);
const floodOf = (count: number) => toolsOf(count).map((name) => calling(name));

async function tryPass(
  approvals: ReturnType<ReturnType<typeof approvalsWith>['run']>,
  text: string,
): Promise<void> {
  const verdict = { is: 'ask', rule: 'r', isConditional: false } as const;
  const call = { server: 'open', tool: 'echo', text, verdict };
  await approvals.pass(call, NEVER).catch(() => {});
}

/** What of a call that comes while the first question is open is sent by its answer. */
function lateCall(decision: 'once' | 'run') {
  return async () => {
    const inbox = new MemoryInbox((question) =>
      question.object.calls[0]?.arguments === '{"n":1}'
        ? later(300, answered(decision))
        : later(900, answered('no')),
    );
    using approvals = approvalsWith({ inbox }).run();
    const verdict = { is: 'ask', rule: 'r', isConditional: false } as const;
    const pass = (text: string) => approvals.pass({ server: 'open', tool: 'echo', text, verdict }, NEVER);
    const first = pass('{"n":1}');
    while (inbox.posted.length === 0) await later(5, undefined);
    const late = pass('{"n":2}').then(
      () => 'the later call',
      () => undefined,
    );
    await first;
    return await late;
  };
}

function abandoned(isAbandoned: boolean) {
  return async () => {
    const frame = calling('echo');
    const { id } = JSON.parse(frame) as { id: number };
    const frames: Frame[] = isAbandoned ? [frame, { type: 'abandon', id }] : [frame];
    return through((await played(frames, { person: once })).reached);
  };
}

function deniedMeanwhile(isDenied: boolean) {
  return async () => {
    let hasAnswered = false;
    const person = () => {
      hasAnswered = true;
      return 'once' as const;
    };
    const parts: SceneParts = {
      person,
      policy: (usual) => ({
        ...usual,
        tool: (server, tool) =>
          isDenied && hasAnswered ? { allowed: false, rule: 'a change' } : usual.tool(server, tool),
      }),
    };
    return through((await played([calling('echo')], parts)).reached);
  };
}
