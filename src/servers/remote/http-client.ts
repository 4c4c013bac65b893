// HTTP requests to one server: Node's own client and not `fetch`, which gives up an answer that is silent for five
// minutes, hides why a connection failed, and keeps its sockets to itself. Redirects are followed within the origin
// only, so that no header leaves it. Knows nothing of MCP.

import http, { type IncomingMessage, type OutgoingHttpHeaders } from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { KB_BYTES } from '../../base/text/sizes.js';
import { NO_PROXIES, type ProxyFor, ProxyRefusal, proxiedRequest, refusal, TunnelAgent } from './proxies.js';

export type HttpRequest = {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Taken twice it does what it does once, so that it is sent again where nobody knows whether it was taken. */
  readonly mayRepeat: boolean;
  /** `false` gives a redirect back as an answer. */
  readonly followsRedirects?: false;
};

/** The request was not sent: no connection came about. `cause` is Node's own error. */
export class NeverSent extends Error {
  constructor(cause: unknown) {
    super('The request was not sent.', { cause });
  }
}

/** A redirect that is not followed; why, as what stands after "it redirects". */
export class StrayRedirect extends Error {
  constructor(
    readonly why: string,
    readonly isElsewhere: boolean,
  ) {
    super(`The server redirects ${why}.`);
  }
}

/** A connection that was used before ended without a word: mostly the server had closed it before the request came. */
class Stale extends Error {}

const MAX_REDIRECTS = 5;
/**
 * A request on a connection that the server is just closing is lost, and whether it was taken is not known. Servers
 * close idle ones after two seconds or more, or when they are restarted. A new one costs less than a millisecond
 * without TLS, so there only those who call one right after another share one; with TLS it costs two ways to the
 * server and back.
 */
const IDLE_SOCKET_MS = { plain: 10, tls: 1_000 };

export class HttpClient {
  readonly #http: http.Agent;
  readonly #https: https.Agent;
  readonly #proxyFor: ProxyFor;
  /** Tunnels by the address of the proxy. */
  readonly #tunnels = new Map<string, TunnelAgent>();
  readonly #tls: https.AgentOptions;

  constructor(
    idleSocketMs = IDLE_SOCKET_MS,
    proxyFor = NO_PROXIES,
    tls: Pick<https.AgentOptions, 'ca'> = {},
  ) {
    this.#http = new http.Agent({ keepAlive: true, timeout: idleSocketMs.plain });
    this.#tls = { ...tls, keepAlive: true, timeout: idleSocketMs.tls };
    this.#https = new https.Agent(this.#tls);
    this.#proxyFor = proxyFor;
  }

  /**
   * The answer as soon as its headers are there, whatever its status; its body ends with an error when the connection
   * breaks or `signal` aborts. Throws NeverSent, StrayRedirect, or Node's own error for a connection that broke.
   */
  async request(request: HttpRequest, signal: AbortSignal): Promise<IncomingMessage> {
    let { url } = request;
    // A connection that waits to be used again is known to be closed by its server only after the loop has looked at it; the
    // first turn may be the rest of the present one.
    await setImmediate();
    await setImmediate();
    for (let redirects = 0; ; redirects++) {
      const answer = await this.#sendWithRetries({ ...request, url }, signal);
      const { statusCode = 0, headers } = answer;
      const isKept = statusCode === 307 || statusCode === 308;
      if (request.followsRedirects === false) return answer;
      if (!isKept && (statusCode < 301 || statusCode > 303)) return answer;
      answer.destroy();
      const { location } = headers;
      if (location === undefined || !URL.canParse(location, url.href))
        throw new StrayRedirect('nowhere', false);
      const target = new URL(location, url);
      if (target.origin !== url.origin) {
        throw new StrayRedirect(`to ${target.origin}, where its headers are not sent`, true);
      }
      if (!isKept && request.method !== 'GET') {
        throw new StrayRedirect(`with status ${statusCode}, which would turn a POST into a GET`, false);
      }
      if (redirects === MAX_REDIRECTS) throw new StrayRedirect('without end', false);
      url = target;
    }
  }

  /** Ends every connection, in use or not. */
  close(): void {
    this.#http.destroy();
    this.#https.destroy();
    for (const tunnel of this.#tunnels.values()) tunnel.destroy();
  }

  /** Once more where the connection turns out to be stale; each attempt uses up one of those. */
  async #sendWithRetries(request: HttpRequest, signal: AbortSignal): Promise<IncomingMessage> {
    for (;;) {
      try {
        return await this.#sendOnce(request, signal);
      } catch (thrown) {
        if (!(thrown instanceof Stale)) throw thrown;
        if (!request.mayRepeat) throw thrown.cause;
      }
    }
  }

