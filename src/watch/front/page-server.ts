// The HTTP server of a page for the user of this machine: what it takes of a browser at most, and how it ends.

import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';

const MAX_HEADER_BYTES = 8_192;
/** Limits for the headers of a request, and for the whole request. */
const HEADERS_WITHIN_MS = 10_000;
const REQUEST_WITHIN_MS = 20_000;
const MAX_CONNECTIONS = 64;
/** How long a page that is under way may still take when the server ends. */
const ENDS_WITHIN_MS = 500;

/** A server within these limits, which does not listen yet. */
export function makePageServer(serve: RequestListener): Server {
  const server = createServer(
    {
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: HEADERS_WITHIN_MS,
      requestTimeout: REQUEST_WITHIN_MS,
    },
    serve,
  );
  server.maxConnections = MAX_CONNECTIONS;
  return server;
}

/** Resolves when nobody is connected any more, which `server` sees to. */
export async function endPageServer(server: Server): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  server.closeIdleConnections();
  const timer = setTimeout(() => server.closeAllConnections(), ENDS_WITHIN_MS);
  await closed;
  clearTimeout(timer);
}
