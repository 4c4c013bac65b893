// The trust line under fire: whatever hostile code writes, the host neither throws nor hangs nor changes an object that
// is not its own, calls nothing but what was loaded, answers each call once, and sends what any client can parse.
// `scripts/test` does the same with ten times as many inputs, `npm run fuzz` with a hundred times as many. A failure prints
// the seed that makes it again.

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { RawJson, sliceAt, stringify } from '../../src/base/json/json-text.js';
import { readMessage, readOversized } from '../../src/servers/connection/inbound.js';
import { envelopeOf } from '../../src/wire/envelope.js';
import { LineSplitter } from '../../src/wire/lines.js';
import { HANGS_MS } from '../support/time.js';
import { hear } from './host-end.js';
import { hostileBytes } from './hostile-frames.js';
import { type Random, randomJson, randomString, seeded } from './random.js';

const INPUTS = Number(process.env['FUZZ_INPUTS'] ?? 4_000);
const VALUES = Number(process.env['FUZZ_VALUES'] ?? 1_000);
const SEED = Number(process.env['FUZZ_SEED'] ?? 1);
/** Each input takes a tenth of a millisecond on an idle machine; a run of millions of them does not hang. */
const TIMEOUT_MS = 2 * HANGS_MS + 30 * INPUTS;
const MB = 1024 * 1024;
/** What is said of their sum needs many. */
const ARE_MANY = INPUTS >= 1_000;

const PROTOTYPES = [Object.prototype, Array.prototype, Function.prototype, String.prototype, Map.prototype];
const prototypes = () => PROTOTYPES.map((one) => Reflect.ownKeys(one).length).join();

