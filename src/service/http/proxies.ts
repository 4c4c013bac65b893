// Who really asks, where a proxy stands in between. What it says in X-Forwarded-For, -Proto and -Host is believed of a
// proxy that the operator has named, and of nobody else: anybody can write these headers.

import type { IncomingMessage } from 'node:http';
import { BlockList, isIP } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { BridgeError } from '../../base/errors.js';
import type { RequestFacts } from './parts.js';

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

  /** Facts of `request`, with what a trusted proxy says of it. */
  factsOf(request: IncomingMessage, isPrivateSocket: boolean): RequestFacts {
    const { headers, socket } = request;
    const peer = plainAddress(socket.remoteAddress ?? '');
    const isProxied = this.isTrusted(peer);
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
      throw new BridgeError('E_SETTINGS', `MCP_BRIDGE_HTTP_PROXIES: '${text}' is no address and no range.`, {
        fault: 'operator',
        remedy: 'Write addresses such as 10.0.0.7, ranges such as 10.0.0.0/8, or unix.',
      });
    this.#addresses.addSubnet(address, Number(bits ?? longest), version === 6 ? 'ipv6' : 'ipv4');
  }
}

/** An IPv4 address as such, where a socket of both versions shows it as `::ffff:10.0.0.1`. */
const plainAddress = (address: string): string => address.replace(/^::ffff:(?=\d+\.)/i, '');

/** A proxy adds its own word at the end. */
const lastOf = (header: string | string[] | undefined): string | undefined =>
  [header].flat().at(-1)?.split(',').at(-1)?.trim().toLowerCase() || undefined;
