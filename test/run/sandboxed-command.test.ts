// A command in a sandbox that does what the test says: its own end is told by what the supervisor reports, and everything
// else that may end it by a sentence; its output is held as bytes, and nothing that it sends is answered as a call.

import { beforeEach, describe, expect, it } from 'vitest';
import type { BridgeEvent } from '../../src/base/log/events.js';
import { KeptFiles } from '../../src/run/artifacts/kept-files.js';
import { byCommandLine } from '../../src/run/calls/call-context.js';
import { runSandboxedCommand } from '../../src/run/life/sandboxed-command.js';
import type { SupervisorFrame } from '../../src/wire/frames.js';
import { FakeContainer, greeted } from '../support/fake-container.js';
import { NEVER } from '../support/time.js';

const exited = (code: number | null, signal: string | null = null): SupervisorFrame => ({
  type: 'exited',
  code,
  signal,
  memoryKills: null,
});
const said = (text: string, base64: string | null = null): SupervisorFrame => ({
  type: 'output',
  stream: 'stdout',
  text,
  base64,
});
const NO_END = { exitCode: undefined, signal: undefined, killedFor: undefined, notStarted: undefined };

let container: FakeContainer;
let events: BridgeEvent[];
let ends: string[];
beforeEach(() => {
  container = new FakeContainer();
  events = [];
  ends = [];
});

/** What becomes of a command to whose start `answer` is the answer. */
async function run(answer: () => void, timeoutSeconds = 30, signal = NEVER) {
  const sandbox = await greeted(container);
  container.onFrame = ({ type }) => {
    if (type === 'run') answer();
  };
  const services = {
    sandboxes: {
      take: () => Promise.resolve(sandbox),
      giveBack: () => ends.push('back'),
      retire: () => ends.push('retired'),
    },
    kept: new KeptFiles({ stateDir: '/nowhere', keepSeconds: 0, quotaBytes: 0 }),
    audit: 'arguments',
    observer: (event: BridgeEvent) => events.push(event),
  } as unknown as Parameters<typeof runSandboxedCommand>[1];
  const command = {
    argv: ['ls', '-l'],
    stdin: undefined,
    cwd: '/work',
    env: {},
    maxOutputBytes: 100,
    shownBytes: 100,
  } as const;
  const context = byCommandLine(signal, ({ type }) => {
    if (type === 'started') ends.push('started');
  });
  return runSandboxedCommand({ id: 'run-1', command, timeoutSeconds }, services, context);
}
const status = () => events.find((event) => event.type === 'run.ended')?.status;
const say = (...frames: readonly SupervisorFrame[]) => {
  for (const frame of frames) container.say(frame);
  // Of a guest that has ended nobody holds the stream, and nothing of it is waited for.
  if (frames.some(({ type }) => type === 'exited')) container.stdout.end();
};

describe('its own end', () => {
  it.each([
    ['a status of nought', exited(0), { exitCode: 0 }, 'success'],
    ['another status', exited(3), { exitCode: 3 }, 'error'],
    ['a signal', exited(null, 'SIGSEGV'), { signal: 'SIGSEGV' }, 'error'],
  ] as const)('%s', async (_how, report, end, ended) => {
    expect(await run(() => say(said('out\n'), report))).toMatchObject({ end: { ...NO_END, ...end } });
    expect([status(), ends]).toEqual([ended, ['started', 'retired']]);
  });

  it('is that it was not started, in the words of the harness', async () => {
    const outcome = await run(() => {
      const error = { type: 'CannotStart', message: '`ls` is not there.', traceback: [] };
      container.sayAsGuest({ type: 'raised', error, exitCode: 127 });
      setTimeout(() => say(exited(127)), 50);
    });
    expect(outcome).toMatchObject({ end: { ...NO_END, notStarted: '`ls` is not there.' } });
    expect(status()).toBe('error');
  });

  it('is its deadline where nothing has ended before', async () => {
    expect(await run(() => {}, 0.1)).toMatchObject({ end: { ...NO_END, killedFor: 'timeout' } });
    expect([status(), container.wasKilled]).toEqual(['timeout', true]);
  });

  it('comes with its output as bytes, head and tail', async () => {
    const outcome = await run(() =>
      say(said('\ufffd', '/w=='), said('x'.repeat(500)), said('end'), exited(0)),
    );
    if (!('end' in outcome)) throw new Error('it has no end');
    const { stdout } = outcome.end.output.result(100, {});
    expect([stdout.bytes, stdout.text.endsWith('xend')]).toEqual([504, true]);
  });
});

describe('no end of its own', () => {
  it('a sandbox that vanishes is told with what was written, and never as harmless', async () => {
    const outcome = await run(() => {
      say(said(`a${'é'.repeat(500)}z`));
      setTimeout(() => container.end(), 50);
    });
    if (!('failed' in outcome)) throw new Error('it has an end');
    const { error, stdout, calls, servers } = outcome.failed;
    expect([error?.type, calls, servers, status()]).toEqual(['E_SANDBOX_LOST', 0, [], 'error']);
    expect(error?.remedy).toContain('would be done twice');
    const { gap = { start: 0, end: 0 } } = stdout;
    const shown = stdout.text.slice(0, gap.start - 1) + stdout.text.slice(gap.end + 1);
    expect([shown[0], shown.at(-1), shown.length + stdout.dropped]).toEqual(['a', 'z', 502]);
    expect(stdout.droppedBytes).toBe(1002 - Buffer.byteLength(shown));
  });

  it('a heap of V8 that is full is the memory limit', async () => {
    const words = 'FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory\n';
    const stderr: SupervisorFrame = { type: 'output', stream: 'stderr', text: words, base64: null };
    const outcome = await run(() => say(stderr, exited(null, 'SIGABRT')));
    expect(outcome).toMatchObject({ failed: { status: 'error', error: { type: 'E_MEMORY' } } });
  });

  it('nothing is taken for one that was cancelled in the queue', async () => {
    const outcome = await run(() => {}, 30, AbortSignal.abort());
    expect(outcome).toMatchObject({ failed: { status: 'cancelled', error: { type: 'E_CANCELLED' } } });
    expect([status(), ends, container.sent]).toEqual(['cancelled', [], []]);
  });

  it('one that is cancelled while it runs is killed, and leaves nothing', async () => {
    const client = new AbortController();
    const outcome = await run(() => client.abort(), 30, client.signal);
    expect(outcome).toMatchObject({ failed: { status: 'cancelled', left: undefined } });
    expect(container.wasKilled).toBe(true);
  });
});

it('is answered no call, whatever it forges', async () => {
  await run(() => {
    container.sayAsGuest({ type: 'call', id: 1, method: 'servers.list', params: {} });
    setTimeout(() => say(exited(0)), 50);
  });
  expect(container.sent.map(({ type }) => type)).toEqual(['run']);
});

it('is told to the audit by its vector, where arguments are kept', async () => {
  await run(() => say(exited(0)));
  expect(events[0]).toMatchObject({
    type: 'run.started',
    language: 'command',
    servers: [],
    argumentsText: '["ls","-l"]',
  });
});
