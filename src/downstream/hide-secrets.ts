// Tells the redactor what is secret of one server, so that values which are replaced now and then (rotating headers, a
// token that the user's configuration is given anew) do not make it grow without end.

import type { Redactor } from '../base/redact.js';

/** A value that is shown as one name. */
const NAME_ONLY = /^\[[^[\]]*\]$/;

/**
 * Hides the values of `secrets`, of each name the last few. A value that is hidden already stays as it is: the redactor
 * would forget it with this server, and it may be another's too. Call it again for all servers when one has changed.
 */
export function hideLatest(
  redactor: Redactor,
  server: string,
  secrets: Readonly<Record<string, string>>,
): void {
  for (const [name, value] of Object.entries(secrets)) {
    if (NAME_ONLY.test(redactor.redactValues(value.trim()))) continue;
    redactor.addLatest(`${name} of ${server}`, value);
  }
}
