// The order of things in one run, with a sandbox that does what the test says: nothing is started before the check has
// passed, the clock runs while code is compiled and not while servers open, and what was not used goes back.

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { BridgeError } from '../../src/base/errors.js';
import { policyOf } from '../../src/policy/rules/policy.js';
import { KeptFiles } from '../../src/run/artifacts/kept-files.js';
import { byCommandLine } from '../../src/run/calls/call-context.js';
import { runCode } from '../../src/run/life/run.js';
import type { RunInput, RunServices } from '../../src/run/life/run-request.js';
import type { Sandboxes } from '../../src/run/life/sandbox-use.js';
import type { Program } from '../../src/run/programs/task.js';
import { type Language, languageNamed } from '../../src/settings/languages/records.js';
import type { ServerDoc, SupervisorFrame } from '../../src/wire/frames.js';
import { FakeContainer, greeted } from '../support/fake-container.js';
import { NEVER, PATIENTLY } from '../support/time.js';

const input: RunInput = {
  task: { type: 'cell', code: 'mcp_s.t()' },
  timeoutSeconds: 30,
  servers: ['s'],
  files: [],
};
const SERVER: ServerDoc = {
  name: 's',
  alias: 's',
  description: '',
  version: null,
  instructions: null,
  tools: [
    {
      name: 't',
      alias: 't',
      description: '',
      inputSchema: {},
      outputSchema: null,
      observed: null,
      changed: null,
    },
  ],
};
const never = new Promise<never>(() => {});
const refused: SupervisorFrame = {
  type: 'refused',
  error: { type: 'SyntaxError', message: 'no', traceback: ['SyntaxError: no'] },
};
const checked = (tool: string): SupervisorFrame => ({
  type: 'checked',
  named: [{ server: 's', tool, line: 1 }],
});

let container: FakeContainer;
let ends: string[];
/** What the sandbox says to a frame. */
let answers: (type: string) => readonly SupervisorFrame[];
beforeEach(() => {
  container = new FakeContainer();
  ends = [];
  answers = (type) =>
    type === 'check' ? [checked('t')] : [{ type: 'exited', code: 0, signal: null, memoryKills: null }];
  container.onFrame = ({ type }) => {
    if (type === 'run') container.sayAsGuest({ type: 'result', value: 1, repr: '1', exact: true });
    for (const frame of answers(type)) container.say(frame);
  };
});

type Overrides = Partial<
  Pick<Sandboxes, 'take'> & Pick<RunServices['servers'], 'open'> & Pick<RunServices, 'kept'>
>;

async function run({ take, open, kept }: Overrides = {}, change: Partial<RunInput> = {}, signal = NEVER) {
  const sandbox = await greeted(container);
  const services = {
    id: 'run-1',
    sandboxes: {
      take: take ?? (() => Promise.resolve(sandbox)),
      giveBack: () => ends.push('back'),
      retire: () => ends.push('retired'),
    },
    servers: {
      wanted: { servers: change.servers ?? ['s'], others: [] },
      open: open ?? (() => Promise.resolve(SERVER)),
      discovered: () => [],
      policy: () => policyOf({ allow: undefined, deny: [], file: undefined }, []),
    },
    calls: { turn: async () => ({ [Symbol.dispose]: () => {} }) },
    kept: kept ?? new KeptFiles({ stateDir: '/nowhere', keepSeconds: 0, quotaBytes: 0 }),
    observer: () => {},
  } as unknown as RunServices;
  const context = byCommandLine(signal, ({ type }) => {
    if (type === 'started') ends.push('started');
  });
  return runCode({ ...input, ...change }, services, context);
}
const sent = () => container.sent.map(({ type }) => type);

afterEach(() => {
  vi.useRealTimers();
});
const playTime = () => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
/** Takes none of the time that is played, and gives what was sent its turn. */
async function untilSent(...types: readonly string[]): Promise<void> {
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  while (sent().length < types.length) await turn();
  for (let turns = 0; turns < 10; turns++) await turn();
  expect(sent()).toEqual(types);
}

