import { execFileSync } from 'node:child_process';
import { closeSync, constants, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { expect, it, onTestFinished } from 'vitest';
import { heardOut } from '../../src/base/process/streams.js';
import { HANGS_MS, pause } from '../support/time.js';

/** A pipe as that of a process, with a descriptor of its other end, and what has been read of it. */
function pipe() {
  const folder = mkdtempSync(join(tmpdir(), 'heard-out-'));
  const path = join(folder, 'pipe');
  execFileSync('mkfifo', [path]);
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const otherEnd = openSync(path, constants.O_WRONLY);
  rmSync(folder, { recursive: true });
  const stream = new Socket({ fd, readable: true, writable: false });
  let text = '';
  stream.on('data', (chunk) => {
    text += chunk;
  });
  onTestFinished(() => void stream.destroy());
  return { stream, otherEnd, said: () => text };
}

/** Keeps our process from its turn, as a busy machine does. */
function beBusyFor(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

it('both streams are read to their ends, in whatever order they come', async () => {
  for (const order of [
    [0, 1],
    [1, 0],
  ]) {
    const streams = [new PassThrough(), new PassThrough()];
    for (const stream of streams) stream.resume();
    let isHeard = false;
    const heard = heardOut(streams, HANGS_MS).then(() => {
      isHeard = true;
    });
    for (const index of order) {
      expect(isHeard).toBe(false);
      streams[index]?.end('words');
      await pause(5);
    }
    await heard;
  }
});

it('one that another process holds open is given up, and what stood in it has been read', async () => {
  const { stream, otherEnd, said } = pipe();
  onTestFinished(() => closeSync(otherEnd));
  await pause(5);
  // From here timers come before reading.
  await new Promise((resolve) => setImmediate(resolve));
  const heard = heardOut([stream], 5);
  writeSync(otherEnd, 'x'.repeat(60_000));
  beBusyFor(50);
  await heard;
  expect(said()).toHaveLength(60_000);
  expect(stream.closed).toBe(false);
});

it('streams that have been closed before are not waited for', async () => {
  const { stream, otherEnd } = pipe();
  closeSync(otherEnd);
  while (!stream.closed) await pause(5);
  await heardOut([stream], HANGS_MS);
});
