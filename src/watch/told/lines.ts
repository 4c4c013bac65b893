// Lines of JSON on a socket, in both directions.

import type { Socket } from 'node:net';
import { jsonIn } from '../../base/json/records.js';
import { MAX_LINE_BYTES } from './told.js';

const NEWLINE = 10;

export const lineOf = (message: object): string => `${JSON.stringify(message)}\n`;

/** Calls `onMessage` with each line's value, undefined for a line that is no JSON. A socket with too long a line is destroyed. */
export function readLines(socket: Socket, onMessage: (value: unknown) => void): void {
  let pieces: Buffer[] = [];
  let bytes = 0;
  socket.on('data', (chunk: Buffer) => {
    let from = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, from)) {
      const line = Buffer.concat([...pieces, chunk.subarray(from, end)]).toString();
      pieces = [];
      bytes = 0;
      from = end + 1;
      onMessage(jsonIn(line));
    }
    if (from === chunk.length) return;
    pieces.push(chunk.subarray(from));
    bytes += chunk.length - from;
    if (bytes > MAX_LINE_BYTES) socket.destroy();
  });
}
