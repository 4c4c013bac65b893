// A reader that is slow, one that comes back, a disk that is full: what is kept, what is dropped, and what is told of it.

import { execFileSync } from 'node:child_process';
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { fileTarget, LossyWriter } from '../../src/base/log/lossy-writer.js';

/** A target whose reader reads when told to. */
function slowReader() {
  const waiting: Array<{ line: string; done: (isWritten: boolean) => void }> = [];
  const read: string[] = [];
  return {
    read,
    target: {
      get waitingChars() {
        return waiting.reduce((sum, { line }) => sum + line.length, 0);
      },
      write: (line: string, done: (isWritten: boolean) => void) => void waiting.push({ line, done }),
    },
    readNext(count: number, isWritten = true) {
      for (const { line, done } of waiting.splice(0, count)) {
        if (line !== '') read.push(line);
        done(isWritten);
      }
    },
  };
}

function started(maxWaitingChars: number) {
  const reader = slowReader();
  const writer = new LossyWriter(reader.target, maxWaitingChars);
  writer.onRecovered = (dropped) => writer.write(`dropped ${dropped}\n`);
  return { ...reader, writer };
}

describe('a reader that is behind', () => {
  it('is given what fits, and told the rest as a number, once, in its place', () => {
    const { writer, read, readNext } = started(40);
    for (let at = 0; at < 10; at++) writer.write(`line ${at} ..\n`);
    readNext(2);
    writer.write('later\n');
    readNext(9);
    expect(read).toEqual([
      'line 0 ..\n',
      'line 1 ..\n',
      'line 2 ..\n',
      'line 3 ..\n',
      'dropped 6\n',
      'later\n',
    ]);
  });

  it('does not make the end wait', async () => {
    const { writer, read } = started(40);
    writer.write('line\n');
    await writer.flush(1);
    expect(read).toEqual([]);
  });

  it('that has read everything ends the wait', async () => {
    const { writer, read, readNext } = started(40);
    writer.write('line\n');
    const flushed = writer.flush(60_000);
    readNext(2);
    await flushed;
    expect(read).toEqual(['line\n']);
  });
});

it('a line that has no room at all costs no other one', () => {
  const { writer, read, readNext } = started(40);
  writer.write(`${'x'.repeat(50)}\n`);
  writer.write('next\n');
  readNext(1);
  readNext(1);
  expect(read).toEqual(['next\n', 'dropped 1\n']);
});

it('a reader that has gone is written to again when its place is taken', () => {
  const { writer, read, readNext } = started(40);
  writer.write(`${'x'.repeat(35)}\n`);
  writer.write('no room\n');
  readNext(1, false);
  writer.write('lost, too\n');
  writer.write('next\n');
  readNext(1);
  readNext(1);
  expect(read.slice(1)).toEqual(['next\n', 'dropped 3\n']);
});

it('lines that could not be written are told with the next that can', () => {
  const { writer, read, readNext } = started(40);
  writer.write('one\n');
  readNext(1, false);
  writer.write('two\n');
  readNext(1);
  readNext(1);
  expect(read.slice(1)).toEqual(['two\n', 'dropped 1\n']);
});

it('a file that takes half a line has the next one begin anew', () => {
  // A pipe that is full stands for a disk that is.
  const dir = mkdtempSync(join(tmpdir(), 'lossy-test-'));
  const path = join(dir, 'fifo');
  execFileSync('mkfifo', [path]);
  const fd = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  try {
    const { write } = fileTarget(fd);
    const told: boolean[] = [];
    write(`${'x'.repeat(100_000)}\n`, (isWritten) => told.push(isWritten));
    const buffer = Buffer.alloc(200_000);
    expect(buffer.toString('utf8', 0, readSync(fd, buffer))).toMatch(/^x+$/);
    write('next\n', (isWritten) => told.push(isWritten));
    expect(buffer.toString('utf8', 0, readSync(fd, buffer))).toBe('\nnext\n');
    expect(told).toEqual([false, true]);
  } finally {
    closeSync(fd);
    rmSync(dir, { recursive: true });
  }
});
