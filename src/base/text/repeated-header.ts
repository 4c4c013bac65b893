// Headers that a request has once. Of two of them one program reads the first and another one the last, and Node keeps one or
// joins them without a word: whoever decides by such a header refuses the request.

import type { IncomingMessage } from 'node:http';

/** Node itself refuses Content-Length that is there twice, or beside Transfer-Encoding. */
const ONCE = [
  'Host',
  'Authorization',
  'Origin',
  'Content-Length',
  'Content-Type',
  'Sec-Fetch-Site',
  'Sec-Fetch-Mode',
  'MCP-Session-Id',
  'MCP-Protocol-Version',
  'MCP-Method',
  'MCP-Name',
  'Last-Event-ID',
];

/** Why a request is answered with 400, in a sentence; undefined where each of them is there once at most. */
export function repeatedHeader({
  headersDistinct,
}: Pick<IncomingMessage, 'headersDistinct'>): string | undefined {
  for (const name of ONCE) {
    const { length } = headersDistinct[name.toLowerCase()] ?? [];
    if (length > 1) return `There are ${length} ${name} headers; send one.`;
  }
  return undefined;
}
