// Where the browser comes back to: a loopback HTTP server (RFC 8252) that takes one answer, the one that carries our
// `state`, and nothing else. Its pages say nothing of what they were sent.

import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { messageOf } from '../../base/errors.js';
import { KB_BYTES } from '../../base/text/sizes.js';
import { loginError } from './oauth-fetch.js';

const PATH = '/callback';
/** An answer has a code, a state and an issuer. */
const MAX_HEADER_BYTES = 16 * KB_BYTES;

/** The authorization server's answer. */
export type RedirectAnswer = {
  readonly params: URLSearchParams;
  /** Shows how the login ended to whoever looks at the browser. */
  finish(isDone: boolean): void;
};

/**
 * A server on the loopback for the one answer of a login, until it is disposed. Throws E_LOGIN where the port is taken.
 */
export async function openRedirectServer(options: {
  /** 0: any that is free. */
  readonly port: number;
  /** `localhost` for clients that were registered with it, which is how other hosts do it. */
  readonly host: '127.0.0.1' | 'localhost';
  readonly state: string;
}) {
  const receiver = new Receiver(options.state);
  const first = await listen(receiver, '127.0.0.1', options.port);
  const { port } = first.address() as AddressInfo;
  const servers = [first];
  // Browsers try this one first for `localhost`; machines without it have only the other.
  if (options.host === 'localhost') {
    const second = await listen(receiver, '::1', port).catch(() => undefined);
    if (second !== undefined) servers.push(second);
  }
  return {
    /** The address that the authorization server is to redirect to. */
    url: `http://${options.host}:${port}${PATH}`,
    /** The first answer with the right state. */
    answer: receiver.answer,
    /** The address that a browser elsewhere ended at; gives the reason where it is not taken, as a whole sentence. */
    paste: (address: string) => receiver.paste(address),
    [Symbol.asyncDispose]: () => Promise.all(servers.map(closeServer)).then(() => {}),
  };
}

async function listen(receiver: Receiver, address: string, port: number): Promise<Server> {
  const server = createServer({ maxHeaderSize: MAX_HEADER_BYTES }, (request, response) =>
    receiver.serve(request, response),
  );
  try {
    server.listen(port, address);
    await once(server, 'listening');
    return server;
  } catch (thrown) {
    throw loginError(
      `Port ${port}, to which the login comes back, cannot be used: ${messageOf(thrown)}.`,
      thrown,
      'Stop the program that listens there, or correct `oauth.callbackPort` in the entry.',
    );
  }
}

/** Lets a page that is under way arrive, and cuts off who only keeps a connection. */
async function closeServer(server: Server): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  server.closeIdleConnections();
  setTimeout(() => server.closeAllConnections(), 1_000).unref();
  await closed;
}

class Receiver {
  readonly answer: Promise<RedirectAnswer>;
  readonly #state: string;
  #resolve: (answer: RedirectAnswer) => void = () => {};
  #isTaken = false;

  constructor(state: string) {
    this.#state = state;
    this.answer = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  serve(request: IncomingMessage, response: ServerResponse): void {
    // Whatever page is open in the browser may ask for `//` here, which is no address.
    const [path, base] = [request.url ?? '', 'http://127.0.0.1'];
    const url = URL.canParse(path, base) ? new URL(path, base) : undefined;
    if (request.method !== 'GET' || url?.pathname !== PATH) {
      page(response, 404, 'Nothing here', 'This address only waits for a login to come back.');
      return;
    }
    if (this.#isTaken) {
      page(response, 410, 'Already used', 'This login has already come back. You can close this window.');
      return;
    }
    if (url.searchParams.get('state') !== this.#state) {
      // Any page can call this address: it must not be able to end the login either.
      page(
        response,
        400,
        'Not this login',
        'This does not belong to the login that waits here. Start it again from the terminal.',
      );
      return;
    }
    this.#take(url.searchParams, (isDone) =>
      isDone
        ? page(response, 200, 'Logged in', 'You can close this window.')
        : page(response, 400, 'Not logged in', 'The terminal says why. You can close this window.'),
    );
  }

  paste(address: string): string | undefined {
    if (!URL.canParse(address)) return 'That is not an address.';
    const { searchParams } = new URL(address);
    if (searchParams.get('state') !== this.#state) return 'That address does not belong to this login.';
    if (this.#isTaken) return 'This login has already come back.';
    this.#take(searchParams, () => {});
    return undefined;
  }

  #take(params: URLSearchParams, finish: (isDone: boolean) => void): void {
    this.#isTaken = true;
    this.#resolve({ params, finish });
  }
}

function page(response: ServerResponse, status: number, title: string, text: string): void {
  response.writeHead(status, {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'",
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-store',
    connection: 'close',
  });
  response.end(
    `<!doctype html><meta charset="utf-8"><title>${title}</title>` +
      '<style>body{font:1.1rem system-ui;margin:20vh auto;max-width:32rem;text-align:center}</style>' +
      `<h1>${title}</h1><p>${text}</p>\n`,
  );
}
