// What the code prints reaches a model and its client: as text without control characters, well-formed, and bounded.
// The control prints the same where no bridge is in front, and there it comes out as it is.

import type { Answer, Deed } from '../attack.js';
import type { RawOutput } from '../raw-container.js';

/** Two streams and a value, each capped at 40,000 characters, in the text and in the structured form. */
const MAX_ANSWER_CHARS = 400_000;
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const HARMFUL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/;

/** What is wrong with an answer as its client gets it. */
function harm({ payload, text }: Answer): string | undefined {
  const all = `${text}${JSON.stringify(payload)}`;
  if (all.length > MAX_ANSWER_CHARS) return `${all.length} characters`;
  const lines = [text, ...(payload.stdout ?? []), ...(payload.stderr ?? []), payload.error ?? ''].join('\n');
  const found = HARMFUL.exec(lines);
  if (found !== null) return `a character U+${found[0].charCodeAt(0).toString(16).padStart(4, '0')}`;
  return lines.isWellFormed() ? undefined : 'a lone surrogate';
}

type Print = {
  readonly id: string;
  readonly tries: string;
  readonly program: string;
  readonly through: (output: RawOutput) => boolean;
  readonly control?: string;
  readonly seconds?: number;
  readonly timeout?: number;
};

const output = ({
  id,
  tries,
  program,
  through,
  control = program,
  seconds = 5,
  timeout = 15,
}: Print): Deed => ({
  kind: 'deed',
  id: `output.${id}`,
  group: 'output',
  tries,
  program: `import os, sys, time\n${program}`,
  timeout,
  verdict: harm,
  control: { in: 'container', off: [], program: `import os, sys, time\n${control}`, seconds, through },
});

const holds =
  (...bytes: readonly (string | readonly number[])[]) =>
  (raw: RawOutput) =>
    bytes.every((each) => raw.stdout.includes(typeof each === 'string' ? each : Buffer.from(each)));

const FLOOD_BYTES = 20_000_000;
const flood = (id: string, tries: string, program: string): Deed =>
  output({
    id,
    tries,
    program,
    timeout: 2,
    seconds: 2,
    through: ({ bytes, stderrBytes }) => bytes + stderrBytes > FLOOD_BYTES,
  });

