// Each limit met by real code in a real sandbox, and what the answer then says. The suite runs where a control group
// holds the container and where a watchdog does: what each promises is read from what the bridge itself found.

import { getPriority } from 'node:os';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Enforcement } from '../../src/engine/machine/enforcement.js';
import { type Payload, startBridge, type TestBridge } from '../support/start-bridge.js';
import { coldSandboxes, until } from '../support/time.js';

const MEMORY_MB = 128;
const PIDS = 64;
/** What may be taken between two looks of the watchdog, on a machine that is busy. Typically it is a tenth of this. */
const OVERSHOOT_MB = 384;

let bridge: TestBridge;
let enforcement: Enforcement;
beforeAll(async () => {
  const env = {
    MCP_BRIDGE_MEMORY: `${MEMORY_MB}m`,
    MCP_BRIDGE_PIDS: String(PIDS),
    MCP_BRIDGE_CONCURRENCY: '4',
  };
  bridge = await startBridge({}, { env });
  await bridge.run('1');
  const [, memory, pids, cpu] =
    /limits by memory: (\w+), pids: (\w+), cpu: (\w+)/.exec(bridge.stderr()) ?? [];
  enforcement = { memory, pids, cpu } as Enforcement;
  console.log('limits by', JSON.stringify(enforcement));
});
afterAll(() => bridge[Symbol.asyncDispose]());

/** MB above the limit when the watchdog saw it; undefined where it has not ended the last run. */
function overshootMb(): number | undefined {
  const [, allowed, seen] = [...bridge.stderr().matchAll(/memory limit (\d+), seen (\d+)/g)].at(-1) ?? [];
  return allowed === undefined ? undefined : (Number(seen) - Number(allowed)) / 1024 ** 2;
}

function expectOutOfMemory(payload: Payload, what: string): void {
  expect(payload, JSON.stringify(payload)).toMatchObject({
    status: 'error',
    errorType: 'E_MEMORY',
    error: `Memory limit ${MEMORY_MB} MB exceeded.`,
    remedy: expect.stringContaining('MCP_BRIDGE_MEMORY'),
  });
  if (enforcement.memory !== 'watchdog') return;
  const overshoot = overshootMb();
  console.log(`${what}: ${overshoot?.toFixed(0)} MB over the limit when seen`);
  expect(overshoot).toBeLessThan(OVERSHOOT_MB);
}

/** The kernel takes one process at a time: a worker, and the code goes on and fails over it, or the code itself. */
function expectKernelsWord(payload: Payload): void {
  expect(payload, JSON.stringify(payload)).toMatchObject({ status: 'error' });
  expect(`${payload.error} ${payload.remedy}`).toMatch(
    new RegExp(`memory limit ${MEMORY_MB} MB exceeded`, 'i'),
  );
}

const each = (count: number, body: string) => `
import os, time
for _ in range(${count}):
    if os.fork() == 0:
${body.replace(/^/gm, '        ')}
        os._exit(0)
`;

