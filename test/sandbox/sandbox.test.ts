// Single use, seen from the host: before `run` a sandbox may check and wait again; from `run` on nothing that it says
// brings it back, and what it says out of turn ends it.

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { SandboxSpec, Unreachable } from '../../src/engine/engine.js';
import { Sandbox } from '../../src/sandbox/conversation/sandbox.js';
import { WarmPool } from '../../src/sandbox/launch/warm-pool.js';
import { compileIn } from '../../src/sandbox/python/python-name.js';
import {
  type GuestFrame,
  PROTOCOL_VERSION,
  type ProgramStart,
  type SupervisorFrame,
} from '../../src/wire/frames.js';
import { engineOf, FakeContainer, greeted } from '../support/fake-container.js';
import { HANGS_MS, NEVER, PATIENTLY, pause } from '../support/time.js';

const RUN = { type: 'run', timeoutSeconds: 5, loaded: [], discovered: [], files: [], program: null } as const;
const handlers = { onOutput: () => {}, onGuest: () => {}, onFile: () => {} };
const error = { type: 'SyntaxError', message: 'no', traceback: [] };
const checked: SupervisorFrame = { type: 'checked', named: [] };
const refused: SupervisorFrame = { type: 'refused', error };
const hello: SupervisorFrame = { type: 'hello', protocol: PROTOCOL_VERSION, harness: '0', python: '3' };
const way = { needs: ['sh'], steps: [['sh', './main.sh']] };
const program = (ways: readonly ProgramStart['ways'][number][]): ProgramStart => ({
  file: 'main.x',
  args: [],
  stdin: null,
  ways,
});
/** As a virtual machine's control groups hold it. */
const ENFORCED = { memory: 'cgroup', pids: 'cgroup', cpu: 'cgroup' } as const;
const internal = expect.objectContaining({ code: 'E_INTERNAL' });
const outOfTurn = { how: 'violation', error: { code: 'E_PROTOCOL' } };

let container: FakeContainer;
let sandbox: Sandbox;
beforeEach(async () => {
  container = new FakeContainer();
  sandbox = await greeted(container);
});

/** Checks, and gets `answer`. */
async function check(answer: SupervisorFrame, code = '1'): Promise<void> {
  const answering = sandbox.check(code);
  container.say(answer);
  expect(await answering).toEqual(answer);
}

it('what the engine says on the harness’s stream before the greeting is why it did not start', async () => {
  const silent = new FakeContainer();
  const engine = engineOf(silent);
  const options = { timeoutMs: HANGS_MS, observer: () => {} };
  const starting = Sandbox.start(engine, { name: 'fake' } as SandboxSpec, options, NEVER);
  silent.stdout.write('conmon: option parsing failed\n');
  await expect(starting).rejects.toMatchObject({
    code: 'E_SANDBOX_START',
    message: 'The sandbox did not start: conmon: option parsing failed',
  });
});

it('a harness that greets and cannot be loaded does not start, in its own words', async () => {
  const compiling = compileIn(sandbox);
  container.stderr.write("ModuleNotFoundError: No module named 'json'\n");
  container.end();
  await expect(compiling).rejects.toMatchObject({
    code: 'E_SANDBOX_START',
    message: "The sandbox did not start: ModuleNotFoundError: No module named 'json'",
  });
});

const ENDS = {
  exit: () => container.endClient(125),
  words: () => container.stderr.end('Error: no space left\n'),
  'end of the guest': () => container.stdout.end(),
};
it.each<(keyof typeof ENDS)[]>([
  ['exit', 'words', 'end of the guest'],
  ['exit', 'end of the guest', 'words'],
  ['words', 'exit', 'end of the guest'],
  ['words', 'end of the guest', 'exit'],
  ['end of the guest', 'exit', 'words'],
  ['end of the guest', 'words', 'exit'],
])(
  'its loss is told with the words of the engine, in whatever order it is heard of: %s, %s, %s',
  async (...order) => {
    for (const piece of order) {
      ENDS[piece]();
      await pause(5);
    }
    expect(await sandbox.ended).toEqual({ how: 'lost', detail: 'Error: no space left' });
  },
);

