// Facts about streams that several layers need: the names of a program's two, how they wait for one, and how long what a
// process said is listened for after its end.

import type { Readable, Writable } from 'node:stream';
import { waitAtMost } from '../waiting/unless-aborted.js';

/** The two streams that a program writes its output to. */
export type OutputStream = 'stdout' | 'stderr';

/** Resolves when nobody can write to `stream` any more and what was written has been read. */
export const waitForClose = (stream: Readable): Promise<unknown> =>
  stream.closed ? Promise.resolve() : new Promise((resolve) => stream.once('close', resolve));

/** Time within which the words that a process left in its pipes at its end are surely read. */
const HEARD_WITHIN_MS = 250;

/**
 * Waits once more, for whoever tells how a process has ended: once its exit is known, Node tells an exit, a broken pipe and the
 * ends of the streams in any order. Resolves when `streams`, which somebody reads, have been read to their ends; where another
 * process holds one open, when what stood in it has been read. Never rejects.
 */
export async function heardOut(streams: readonly Readable[], withinMs = HEARD_WITHIN_MS): Promise<void> {
  await waitAtMost(withinMs, Promise.all(streams.map(waitForClose)));
  if (streams.every((stream) => stream.closed)) return;
  // The time may have passed before we had a turn to read: what is there is read before this comes.
  await new Promise((resolve) => setImmediate(resolve));
}

/** Resolves when `stream` takes more: what was written has been read; or it takes nothing any more. */
export const waitForDrain = (stream: Writable): Promise<void> =>
  new Promise((resolve) => {
    const events = ['drain', 'error', 'close'] as const;
    const done = () => {
      for (const event of events) stream.off(event, done);
      resolve();
    };
    if (!stream.writableNeedDrain) return resolve();
    for (const event of events) stream.on(event, done);
  });
