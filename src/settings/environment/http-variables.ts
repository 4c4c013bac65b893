// The variables of `serve --http`, and what they come to. They are part of the one table of variables.ts.

import { z } from 'zod';
import { MB_BYTES } from '../../base/text/sizes.js';
import { DAY_SECONDS } from '../bounds.js';
import { integer, list, optional, setting } from './setting-rules.js';

/** A host name, an IPv4 address, or an IPv6 address in brackets, as it stands in a Host header, without a port. */
const hostName = z
  .string()
  .toLowerCase()
  .regex(/^(?:[a-z0-9_-]+(?:\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\])$/);
/** As browsers send it: scheme and host, and the port where it is not the scheme's own. */
const origin = z.string().refine((text) => URL.canParse(text) && new URL(text).origin === text);
const addressRange = z.string().regex(/^(?:unix|[0-9a-fA-F:.]+(?:\/\d{1,3})?)$/);
const ownPath = z.string().refine((text) => /^(\/|~\/|[A-Za-z]:[\\/])/.test(text));
const OWN_PATH = 'an absolute path, or one that begins with ~/';
// More connections than this need more file descriptors than a process is usually given.
const MAX_CONNECTIONS = 100_000;

export const httpVariables = {
  MCP_BRIDGE_HTTP_HOSTS: optional(list(hostName), {
    meaning:
      'Names under which clients reach `serve --http`, besides localhost and the address that it listens on; any other Host header is refused, so that a web page cannot rebind a name.',
    default: 'none',
    allowed: 'host names without a port, separated by commas, such as mcp.example.com',
  }),
  MCP_BRIDGE_HTTP_ORIGINS: optional(list(origin), {
    meaning:
      'Web pages that may call `serve --http` from a browser, besides those of localhost and of its own names.',
    default: 'none',
    allowed: 'origins separated by commas, such as https://app.example.com',
  }),
  MCP_BRIDGE_HTTP_PROXIES: optional(list(addressRange), {
    meaning:
      'Proxies whose X-Forwarded-For, -Proto and -Host are believed; from anybody else these headers count for nothing.',
    default: 'none',
    allowed:
      'addresses or ranges separated by commas, such as 127.0.0.1,10.0.0.0/8; unix for whoever uses the socket',
  }),
  MCP_BRIDGE_HTTP_CERT: optional(ownPath, {
    meaning:
      'Certificate chain (PEM) of `serve --http`, with MCP_BRIDGE_HTTP_KEY; read again when the file changes.',
    default: 'none; without TLS',
    allowed: OWN_PATH,
  }),
  MCP_BRIDGE_HTTP_KEY: optional(ownPath, {
    meaning: 'Private key (PEM) of that certificate.',
    default: 'none',
    allowed: OWN_PATH,
  }),
  MCP_BRIDGE_HTTP_RATE: setting(integer(1, 1_000_000), {
    meaning:
      'Requests that one principal may send in a minute, where each 256 KiB of a body count as one more; further ones are refused with 429 and Retry-After.',
    default: '1200',
    allowed: 'a whole number from 1 to 1000000',
  }),
  MCP_BRIDGE_HTTP_CONNECTIONS: setting(integer(2, MAX_CONNECTIONS), {
    meaning: 'Connections at once; half as many from one address. Further ones are closed.',
    default: '2048',
    allowed: `a whole number from 2 to ${MAX_CONNECTIONS}`,
  }),
  MCP_BRIDGE_HTTP_SESSIONS: setting(integer(0, MAX_CONNECTIONS), {
    meaning:
      'Sessions of clients of the 2025 revisions at once; a quarter of them for one principal. 0 serves these clients without sessions, and then nothing can be asked of them.',
    default: '1000',
    allowed: `a whole number from 0 to ${MAX_CONNECTIONS}`,
  }),
  MCP_BRIDGE_HTTP_SESSION_IDLE: setting(integer(1, DAY_SECONDS), {
    meaning: 'Seconds after which a session ends that nobody uses and whose stream nobody holds open.',
    default: '1800',
    allowed: `whole seconds from 1 to ${DAY_SECONDS}`,
  }),
  MCP_BRIDGE_HTTP_BODY_MB: setting(integer(1, 64), {
    meaning:
      'Largest body of a request, in megabytes; a principal may have four times that under way, with what calls that go on were sent.',
    default: '64',
    allowed: 'a whole number from 1 to 64',
  }),
  MCP_BRIDGE_HTTP_DRAIN: optional(integer(0, DAY_SECONDS), {
    meaning: 'Seconds that runs under way are given to end after SIGTERM.',
    default: 'MCP_BRIDGE_MAX_TIMEOUT and 10 seconds more, so that none is lost',
    allowed: `whole seconds from 0 to ${DAY_SECONDS}`,
  }),
} as const;

type HttpValues = z.output<z.ZodObject<typeof httpVariables>>;

/** Settings of `serve --http`. */
export type HttpSettings = {
  /** Lower case, without a port, IPv6 addresses in brackets. */
  readonly hosts: readonly string[];
  readonly origins: readonly string[];
  /** Addresses, ranges, and `unix`. */
  readonly proxies: readonly string[];
  readonly cert: string | undefined;
  readonly key: string | undefined;
  readonly requestsPerMinute: number;
  readonly connections: number;
  readonly sessions: number;
  readonly sessionIdleSeconds: number;
  readonly bodyBytes: number;
  readonly drainSeconds: number;
};

/** A run may take `maxTimeoutSeconds`, and its answer is on its way a little later. */
const DRAIN_MARGIN_SECONDS = 10;

/** `pathOf` makes a path absolute. */
export const httpSettings = (
  values: HttpValues & { readonly MCP_BRIDGE_MAX_TIMEOUT: number },
  pathOf: (written: string | undefined) => string | undefined,
): HttpSettings => ({
  hosts: values.MCP_BRIDGE_HTTP_HOSTS ?? [],
  origins: values.MCP_BRIDGE_HTTP_ORIGINS ?? [],
  proxies: values.MCP_BRIDGE_HTTP_PROXIES ?? [],
  cert: pathOf(values.MCP_BRIDGE_HTTP_CERT),
  key: pathOf(values.MCP_BRIDGE_HTTP_KEY),
  requestsPerMinute: values.MCP_BRIDGE_HTTP_RATE,
  connections: values.MCP_BRIDGE_HTTP_CONNECTIONS,
  sessions: values.MCP_BRIDGE_HTTP_SESSIONS,
  sessionIdleSeconds: values.MCP_BRIDGE_HTTP_SESSION_IDLE,
  bodyBytes: values.MCP_BRIDGE_HTTP_BODY_MB * MB_BYTES,
  drainSeconds: values.MCP_BRIDGE_HTTP_DRAIN ?? values.MCP_BRIDGE_MAX_TIMEOUT + DRAIN_MARGIN_SECONDS,
});