describe('a program that passes', () => {
  it('is checked, then started, and its sandbox is used up', async () => {
    expect(await run()).toMatchObject({ status: 'success' });
    expect([sent(), ends]).toEqual([
      ['check', 'run'],
      ['started', 'retired'],
    ]);
    expect(container.sent[1]).not.toHaveProperty('code');
  });

  it('is checked while its servers open', async () => {
    let open: (doc: ServerDoc) => void = () => {};
    const opening = new Promise<ServerDoc>((resolve) => {
      open = resolve;
    });
    const running = run({ open: () => opening });
    await expect.poll(sent, PATIENTLY).toEqual(['check']);
    open(SERVER);
    expect(await running).toMatchObject({ status: 'success' });
  });

  it('does not pay with its time for servers that open slowly', async () => {
    playTime();
    const open = async () => {
      await untilSent('check');
      await vi.advanceTimersByTimeAsync(60_000);
      return SERVER;
    };
    expect(await run({ open })).toMatchObject({ status: 'success' });
  });
});

describe('a program that does not pass', () => {
  it('gives its sandbox back when it is no Python, without waiting for its servers', async () => {
    answers = () => [refused];
    const outcome = await run({ open: () => never });
    expect(outcome).toMatchObject({ status: 'validation_error', error: { type: 'SyntaxError' }, calls: 0 });
    expect([sent(), ends]).toEqual([['check'], ['back']]);
  });

  it('gives its sandbox back when it names a tool that is not there', async () => {
    answers = () => [checked('tt')];
    expect(await run()).toMatchObject({ status: 'validation_error', error: { type: 'E_TOOL_UNKNOWN' } });
    expect([sent(), ends]).toEqual([['check'], ['back']]);
  });
});

describe('a program that waits for no server, where its sandbox can be seen', () => {
  const alone = { servers: [] };
  const exited: SupervisorFrame = { type: 'exited', code: 0, signal: null, memoryKills: null };
  const begun: SupervisorFrame = { type: 'checked', named: [] };
  const result = { type: 'result', value: 1, repr: '1', exact: true } as const;
  beforeEach(() => {
    container.pid = process.pid;
  });

  it('is sent to be run with its check, and has begun when that is answered', async () => {
    container.onFrame = () => {
      // The guest's stream may be read first.
      container.sayAsGuest(result);
      for (const frame of [begun, exited]) container.say(frame);
    };
    expect(await run({}, alone)).toMatchObject({ status: 'success', result: { repr: '1' } });
    expect([sent(), ends]).toEqual([['check'], ['started', 'retired']]);
    expect(container.sent[0]).toMatchObject({ run: { type: 'run', loaded: [] } });
  });

  it('is sent again where it names a tool that may be had, and refused where it may not', async () => {
    expect(await run({}, alone)).toMatchObject({ status: 'success' });
    expect([sent(), ends]).toEqual([
      ['check', 'run'],
      ['started', 'retired'],
    ]);
  });

  it('is checked first where it has files', async () => {
    answers = (type) => (type === 'check' ? [begun] : [exited]);
    expect(await run({}, { ...alone, files: [{ name: 'a', data: 'YQ==' }] })).toMatchObject({
      status: 'success',
    });
    expect([sent(), container.sent[0]?.['run']]).toEqual([['check', 'run'], null]);
  });

  it('says that nothing was run when it is no Python, or did not come to an end of its check', async () => {
    answers = () => [refused];
    expect(await run({}, alone)).toMatchObject({
      status: 'validation_error',
      error: { type: 'SyntaxError' },
      calls: 0,
    });
    expect([sent(), ends]).toEqual([['check'], ['back']]);
    container = new FakeContainer();
    container.pid = process.pid;
    expect(await run({}, { ...alone, timeoutSeconds: 0.1 })).toMatchObject({
      status: 'timeout',
      error: { message: 'Timed out after 0.1 s. It was still being compiled: nothing was run.' },
    });
    expect(container.wasKilled).toBe(true);
  });

  it('is not said to have run nothing when it has begun as it was ended', async () => {
    const kill = container.kill.bind(container);
    container.onFrame = () => {};
    container.kill = () => {
      container.say(begun);
      kill();
    };
    const outcome = await run({}, { ...alone, timeoutSeconds: 0.1 });
    expect(outcome).toMatchObject({ status: 'timeout' });
    expect(outcome.error?.message).not.toContain('nothing was run');
  });

  it('is not run a second time when its sandbox is lost over the check', async () => {
    const gone = new FakeContainer();
    gone.pid = process.pid;
    gone.onFrame = () => gone.end();
    const first = greeted(gone);
    let taken = 0;
    const take = () => {
      taken++;
      return first;
    };
    expect(await run({ take }, alone)).toMatchObject({ status: 'error', error: { type: 'E_SANDBOX_LOST' } });
    expect(taken).toBe(1);
  });
});

