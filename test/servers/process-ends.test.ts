// How a server's process has ended is told when all that tells of it has been heard, in whatever order it comes: its exit,
// its last words, the ends of its streams, and a broken pipe. With a played process in every order, and with real ones.

import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { EventEmitter } from 'node:events';
import { PassThrough, Writable } from 'node:stream';
import { expect, it } from 'vitest';
import type { StdioSpec } from '../../src/hosts/downstream-spec.js';
import { helperHeaders } from '../../src/servers/remote/credentials.js';
import { type ProcessCalls, ProcessTree } from '../../src/servers/stdio/process-tree.js';
import { StdioTransport } from '../../src/servers/stdio/stdio-transport.js';
import { HANGS_MS, NEVER, pause, until } from '../support/time.js';
import { hostile, poolOf, spec } from './hostile.js';

const WORDS = 'cannot read its key';
const COMMAND = { command: '/played', args: [], env: {}, cwd: undefined };
const MESSAGE = { jsonrpc: '2.0' as const, id: 1, method: 'x' };
/** Longer than it takes to see that a process is gone, so that each event is dealt with before the next. */
const BETWEEN_MS = 20;

/** A process that reads nothing, whose end comes in pieces. */
class PlayedProcess extends EventEmitter {
  readonly pid = 42;
  readonly #writes: ((error: Error) => void)[] = [];
  readonly stdin = new Writable({ write: (_chunk, _encoding, done) => void this.#writes.push(done) });
  readonly stdout = new PassThrough();
  readonly stderr = new PassThrough();
  #isGone = false;

  readonly calls: ProcessCalls = {
    platform: 'linux',
    env: {},
    isFile: () => true,
    runToEnd: () => {},
    kill: () => {
      if (this.#isGone) throw new Error('ESRCH');
    },
    spawn: (() => {
      setImmediate(() => this.emit('spawn'));
      return this as unknown as ChildProcessWithoutNullStreams;
    }) as unknown as typeof spawn,
  };

  /** In the words of the test's names. */
  readonly pieces = {
    exit: () => {
      this.#isGone = true;
      this.emit('exit', 4, null);
    },
    'last words': () => void this.stderr.end(WORDS),
    'end of stdout': () => void this.stdout.end(),
    'broken pipe': () => {
      const broken = Object.assign(new Error('write EPIPE'), { code: 'EPIPE' });
      for (const done of this.#writes.splice(0)) done(broken);
    },
  };
}

type Piece = keyof PlayedProcess['pieces'];

const permutations = <T>(items: readonly T[]): T[][] =>
  items.length === 0
    ? [[]]
    : items.flatMap((item) =>
        permutations(items.filter((other) => other !== item)).map((rest) => [item, ...rest]),
      );

const ORDERS = permutations<Piece>(['exit', 'last words', 'end of stdout', 'broken pipe']);

/** A started transport, with what it told at its end and what was known then. */
async function played() {
  const child = new PlayedProcess();
  const transport = new StdioTransport(COMMAND, (text) => text, child.calls);
  const told: string[] = [];
  const tell = (what: string) => void told.push(`${what}: ${transport.ending}, ${transport.lastWords}`);
  transport.onclose = () => tell('closed');
  await transport.start();
  transport.send(MESSAGE).catch((thrown) => tell(thrown.message));
  return { child, transport, told };
}

it.concurrent.each(ORDERS)(
  'a server that ends is told with its code and its last words: %s, %s, %s, %s',
  async (...order) => {
    const { child, transport, told } = await played();
    for (const piece of order) {
      child.pieces[piece]();
      await pause(BETWEEN_MS);
    }
    await until(() => told.length === 2);
    expect(told.sort()).toEqual([
      `closed: exited with code 4, ${WORDS}`,
      `write EPIPE: exited with code 4, ${WORDS}`,
    ]);
    await transport.close();
  },
);

it('what was said is told although another process holds the streams open', async () => {
  const { child, transport, told } = await played();
  child.stderr.write(WORDS);
  child.pieces['broken pipe']();
  child.pieces.exit();
  await until(() => told.length === 2);
  expect(told).toContain(`closed: exited with code 4, ${WORDS}`);
  await transport.close();
});

it('a process that is ended keeps its streams until they are read', async () => {
  const child = new PlayedProcess();
  const tree = new ProcessTree(COMMAND, undefined, child.calls);
  let said = '';
  tree.stderr.on('data', (text) => {
    said += text;
  });
  tree.stdout.resume();
  const ended = tree.end();
  child.pieces.exit();
  await pause(BETWEEN_MS);
  child.pieces['last words']();
  child.pieces['end of stdout']();
  await ended;
  expect(said).toBe(WORDS);
});

const shell = (script: string): StdioSpec => spec('hostile', '/bin/sh', ['-c', script]);
const DIES = `echo ${WORDS} >&2; exit 4`;
const TOLD = `Server 'hostile' could not be started: it exited with code 4 before it was ready. Its last words:\n> ${WORDS}\n`;

async function whyNotStarted(entry: StdioSpec): Promise<string> {
  await using pool = poolOf([entry], { connectTimeoutMs: HANGS_MS });
  return await pool.get(entry.name, NEVER).then(
    () => 'it started',
    (thrown) => thrown.message,
  );
}

it.each([
  ['leaves another process with its streams', `sleep 60 & ${DIES}`],
  ['leaves one in a session of its own with them', `setsid sleep 3 & ${DIES}`],
  ['closes its input a while before', `exec 0<&-; sleep 0.3; ${DIES}`],
  ['closes its input and output a while before', `exec 0<&- 1>&-; sleep 0.3; ${DIES}`],
])('a server that %s is told with its code and its last words', async (_how, script) => {
  expect(await whyNotStarted(shell(script))).toBe(TOLD);
});

it('many servers that end at once on a busy machine are all told so', async () => {
  const busy = Array.from({ length: 8 }, () => spawn(process.execPath, ['-e', 'for (;;);']));
  try {
    const both = [hostile('exit-early=4'), shell(DIES)];
    const told = await Promise.all(Array.from({ length: 20 }, () => Promise.all(both.map(whyNotStarted))));
    expect([...new Set(told.flat())]).toEqual([TOLD]);
  } finally {
    for (const each of busy) each.kill('SIGKILL');
  }
});

it('a headersHelper that leaves a process with its output is not waited for', async () => {
  const env = { PATH: process.env['PATH'] ?? '' };
  const line = `setsid sleep 20 & printf '{"x-key":"1"}'`;
  const options = { env, redact: (text: string) => text };
  expect(await helperHeaders(line, options, NEVER)).toEqual({ 'x-key': '1' });
});
