// Tells the redactor what is secret of one server, so that values which are replaced now and then (rotating headers, a
// token that the user's configuration is given anew) do not make it grow without end.

import type { Redactor } from '../base/redact.js';

/** Hides the values of `secrets`: of each name of a server the last few. */
export function hideLatest(
  redactor: Redactor,
  server: string,
  secrets: Readonly<Record<string, string>>,
): void {
  for (const [name, value] of Object.entries(secrets)) redactor.addLatest(`${name} of ${server}`, value);
}