describe('before it is started', () => {
  it('its deadline holds for the compiler, which only a kill can stop', async () => {
    answers = () => [];
    const outcome = await run({}, { timeoutSeconds: 0.1 });
    expect(outcome).toMatchObject({
      status: 'timeout',
      error: { message: 'Timed out after 0.1 s. It was still being compiled: nothing was run.' },
    });
    expect([container.wasKilled, ends]).toEqual([true, ['back']]);
  });

  it('a cancellation ends the check', async () => {
    answers = () => [];
    const controller = new AbortController();
    const running = run({}, {}, controller.signal);
    await expect.poll(sent, PATIENTLY).toEqual(['check']);
    controller.abort();
    expect(await running).toMatchObject({ status: 'cancelled' });
    expect(container.wasKilled).toBe(true);
  });

  it('a server that does not open costs no sandbox', async () => {
    const open = () =>
      Promise.reject(new BridgeError('E_SERVER_UNAVAILABLE', 'gone', { fault: 'downstream' }));
    expect(await run({ open })).toMatchObject({ status: 'error', error: { type: 'E_SERVER_UNAVAILABLE' } });
    expect([sent(), ends, container.wasKilled]).toEqual([['check'], ['back'], false]);
  });

  it('a sandbox that is lost over the check is replaced, and the code is run in the other one', async () => {
    const [gone, other] = [new FakeContainer(), new FakeContainer()];
    gone.onFrame = () => gone.end();
    const told: string[] = [];
    other.onFrame = ({ type }) => {
      told.push(type);
      if (type === 'run') other.sayAsGuest({ type: 'result', value: 1, repr: '1', exact: true });
      for (const frame of answers(type)) other.say(frame);
    };
    const taken = [greeted(gone), greeted(other)];
    const take = () => taken.shift() ?? Promise.reject(new Error('a third one was taken'));
    expect(await run({ take })).toMatchObject({ status: 'success' });
    expect([told, ends]).toEqual([
      ['check', 'run'],
      ['back', 'started', 'retired'],
    ]);
  });

  it('two sandboxes that end over the check are told of as such', async () => {
    const gone = [new FakeContainer(), new FakeContainer()];
    for (const each of gone) each.onFrame = () => each.end();
    const taken = gone.map((each) => greeted(each));
    const take = () => taken.shift() ?? Promise.reject(new Error('a third one was taken'));
    expect(await run({ take })).toMatchObject({ status: 'error', error: { type: 'E_SANDBOX_LOST' } });
    expect(ends).toEqual(['back', 'back']);
  });

  it('nothing is taken for a run that was cancelled in the queue', async () => {
    const take = () => Promise.reject(new Error('taken'));
    expect(await run({ take }, {}, AbortSignal.abort())).toMatchObject({ status: 'cancelled' });
  });
});

describe('a program of another language', () => {
  const task: Program = {
    type: 'program',
    language: languageNamed('bash') as Language,
    code: 'echo',
    file: 'main.sh',
    args: ['a'],
    stdin: undefined,
    env: {},
  };

  it('is started without a check, its own file first', async () => {
    const files = [{ name: 'in.csv', data: 'YQ==' }];
    expect(await run({}, { task, files })).toMatchObject({ status: 'success', exitCode: 0 });
    expect([sent(), ends]).toEqual([['run'], ['started', 'retired']]);
    expect(container.sent.at(-1)).toMatchObject({
      files: [{ name: 'main.sh', data: 'ZWNobw==' }, ...files],
      program: { file: 'main.sh', args: ['a'], stdin: null },
    });
  });

  it('gives its sandbox back where it was not started', async () => {
    const open = () =>
      Promise.reject(new BridgeError('E_SERVER_UNAVAILABLE', 'gone', { fault: 'downstream' }));
    expect(await run({ open }, { task })).toMatchObject({ status: 'error' });
    expect([sent(), ends, container.wasKilled]).toEqual([[], ['back'], false]);
  });

  it('is told to stop at its deadline, and killed when nothing comes of that', async () => {
    answers = () => [];
    expect(await run({}, { task, timeoutSeconds: 0.1 })).toMatchObject({ status: 'timeout' });
    expect([sent(), container.wasKilled]).toEqual([['run', 'stop'], true]);
  });
});

