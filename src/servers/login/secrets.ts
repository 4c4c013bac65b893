// The parts of a login that must never be in a log line or an error.

import type { Redactor } from '../../base/secrets/redact.js';
import type { Login } from './token-store.js';

/** Tells the redactor; to be called with every login before it is used. */
export function hideTokens(redactor: Redactor, { name, accessToken, refreshToken, client }: Login): void {
  redactor.addLatest(`access token of ${name}`, accessToken);
  if (refreshToken !== undefined) redactor.addLatest(`refresh token of ${name}`, refreshToken);
  if (client.client_secret !== undefined)
    redactor.addLatest(`client secret of ${name}`, client.client_secret);
}