describe('in a session', () => {
  const limits = { idleSeconds: 1, lifeSeconds: 1, keepRunning: true };
  const session = { name: 'n', handle: 's-1', call: 1, ageSeconds: 0, ...limits };
  const answered = { type: 'answered', code: 0, goesOn: false, memoryKills: 0 } as const;
  const killed = { type: 'exited', code: null, signal: 'SIGKILL', memoryKills: 0 } as const;
  const ended = { how: 'exited', report: { code: null, signal: 'SIGKILL' } };

  /** Tells of the guest's end, which is not the sandbox's own before its streams are closed. */
  async function reported(): Promise<void> {
    container.say(killed);
    await new Promise((resolve) => setImmediate(resolve));
  }

  beforeEach(async () => {
    await check(checked);
    const isAnswered = new Promise<void>((resolve) => {
      sandbox.run({ ...RUN, session }, { ...handlers, onAnswered: () => resolve() });
    });
    container.say(answered);
    await isAnswered;
  });

  it('a call that comes as its guest ends is told of that end, and of no broken rule', async () => {
    await reported();
    void sandbox.check('2');
    expect(() => sandbox.run({ ...RUN, session }, handlers)).not.toThrow();
    expect(await sandbox.ended).toMatchObject(ended);
  });

  it('and so is one whose code was checked before', async () => {
    await check(checked, '2');
    await reported();
    expect(() => sandbox.run({ ...RUN, session }, handlers)).not.toThrow();
    expect(await sandbox.ended).toMatchObject(ended);
  });
});

describe('before its run', () => {
  it('checks as often as it is asked, and may wait again after any answer', async () => {
    for (const answer of [refused, checked, refused]) {
      await check(answer);
      expect(sandbox.rest()).toBe(true);
    }
    expect(container.sent.map(({ type }) => type)).toEqual(['check', 'check', 'check']);
    expect(sandbox.hasRun).toBe(false);
  });

  it('runs nothing that was not checked, or was refused', async () => {
    expect(() => sandbox.run(RUN, handlers)).toThrow(internal);
    await check(refused);
    expect(() => sandbox.run(RUN, handlers)).toThrow(internal);
    expect(container.sent.map(({ type }) => type)).toEqual(['check']);
  });

  it('runs a program of another language without a check, and a script in Python only with one', async () => {
    expect(() => sandbox.run({ ...RUN, program: program([]) }, handlers)).toThrow(internal);
    await check(refused);
    expect(() => sandbox.run({ ...RUN, program: program([]) }, handlers)).toThrow(internal);
    expect(sandbox.hasRun).toBe(false);
    sandbox.run({ ...RUN, program: program([way]) }, handlers);
    expect(container.sent.map(({ type }) => type)).toEqual(['check', 'run']);
    expect(() => sandbox.rest()).toThrow(internal);
  });

  it('sends input ahead of the run, one piece in memory at a time, and no more to one that is gone', async () => {
    const data = 'x'.repeat(100_000);
    let made = 0;
    function* pieces(): Generator<{ type: 'input'; data: string; folder: null }> {
      for (; made < 20; made += 1) yield { type: 'input', data, folder: null };
    }
    container.stdin.pause();
    sandbox.run({ ...RUN, program: program([way]) }, handlers, pieces());
    expect([sandbox.hasRun, made]).toEqual([true, 0]);
    await new Promise((resolve) => setImmediate(resolve));
    // Such a stream holds one on either side.
    expect(container.stdin.writableLength + container.stdin.readableLength).toBeLessThan(3 * data.length);
    container.stdin.resume();
    await expect.poll(() => container.sent.length, PATIENTLY).toBe(21);
    expect(container.sent.map(({ type }) => type).join(' ')).toBe(`${'input '.repeat(20)}run`);

    const gone = new FakeContainer();
    const late = await greeted(gone);
    made = 0;
    gone.stdin.pause();
    late.run({ ...RUN, program: program([way]) }, handlers, pieces());
    gone.stdin.destroy();
    await new Promise((resolve) => setImmediate(resolve));
    expect(made).toBeLessThan(2);
  });

  it('may wait on when its program, which needs no check, was not started', () => {
    expect(sandbox.rest()).toBe(true);
    expect(container.sent).toEqual([]);
  });

  it('hands the name of a file to the check, and none for a cell', async () => {
    const answering = sandbox.check('1', 'main.py');
    container.say(checked);
    await answering;
    await check(checked);
    expect(container.sent.map(({ file }) => file)).toEqual(['main.py', null]);
  });

  it('does not wait again while it owes an answer, once killed, or when it is gone', async () => {
    void sandbox.check('1');
    expect(sandbox.rest()).toBe(false);
    container.say(checked);
    await expect.poll(() => sandbox.rest(), PATIENTLY).toBe(true);
    sandbox.kill();
    expect(sandbox.rest()).toBe(false);
  });

  it('does not wait again when the compiler has worked hard in it', async () => {
    await check(refused, '('.repeat(200_000));
    expect(sandbox.rest()).toBe(false);
  });

  it.each<[string, SupervisorFrame]>([
    ['an answer to nothing', checked],
    ['a refusal of nothing', refused],
    ['a second greeting', hello],
    ['output', { type: 'output', stream: 'stdout', text: 'x', base64: null }],
    ['a file', { type: 'file', name: 'a', data: '' }],
    ['a list of files', { type: 'skipped', files: [], more: 0 }],
    ['an end', { type: 'exited', code: 0, signal: null, memoryKills: null }],
  ])('%s ends it', async (_what, frame) => {
    container.say(frame);
    expect(await sandbox.ended).toMatchObject(outOfTurn);
    expect(sandbox.rest()).toBe(false);
  });

  it('a frame of the guest ends it', async () => {
    const frame: GuestFrame = { type: 'call', id: 1, method: 'servers.list', params: {} };
    container.sayAsGuest(frame);
    expect(await sandbox.ended).toMatchObject(outOfTurn);
  });
});

