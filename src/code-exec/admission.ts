// Whether an HTTP request may speak at all: a name that it may call us by (a web page can make a browser resolve its own
// name to loopback), an origin that may ask, and the token. Pure.

import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { type ExecSettings, isLoopback } from './exec-settings.js';

/** Undefined where it may. */
export function objectionTo(
  headers: IncomingHttpHeaders,
  settings: Pick<ExecSettings, 'listen' | 'token' | 'hosts' | 'origins'>,
): { readonly status: 401 | 403; readonly message: string } | undefined {
  const { host = '', origin, authorization } = headers;
  if (!isOurName(host, settings)) {
    return {
      status: 403,
      message: `The Host '${host}' is none of this server's: MCP_EXEC_HOSTS names others.`,
    };
  }
  if (origin !== undefined && !settings.origins.includes(origin)) {
    return {
      status: 403,
      message: `The Origin '${origin}' may not ask: MCP_EXEC_ORIGINS names those that may.`,
    };
  }
  // The scheme's letters may be large or small (RFC 9110, 11.1).
  const shown = authorization?.replace(/^bearer +/i, 'Bearer ') ?? '';
  if (settings.token !== undefined && !isEqual(shown, `Bearer ${settings.token}`)) {
    return { status: 401, message: 'A bearer token is wanted in the Authorization header.' };
  }
  return undefined;
}

function isOurName(host: string, { listen, hosts }: Pick<ExecSettings, 'listen' | 'hosts'>): boolean {
  // No browser reaches a unix socket.
  if (listen.at !== 'tcp') return true;
  const name = host
    .replace(/:\d+$/, '')
    .replace(/^\[(.*)\]$/, '$1')
    .toLowerCase();
  return isLoopback(name) || name === listen.host.toLowerCase() || hosts.includes(name);
}

/** In a time that tells nothing of how much is right. */
function isEqual(got: string, wanted: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(got), digest(wanted));
}
