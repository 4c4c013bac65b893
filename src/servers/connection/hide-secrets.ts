// Tells the redactor what is secret of one server, so that values which are replaced now and then (rotating headers, a
// token that the user's configuration is given anew) do not make it grow without end.

import type { Redactor } from '../../base/secrets/redact.js';

/** Hides the values of `secrets`: of each name of a server the last few. */
export function hideLatest(
  redactor: Redactor,
  server: string,
  secrets: Readonly<Record<string, string>>,
): void {
  for (const [name, value] of Object.entries(secrets)) redactor.addLatest(`${name} of ${server}`, value);
}

/** The scheme that stands before a key in a header. */
const SCHEME = /^(?:bearer|basic|token) +/i;
/** Any other scheme, where one word follows it. */
const ANY_SCHEME = /^[A-Za-z][\w-]{0,31} +(?=\S+$)/;

/** Hides the values of headers. A server that quotes a token leaves out the scheme before it: no part of the secret. */
export function hideHeaders(
  redactor: Redactor,
  server: string,
  headers: Readonly<Record<string, string>>,
): void {
  const bare = Object.entries(headers).map(([name, value]) => {
    const scheme = name.toLowerCase() === 'authorization' ? ANY_SCHEME : SCHEME;
    return [name, value.replace(scheme, '')] as const;
  });
  hideLatest(redactor, server, Object.fromEntries(bare));
}