describe('from its run on', () => {
  beforeEach(async () => {
    await check(checked);
    sandbox.run(RUN, handlers);
  });

  it('takes no second run and no check, and never waits again', async () => {
    expect(sandbox.hasRun).toBe(true);
    expect(() => sandbox.run(RUN, handlers)).toThrow(internal);
    expect(() => sandbox.check('1')).toThrow(internal);
    expect(() => sandbox.rest()).toThrow(internal);
  });

  it.each([
    ['checked', checked],
    ['refused', refused],
    ['hello', hello],
    ['unloaded', { type: 'unloaded', module: 'm', error: 'e' }],
  ] as const)('a forged `%s` is its end', async (_type, frame) => {
    container.say(frame);
    expect(await sandbox.ended).toMatchObject(outOfTurn);
    expect(() => sandbox.rest()).toThrow(internal);
  });

  it('no pool takes it back: it is ended, and the mistake is heard of', async () => {
    const retired: Sandbox[] = [];
    using pool = new WarmPool({
      size: 1,
      bytesEach: 1,
      heldBytes: () => 0,
      start: () => Promise.resolve(sandbox),
      retire: (one) => retired.push(one),
      isCurrent: () => true,
      observer: () => {},
    });
    await pool.take(NEVER);
    expect(() => pool.giveBack(sandbox)).toThrow(internal);
    expect([pool.ready, retired]).toEqual([0, [sandbox]]);
  });
});

describe('at its end', () => {
  beforeEach(async () => {
    await check(checked);
    sandbox.run(RUN, handlers);
  });

  it('the first end counts, and nothing makes it live again', async () => {
    container.say(checked);
    expect(await sandbox.ended).toMatchObject(outOfTurn);
    sandbox.kill();
    container.say({ type: 'exited', code: 0, signal: null, memoryKills: null });
    await sandbox[Symbol.asyncDispose]();
    expect(await sandbox.ended).toMatchObject(outOfTurn);
    expect([sandbox.isAlive, sandbox.hasRun]).toEqual([false, true]);
    expect(() => sandbox.run(RUN, handlers)).toThrow(internal);
    expect(() => sandbox.check('1')).toThrow(internal);
    expect(() => sandbox.rest()).toThrow(internal);
  });

  it('a report that is still in the pipe of one that was killed is its end', async () => {
    container.say({ type: 'exited', code: 5, signal: null, memoryKills: null });
    sandbox.kill();
    expect(sandbox.isAlive).toBe(false);
    expect(await sandbox.ended).toMatchObject({ how: 'exited', report: { code: 5 } });
  });
});