  #sendOnce({ method, url, headers, body }: HttpRequest, signal: AbortSignal): Promise<IncomingMessage> {
    const isTls = url.protocol === 'https:';
    const proxy = this.#proxyFor(url);
    const isSecured = isTls || proxy?.protocol === 'https:';
    const length: OutgoingHttpHeaders =
      body === undefined ? {} : { 'content-length': Buffer.byteLength(body) };
    return new Promise((resolve, reject) => {
      let isConnected = false;
      // Nothing here could read a compressed answer.
      const options = { method, headers: { 'accept-encoding': 'identity', ...headers, ...length }, signal };
      const request = this.#begin(url, proxy, options);
      request.once('socket', (socket: Socket) => {
        const connected = () => {
          isConnected = true;
        };
        if (request.reusedSocket) connected();
        else socket.once(isSecured ? 'secureConnect' : 'connect', connected);
      });
      request.once('response', (answer) => {
        // An error that comes later is told by the body; a body that nobody reads any more has nobody to tell.
        answer.on('error', () => {});
        // No server says this, only who stands before it.
        if (proxy === undefined || answer.statusCode !== 407) return resolve(answer);
        answer.destroy();
        reject(new NeverSent(new ProxyRefusal(proxy.origin, refusal(answer))));
      });
      request.on('error', (thrown) => {
        if (signal.aborted) reject(thrown);
        else if (!isConnected)
          reject(new NeverSent(proxy === undefined ? thrown : blameProxy(thrown, proxy, isTls)));
        else reject(request.reusedSocket ? new Stale('The connection is stale.', { cause: thrown }) : thrown);
      });
      request.end(body);
    });
  }

  #begin(url: URL, proxy: URL | undefined, options: https.RequestOptions): http.ClientRequest {
    if (url.protocol === 'https:') {
      return https.request(url, {
        ...options,
        agent: proxy === undefined ? this.#https : this.#tunnel(proxy),
      });
    }
    if (proxy === undefined) return http.request(url, { ...options, agent: this.#http });
    const by = proxiedRequest(proxy, url);
    const headers = { ...(options.headers as OutgoingHttpHeaders), ...(by.headers as OutgoingHttpHeaders) };
    return proxy.protocol === 'https:'
      ? https.request({ ...options, ...by, headers, agent: this.#https })
      : http.request({ ...options, ...by, headers, agent: this.#http });
  }

  #tunnel(proxy: URL): TunnelAgent {
    const known = this.#tunnels.get(proxy.href);
    if (known !== undefined) return known;
    const made = new TunnelAgent(proxy, this.#tls);
    this.#tunnels.set(proxy.href, made);
    return made;
  }
}

/** A connection that did not come about: in a tunnel it is the server's, else the proxy's. */
function blameProxy(thrown: Error, proxy: URL, isTunnel: boolean): Error {
  if (isTunnel || thrown instanceof ProxyRefusal) return thrown;
  const code: unknown = Object(thrown).code;
  return new ProxyRefusal(proxy.origin, `cannot be reached (${String(code ?? thrown.message)})`, {
    cause: thrown,
  });
}

// The body behind an answer's headers: taken whole up to a limit, or not wanted.

/** The media type alone, in lower case; empty when the answer names none. */
export const mediaTypeOf = ({ headers }: IncomingMessage): string =>
  (headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';

/** The body as text. One above `maxBytes` is given up there. Rejects when the connection breaks. */
export async function readBody(
  answer: IncomingMessage,
  maxBytes: number,
): Promise<{ readonly text: string } | { readonly oversized: number }> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    // Leaving the loop ends the connection.
    if (bytes > maxBytes) return { oversized: bytes };
    chunks.push(chunk);
  }
  return { text: Buffer.concat(chunks).toString() };
}

/** Reads a short body to its end, so that its connection can be used again, and ends that of a long one. */
export function discard(answer: IncomingMessage): void {
  const length = Number(answer.headers['content-length'] ?? 0);
  if (length > 64 * KB_BYTES || mediaTypeOf(answer) === 'text/event-stream') answer.destroy();
  else answer.resume();
}
