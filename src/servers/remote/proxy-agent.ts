// Sockets that lead through an HTTP proxy: for an https address a tunnel (CONNECT), in which TLS goes to the server itself;
// for an http address the proxy reads the request, which names the whole address. The proxy's own name and password go to
// the proxy alone.

import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import { isIP } from 'node:net';
import type { Duplex } from 'node:stream';
import tls, { type ConnectionOptions } from 'node:tls';
import { decoded } from './proxies.js';

/** Until a proxy has made a tunnel; behind it the server may be far away. */
const TUNNEL_LIMIT_MS = 30_000;

/** The proxy itself says no, or could not be reached; `why` stands after its address. */
export class ProxyRefusal extends Error {
  constructor(
    readonly proxy: string,
    readonly why: string,
    options: ErrorOptions = {},
  ) {
    super(`The proxy ${proxy} ${why}.`, options);
  }
}

/** Options of a request to an http address by way of a proxy. */
export function proxiedRequest(proxy: URL, url: URL): http.RequestOptions {
  return {
    protocol: proxy.protocol,
    hostname: bare(proxy.hostname),
    port: proxy.port || (proxy.protocol === 'https:' ? 443 : 80),
    path: `${url.origin}${url.pathname}${url.search}`,
    headers: { host: url.host, ...authorizationOf(proxy) },
  };
}

/** For https addresses by way of one proxy; its sockets are kept as those of any agent. */
export class TunnelAgent extends https.Agent {
  readonly #proxy: URL;

  constructor(proxy: URL, options: https.AgentOptions) {
    super(options);
    this.#proxy = proxy;
  }

  override createConnection(
    options: ConnectionOptions & { readonly host?: string; readonly port?: number | string },
    callback?: (error: Error | null, socket: Duplex) => void,
  ): undefined {
    const host = bare(String(options.host));
    const port = Number(options.port ?? 443);
    tunnel(this.#proxy, host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`).then(
      (socket) => {
        // The agent's own `path` is that of the request, which a socket would take for its address.
        const { path: _path, ...rest } = options as ConnectionOptions & { path?: string };
        const servername = isIP(host) === 0 ? { servername: options.servername || host } : {};
        const secured = tls.connect({ ...rest, ...servername, socket });
        callback?.(null, secured);
      },
      (thrown: Error) => callback?.(thrown, undefined as never),
    );
    return undefined;
  }
}

function tunnel(proxy: URL, target: string): Promise<Duplex> {
  const at = proxy.origin;
  const options: http.RequestOptions = {
    method: 'CONNECT',
    hostname: bare(proxy.hostname),
    port: proxy.port || (proxy.protocol === 'https:' ? 443 : 80),
    path: target,
    headers: { host: target, ...authorizationOf(proxy) },
    agent: false,
    timeout: TUNNEL_LIMIT_MS,
  };
  return new Promise((resolve, reject) => {
    const request = proxy.protocol === 'https:' ? https.request(options) : http.request(options);
    request.once('connect', (answer: IncomingMessage, socket: Duplex) => {
      if (answer.statusCode === 200) return resolve(socket);
      socket.destroy();
      reject(new ProxyRefusal(at, refusal(answer)));
    });
    request.once('timeout', () =>
      request.destroy(new ProxyRefusal(at, `made no tunnel within ${TUNNEL_LIMIT_MS / 1000} s`)),
    );
    request.once('response', (answer) => {
      answer.destroy();
      reject(new ProxyRefusal(at, refusal(answer)));
    });
    request.once('error', (thrown) => {
      if (thrown instanceof ProxyRefusal) return reject(thrown);
      const code: unknown = Object(thrown).code;
      reject(
        new ProxyRefusal(at, `cannot be reached (${String(code ?? thrown.message)})`, { cause: thrown }),
      );
    });
    request.end();
  });
}

export function refusal({ statusCode = 0 }: IncomingMessage): string {
  return statusCode === 407
    ? 'wants another name and password (407)'
    : `refuses the connection with status ${statusCode}`;
}

function authorizationOf({ username, password }: URL): { readonly 'proxy-authorization'?: string } {
  if (username === '' && password === '') return {};
  const pair = `${decoded(username)}:${decoded(password)}`;
  return { 'proxy-authorization': `Basic ${Buffer.from(pair).toString('base64')}` };
}

const bare = (hostname: string): string => hostname.replace(/^\[|\]$/g, '');
