import { describe, expect, it } from 'vitest';
import { FrameReader, framesOf, messageFrame, messageIn } from '../../../src/service/windows/frames.js';

const all = (...chunks: readonly Buffer[]) => {
  const reader = new FrameReader();
  return chunks.flatMap((chunk) => [...reader.push(chunk)]);
};

describe('frames of a shared bridge', () => {
  it('come out as they went in, however they are cut on the way', () => {
    const bytes = Buffer.concat([
      ...framesOf('talk', Buffer.from('one\n')),
      ...framesOf('log', Buffer.from('ärger\n')),
      messageFrame({ is: 'held' }),
      ...framesOf('talk', Buffer.alloc(0)),
    ]);
    const whole = all(bytes).map(({ type, payload }) => [type, payload.toString()]);
    expect(whole).toEqual([
      ['talk', 'one\n'],
      ['log', 'ärger\n'],
      ['message', '{"is":"held"}'],
      ['talk', ''],
    ]);
    const single = Array.from(bytes, (byte) => Buffer.from([byte]));
    expect(all(...single).map(({ type, payload }) => [type, payload.toString()])).toEqual(whole);
  });

  it('of a long piece are several, which add up to it', () => {
    const long = Buffer.from('x'.repeat(1_000_000));
    const frames = all(Buffer.concat(framesOf('talk', long)));
    expect(frames.length).toBeGreaterThan(3);
    expect(Buffer.concat(frames.map(({ payload }) => payload)).equals(long)).toBe(true);
  });

  it('are refused where the other side is none of ours', () => {
    expect(() => all(Buffer.from('GET / HTTP/1.1\r\n'))).toThrow('No frame');
    expect(() => all(Buffer.from([0, 0xff, 0xff, 0xff, 0xff]))).toThrow('No frame');
  });

  it('hold a message only where it is an object', () => {
    expect(messageIn(Buffer.from('{"is":"held"}'))).toEqual({ is: 'held' });
    for (const text of ['', '[]', '7', 'null', '{"is":'])
      expect(messageIn(Buffer.from(text))).toBeUndefined();
  });
});
