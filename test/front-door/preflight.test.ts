// Code is looked at in the waiting sandbox before anything of it runs: what is wrong there costs no sandbox, and no code
// that did run can make a used sandbox pass for an unused one.

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ourSandboxes, runningSandboxes } from '../support/nothing-left.js';
import { hostileServer, startBridge, type TestBridge } from '../support/start-bridge.js';
import { eventually } from '../support/time.js';

let bridge: TestBridge;
beforeAll(async () => {
  bridge = await startBridge(
    { h: hostileServer(), other: hostileServer('other') },
    // With the looser filter code can take the supervisor's descriptors: podman's are sockets, which it cannot open.
    { env: { MCP_BRIDGE_WARM: '1', MCP_BRIDGE_SECCOMP: 'compat' } },
  );
  expect(await bridge.run('await mcp_h.echo(text="up")', { servers: ['h'] })).toMatchObject({
    status: 'success',
  });
});
afterAll(() => bridge[Symbol.asyncDispose]());

/** The container that waits, alone. No name is given twice. */
let waiting: string;
beforeEach(async () => {
  const alone = () => ourSandboxes().length === 1 && runningSandboxes().length === 1;
  expect(await eventually(alone)).toBe(true);
  [waiting = ''] = ourSandboxes();
});
const isGone = () => eventually(() => !ourSandboxes().includes(waiting));

/** Code that takes the compiler seconds, and little memory: each `finally` is compiled twice, so the depth doubles it. */
const DEPTH = 12;
const BOMB = Array.from({ length: 400 }, (_, n) => {
  const nested = Array.from({ length: DEPTH }, (_, depth) => {
    const margin = ' '.repeat(depth + 1);
    return `${margin}try: pass\n${margin}finally:\n`;
  });
  return `def f${n}():\n${nested.join('')}${' '.repeat(DEPTH + 1)}pass\n`;
}).join('');

describe('a program that does not pass', () => {
  it('spends no sandbox: the very same waits on, and serves the next call', async () => {
    const wrong = [
      ['print("ran")\nx = = 1', { error: 'SyntaxError: invalid syntax (main.py, line 2)' }],
      ['print("ran")\nawait mcp_h.ecko(text="x")', { errorType: 'E_TOOL_UNKNOWN' }],
      ['print("ran")\nawait mcp_other.echo(text="x")', { errorType: 'E_SERVER_NOT_LOADED' }],
      ['```python\ndef f(:\n```', { errorType: 'SyntaxError' }],
    ] as const;
    for (const [code, expected] of wrong) {
      const payload = await bridge.run(code, { servers: ['h'] });
      expect(payload).toMatchObject({ status: 'validation_error', ...expected });
      expect(payload).not.toHaveProperty('stdout');
      expect(runningSandboxes()).toEqual([waiting]);
    }
    expect(await bridge.run('await mcp_h.echo(text="x")', { servers: ['h'] })).toMatchObject({
      status: 'success',
    });
    expect(await isGone()).toBe(true);
  });

  it('is told of its mistake and of the way out, and of nothing of ours', async () => {
    const answerTo = async (code: string) => {
      const { content } = await bridge.call({ code, servers: ['h'] });
      return (content[0] as { text: string }).text;
    };
    expect(await answerTo('a = 1\nfor x in [1, 2]\n    print(x)')).toBe(
      '[validation_error]   File "main.py", line 2\n    for x in [1, 2]\n                   ^\n' +
        "SyntaxError: expected ':'\nNothing was run. Fix this line and send the whole program again.",
    );
    expect(await answerTo('await mcp_h.ecko(text="x")')).toBe(
      "[validation_error] Line 1: server 'h' has no tool 'ecko'. Did you mean 'echo'?\n" +
        'Nothing was run. Fix the name and send the whole program again.',
    );
    expect(await answerTo('await mcp_other.echo(text="x")')).toBe(
      "[validation_error] Line 1: server 'other' is not loaded in this run.\n" +
        'Nothing was run. Pass servers=["h","other"] in the call.',
    );
  });
});

describe('a compiler that works hard', () => {
  it('is ended with its sandbox at the deadline', async () => {
    expect(await bridge.run(BOMB, { timeout: 1 })).toMatchObject({
      status: 'timeout',
      error: expect.stringContaining('still being compiled'),
    });
    expect(await isGone()).toBe(true);
  });

  it('is ended when the client gives up', async () => {
    const call = bridge.run(BOMB, { timeout: 30, signal: AbortSignal.timeout(300) });
    await expect(call).rejects.toThrow();
    expect(await isGone()).toBe(true);
    expect(await bridge.run('1 + 1')).toMatchObject({ result: 2 });
  });
});

describe('code that speaks in the name of the supervisor', () => {
  const error = '{"type":"SyntaxError","message":"no","traceback":[]}';
  it.each([
    ['refused', `{"type":"refused","error":${error}}`],
    ['checked', '{"type":"checked","named":[]}'],
    ['hello', '{"type":"hello","protocol":4,"harness":"x","python":"3"}'],
  ])('finds no stream to write a forged `%s` to, and wins no second run', async (_type, frame) => {
    const leave = `
import ctypes, os, time
open("/tmp/token", "w").close()
libc = ctypes.CDLL(None, use_errno=True)
PIDFD_GETFD = 438
def copy(fd):
    try:
        return os.open(f"/proc/1/fd/{fd}", os.O_WRONLY | os.O_NONBLOCK)
    except OSError:
        return libc.syscall(PIDFD_GETFD, os.pidfd_open(1), fd, 0)
reached = 0
for fd in range(100, 110):
    try:
        reached += os.write(copy(fd), b'${frame}\\n')
    except OSError:
        pass
time.sleep(3 if reached else 0)
reached
`;
    // What the sandbox does with such a frame, should one come, is tried in test/sandbox/sandbox.test.ts.
    expect(await bridge.run(leave, { timeout: 60 })).toMatchObject({ status: 'success', result: 0 });
    expect(await isGone()).toBe(true);
    expect(await bridge.run('import os\nos.path.exists("/tmp/token")')).toMatchObject({ result: false });
  });
});
