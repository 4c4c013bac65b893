import { describe, expect, it } from 'vitest';
import { type Line, LineSplitter } from '../../src/wire/lines.js';

const texts = (lines: readonly Line[]) =>
  lines.map((line) => ('text' in line ? line.text : `oversized ${line.oversized}`));

describe('LineSplitter', () => {
  it('gives the same lines wherever the bytes are cut', () => {
    const bytes = Buffer.from('{"a":"é"}\n\n😀\nlast');
    for (let cut = 0; cut <= bytes.length; cut++) {
      const splitter = new LineSplitter(100);
      const lines = [...splitter.push(bytes.subarray(0, cut)), ...splitter.push(bytes.subarray(cut))];
      expect(texts(lines)).toEqual(['{"a":"é"}', '', '😀']);
      expect(splitter.rest()).toEqual({ text: 'last' });
    }
  });

  it('counts a line above its cap, keeps only the head of it, and goes on', () => {
    const skipped: string[] = [];
    const splitter = new LineSplitter(10, (piece) => void skipped.push(piece.toString()));
    const lines = [
      ...splitter.push(Buffer.from('abcdefgh')),
      ...splitter.push(Buffer.from('ijklmnop\nshort\n')),
    ];
    expect(lines).toEqual([{ oversized: 16, head: 'abcdefghijklmnop' }, { text: 'short' }]);
    expect(skipped).toEqual(['abcdefgh', 'ijklmnop']);
  });

  it('holds a gigabyte without a newline in constant memory', () => {
    const splitter = new LineSplitter(1024);
    const chunk = Buffer.alloc(1024 * 1024, 'x');
    const before = process.memoryUsage().arrayBuffers;
    for (let megabyte = 0; megabyte < 1024; megabyte++) expect([...splitter.push(chunk)]).toEqual([]);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(8 * 1024 * 1024);
  });
});
