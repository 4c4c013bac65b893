// What readers leave unread is bounded, without the buffers of a network in between.

import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { expect, it, onTestFinished, vi } from 'vitest';
import { ResponseStreams } from '../../../src/service/http/response-stream.js';
import { HANGS_MS, until } from '../../support/time.js';

/** Takes `room` parts, and then nothing until it is told to. */
class Reader extends EventEmitter {
  destroyed = false;
  taken = 0;
  isWhole = false;
  constructor(private room: number) {
    super();
  }
  write(part: Uint8Array): boolean {
    this.taken += part.byteLength;
    this.room--;
    return this.room > 0;
  }
  end(): void {
    this.isWhole = true;
  }
  destroy(): void {
    this.destroyed = true;
    this.emit('close');
  }
}

const LIMITS = { unreadMs: 50, unreadBytes: 1_000_000, unreadBytesInAll: 1_500_000 };
const send = (streams: ResponseStreams, body: ReadableStream<Uint8Array>, reader: Reader) =>
  streams.send(body, reader as unknown as ServerResponse);
const bodyOf = (...sizes: readonly number[]) =>
  new ReadableStream<Uint8Array>({
    start(controller) {
      for (const size of sizes) controller.enqueue(new Uint8Array(size));
      controller.close();
    },
  });

it('a reader that takes all gets all', async () => {
  const reader = new Reader(1_000);
  await send(new ResponseStreams(LIMITS), bodyOf(10, 300_000, 5), reader);
  expect(reader).toMatchObject({ isWhole: true, taken: 300_015, destroyed: false });
});

it('one that takes nothing for too long is given up, and is not told that this was all', async () => {
  const reader = new Reader(1);
  const streams = new ResponseStreams(LIMITS);
  await send(streams, bodyOf(200_000), reader);
  expect(reader).toMatchObject({ destroyed: true, isWhole: false });
  expect(reader.taken).toBeLessThan(200_000);
  expect(streams.unreadBytes).toBe(0);
});

it('one that takes a little now and then is waited for', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const reader = new Reader(1);
  const sending = send(new ResponseStreams(LIMITS), bodyOf(400_000), reader);
  for (let taken = 0; taken < 10; taken++) {
    await vi.advanceTimersByTimeAsync(LIMITS.unreadMs - 1);
    reader.emit('drain');
  }
  await sending;
  expect(reader).toMatchObject({ isWhole: true, taken: 400_000 });
});

it('one that leaves too much is given up at once, and its source is told', async () => {
  const reader = new Reader(1);
  let wasCancelled = false;
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(new Uint8Array(300_000)),
    cancel: () => {
      wasCancelled = true;
    },
  });
  await send(new ResponseStreams({ ...LIMITS, unreadMs: HANGS_MS }), body, reader);
  expect(reader).toMatchObject({ destroyed: true, isWhole: false });
  expect(wasCancelled).toBe(true);
});

it('of several that leave too much together, the one with the most goes', async () => {
  const streams = new ResponseStreams({ ...LIMITS, unreadMs: HANGS_MS });
  const [most, less] = [new Reader(1), new Reader(1)];
  const sending = [send(streams, bodyOf(900_000), most), send(streams, bodyOf(700_000), less)];
  await until(() => most.destroyed);
  expect([most.destroyed, less.destroyed]).toEqual([true, false]);
  less.destroy();
  await Promise.all(sending);
});
