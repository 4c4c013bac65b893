// Names by which the bridge may be called, and web pages that may call it. A web page can make a browser resolve the
// page's own name to 127.0.0.1 (DNS rebinding), and then the Host header is the page's.

import type { IncomingMessage } from 'node:http';
import { BlockList, isIP } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { validateHostHeader, validateOriginHeader } from '@modelcontextprotocol/server';
import { BridgeError } from '../../base/errors.js';
import { clipHarmlessLine } from '../../base/text/text.js';
import { type HttpAnswer, type RequestFacts, rpcError } from './parts.js';

const LOOPBACK_NAMES = ['localhost', '127.0.0.1', '[::1]'];
const CHARS_SHOWN = 120;
/** Headers that a page may send, and those that it may read. `authorization` is not covered by `*`. */
const ALLOWED_HEADERS =
  'authorization, content-type, accept, mcp-session-id, mcp-protocol-version, mcp-method, mcp-name, last-event-id';
const READABLE_HEADERS = 'mcp-session-id, mcp-protocol-version, www-authenticate, retry-after, x-request-id';
const PREFLIGHT_SECONDS = '600';

export class HostAndOrigin {
  readonly #hosts: readonly string[];
  readonly #origins: ReadonlySet<string>;

  constructor({
    hosts,
    origins,
  }: { readonly hosts: readonly string[]; readonly origins: readonly string[] }) {
    this.#hosts = [...LOOPBACK_NAMES, ...hosts];
    this.#origins = new Set(origins);
  }

  /** The refusal of a request by its Host or Origin. `localAddress` is the address that it came to. */
  refusalOf({ host, headers }: RequestFacts, localAddress: string | undefined): HttpAnswer | undefined {
    if (!validateHostHeader(host, [...this.#hosts, ...literal(localAddress)]).ok)
      return rpcError(
        403,
        `The Host '${clipLine(host)}' is not a name of this bridge. Use localhost or the address that it listens on, or ask the operator to add the name with --allowed-host or MCP_BRIDGE_HTTP_HOSTS.`,
      );
    if (headers.origin !== undefined && !this.#isAllowed(headers.origin))
      return rpcError(
        403,
        `Web pages of the Origin '${clipLine(headers.origin)}' may not call this bridge. The operator can allow them in MCP_BRIDGE_HTTP_ORIGINS.`,
      );
    return undefined;
  }

  /** Headers that let an allowed page read the answer; empty for requests that come from no page. */
  headersFor({ headers: { origin } }: RequestFacts): Readonly<Record<string, string>> {
    if (origin === undefined || !this.#isAllowed(origin)) return {};
    return {
      'access-control-allow-origin': origin,
      'access-control-expose-headers': READABLE_HEADERS,
      vary: 'origin',
    };
  }

  /** The answer to a browser's question whether a page may send a request with one of `methods`. */
  preflight(facts: RequestFacts, methods: string): HttpAnswer | undefined {
    if (facts.method !== 'OPTIONS' || facts.headers.origin === undefined) return undefined;
    return {
      status: 204,
      headers: {
        ...this.headersFor(facts),
        'access-control-allow-methods': methods,
        'access-control-allow-headers': ALLOWED_HEADERS,
        'access-control-max-age': PREFLIGHT_SECONDS,
      },
    };
  }

  #isAllowed(origin: string): boolean {
    return this.#origins.has(origin) || validateOriginHeader(origin, [...this.#hosts]).ok;
  }
}

/** As a Host header would have it; a name that is an address cannot be rebound. */
function literal(address: string | undefined): readonly string[] {
  if (address === undefined || address === '') return [];
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, '');
  return [plain.includes(':') ? `[${plain}]` : plain];
}

const clipLine = (text: string): string => clipHarmlessLine(text, CHARS_SHOWN);

// Who really asks, where a proxy stands in between. What it says in X-Forwarded-For, -Proto and -Host is believed of a
// proxy that the operator has named, and of nobody else: anybody can write these headers.

/** With these a proxy says for whom it asks. */
const FORWARDED = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-real-ip'];
/** The word for whoever uses the unix socket. */
const UNIX = 'unix';

export class TrustedProxies {
  readonly #addresses = new BlockList();
  readonly #trustsSocket: boolean;

  /** `named` are addresses, ranges such as 10.0.0.0/8, and `unix`. Throws E_SETTINGS for one that is none of these. */
  constructor(named: readonly string[]) {
    this.#trustsSocket = named.includes(UNIX);
    for (const text of named) if (text !== UNIX) this.#add(text);
  }

  /** Whether `address` is a proxy's; the empty address is the unix socket's. */
  isTrusted(address: string): boolean {
    if (address === '') return this.#trustsSocket;
    const version = isIP(address);
    return version !== 0 && this.#addresses.check(address, version === 6 ? 'ipv6' : 'ipv4');
  }

  /** Facts of `request`, with what a trusted proxy says of it, or another replica, from which it came if `isFromReplica`. */
  factsOf(request: IncomingMessage, isPrivateSocket: boolean, isFromReplica = false): RequestFacts {
    const { headers, socket } = request;
    const peer = plainAddress(socket.remoteAddress ?? '');
    const isProxied = isFromReplica || this.isTrusted(peer);
    const said = (name: string) => (isProxied ? lastOf(headers[name]) : undefined);
    const proto = said('x-forwarded-proto');
    return {
      method: request.method ?? 'GET',
      path: (request.url ?? '').split('?', 1)[0] ?? '',
      target: request.url ?? '',
      headers,
      authorization: request.headersDistinct['authorization'],
      remoteAddress: (isProxied ? this.#client(peer, headers['x-forwarded-for']) : peer) || undefined,
      // A client behind a proxy is not the user who owns the socket.
      isPrivateSocket: isPrivateSocket && !isProxied,
      isForwarded: FORWARDED.some((name) => headers[name] !== undefined),
      isSecure: proto === undefined ? (socket as Partial<TLSSocket>).encrypted === true : proto === 'https',
      host: said('x-forwarded-host') ?? headers.host ?? '',
    };
  }

  /** From the nearest hop to the farthest: the first that is no proxy of ours is the client. */
  #client(peer: string, forwardedFor: string | string[] | undefined): string {
    const hops = [forwardedFor].flat().join(',').split(',');
    for (const hop of hops.reverse()) {
      const address = plainAddress(hop.trim());
      if (isIP(address) === 0) return peer;
      if (!this.isTrusted(address)) return address;
    }
    return peer;
  }

  #add(text: string): void {
    const [address = '', bits] = text.split('/');
    const version = isIP(address);
    const longest = version === 6 ? 128 : 32;
    if (version === 0 || Number(bits ?? longest) > longest)
      throw new BridgeError(
        'E_SETTINGS',
        `MCP_BRIDGE_HTTP_PROXIES: '${text}' is neither an address nor a range.`,
        {
          fault: 'operator',
          remedy: 'Write addresses such as 10.0.0.7, ranges such as 10.0.0.0/8, or unix.',
        },
      );
    this.#addresses.addSubnet(address, Number(bits ?? longest), version === 6 ? 'ipv6' : 'ipv4');
  }
}

/** An IPv4 address as such, where a socket of both versions shows it as `::ffff:10.0.0.1`. */
const plainAddress = (address: string): string => address.replace(/^::ffff:(?=\d+\.)/i, '');

/** A proxy adds its own word at the end. */
const lastOf = (header: string | string[] | undefined): string | undefined =>
  [header].flat().at(-1)?.split(',').at(-1)?.trim().toLowerCase() || undefined;
