// What several floors know of streams: the names of a program's two, and how they wait for one.

import type { Readable, Writable } from 'node:stream';

/** What a program says its words on. */
export type OutputStream = 'stdout' | 'stderr';

/** Resolves when nobody can write to `stream` any more and what was written has been read. */
export const closed = (stream: Readable): Promise<unknown> =>
  stream.closed ? Promise.resolve() : new Promise((resolve) => stream.once('close', resolve));

/** Resolves when `stream` takes more: what was written has been read; or it takes nothing any more. */
export const drained = (stream: Writable): Promise<void> =>
  new Promise((resolve) => {
    const events = ['drain', 'error', 'close'] as const;
    const done = () => {
      for (const event of events) stream.off(event, done);
      resolve();
    };
    if (!stream.writableNeedDrain) return resolve();
    for (const event of events) stream.on(event, done);
  });
