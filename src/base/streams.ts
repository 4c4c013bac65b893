// What of streams several rooms wait for.

import type { Readable } from 'node:stream';

/** Resolves when nobody can write to `stream` any more and what was written has been read. */
export const closed = (stream: Readable): Promise<unknown> =>
  stream.closed ? Promise.resolve() : new Promise((resolve) => stream.once('close', resolve));