describe('on an engine elsewhere', () => {
  let found: Unreachable | undefined;
  let asked = 0;
  /** How often it still answers before it is found like that. */
  let answers = 0;
  const whyUnreachable = async () => {
    asked++;
    return asked > answers ? found : undefined;
  };

  beforeEach(async () => {
    vi.useFakeTimers();
    asked = 0;
    answers = 0;
    found = { why: 'Cannot connect to Podman', isSilent: false };
    await sandbox[Symbol.asyncDispose]();
    container = new FakeContainer();
    sandbox = await greeted(container, { whyUnreachable, enforcement: ENFORCED });
    await check(checked);
    sandbox.run(RUN, handlers);
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  const exited = (signal: string | null, memoryKills: number | null = null): SupervisorFrame => ({
    type: 'exited',
    code: signal === null ? 0 : null,
    signal,
    memoryKills,
  });
  async function endsWith(frame: SupervisorFrame) {
    container.say(frame);
    container.stdout.end();
    await vi.advanceTimersByTimeAsync(4_000);
    return await sandbox.ended;
  }

  it('an end by the signals of a shutdown is the machine’s where the engine has gone too', async () => {
    const detail = 'the connection to the engine was lost: Cannot connect to Podman';
    expect(await endsWith(exited('SIGTERM'))).toEqual({ how: 'lost', detail });
  });

  it('and the code’s where the engine answers', async () => {
    found = undefined;
    expect(await endsWith(exited('SIGKILL'))).toMatchObject({ how: 'exited', report: { signal: 'SIGKILL' } });
    expect(asked).toBe(1);
  });

  it('and the code’s where the engine is only too busy to say anything', async () => {
    found = { why: 'podman did not end within 10 s', isSilent: true };
    expect(await endsWith(exited('SIGKILL'))).toMatchObject({ how: 'exited', report: { signal: 'SIGKILL' } });
  });

  it('a slow machine’s engine may answer twice more before it is gone', async () => {
    answers = 2;
    expect(await endsWith(exited('SIGTERM'))).toMatchObject({ how: 'lost' });
  });

  it.each<[string, SupervisorFrame, () => void]>([
    ['an end by itself', exited(null), () => {}],
    ['an end by another signal', exited('SIGSEGV'), () => {}],
    ['an end that it was told', exited('SIGKILL'), () => sandbox.send({ type: 'stop', reason: 'timeout' })],
    ['an end for memory', exited('SIGKILL', 1), () => {}],
  ])('%s asks nobody', async (_what, frame, before) => {
    before();
    expect(await endsWith(frame)).toMatchObject({ how: 'exited' });
    expect(asked).toBe(0);
  });

  it('believes the container about memory, whose group cannot be seen', async () => {
    await endsWith(exited('SIGKILL', 2));
    expect(sandbox.memoryKills).toBe(2);
  });

  it('a start asks after a while whether the engine is still there', async () => {
    const silent = new FakeContainer();
    const engine = engineOf(silent);
    const options = { timeoutMs: 60_000, observer: () => {}, whyUnreachable };
    const starting = Sandbox.start(engine, { name: 'fake' } as SandboxSpec, options, NEVER);
    const failed = expect(starting).rejects.toThrow('the connection to the engine was lost: Cannot connect');
    await vi.advanceTimersByTimeAsync(10_500);
    await failed;
  });

  it('a greeting that comes while it is asked counts, and not what it answers later', async () => {
    const slow = new FakeContainer();
    const engine = engineOf(slow);
    const ask = () => new Promise<Unreachable | undefined>((resolve) => setTimeout(resolve, 10_000, found));
    const options = { timeoutMs: 60_000, observer: () => {}, whyUnreachable: ask };
    const spec = { name: 'fake' } as SandboxSpec;
    const starting = Sandbox.start(engine, spec, options, NEVER);
    await vi.advanceTimersByTimeAsync(12_000);
    slow.say(hello);
    const started = await starting;
    await vi.advanceTimersByTimeAsync(20_000);
    expect(started.isAlive).toBe(true);
    await started[Symbol.asyncDispose]();
  });
});

describe('gone while it waits', () => {
  beforeEach(async () => {
    await check(checked);
    container.end();
    expect(await sandbox.ended).toMatchObject({ how: 'lost' });
  });

  it('never answers a check, and does not wait again', async () => {
    const first = await Promise.race([sandbox.check('1'), sandbox.ended]);
    expect(first).toMatchObject({ how: 'lost' });
    expect(() => sandbox.run(RUN, handlers)).toThrow(internal);
    expect(sandbox.rest()).toBe(false);
  });

  it('a run that comes too late is its run all the same', () => {
    sandbox.run(RUN, handlers);
    expect([sandbox.hasRun, sandbox.isAlive]).toEqual([true, false]);
    expect(() => sandbox.rest()).toThrow(internal);
  });
});
