// By which names the bridge may be called, and which web pages may call it. A web page can make a browser resolve the
// page's own name to 127.0.0.1 (DNS rebinding), and then the Host header is the page's.

import { validateHostHeader, validateOriginHeader } from '@modelcontextprotocol/server';
import { clipHarmlessLine } from '../../base/text/text.js';
import { rpcError } from './answers.js';
import type { HttpAnswer, RequestFacts } from './parts.js';

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
  objectionTo({ host, headers }: RequestFacts, localAddress: string | undefined): HttpAnswer | undefined {
    if (!validateHostHeader(host, [...this.#hosts, ...literal(localAddress)]).ok)
      return rpcError(
        403,
        `The Host '${shown(host)}' is none of this bridge's names. Use localhost or the address that it listens on, or have the operator add the name with --allowed-host or MCP_BRIDGE_HTTP_HOSTS.`,
      );
    if (headers.origin !== undefined && !this.#isAllowed(headers.origin))
      return rpcError(
        403,
        `Web pages of the Origin '${shown(headers.origin)}' may not call this bridge. The operator can allow them in MCP_BRIDGE_HTTP_ORIGINS.`,
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

const shown = (text: string): string => clipHarmlessLine(text, CHARS_SHOWN);