/** What is still used when all garbage is collected: before, it is chance how much of it there is. */
function usedBytes(): number {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Runs `check` with every seed; the first that fails is named. */
async function everySeed(count: number, check: (random: Random) => unknown): Promise<void> {
  for (let seed = SEED; seed < SEED + count; seed++) {
    try {
      await check(seeded(seed));
    } catch (cause) {
      throw new Error(`FUZZ_SEED=${seed}: ${cause instanceof Error ? cause.message : cause}`, { cause });
    }
  }
}

function inPieces(random: Random, bytes: Buffer): Buffer[] {
  if (random.oneIn(2)) return [bytes];
  const cut = random.below(bytes.length + 1);
  return [bytes.subarray(0, cut), bytes.subarray(cut)];
}

describe('hostile frames', () => {
  it(`${INPUTS} inputs do no harm`, { timeout: TIMEOUT_MS }, async () => {
    const before = prototypes();
    const rejections: unknown[] = [];
    const onRejection = (thrown: unknown) => void rejections.push(thrown);
    process.on('unhandledRejection', onRejection);
    const counts = { frames: 0, calls: 0, violations: 0, reached: 0 };
    // Not before the first quarter: until then the compiler fills its own places.
    let usedEarly = 0;
    let round = 0;
    await everySeed(INPUTS, async (random) => {
      const heard = await hear(inPieces(random, hostileBytes(random)));
      const calls = heard.frames.filter((type) => type === 'call').length;
      counts.frames += heard.frames.length;
      counts.calls += calls;
      counts.reached += heard.reached.length;
      counts.violations += heard.violations.length;
      if (heard.violations.length > 1) throw new Error('more than one violation');
      const codes = heard.violations.map(({ code }) => code);
      if (codes.some((code) => code !== 'E_PROTOCOL')) throw new Error(`a violation ${codes}`);
      if (heard.violations.length === 0 && heard.sent.length > calls) throw new Error('answered twice');
      for (const call of heard.reached)
        if (!/^open (?:echo \{|(?:resources|prompts)\/)/.test(call)) throw new Error(`called ${call}`);
      for (const line of heard.sent) JSON.parse(line);
      if (round % 50 === 0 && prototypes() !== before) throw new Error('a prototype was changed');
      if (++round === Math.floor(INPUTS / 4)) usedEarly = usedBytes();
    });
    process.off('unhandledRejection', onRejection);
    expect(rejections).toEqual([]);
    console.log(`${INPUTS} inputs:`, counts);
    if (!ARE_MANY) return;
    expect((usedBytes() - usedEarly) / MB).toBeLessThan(16);
    // The generator is worth its time only while it gets past the first check.
    expect(counts.calls).toBeGreaterThan(INPUTS / 4);
    expect(counts.reached).toBeGreaterThan(INPUTS / 20);
    expect(counts.violations).toBeGreaterThan(INPUTS / 10);
  });

  it('every input split at every byte gives the same', { timeout: TIMEOUT_MS }, async () => {
    await everySeed(Math.min(40, INPUTS), async (random) => {
      const bytes = hostileBytes(random).subarray(0, 600);
      const whole = await hear([bytes]);
      for (let cut = 0; cut <= bytes.length; cut++) {
        const pieces = await hear([bytes.subarray(0, cut), bytes.subarray(cut)]);
        if (JSON.stringify(pieces) !== JSON.stringify(whole)) throw new Error(`cut at ${cut}`);
      }
      const bytewise = await hear(Array.from(bytes, (byte) => Buffer.from([byte])));
      if (JSON.stringify(bytewise) !== JSON.stringify(whole)) throw new Error('cut everywhere');
    });
  });
});

describe('what a server answers', () => {
  it('hostile lines are a message or none', async () => {
    await everySeed(VALUES, (random) => {
      const bytes = hostileBytes(random).toString().replace('"type"', '"jsonrpc"');
      for (const line of [bytes, `{"jsonrpc":"2.0",${bytes.slice(1)}`, '['.repeat(600) + bytes]) {
        readMessage(line);
        readOversized(line.length, envelopeOf(line));
      }
    });
  });
});

describe('relayed text', () => {
  it(`${VALUES} random values arrive to the last character`, async () => {
    await everySeed(VALUES, (random) => {
      const value = randomJson(random, 6);
      const other = () => `${randomString(random)}:${randomJson(random, 3)}`;
      const params = `{${other()},"arguments": ${value} ,"n":0}`;
      const frame = `{"type":"call",${other()},"id":1,"params":${params}}`;
      const slice = sliceAt(frame, ['params', 'arguments']);
      if (slice !== value) throw new Error(`${slice} of ${frame}`);
      const line = stringify({ jsonrpc: '2.0', id: 1, params: { name: 'x', arguments: new RawJson(value) } });
      const wanted = `{"jsonrpc":"2.0","id":1,"params":{"name":"x","arguments":${value}}}`;
      if (line !== wanted) throw new Error(`${line} instead of ${wanted}`);
      // The same value, to every other reader of JSON.
      const read = (JSON.parse(frame) as { params: { arguments: unknown } }).params.arguments;
      if (JSON.stringify(read) !== JSON.stringify(JSON.parse(value))) throw new Error('another value');
    });
  });
});

describe('LineSplitter', () => {
  it('keeps to its cap and to the lines of the whole, however the bytes come', async () => {
    await everySeed(VALUES, (random) => {
      const pieces = Array.from({ length: random.below(12) }, () =>
        random.pick(['a', '\n', '\n\n', '{"x":1}', 'é😀', '\r\n', 'y'.repeat(30), '\0']),
      );
      const bytes = Buffer.from(pieces.join(''));
      const splitter = new LineSplitter(20);
      const lines = [];
      for (let at = 0; at < bytes.length; ) {
        const size = 1 + random.below(9);
        lines.push(...splitter.push(bytes.subarray(at, at + size)));
        at += size;
      }
      const wanted = bytes.toString().split('\n');
      wanted.pop();
      const got = lines.map((line) => ('text' in line ? line.text : line.oversized));
      const expected = wanted.map((line) => (Buffer.byteLength(line) <= 20 ? line : Buffer.byteLength(line)));
      if (JSON.stringify(got) !== JSON.stringify(expected)) throw new Error(`${got} instead of ${expected}`);
    });
  });
});