export const outputAttacks: readonly Deed[] = [
  flood('a flood', 'Prints for as long as it may.', 'while True:\n    os.write(1, b"x" * 65536)'),
  flood(
    'a flood of lines',
    'Prints lines for as long as it may.',
    'while True:\n    os.write(1, b"line\\n" * 10000)',
  ),
  flood(
    'a flood of errors',
    'Prints errors for as long as it may.',
    'while True:\n    os.write(2, b"x" * 65536)',
  ),
  flood(
    'a flood of nothing',
    'Prints NUL for as long as it may.',
    'while True:\n    os.write(1, bytes(65536))',
  ),
  flood(
    'a flood of children',
    'Has four processes print at once.',
    'for _ in range(2):\n    os.fork()\nwhile True:\n    os.write(1, b"y" * 65536)',
  ),
  {
    ...output({
      id: 'a million writes',
      tries: 'Prints a million characters one by one.',
      program: 'for _ in range(1_000_000):\n    os.write(1, b"z")',
      through: ({ bytes }) => bytes >= 1_000_000,
      seconds: 8,
      timeout: 20,
    }),
    gvisor: 'a write costs it some hundred times as much, so that neither comes to a million',
  },
  output({
    id: 'a flood at the end',
    tries: 'Prints 30 MB while it exits.',
    program: 'import atexit\natexit.register(lambda: [os.write(1, b"x" * 65536) for _ in range(460)])',
    through: ({ bytes }) => bytes > FLOOD_BYTES,
  }),
  output({
    id: 'one long line',
    tries: 'Prints a line of 30 MB.',
    program: 'print("x" * 30_000_000)',
    through: ({ bytes }) => bytes > FLOOD_BYTES,
  }),
  output({ id: 'nul', tries: 'Prints NUL.', program: 'print("a\\0b")', through: holds([0]) }),
  output({
    id: 'escapes',
    tries: 'Prints terminal escapes that clear the screen, set the title and write to the clipboard.',
    program: 'print("\\x1b[2J\\x1b]0;title\\x07\\x1b]52;c;bGVhaw==\\x07\\x9b31m")',
    through: holds([0x1b]),
  }),
  output({
    id: 'other directions',
    tries: 'Prints characters that turn the direction of a text.',
    program: 'print("abc\\u202edcba\\u202c\\u2066x\\u2069")',
    through: holds('\u202e'),
  }),
  output({
    id: 'a lone surrogate',
    tries: 'Prints half a character, which no JSON may hold.',
    program: 'sys.stdout.reconfigure(errors="surrogatepass")\nprint("\\ud800")',
    through: holds([0xed, 0xa0, 0x80]),
  }),
  output({
    id: 'a lone surrogate as the value',
    tries: 'Ends with half a character.',
    program: '"\\ud800 \\udfff"',
    control: 'sys.stdout.buffer.write("\\ud800".encode("utf-8", "surrogatepass"))',
    through: holds([0xed, 0xa0, 0x80]),
  }),
  output({
    id: 'a lone surrogate in an error',
    tries: 'Fails with half a character in its message.',
    program: 'raise ValueError("\\ud800\\x1b[2J")',
    control: 'sys.stdout.buffer.write("\\ud800\\x1b".encode("utf-8", "surrogatepass"))',
    through: holds([0xed, 0xa0, 0x80], [0x1b]),
  }),
  output({
    id: 'a class with a wild name',
    tries: 'Fails with an exception whose class is named in escapes.',
    program: 'raise type("\\x1b[2J" + "N" * 100_000, (Exception,), {})("\\x07")',
    control: 'print("\\x1b[2J" + "N" * 100_000)',
    through: ({ bytes }) => bytes > 100_000,
  }),
  output({
    id: 'bytes that are no text',
    tries: 'Prints bytes that are no UTF-8.',
    program: 'sys.stdout.buffer.write(b"\\xff\\xfe\\xc0\\xaf\\xed\\xa0\\x80")',
    through: holds([0xff, 0xfe, 0xc0, 0xaf]),
  }),
  output({
    id: 'a big value',
    tries: 'Ends with a value of 20 MB.',
    program: '"v" * 20_000_000',
    control: 'print("v" * 20_000_001)',
    through: ({ bytes }) => bytes > FLOOD_BYTES,
  }),
  output({
    id: 'a deep value',
    tries: 'Ends with a value nested 5,000 deep, which breaks clients that parse it.',
    program: 'value = []\nfor _ in range(5000):\n    value = [value]\nvalue',
    control: 'print("[" * 5001 + "]" * 5001)',
    through: holds('['.repeat(5001)),
  }),
  output({
    id: 'numbers that are no JSON',
    tries: 'Ends with values that JSON has no form for.',
    program: '[float("nan"), float("inf"), 10 ** 5000]',
    control: 'import json\nprint(json.dumps(float("nan")))',
    through: holds('NaN'),
  }),
  output({
    id: 'a chain of errors',
    tries: 'Fails with 300 long exceptions, each for the other.',
    program:
      'error = None\nfor n in range(300):\n    new = ValueError("x" * 3000)\n    new.__cause__ = error\n    error = new\nraise error',
    through: ({ stderrBytes }) => stderrBytes > 600_000,
  }),
  output({
    id: 'an answer of its own',
    tries: 'Prints an answer of the protocol between the bridge and its client.',
    program: 'print(\'{"jsonrpc":"2.0","id":1,"result":{"content":[]}}\\x1e\')',
    through: holds('"jsonrpc"'),
  }),
];