describe('memory', () => {
  it.each([
    ['private', 'x = b"x" * (400 << 20)\nimport time; time.sleep(60)'],
    ['in many pieces', 'x = []\nwhile True: x.append(bytes([1]) * 1_000_000)'],
    [
      'shared and anonymous',
      'import mmap, time\nm = mmap.mmap(-1, 400 << 20)\nfor n in range(0, 400 << 20, 4096): m[n] = 1\ntime.sleep(60)',
    ],
    [
      'files and process together',
      'open("/tmp/a", "wb").write(bytes(60 << 20)); open("/workspace/a", "wb").write(bytes(50 << 20))\nx = b"x" * (60 << 20)\nimport time; time.sleep(60)',
    ],
  ])('ends a run that takes too much memory: %s', async (what, code) => {
    expectOutOfMemory(await bridge.run(`print("before")\n${code}`, { timeout: 100 }), what);
  });

  it('ends many processes that are each below the limit of memory', async () => {
    const payload = await bridge.run(
      `${each(12, 'x = b"x" * (40 << 20)\ntime.sleep(10)')}
for _ in range(12): assert os.wait()[1] == 0, "a worker was killed"`,
    );
    if (enforcement.memory === 'watchdog') expectOutOfMemory(payload, 'many processes');
    else expectKernelsWord(payload);
  });

  it('keeps what was printed before', async () => {
    const payload = await bridge.run('print("before")\nx = b"x" * (400 << 20)\nimport time; time.sleep(60)');
    expect(payload).toMatchObject({ errorType: 'E_MEMORY', stdout: ['before'] });
  });

  it('refuses one giant allocation, or ends its run', async () => {
    const payload = await bridge.run('x = b"x" * (8 << 30)');
    expect(payload.errorType, JSON.stringify(payload)).toMatch(/^(MemoryError|E_MEMORY)$/);
    expect(payload.remedy).toContain('MCP_BRIDGE_MEMORY');
    if (enforcement.memory === 'watchdog')
      expect(payload).toMatchObject({ errorType: 'MemoryError', remedy: expect.stringContaining('128 MB') });
  });

  it('is no accusation: a fork shares its pages, and what is below the limit runs', async () => {
    const code = `x = b"x" * (70 << 20)\n${each(6, 'time.sleep(1.5)')}\nfor _ in range(6): os.wait()`;
    expect(await bridge.run(code), 'six that share 70 MB').toMatchObject({ status: 'success' });
  });

  it('is no accusation: a file that is mapped counts once', async () => {
    const code = `import mmap, time
f = open("/workspace/a", "w+b"); f.truncate(60 << 20)
m = mmap.mmap(f.fileno(), 60 << 20)
for n in range(0, 60 << 20, 4096): m[n] = 1
x = b"x" * (20 << 20)
time.sleep(0.5)`;
    expect(await bridge.run(code)).toMatchObject({ status: 'success' });
  });

  it('taken behind many processes that share pages, which makes it dear to weigh', async () => {
    const code = `import os, time
x = bytearray(b"x") * (60 << 20)
${each(40, 'time.sleep(1)\nfor n in range(0, len(x), 4096): x[n] = 2\ntime.sleep(20)')}
for _ in range(40): assert os.wait()[1] == 0, "a worker was killed"`;
    const payload = await bridge.run(code, { timeout: 100 });
    if (enforcement.memory === 'watchdog') expectOutOfMemory(payload, 'copied pages of 40 processes');
    else expectKernelsWord(payload);
  });

  it('that a worker met is said of what came of it', async () => {
    const code =
      'import subprocess, sys\nr = subprocess.run([sys.executable, "-c", "x = b\'x\' * (400 << 20); import time; time.sleep(60)"])\nsys.exit(5)';
    const payload = await bridge.run(code);
    if (enforcement.memory === 'watchdog') expectOutOfMemory(payload, 'a worker');
    else
      expect(payload).toMatchObject({
        errorType: 'E_EXIT',
        exitCode: 5,
        remedy: expect.stringContaining('One of its processes was killed'),
      });
  });
});

describe('files', () => {
  it.each([
    ['/tmp', 64],
    ['/dev/shm', 16],
  ])('%s is full at its size, and the answer says so', async (place, sizeMb) => {
    const code = `f = open("${place}/fill", "wb", buffering=0)\nfor _ in range(100): f.write(bytes(1 << 20))`;
    expect(await bridge.run(code)).toMatchObject({
      errorType: 'OSError',
      remedy: expect.stringContaining(`${place} holds ${sizeMb} MB`),
    });
  });

  it('without content count too', async () => {
    const code =
      'import os\nos.mkdir("/tmp/d")\nfor n in range(2_000_000): os.close(os.open(f"/tmp/d/{n}", os.O_CREAT | os.O_WRONLY))';
    const payload = await bridge.run(code, { timeout: 120 });
    // Their kernel memory is the container's, by the group's account or by ours.
    expect(payload, JSON.stringify(payload)).toMatchObject({
      errorType: expect.stringMatching(/^E_(MEMORY|FILES)$/),
    });
  });

  it('a file that is too large, also a sparse one', async () => {
    expect(await bridge.run('f = open("/workspace/sparse", "wb")\nf.truncate(1 << 40)')).toMatchObject({
      error: expect.stringContaining('File too large'),
      remedy: 'A file may have at most 128 MB: write several files, or less.',
    });
  });

  it('refuses to open more files than the limit, and says which', async () => {
    // No sockets: where nothing counts what their buffers could hold, they meet that limit before this one.
    expect(
      await bridge.run("import os\nkept = []\nwhile True: kept.append(os.open('/dev/null', 0))"),
    ).toMatchObject({
      error: expect.stringContaining('Too many open files'),
      remedy: expect.stringContaining('1024'),
    });
  });
});

