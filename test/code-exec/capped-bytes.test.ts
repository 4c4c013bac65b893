import { describe, expect, it } from 'vitest';
import { CappedBytes } from '../../src/code-exec/capped-output.js';

function capped(maxBytes: number, ...chunks: readonly Buffer[]) {
  const bytes = new CappedBytes(maxBytes);
  for (const chunk of chunks) bytes.add(chunk);
  return bytes.result();
}

describe('CappedBytes', () => {
  it('keeps what fits as it is, however it comes', () => {
    const text = 'aé€😀\n';
    const all = Buffer.from(text);
    expect(capped(all.length, all)).toEqual({
      text,
      bytes: all.length,
      dropped: 0,
      base64: undefined,
    });
    expect(capped(all.length, ...[...all].map((byte) => Buffer.from([byte]))).text).toBe(text);
    expect(capped(10)).toMatchObject({ text: '', bytes: 0, dropped: 0, base64: undefined });
  });

  it.each(['é', '€', '😀'])('cuts between characters: %s', (character) => {
    for (let max = 8; max < 32; max++) {
      const { text, bytes, dropped } = capped(max, Buffer.from(character.repeat(100)));
      const [head = '', , tail = ''] = text.split('\n');
      expect(text).not.toContain('�');
      expect(bytes - dropped).toBe(Buffer.byteLength(head) + Buffer.byteLength(tail));
      expect(bytes - dropped).toBeLessThanOrEqual(max);
      expect(bytes - dropped).toBeGreaterThan(max - 8);
    }
  });

  it('counts exactly, and shows bytes that are no text as such', () => {
    const noise = Buffer.from([0xff, 0xfe, 0x80, 0x00]);
    expect(capped(4, noise)).toEqual({
      text: '\ufffd\ufffd\ufffd\0',
      bytes: 4,
      dropped: 0,
      base64: noise.toString('base64'),
    });
    expect(capped(2, noise)).toMatchObject({ bytes: 4, base64: undefined });
    const many = Array.from({ length: 10_000 }, () => Buffer.from('x'));
    const { text, bytes, dropped } = capped(100, ...many);
    expect([bytes, dropped]).toEqual([10_000, 9_900]);
    expect(text.replaceAll(/[^x]/g, '')).toHaveLength(100);
  });
});
