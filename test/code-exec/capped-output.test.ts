// Two streams that share one cap, and the answer that is made of them: never more than arrives.

import { describe, expect, it } from 'vitest';
import { CappedOutput } from '../../src/code-exec/capped-output.js';
import { MAX_ANSWER_CHARS, resultOf } from '../../src/code-exec/execute-result.js';
import { MAX_SENT_CHARS } from '../../src/mcp/requests/stdio-transport.js';
import { showStrings } from '../../src/run/answer/payload.js';

function output(maxBytes: number, stdout: Buffer | string, stderr: Buffer | string = ''): CappedOutput {
  const made = new CappedOutput(maxBytes);
  made.add('stdout', Buffer.from(stdout));
  made.add('stderr', Buffer.from(stderr));
  return made;
}
const kept = (made: CappedOutput, maxBytes: number) => {
  const { stdout, stderr } = made.result(maxBytes, {});
  return [stdout.bytes - stdout.dropped, stderr.bytes - stderr.dropped];
};

describe('the cap of both streams', () => {
  it.each([
    [40, 10, 40, 10],
    [100, 0, 100, 0],
    [200, 0, 100, 0],
    [0, 200, 0, 100],
    [200, 30, 70, 30],
    [30, 200, 30, 70],
    [60, 60, 50, 50],
    [200, 200, 50, 50],
    [50, 50, 50, 50],
  ])('%i and %i bytes: of 100 they get %i and %i', (out, err, outKept, errKept) => {
    expect(kept(output(100, 'o'.repeat(out), 'e'.repeat(err)), 100)).toEqual([outKept, errKept]);
  });

  it('can be made tighter afterwards', () => {
    const made = output(100, 'a'.repeat(60) + 'b'.repeat(60), 'e'.repeat(10));
    expect(kept(made, 30)).toEqual([20, 10]);
    expect(made.result(30, { stdout: 'kept://x' }).stdout.text).toBe(
      `${'a'.repeat(10)}\n[… 100 of 120 bytes left out; whole: kept://x …]\n${'b'.repeat(10)}`,
    );
    expect(kept(output(101, 'x'.repeat(200), 'y'.repeat(200)), 101)).toEqual([51, 50]);
  });
});

describe('an answer', () => {
  const end = (made: CappedOutput) => ({
    exitCode: 0,
    signal: undefined,
    killedFor: undefined,
    notStarted: undefined,
    output: made,
    durationMs: 1,
  });

  it.each([
    ['text', 'x'.repeat(5_000_000)],
    ['escapes', '\u0000'.repeat(5_000_000)],
    ['lines', '"\n'.repeat(2_500_000)],
    ['large characters', '漢'.repeat(5_000_000)],
    ['bytes that are no text', Buffer.alloc(5_000_000, 0xff)],
    ['what does not show', '\u200b'.repeat(2_000_000)],
    ['carriage returns', '\rx'.repeat(2_500_000)],
  ])('fits, however much %s is within the cap', (_what, printed) => {
    const result = resultOf(end(output(64_000_000, printed)), 1_000, { stdout: 'kept://x' });
    // As it is, and as the bridge sends it.
    const length = Math.max(JSON.stringify(result).length, JSON.stringify(showStrings(result)).length);
    expect(length).toBeLessThanOrEqual(MAX_ANSWER_CHARS);
    expect(length).toBeGreaterThan(MAX_ANSWER_CHARS / 2);
    expect(result.structuredContent).toMatchObject({
      stdoutTruncated: true,
      stdoutBytes: Buffer.byteLength(printed),
      stdoutUri: 'kept://x',
    });
  });

  it('is left as it is where it fits', () => {
    const { structuredContent } = resultOf(end(output(64_000_000, 'x'.repeat(2_900_000))), 1_000);
    expect(String(structuredContent?.['stdout'])).toHaveLength(2_900_000);
  });

  it('has room around it in what is sent', () => {
    expect(MAX_ANSWER_CHARS).toBeLessThan(MAX_SENT_CHARS - 100_000);
  });
});
