// A `fetch` for short requests that go through a proxy, which Node's own cannot. Redirects are given back as they are.

import type { IncomingMessage } from 'node:http';
import { MB_BYTES } from '../../base/text/sizes.js';
import { readBody } from './body.js';
import { HttpClient } from './http-client.js';
import type { ProxyFor } from './proxies.js';

/** What asks for more gives up at less. */
const MAX_BYTES = 2 * MB_BYTES;
const WITHOUT_BODY = new Set([101, 204, 205, 304]);

/** Rejects with what HttpClient throws, or when the body is longer than 2 MB. */
export function fetchBy(proxyFor: ProxyFor): (url: URL, init: RequestInit) => Promise<Response> {
  return async (url, { method = 'GET', headers, body, signal }) => {
    const client = new HttpClient(undefined, proxyFor);
    try {
      const request = {
        method: method === 'POST' ? 'POST' : 'GET',
        url,
        headers: Object.fromEntries(new Headers(headers)),
        ...(body === undefined || body === null ? {} : { body: String(body) }),
        mayRepeat: false,
        followsRedirects: false,
      } as const;
      const answer = await client.request(request, signal ?? new AbortController().signal);
      const read = await readBody(answer, MAX_BYTES);
      if (!('text' in read)) throw new Error(`the answer has more than ${MAX_BYTES} bytes`);
      const { statusCode: status = 500 } = answer;
      return new Response(WITHOUT_BODY.has(status) ? null : read.text, {
        status,
        headers: headersOf(answer),
      });
    } finally {
      client.close();
    }
  };
}

function headersOf({ headersDistinct }: IncomingMessage): Headers {
  const headers = new Headers();
  for (const [name, values] of Object.entries(headersDistinct)) {
    for (const value of values ?? []) headers.append(name, value);
  }
  return headers;
}