describe('processes', () => {
  it('a fork bomb meets its limit, which is named, and another run can still fork', async () => {
    const bomb = `import os, time
for n in range(1000):
    try:
        if os.fork() == 0: time.sleep(100); os._exit(0)
    except BlockingIOError:
        runtime.progress(n); print(n, flush=True); time.sleep(${coldSandboxes(10) / 1000}); raise
`;
    let isFull = false;
    const onprogress = () => {
      isFull = true;
    };
    const [bombed, other] = await Promise.all([
      bridge.run(bomb, { timeout: 100, onprogress }),
      until(() => isFull).then(() =>
        bridge.run(
          'import subprocess\n[subprocess.run(["true"]).returncode for _ in range(5)] + [len([subprocess.Popen(["sleep", "5"]) for _ in range(20)])]',
        ),
      ),
    ]);
    expect(bombed, JSON.stringify(bombed)).toMatchObject({
      errorType: 'BlockingIOError',
      remedy: expect.stringContaining(`At most ${PIDS} processes`),
    });
    expect(Number(bombed.stdout?.[0])).toBeLessThan(PIDS);
    expect(other).toMatchObject({ status: 'success', result: [0, 0, 0, 0, 0, 20] });
  });

  it('threads count, and the limit is named', async () => {
    const code =
      'import threading, time\nfor n in range(1000): threading.Thread(target=time.sleep, args=(3,), daemon=True).start()';
    expect(await bridge.run(code)).toMatchObject({
      error: expect.stringContaining("can't start new thread"),
      remedy: expect.stringContaining(`At most ${PIDS} processes`),
    });
  });

  it('as many threads as are allowed can be had', async () => {
    const code = `import threading, time
ts = [threading.Thread(target=time.sleep, args=(0.5,)) for _ in range(${PIDS - 8})]
[t.start() for t in ts]; [t.join() for t in ts]; len(ts)`;
    expect(await bridge.run(code)).toMatchObject({ status: 'success', result: PIDS - 8 });
  });

  it('have an id of their own where the engine maps ids or they are counted by it', async () => {
    const user = async () => Number((await bridge.run('import os\nos.getuid()')).result);
    const [one, other] = [await user(), await user()];
    const isMapped = /^.*walls: .*, (?:rootless|userns-mapped), /m.test(bridge.stderr());
    if (!isMapped && enforcement.pids !== 'rlimit') return expect([one, other]).toEqual([65_534, 65_534]);
    expect(Math.min(one, other)).toBeGreaterThan(20_000);
    expect(one).not.toBe(other);
  });
});

describe('time', () => {
  const spin = `import os, signal
for s in (signal.SIGTERM, signal.SIGALRM, signal.SIGXCPU, signal.SIGINT): signal.signal(s, signal.SIG_IGN)
for _ in range(3): os.fork()
while True: sum(range(10_000_000))
`;
  it('a spin over all processors ends at its deadline, and another run beside it comes to its end', async () => {
    let isOver = false;
    const spinning = bridge
      .run(spin, { timeout: Math.min(120, Math.ceil(coldSandboxes(40) / 1000)) })
      .finally(() => {
        isOver = true;
      });
    // What is no spin has a share of the processors; how large it is depends on what else the machine does.
    expect(await bridge.run('sum(range(1_000_000))')).toMatchObject({ status: 'success' });
    expect(isOver).toBe(false);
    expect(await spinning).toMatchObject({ status: 'timeout', errorType: 'E_TIMEOUT' });
  });

  it('has a priority that cannot be raised, where no group shares the processors', async () => {
    // The tests themselves may have been started with a low one.
    const code = `import os
try: os.nice(-1); raised = True
except PermissionError: raised = False
[os.nice(0) > ${getPriority()}, raised]`;
    expect((await bridge.run(code)).result).toEqual([enforcement.cpu === 'priority', false]);
  });
});

describe('whose doing the end was', () => {
  it.each([
    [
      'its own SIGKILL',
      'import os, signal; os.kill(os.getpid(), signal.SIGKILL)',
      'E_SIGNAL',
      'SIGKILL',
      undefined,
    ],
    ['a crash', 'import os; os.abort()', 'E_SIGNAL', 'SIGABRT', undefined],
    ['its own exit', 'import sys; sys.exit(3)', 'E_EXIT', 'exit status 3', 3],
    ['its own hard exit', 'import os; os._exit(4)', 'E_EXIT', 'exit status 4', 4],
    ['a deadline', 'import time; time.sleep(300)', 'E_TIMEOUT', 'Timed out after 1 s', undefined],
  ])('%s', async (_what, code, errorType, words, exitCode) => {
    const payload = await bridge.run(code, { timeout: errorType === 'E_TIMEOUT' ? 1 : 100 });
    expect(payload).toMatchObject({ errorType, error: expect.stringContaining(words) });
    expect(payload.exitCode).toBe(exitCode);
    if (errorType === 'E_SIGNAL') expect(payload.remedy).not.toMatch(/memory/i);
  });
});
