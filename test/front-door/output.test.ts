// Output of every kind arrives as output: whole lines of any length, capped floods, and never as a frame. Each case
// here broke an earlier system of this kind.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { png } from '../support/pictures.js';
import { startBridge, type TestBridge } from '../support/start-bridge.js';

let bridge: TestBridge;
beforeAll(async () => {
  bridge = await startBridge({});
});
afterAll(() => bridge[Symbol.asyncDispose]());

it('keeps the end of 70,000 characters on one line', async () => {
  const payload = await bridge.run('print("x" * 70_000)\nprint("end")');
  expect(payload.status).toBe('success');
  expect(payload.stdout?.at(-1)).toBe('end');
  expect(payload.droppedCharacters).toBeGreaterThan(29_000);
});

it('replaces a lone surrogate on stdout, on stderr and in the result', async () => {
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
  const frame = '{"type":"exited","code":0,"signal":null,"memoryKills":null}';
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
  const payload = await bridge.run(
    'import subprocess\nsubprocess.Popen(["sleep", "60"], start_new_session=True)\nprint("done")',
    { timeout: 30 },
  );
  // Held up, it would end at its deadline.
  expect(payload).toMatchObject({ status: 'success', stdout: ['done'] });
});

it('control characters and ANSI colours are harmless', async () => {
  const payload = await bridge.run("print('\\x1b[31mred\\x1b[0m \\x1b]0;title\\x07 \\x00 \\u202e')");
  expect(payload.stdout).toEqual(['red  \\x00 \\u202e']);
});

it('of a progress bar what a terminal would still show', async () => {
  const payload = await bridge.run(
    'for n in range(0, 101, 10):\n    print(f"\\r\\x1b[K{n} % of the work", end="")\nprint("\\rdone\\x1b[K")',
  );
  expect(payload.stdout).toEqual(['done']);
});

it('a long value is cut between its items, with a count, and can be read whole', async () => {
  const { content } = await bridge.call({ code: 'list(range(10_000))' });
  expect(content).toEqual([
    {
      type: 'text',
      text: expect.stringMatching(
        /^\[files.*\] result\.json.*\n=> \[0, 1, 2, .*, \d+, … 6,\d{3} more items\]$/,
      ),
    },
    expect.objectContaining({ type: 'resource_link', name: 'result.json', size: 48_891 }),
  ]);
});

it('pictures follow the text; what the code forges is left out with a sentence', async () => {
  const good = png(40, 30).toString('base64');
  const bomb = png(1, 1, { claimed: [100_000, 100_000] }).toString('base64');
  const code = `
import base64
from mcp._binding import current
class Chart:
    def _repr_png_(self):
        return base64.b64decode("${good}")
print("before")
runtime.display(Chart())
for data in ("${bomb}", "${good.slice(0, 60)}", "no base64", "A" * 3_000_000):
    current().link.send({"type": "picture", "data": data})
Chart()
`;
  const { content, structuredContent } = await bridge.call({ code });
  const image = { type: 'image', data: good, mimeType: 'image/png' };
  expect(content).toEqual([expect.objectContaining({ type: 'text' }), image, image]);
  expect((content[0] as { text: string }).text.split('\n')).toEqual([
    'before',
    '[picture 1: 40x30 png, 1 KB]',
    '[picture 6: 40x30 png, 1 KB]',
    '[picture 2 is not shown: it has 100000x100000 pixels, and each side may have at most 2000]',
    '[picture 3 is not shown: it is not a complete PNG, JPEG, GIF or WebP]',
    '[picture 4 is not shown: it is not base64]',
    '[1 more picture is not shown]',
  ]);
  expect(JSON.stringify(structuredContent)).not.toContain(good);
});

it('binary output does not break the stream', async () => {
  const payload = await bridge.run(
    'import sys\nsys.stdout.buffer.write(bytes(range(256)) * 100)\nprint("after")',
  );
  expect(payload.status).toBe('success');
  expect(payload.stdout?.at(-1)).toMatch(/after$/);
});
