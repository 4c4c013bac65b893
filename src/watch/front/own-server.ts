// The page on a server of its own, on this machine alone.

import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { originHere } from '../../policy/page/own-requests.js';
import { endPageServer, makePageServer } from '../../policy/page/page-server.js';
import { type FrontOptions, WatchFront } from './front.js';
import { OwnLinks } from './keys.js';
import { OPERATOR, type Viewer } from './sources.js';

const CLOSED =
  'This page is opened by a link, and each link opens it once. Run `mcp-sandbox-bridge ui` for another one.';

export class OwnServer implements AsyncDisposable {
  readonly #links = new OwnLinks();
  readonly #front: WatchFront;
  readonly #server: Server;
  #port = 0;

  /** Listens on 127.0.0.1; port 0 is any. Rejects where the port cannot be had. */
  static async open(options: Pick<FrontOptions, 'sources' | 'files'>, port = 0): Promise<OwnServer> {
    const own = new OwnServer(options);
    own.#server.listen(port, '127.0.0.1');
    await once(own.#server, 'listening');
    own.#port = (own.#server.address() as AddressInfo).port;
    return own;
  }

  private constructor(options: Pick<FrontOptions, 'sources' | 'files'>) {
    this.#front = new WatchFront({
      ...options,
      closed: CLOSED,
      useLink: (secret) => this.#links.use(secret),
    });
    this.#server = makePageServer(
      (request, response) => void this.#front.serve(request, response, originHere(request, this.#port)),
    );
  }

  /** An address that opens the page once, and again in the browser that has opened it. */
  newLink(viewer: Viewer = OPERATOR): string {
    return `http://127.0.0.1:${this.#port}/open/${this.#links.make(viewer)}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#front[Symbol.dispose]();
    await endPageServer(this.#server);
  }
}
