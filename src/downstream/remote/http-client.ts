// HTTP requests to one server: Node's own client and not `fetch`, which gives up an answer that is silent for five
// minutes, hides why a connection failed, and keeps its sockets to itself. Redirects are followed within the origin
// only, so that no header leaves it. Knows nothing of MCP.

import http, { type IncomingMessage, type OutgoingHttpHeaders } from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';

export type HttpRequest = {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
};

/** The request was not sent: no connection came about. `cause` is Node's own error. */
export class NeverSent extends Error {
  constructor(cause: unknown) {
    super('The request was not sent.', { cause });
  }
}

/** A redirect that is not followed. */
export class StrayRedirect extends Error {
  constructor(readonly target: URL | undefined) {
    super('The redirect is not followed.');
  }
}

const MAX_REDIRECTS = 5;
/** Below the five seconds after which Node's own servers close a connection: one that is just being closed is not used. */
const IDLE_SOCKET_MS = 4_000;

export class HttpClient {
  readonly #http = new http.Agent({ keepAlive: true, timeout: IDLE_SOCKET_MS });
  readonly #https = new https.Agent({ keepAlive: true, timeout: IDLE_SOCKET_MS });

  /**
   * The answer as soon as its headers are there, whatever its status; its body ends with an error when the connection
   * breaks or `signal` aborts. Throws NeverSent, StrayRedirect, or Node's own error for a connection that broke.
   */
  async request(request: HttpRequest, signal: AbortSignal): Promise<IncomingMessage> {
    let { url } = request;
    // That a server has closed a connection which waits to be used again is known only after the loop has looked at it;
    // the first turn may be the rest of the present one.
    await setImmediate();
    await setImmediate();
    for (let redirects = 0; ; redirects++) {
      const answer = await this.#once({ ...request, url }, signal);
      const { statusCode = 0, headers } = answer;
      const isKept = statusCode === 307 || statusCode === 308;
      if (!isKept && (statusCode < 301 || statusCode > 303)) return answer;
      answer.destroy();
      const target = URL.canParse(headers.location ?? '', url.href)
        ? new URL(headers.location ?? '', url)
        : undefined;
      // The others may turn a POST into a GET.
      const isFollowed = isKept || request.method === 'GET';
      if (target?.origin !== url.origin || !isFollowed || redirects === MAX_REDIRECTS) {
        throw new StrayRedirect(target);
      }
      url = target;
    }
  }

  /** Ends every connection, in use or not. */
  close(): void {
    this.#http.destroy();
    this.#https.destroy();
  }

  #once({ method, url, headers, body }: HttpRequest, signal: AbortSignal): Promise<IncomingMessage> {
    const isTls = url.protocol === 'https:';
    const length: OutgoingHttpHeaders =
      body === undefined ? {} : { 'content-length': Buffer.byteLength(body) };
    return new Promise((resolve, reject) => {
      let isConnected = false;
      // Nothing here could read a compressed answer.
      const options = { method, headers: { 'accept-encoding': 'identity', ...headers, ...length }, signal };
      const request = isTls
        ? https.request(url, { ...options, agent: this.#https })
        : http.request(url, { ...options, agent: this.#http });
      request.once('socket', (socket: Socket) => {
        const connected = () => {
          isConnected = true;
        };
        if (request.reusedSocket) connected();
        else socket.once(isTls ? 'secureConnect' : 'connect', connected);
      });
      request.once('response', (answer) => {
        // What breaks later is told by the body; a body that nobody reads any more has nobody to tell.
        answer.on('error', () => {});
        resolve(answer);
      });
      request.on('error', (thrown) => reject(isConnected || signal.aborted ? thrown : new NeverSent(thrown)));
      request.end(body);
    });
  }
}
