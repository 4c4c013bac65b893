// Input that a command reads: a file that its user names, or stdin. All of the input at once, and no more than a run takes: a
// device or a pipe may have no end.

import { closeSync, openSync, readSync } from 'node:fs';
import { BridgeError, messageOf } from '../../base/errors.js';
import { KB_BYTES, MB_BYTES } from '../../base/text/sizes.js';
import { MAX_INPUT_BYTES } from '../../wire/frames.js';
import { usageError } from './output.js';

const CHUNK_BYTES = 64 * KB_BYTES;
const READABLE = 'Name a file that you may read.';

/** Throws E_ARGUMENTS with `remedy` where the file cannot be read. */
export function readInput(path: string, remedy = READABLE): Buffer {
  try {
    return readOpen(path);
  } catch (thrown) {
    if (thrown instanceof BridgeError) throw thrown;
    throw usageError(`${path} cannot be read: ${messageOf(thrown)}`, remedy);
  }
}

/** Waits for its end. Throws E_ARGUMENTS where there is more than a run takes. */
export async function readStdin(): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_INPUT_BYTES) throw tooMuch('stdin');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function readOpen(path: string): Buffer {
  const fd = openSync(path, 'r');
  try {
    const chunks: Buffer[] = [];
    let bytes = 0;
    for (;;) {
      const chunk = Buffer.alloc(CHUNK_BYTES);
      const read = readSync(fd, chunk);
      if (read === 0) return Buffer.concat(chunks);
      bytes += read;
      if (bytes > MAX_INPUT_BYTES) throw tooMuch(path);
      chunks.push(chunk.subarray(0, read));
    }
  } finally {
    closeSync(fd);
  }
}

const tooMuch = (what: string): BridgeError =>
  usageError(
    `${what} has more than ${MAX_INPUT_BYTES / MB_BYTES} MiB, the most that a run takes.`,
    'Give a part of it.',
  );
