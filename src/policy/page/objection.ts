// Which requests the page takes: those that the browser of this machine sends for the page itself. Other web pages can send
// requests here, and can have their own name lead here (DNS rebinding); what they send is refused before it is looked at.

import type { IncomingMessage } from 'node:http';
import { repeatedHeader } from '../../base/text/repeated-header.js';

export type Objection = {
  readonly status: number;
  readonly says: string;
  readonly headers?: Readonly<Record<string, string>>;
};

const METHODS = ['GET', 'HEAD', 'POST'];

/** Undefined where nothing stands against the request. `port` is the one that the page listens on. */
export function objectionTo(request: IncomingMessage, port: number): Objection | undefined {
  const { method = '', headers } = request;
  const repeated = repeatedHeader(request);
  if (repeated !== undefined) return { status: 400, says: repeated };
  const { host, origin } = headers;
  if (host !== `127.0.0.1:${port}` && host !== `localhost:${port}`)
    return refusal('This page is not known by that name. Open the link that the bridge gave.');
  if (!METHODS.includes(method))
    return {
      status: 405,
      says: 'Only GET and POST are understood here.',
      headers: { allow: METHODS.join(', ') },
    };
  if (method === 'POST') {
    // Browsers send both with every form; what sends neither is none.
    if (origin !== `http://${host}`) return refusal('This answer was not sent by this page.');
    if (headers['content-type']?.split(';')[0]?.trim() !== 'application/x-www-form-urlencoded')
      return { status: 415, says: 'An answer is a form.' };
  }
  if (!isOwnFetch(method, headers['sec-fetch-site'], headers['sec-fetch-mode']))
    return refusal('Another page may link to this one, and nothing else.');
  return undefined;
}

/** By what browsers say of a request; those that say nothing are judged by Host and Origin alone. */
function isOwnFetch(
  method: string,
  site: string | string[] | undefined,
  mode: string | string[] | undefined,
): boolean {
  if (site === undefined || site === 'same-origin') return true;
  return method !== 'POST' && mode === 'navigate';
}

const refusal = (says: string): Objection => ({ status: 403, says });
