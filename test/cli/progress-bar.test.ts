import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { BuildProgress } from '../../src/cli/setup/image.js';
import { progressLine } from '../../src/cli/terminal/progress-bar.js';

/** A stream that is a terminal of 80 columns or a pipe, and all that was written to it. */
function stream(isTTY: boolean): { stderr: NodeJS.WriteStream; said: () => string } {
  const pass = new PassThrough();
  const chunks: string[] = [];
  pass.on('data', (chunk: Buffer) => chunks.push(chunk.toString()));
  const stderr = Object.assign(pass, { isTTY, columns: 80 }) as unknown as NodeJS.WriteStream;
  return { stderr, said: () => chunks.join('') };
}

const LINES = [
  'Installing python3, tzdata from Debian trixie',
  'downloading packages with apt...',
  'extracting archives...',
  'success in 12.2 seconds',
  'Importing as localhost/x/python:1',
];

describe('a bar', () => {
  it('says share, megabytes, seconds and step', () => {
    expect(progressLine({ step: 'extracting archives', share: 0.5, bytes: 34_400_000 }, 12_700, 80)).toBe(
      '[########--------]   50 %   34 MB   12 s  extracting archives',
    );
  });

  it('says no share and no size that nobody knows', () => {
    expect(progressLine({ step: 'Copying blob' }, 900, 80)).toBe('  0 s  Copying blob');
  });

  it.each([80, 120])('is shorter than a terminal of %i columns', (columns) => {
    const line = progressLine({ step: 'x'.repeat(200), share: 1, bytes: 1e12 }, 1e8, columns);
    expect(line.length).toBeLessThan(columns);
    expect(line.endsWith('...')).toBe(true);
  });
});

describe('the making of an image', () => {
  it('in a pipe is one plain line for each step', () => {
    const { stderr, said } = stream(false);
    using progress = new BuildProgress(stderr);
    for (const line of LINES) {
      progress.onProgress(line);
      progress.onBytes(1e6);
    }
    expect(said()).toBe(LINES.map((line) => `${line.replace('...', '')}\n`).join(''));
  });

  it.each([true, false])('says nothing with --quiet (on a terminal: %s)', (isTTY) => {
    const { argv } = process;
    process.argv = [...argv.slice(0, 2), 'image', 'build', '--quiet'];
    try {
      const { stderr, said } = stream(isTTY);
      using progress = new BuildProgress(stderr);
      for (const line of LINES) progress.onProgress(line);
      expect(said()).toBe('');
    } finally {
      process.argv = argv;
    }
  });

  it('on a terminal never goes back, and takes the bar away at its end', () => {
    const { stderr, said } = stream(true);
    const progress = new BuildProgress(stderr);
    for (const line of LINES) progress.onProgress(line);
    progress.onBytes(71e6);
    progress[Symbol.dispose]();
    const shares = [...said().matchAll(/(\d+) %/g)].map(([, share]) => Number(share));
    expect(shares).toEqual([...shares].sort((a, b) => a - b));
    expect(said()).toContain('71 MB');
    expect(said()).not.toContain('success in');
    expect(said().endsWith('\r\u001b[2K')).toBe(true);
    expect(said()).not.toContain('\n');
  });
});
