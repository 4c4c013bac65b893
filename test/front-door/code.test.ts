// How code runs: as a person would expect of Python, and of a notebook where Python alone would not do.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startBridge, type TestBridge } from '../support/start-bridge.js';
import { REACH_SECONDS } from './reached.js';

let bridge: TestBridge;
beforeAll(async () => {
  bridge = await startBridge({});
});
afterAll(() => bridge[Symbol.asyncDispose]());

describe('values', () => {
  it.each([
    ['a last expression', '1 + 1', 2],
    ['a top-level await', 'import asyncio\nawait asyncio.sleep(0, "slept")', 'slept'],
    [
      'a gather that nobody awaits',
      'import asyncio\nasyncio.gather(asyncio.sleep(0, 1), asyncio.sleep(0, 2))',
      [1, 2],
    ],
    ['a top-level return', 'if True:\n    return {"a": [1, 2.5, None]}', { a: [1, 2.5, null] }],
    ['fenced code', '```python\n6 * 7\n```', 42],
    ['a value that JSON cannot hold', '{1, }', '{1}'],
  ])('returns the value of %s', async (_name, code, result) => {
    expect(await bridge.run(code)).toMatchObject({ status: 'success', result });
  });

  it('has none when the last statement is no expression', async () => {
    expect(await bridge.run('x = 1')).not.toHaveProperty('result');
  });

  it('runs code as the module __main__', async () => {
    const code = 'if __name__ == "__main__":\n    print("main")';
    expect(await bridge.run(code)).toMatchObject({ status: 'success', stdout: ['main'] });
  });

  it('runs asyncio.run(main()) also beside a top-level await', async () => {
    const code =
      'import asyncio\nasync def main():\n    await asyncio.sleep(0)\n    return 5\nawait asyncio.sleep(0)\nasyncio.run(main())';
    expect(await bridge.run(code)).toMatchObject({ status: 'success', result: 5 });
  });
});

describe('failures', () => {
  it('shows the lines of the user and none of ours', async () => {
    const payload = await bridge.run('def f(x):\n    return 1 / x\n\nf(0)');
    expect(payload).toMatchObject({
      status: 'error',
      exitCode: 1,
      error: 'ZeroDivisionError: division by zero',
    });
    const traceback = payload.traceback?.join('\n') ?? '';
    expect(traceback).toContain('line 2, in f');
    expect(traceback).toContain('return 1 / x');
    expect(traceback).not.toMatch(/harness|\/ipc/);
  });

  it('refuses a syntax error before anything runs, with line and caret', async () => {
    const payload = await bridge.run('print("never")\nx = = 1');
    expect(payload).toMatchObject({
      status: 'validation_error',
      error: expect.stringContaining('SyntaxError'),
    });
    expect(payload.traceback?.join('\n')).toMatch(/line 2[\s\S]*\^/);
    expect(payload).not.toHaveProperty('stdout');
  });

  it.each([
    ['sys.exit(3)', 'import sys; sys.exit(3)', 3],
    ['os._exit(4)', 'import os; os._exit(4)', 4],
  ])('%s is the exit code', async (_name, code, exitCode) => {
    expect(await bridge.run(code)).toMatchObject({ status: 'error', exitCode });
  });

  it('names the signal of a crash, and keeps the output', async () => {
    const payload = await bridge.run('print("before", flush=True)\nimport ctypes; ctypes.string_at(0)');
    expect(payload).toMatchObject({
      status: 'error',
      stdout: ['before'],
      error: expect.stringContaining('SIGSEGV'),
    });
  });

  it('gives partial output and the place on timeout', async () => {
    const payload = await bridge.run('import time\nprint("first")\ntime.sleep(60)', {
      timeout: REACH_SECONDS,
    });
    expect(payload).toMatchObject({
      status: 'timeout',
      stdout: ['first'],
      error: expect.stringContaining('time.sleep(60)'),
    });
  });

  it('times out code that swallows every exception and ignores signals', async () => {
    const code =
      'import signal\nfor s in (15, 2, 10, 12): signal.signal(s, signal.SIG_IGN)\nwhile True:\n    try:\n        while True: pass\n    except BaseException: pass';
    expect(await bridge.run(code, { timeout: 1 })).toMatchObject({ status: 'timeout' });
  });
});

describe('endings without a last word', () => {
  it('are told every time', async () => {
    for (let round = 0; round < 12; round++) {
      const code = round % 2 === 0 ? 'import os; os._exit(4)' : 'import sys; sys.exit(4)';
      expect(await bridge.run(code)).toMatchObject({ status: 'error', exitCode: 4 });
    }
  });
});
