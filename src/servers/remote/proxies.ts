// Which proxy leads to an address, from the variables that curl and most programs know. Pure.

import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import { BlockList, isIP } from 'node:net';
import type { Duplex } from 'node:stream';
import tls, { type ConnectionOptions } from 'node:tls';
import { BridgeError } from '../../base/errors.js';
import type { Environment } from '../../base/process/environment.js';
import { isLoopback } from '../../base/text/loopback.js';

/** The proxy for a request, or undefined where it goes straight; throws E_SETTINGS for one that cannot be used. */
export type ProxyFor = (url: URL) => URL | undefined;

export const NO_PROXIES: ProxyFor = () => undefined;

/**
 * `https_proxy` and `http_proxy` by the scheme of the address, else `all_proxy`; small letters win over large ones.
 * `no_proxy` takes hosts out. What listens on this machine is never reached by way of another.
 */
export function proxiesOf(env: Environment): ProxyFor {
  return (url) => {
    const host = hostOf(url);
    if (isLoopback(host) || host.endsWith('.localhost')) return undefined;
    const name = url.protocol === 'https:' ? 'https_proxy' : 'http_proxy';
    const said = variable(env, name) ?? variable(env, 'all_proxy');
    if (said === undefined || isExcepted(url, variable(env, 'no_proxy')?.value ?? '')) return undefined;
    return proxyOf(said);
  };
}

/** The passwords in the addresses of proxies, by the variables that hold them. */
export function proxySecrets(env: Environment): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value = '']) => {
      if (!/^(?:https?|all)_proxy$/i.test(name)) return [];
      const written = value.includes('://') ? value : `http://${value}`;
      const password = URL.canParse(written) ? decodePart(new URL(written).password) : '';
      return password === '' ? [] : [[`password of ${name}`, password]];
    }),
  );
}

/** A part of an address as it was meant; as it stands where it is not encoded as it should be. */
export function decodePart(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function variable(env: Environment, name: string) {
  for (const spelling of [name, name.toUpperCase()]) {
    const value = env[spelling]?.trim();
    if (value !== undefined && value !== '') return { name: spelling, value };
  }
  return undefined;
}

/** The value may hold a password, so it is not quoted. */
function proxyOf({ name, value }: { readonly name: string; readonly value: string }): URL {
  const written = value.includes('://') ? value : `http://${value}`;
  const url = URL.canParse(written) ? new URL(written) : undefined;
  if (url !== undefined && (url.protocol === 'http:' || url.protocol === 'https:')) return url;
  const got =
    url === undefined ? 'is not an address' : `names a proxy of the kind ${url.protocol.slice(0, -1)}`;
  throw new BridgeError('E_SETTINGS', `The variable ${name} ${got}; allowed: http:// and https://.`, {
    fault: 'operator',
    remedy: `Correct ${name}, or add the server's host name to no_proxy.`,
  });
}

/** Whether `no_proxy` names the host: by itself, by a suffix, by a network in CIDR, each with or without a port; `*` is all. */
function isExcepted(url: URL, exceptions: string): boolean {
  const host = hostOf(url);
  const port = url.port || (url.protocol === 'https:' ? '443' : '80');
  return exceptions
    .split(/[\s,]+/)
    .filter((entry) => entry !== '')
    .some((entry) => {
      if (entry === '*') return true;
      const { name, onlyPort } = split(entry.toLowerCase());
      return (onlyPort === undefined || onlyPort === port) && isOf(host, name);
    });
}

/** `[::1]:80`, `host:80`, `10.0.0.0/8`, `::1` and `host`. */
function split(entry: string): { readonly name: string; readonly onlyPort: string | undefined } {
  const bracketed = /^\[([^\]]+)\](?::(\d+))?$/.exec(entry);
  if (bracketed !== null) return { name: bracketed[1] ?? '', onlyPort: bracketed[2] };
  const withPort = /^([^:]+):(\d+)$/.exec(entry);
  return withPort === null
    ? { name: entry, onlyPort: undefined }
    : { name: withPort[1] ?? '', onlyPort: withPort[2] };
}

function isOf(host: string, name: string): boolean {
  const [address = '', bits] = name.split('/', 2);
  if (isIP(address) !== 0) return isWithin(host, address, bits);
  const suffix = name.replace(/^\*?\./, '').replace(/\.$/, '');
  return suffix !== '' && (host === suffix || host.endsWith(`.${suffix}`));
}

function isWithin(host: string, address: string, bits: string | undefined): boolean {
  const family = familyOf(address);
  if (isIP(host) === 0 || familyOf(host) !== family) return false;
  const most = family === 'ipv4' ? 32 : 128;
  const prefix = bits === undefined ? most : Number(bits);
  if (!Number.isInteger(prefix) || prefix < 0 || prefix > most) return false;
  const network = new BlockList();
  network.addSubnet(address, prefix, family);
  return network.check(host, family);
}

const familyOf = (address: string) => (isIP(address) === 6 ? 'ipv6' : 'ipv4');

/** Without the brackets of an address of IPv6 and the dot at the end of a whole name. */
const hostOf = ({ hostname }: URL): string =>
  hostname
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '')
    .toLowerCase();

// Sockets that lead through an HTTP proxy: for an https address a tunnel (CONNECT), in which TLS goes to the server itself;
// for an http address the proxy reads the request, which names the whole address. The proxy's own name and password go to
// the proxy alone.

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
    hostname: bareHostname(proxy.hostname),
    port: proxy.port || (proxy.protocol === 'https:' ? 443 : 80),
    path: `${url.origin}${url.pathname}${url.search}`,
    headers: { host: url.host, ...authorizationOf(proxy) },
  };
}

/** Agent for https addresses by way of one proxy; its sockets are kept as those of any agent. */
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
    const host = bareHostname(String(options.host));
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
    hostname: bareHostname(proxy.hostname),
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
  const pair = `${decodePart(username)}:${decodePart(password)}`;
  return { 'proxy-authorization': `Basic ${Buffer.from(pair).toString('base64')}` };
}

const bareHostname = (hostname: string): string => hostname.replace(/^\[|\]$/g, '');