describe('files', () => {
  it('go in with the run, and what was left is part of the outcome', async () => {
    const file: SupervisorFrame = { type: 'file', name: 'a.txt', data: 'aGVsbG8=' };
    const behind: SupervisorFrame = { type: 'skipped', files: [{ name: 'b', reason: 'link' }], more: 0 };
    answers = (type) =>
      type === 'check'
        ? [checked('t')]
        : [file, behind, { type: 'exited', code: 1, signal: null, memoryKills: null }];
    const outcome = await run({}, { files: [{ name: 'in.csv', data: 'YQ==' }] });
    expect(container.sent.at(-1)).toMatchObject({ type: 'run', files: [{ name: 'in.csv', data: 'YQ==' }] });
    expect(outcome.left).toMatchObject({
      files: [{ name: 'out/a.txt', mimeType: 'text/plain', text: 'hello' }],
      skipped: [{ name: 'out/b', reason: 'is a link' }],
    });
  });

  it('that are arriving at the deadline are waited for, within bounds', async () => {
    playTime();
    const late: SupervisorFrame = { type: 'file', name: 'late', data: '' };
    answers = (type) => {
      if (type === 'check') return [checked('t')];
      if (type === 'stop') setTimeout(() => container.say(late), 600);
      return type === 'run' ? [{ type: 'file', name: 'early', data: '' }] : [];
    };
    const running = run();
    await untilSent('check', 'run');
    await vi.advanceTimersByTimeAsync(30_000 + 3_000);
    const outcome = await running;
    expect(outcome.status).toBe('timeout');
    expect(outcome.left?.files.map(({ name }) => name)).toEqual(['out/early', 'out/late']);
  });
});

describe('the deadline', () => {
  const exited: SupervisorFrame = { type: 'exited', code: 0, signal: null, memoryKills: null };
  const block = (ms: number) => {
    const until = performance.now() + ms;
    while (performance.now() < until);
  };

  it('counts for a report that comes too late, although its timer had no turn', async () => {
    answers = (type) => {
      if (type === 'run') block(150);
      return type === 'check' ? [checked('t')] : [exited];
    };
    expect(await run({}, { timeoutSeconds: 0.1 })).toMatchObject({ status: 'timeout' });
  });

  it('counts for an answer of the compiler that comes too late', async () => {
    answers = (type) => {
      block(150);
      return type === 'check' ? [checked('t')] : [];
    };
    expect(await run({}, { timeoutSeconds: 0.1 })).toMatchObject({ status: 'timeout' });
    expect(sent()).toEqual(['check']);
  });

  it('does not count for files of code that has ended in time, which have a time of their own', async () => {
    playTime();
    answers = (type) => {
      if (type !== 'run') return type === 'check' ? [checked('t')] : [];
      setTimeout(() => {
        container.say({ type: 'file', name: 'a', data: '' });
        container.say(exited);
      }, 4_000);
      return [{ type: 'ended', code: 0, signal: null }];
    };
    const running = run({}, { timeoutSeconds: 2 });
    await untilSent('check', 'run');
    await vi.advanceTimersByTimeAsync(4_000);
    const outcome = await running;
    expect(outcome).toMatchObject({ status: 'success', exitCode: 0, left: { files: [{ name: 'out/a' }] } });
    expect(sent()).toEqual(['check', 'run']);
  });

  it('does not count for files that take long to be kept', async () => {
    playTime();
    const kept = new KeptFiles({ stateDir: '/nowhere', keepSeconds: 0, quotaBytes: 0 });
    const slow = Object.assign(Object.create(kept) as KeptFiles, {
      open: () => ({ seal: () => vi.advanceTimersByTimeAsync(60_000), discard: async () => {} }),
    });
    expect(await run({ kept: slow })).toMatchObject({ status: 'success' });
  });

  it('is followed by an end where files never come, and by what is known of the code', async () => {
    playTime();
    const ended: SupervisorFrame = { type: 'ended', code: 3, signal: null };
    answers = (type) => (type === 'check' ? [checked('t')] : type === 'run' ? [ended, ended] : []);
    const running = run();
    await untilSent('check', 'run');
    await vi.advanceTimersByTimeAsync(10_000);
    const outcome = await running;
    expect(outcome).toMatchObject({ status: 'error', exitCode: 3 });
    expect(outcome.note).toContain('did not arrive');
    expect(container.wasKilled).toBe(true);
  });

  it('cannot be put off by code that claims to have ended', async () => {
    playTime();
    answers = (type) => {
      if (type === 'run')
        for (let at = 0; at < 30; at++)
          setTimeout(() => container.say({ type: 'ended', code: 0, signal: null }), at * 1000);
      return type === 'check' ? [checked('t')] : [];
    };
    const running = run();
    await untilSent('check', 'run');
    await vi.advanceTimersByTimeAsync(10_000);
    expect(container.wasKilled).toBe(true);
    await running;
  });
});
