// The credential of a request: at most one, in the `Authorization` header, as `Bearer TOKEN` (RFC 6750). Looks at form only.

import { TOKEN_PREFIX } from './token-text.js';

/** Access tokens with long lists of groups have some 8 kB; node:http takes headers of 16 kB together. */
const MAX_TOKEN_CHARS = 16_000;
const SCHEME = /^[A-Za-z][A-Za-z0-9_-]{0,31}(?= |$)/;
const TOKEN = /^[A-Za-z0-9\-._~+/]+=*$/;
const MAX_QUERY_CHARS = 16_000;

export type Presented =
  | { readonly state: 'none' }
  | { readonly state: 'token'; readonly text: string }
  /** `description` is a sentence for whoever has sent it, without what was sent. */
  | { readonly state: 'malformed'; readonly description: string };

/** What the headers present. Several headers are refused: two programs may not read different ones of them. */
export function presentedIn(authorization: readonly string[] | string | undefined): Presented {
  const headers = typeof authorization === 'string' ? [authorization] : (authorization ?? []);
  const [header, second] = headers;
  if (header === undefined) return { state: 'none' };
  if (second !== undefined) return malformed('There are several Authorization headers; send one.');
  const [scheme] = SCHEME.exec(header) ?? [];
  if (scheme?.toLowerCase() !== 'bearer') {
    const known = scheme?.toLowerCase() === 'dpop' ? 'DPoP' : 'This form';
    return malformed(`${known} is not taken here; send \`Authorization: Bearer TOKEN\`.`);
  }
  const text = header.slice('bearer'.length).trim();
  if (text.length > MAX_TOKEN_CHARS)
    return malformed(`The token is longer than ${MAX_TOKEN_CHARS} characters.`);
  if (!TOKEN.test(text))
    return malformed(
      'What follows `Bearer` is no token: one word of letters, digits and -._~+/ is expected.',
    );
  return { state: 'token', text };
}

/** Whether there is a token in the address, where logs and histories keep it. */
export function hasTokenInQuery(target: string): boolean {
  const at = target.indexOf('?');
  if (at === -1) return false;
  const query = target.slice(at + 1, at + 1 + MAX_QUERY_CHARS);
  return [...new URLSearchParams(query)].some(
    ([name, value]) => name.toLowerCase() === 'access_token' || value.startsWith(TOKEN_PREFIX),
  );
}

const malformed = (description: string): Presented => ({ state: 'malformed', description });
