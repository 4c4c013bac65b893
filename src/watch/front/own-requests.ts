// Which requests a page of this machine takes, and the forms that it is sent.

import type { IncomingMessage } from 'node:http';
import { repeatedHeader } from '../../base/text/repeated-header.js';

const METHODS = ['GET', 'HEAD', 'POST'];

/**
 * Why a request is not taken: the page takes those that the browser of this machine sends for the page itself. Other web pages
 * can send requests here, and can have their own name lead here (DNS rebinding); what they send is refused before it is looked
 * at. Undefined where nothing stands against the request. `origin` is the page's own by the name that the request has come to,
 * undefined where that is none of its names.
 */
export function refusalOf(
  request: IncomingMessage,
  origin: string | undefined,
):
  | {
      readonly status: number;
      readonly says: string;
      readonly headers?: Readonly<Record<string, string>>;
    }
  | undefined {
  const { method = '', headers } = request;
  const repeated = repeatedHeader(request);
  if (repeated !== undefined) return { status: 400, says: repeated };
  if (origin === undefined)
    return refusal('This page is not known by that name. Open the link that the bridge gave.');
  if (!METHODS.includes(method))
    return {
      status: 405,
      says: 'Only GET and POST are understood here.',
      headers: { allow: METHODS.join(', ') },
    };
  if (method === 'POST') {
    // Browsers send both with every form; what sends neither is none.
    if (headers.origin !== origin) return refusal('This answer was not sent by this page.');
    if (headers['content-type']?.split(';')[0]?.trim() !== 'application/x-www-form-urlencoded')
      return { status: 415, says: 'An answer is a form.' };
  }
  if (!isOwnFetch(method, headers['sec-fetch-site'], headers['sec-fetch-mode']))
    return refusal('Another page may link to this one, and nothing else.');
  return undefined;
}

/** Judges a request by what browsers say of it; requests that say nothing are judged by Host and Origin alone. */
function isOwnFetch(
  method: string,
  site: string | string[] | undefined,
  mode: string | string[] | undefined,
): boolean {
  if (site === undefined || site === 'same-origin') return true;
  return method !== 'POST' && mode === 'navigate';
}

const refusal = (says: string) => ({ status: 403, says });

/** The origin of a page on this machine, where the request names it so exactly; `port` is the one that it listens on. */
export const originHere = ({ headers: { host } }: IncomingMessage, port: number): string | undefined =>
  host === `127.0.0.1:${port}` || host === `localhost:${port}` ? `http://${host}` : undefined;

/** A form has a token, a word of some hundred characters, each of which may be nine in it, and a few short fields. */
const MAX_FORM_BYTES = 16_384;

/** The fields of the form in a request; undefined where it is too large. Rejects when the sender goes. */
export async function formFields(request: IncomingMessage): Promise<URLSearchParams | undefined> {
  if (Number(request.headers['content-length']) > MAX_FORM_BYTES) return undefined;
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_FORM_BYTES) return undefined;
    chunks.push(chunk);
  }
  return new URLSearchParams(Buffer.concat(chunks).toString());
}

/** The value of a field that stands once; undefined where it is missing or stands twice. */
export function onlyValue(fields: URLSearchParams, name: string): string | undefined {
  const values = fields.getAll(name);
  return values.length === 1 ? values[0] : undefined;
}
