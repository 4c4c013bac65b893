// The page on a server of its own, on this machine alone.

import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type FrontOptions, WatchFront } from './front.js';
import { OwnLinks } from './keys.js';
import { originHere } from './own-requests.js';
import { OPERATOR, type Viewer } from './sources.js';

type OwnOptions = Pick<FrontOptions, 'closed' | 'file' | 'sources'>;

export class OwnServer implements AsyncDisposable {
  readonly #links = new OwnLinks();
  readonly #front: WatchFront;
  readonly #server: Server;
  #port = 0;

  /**
   * Listens on 127.0.0.1; port 0 is any. Rejects where the port cannot be had. With `outlives` the process lives for it, as long as
   * it is not disposed of.
   */
  static async open(
    options: OwnOptions,
    { port = 0, outlives = true }: { readonly port?: number | undefined; readonly outlives?: boolean } = {},
  ): Promise<OwnServer> {
    const own = new OwnServer(options);
    if (!outlives) own.#server.on('connection', (socket) => socket.unref());
    own.#server.listen(port, '127.0.0.1');
    await once(own.#server, 'listening');
    own.#port = (own.#server.address() as AddressInfo).port;
    if (!outlives) own.#server.unref();
    return own;
  }

  private constructor(options: OwnOptions) {
    this.#front = new WatchFront({ ...options, useLink: (secret) => this.#links.use(secret) });
    this.#server = makePageServer(
      (request, response) => void this.#front.serve(request, response, originHere(request, this.#port)),
    );
  }

  /** An address that opens the page once, and again in the browser that has opened it. */
  newLink(viewer: Viewer = OPERATOR): string {
    return `http://127.0.0.1:${this.#port}/open/${this.#links.make(viewer)}`;
  }

  /** Tells open pages at once what has changed, which they would hear in a moment otherwise. */
  look(): void {
    this.#front.look();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#front[Symbol.dispose]();
    await endPageServer(this.#server);
  }
}

// The HTTP server of a page for the user of this machine: limits for a browser, and its end.

const MAX_HEADER_BYTES = 8_192;
/** Limits for the headers of a request, and for the whole request. */
const HEADERS_WITHIN_MS = 10_000;
const REQUEST_WITHIN_MS = 20_000;
const MAX_CONNECTIONS = 64;
/** How long a page that is under way may still take when the server ends. */
const ENDS_WITHIN_MS = 500;

/** A server within these limits, which does not listen yet. */
function makePageServer(serve: RequestListener): Server {
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
async function endPageServer(server: Server): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  server.closeIdleConnections();
  const timer = setTimeout(() => server.closeAllConnections(), ENDS_WITHIN_MS);
  await closed;
  clearTimeout(timer);
}
