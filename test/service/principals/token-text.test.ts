import { describe, expect, it } from 'vitest';
import { hashOfToken, isTokenText, newTokenText } from '../../../src/service/access/token-file.js';

describe('the text of a token', () => {
  it('has a prefix, 256 bits and a checksum, in characters that a double click selects', () => {
    expect(newTokenText()).toMatch(/^msb_[0-9A-Za-z]{49}$/);
    // The largest number of 256 bits still fits, and the smallest keeps its zeros.
    expect(newTokenText(Buffer.alloc(32, 0xff))).toHaveLength(53);
    expect(newTokenText(Buffer.alloc(32))).toMatch(/^msb_0{43}/);
  });

  it('is another each time', () => {
    expect(new Set(Array.from({ length: 200 }, () => newTokenText())).size).toBe(200);
  });

  it('is recognised, and every single wrong character is noticed', () => {
    const text = newTokenText();
    expect(isTokenText(text)).toBe(true);
    for (let at = 4; at < text.length; at++) {
      const other = text[at] === 'a' ? 'b' : 'a';
      expect(isTokenText(text.slice(0, at) + other + text.slice(at + 1)), `at ${at}`).toBe(false);
    }
  });

  it.each([
    ['cut', (text: string) => text.slice(0, -1)],
    ['longer', (text: string) => `${text}0`],
    ['with a space', (text: string) => `${text} `],
    ['of another prefix', (text: string) => text.replace('msb_', 'ghp_')],
    ['two neighbours exchanged', (text: string) => text.replace(/^(.{20})(.)(.)/, '$1$3$2')],
  ])('is not recognised %s', (_what, change) => {
    expect(isTokenText(change(newTokenText(Buffer.from('0123456789abcdef0123456789abcdef'))))).toBe(false);
  });

  it('is kept as a hash that does not contain it', () => {
    const text = newTokenText();
    expect(hashOfToken(text)).toHaveLength(32);
    expect(hashOfToken(text).toString('hex')).not.toContain(text.slice(4, 12));
  });
});
