// The addresses of whose access tokens an HTTP endpoint takes: issuers, and the endpoint itself.

import { messageOf } from '../../base/errors.js';

/** Why the address of an issuer or a resource cannot be used, as a sentence; undefined where it can be. */
export function oauthAddressTrouble(text: string): string | undefined {
  let url: URL;
  try {
    url = new URL(text);
  } catch (thrown) {
    return `It is no address (${messageOf(thrown)}).`;
  }
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLoopbackName(url.hostname)))
    return 'It has to be https; http is for this machine only (localhost, 127.0.0.1, [::1]).';
  if (url.username !== '' || url.password !== '') return 'It must not have a user or a password.';
  if (text.includes('#') || text.includes('?')) return 'It must have neither a query nor a fragment.';
  return undefined;
}

/** Whether the host of a URL is this machine by its name. */
export const isLoopbackName = (hostname: string): boolean =>
  hostname === 'localhost' || hostname === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(hostname);
