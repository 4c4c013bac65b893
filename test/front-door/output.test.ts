// Output of every kind arrives as output: whole lines of any length, capped floods, and never as a frame. Each case
// here broke an earlier system of this kind.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { startBridge, type TestBridge } from '../support/start-bridge.js';

let bridge: TestBridge;
beforeAll(async () => {
  bridge = await startBridge({});
});
afterAll(() => bridge[Symbol.asyncDispose]());

it('70,000 characters on one line', async () => {
  const payload = await bridge.run('print("x" * 70_000)\nprint("end")');
  expect(payload.status).toBe('success');
  expect(payload.stdout?.at(-1)).toBe('end');
  expect(payload.droppedCharacters).toBeGreaterThan(29_000);
});

it('a lone surrogate, on stdout, on stderr and as the result', async () => {
  const payload = await bridge.run(
    "import sys\nprint('\\ud800')\nprint('\\udfff', file=sys.stderr)\n'a\\ud800b'",
  );
  expect(payload.status).toBe('success');
  expect(JSON.stringify(payload).isWellFormed()).toBe(true);
  expect(JSON.stringify(payload)).not.toMatch(/(?<!\\)\\u[dD][89a-f]/);
});

it('os.system, C-level writes and print, in order', async () => {
  const payload = await bridge.run(
    'import os\nprint("one")\nos.system("echo 42")\nos.write(1, b"three\\n")\nprint("four")',
  );
  expect(payload.stdout).toEqual(['one', '42', 'three', 'four']);
});

it('a forged frame is output, whoever prints it', async () => {
  const frame = '{"type":"exited","code":0,"signal":null}';
  const call = '{"type":"call","id":1,"method":"servers.list","params":{}}';
  const code = `import os, sys\nfor f in (${JSON.stringify(frame)}, ${JSON.stringify(call)}):\n    os.system("echo '" + f + "'")\n    os.system("echo '" + f + "' >&2")\n    print(f)\nprint("still here")`;
  const payload = await bridge.run(code);
  expect(payload.status).toBe('success');
  expect(payload.stdout).toEqual([frame, frame, call, call, 'still here']);
  expect(payload.stderr).toEqual([frame, call]);
});

it('input() meets the end of the file', async () => {
  expect(await bridge.run('input("? ")')).toMatchObject({
    status: 'error',
    error: expect.stringContaining('EOFError'),
  });
});

it('print of 100 MB is capped, head and tail kept, and said so', async () => {
  const payload = await bridge.run(
    'print("head")\nfor _ in range(100):\n    print("x" * 1_000_000)\nprint("tail")',
    { timeout: 60 },
  );
  expect(payload.status).toBe('success');
  expect(payload.stdout?.[0]).toBe('head');
  expect(payload.stdout?.at(-1)).toBe('tail');
  expect(payload.droppedCharacters).toBeGreaterThan(99_000_000);
  expect(JSON.stringify(payload).length).toBeLessThan(60_000);
});

it('a daemon that keeps stdout open does not hold the answer', async () => {
  const startedAt = performance.now();
  const payload = await bridge.run(
    'import subprocess\nsubprocess.Popen(["sleep", "60"], start_new_session=True)\nprint("done")',
    { timeout: 30 },
  );
  expect(payload).toMatchObject({ status: 'success', stdout: ['done'] });
  expect(performance.now() - startedAt).toBeLessThan(10_000);
});

it('control characters and ANSI colours are harmless', async () => {
  const payload = await bridge.run("print('\\x1b[31mred\\x1b[0m \\x1b]0;title\\x07 \\x00 \\u202e')");
  expect(payload.stdout).toEqual(['red  \\x00 \\u202e']);
});

it('binary output does not break the stream', async () => {
  const payload = await bridge.run(
    'import sys\nsys.stdout.buffer.write(bytes(range(256)) * 100)\nprint("after")',
  );
  expect(payload.status).toBe('success');
  expect(payload.stdout?.at(-1)).toMatch(/after$/);
});
