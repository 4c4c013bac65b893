// Terms of a token as a person writes them on the command line, checked: its name, its servers, its scopes and its end.

import { BridgeError } from '../../base/errors.js';
import { ownCommand } from '../../base/process/own-command.js';
import { DAY_MS, dayOf, durationOf, instantOf } from '../../base/text/moments.js';
import { looksLike } from '../../base/text/name-pattern.js';
import { clipHarmless } from '../../base/text/text.js';
import { MAX_NAME_CHARS, troubleOfName } from '../../hosts/entries/server-entry.js';
import type { TokenRecord } from './token-file.js';

/** Beyond this an end is a typing error; without one a token has none. */
const MAX_YEARS = 100;
/** The end of a new token, and of a rotated one that had an end. */
export const USUAL_LIFE = '90d';
const MAX_GRACE = '30d';
/** RFC 6749, 3.3. */
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]{1,256}$/;
const CHARS_SHOWN = 120;
const EXPIRES_ALLOWED =
  'a time from now such as 12h, 30d, 8w or 1y, a date such as 2030-12-31, whose last moment (UTC) is the end, a moment such as 2030-12-31T12:00Z, or never';

/** Throws E_ARGUMENTS for a name that no server could have either. */
export function checkedTokenName(name: string): string {
  if (troubleOfName(name) === undefined) return name;
  throw argumentsError(
    `The name of a token is ${quoteText(name)}; allowed: 1 to ${MAX_NAME_CHARS} characters that show, in one line.`,
    'Choose another name, such as ci.',
  );
}

/** Throws E_ARGUMENTS where a token has this name, or one that looks like it. */
export function refuseTaken(name: string, tokens: readonly TokenRecord[]): void {
  const other = tokens.find((token) => looksLike(token.name, name));
  if (other === undefined) return;
  const like = other.name === name ? '' : `, which looks like ${quoteText(name)}`;
  throw argumentsError(
    `There is a token ${quoteText(other.name)}${like}.`,
    `Choose another name, or revoke that one first: ${ownCommand('token', 'revoke', other.name)}`,
  );
}

/** `a,b`, or `*` for all that the policy allows; nothing is none. Throws E_ARGUMENTS. */
export function serversFrom(text: string): TokenRecord['servers'] {
  const names = text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
  if (names.length === 1 && names[0] === '*') return '*';
  for (const name of names) {
    if (name.includes('*') || troubleOfName(name) !== undefined)
      throw argumentsError(
        `--servers has ${quoteText(name)}; allowed: names of servers separated by commas, or '*' alone for all.`,
        `\`${ownCommand('servers')}\` shows the names. Patterns belong into a policy or into the principals file.`,
      );
  }
  return [...new Set(names)];
}

/** Scopes separated by spaces or commas. Throws E_ARGUMENTS. */
export function scopesFrom(text: string): readonly string[] {
  const scopes = text.split(/[\s,]+/).filter((scope) => scope !== '');
  const bad = scopes.find((scope) => !SCOPE.test(scope));
  if (bad === undefined) return [...new Set(scopes)];
  throw argumentsError(
    `--scopes has ${quoteText(bad)}; allowed: scopes separated by spaces or commas, in ASCII without quotes and backslashes.`,
    'Write them as the rules of the principals file name them.',
  );
}

/** The end in ms since 1970; undefined for `never`. Throws E_ARGUMENTS. */
export function expiryFrom(text: string, nowMs = Date.now()): number | undefined {
  const written = text.trim();
  if (written === 'never') return undefined;
  const atMs = momentOf(written, nowMs);
  if (atMs === undefined)
    throw argumentsError(
      `--expires is ${quoteText(text)}; allowed: ${EXPIRES_ALLOWED}.`,
      'Write one of these.',
    );
  if (atMs <= nowMs)
    throw argumentsError(
      `--expires is ${quoteText(text)}, which is over (${new Date(atMs).toISOString()}); allowed: ${EXPIRES_ALLOWED}.`,
      'Choose an end that lies ahead.',
    );
  if (atMs - nowMs > MAX_YEARS * 366 * DAY_MS)
    throw argumentsError(
      `--expires is ${quoteText(text)}, more than ${MAX_YEARS} years ahead; allowed: ${EXPIRES_ALLOWED}.`,
      'Write never for a token without an end.',
    );
  return atMs;
}

/** How long a replaced text still counts, in ms; 0 for not at all. Throws E_ARGUMENTS. */
export function graceFrom(text: string): number {
  const written = text.trim();
  const graceMs = written === '0' ? 0 : durationOf(written);
  if (graceMs !== undefined && graceMs <= (durationOf(MAX_GRACE) ?? 0)) return graceMs;
  throw argumentsError(
    `--grace is ${quoteText(text)}; allowed: a time such as 30m, 24h or 7d, up to ${MAX_GRACE}, or 0.`,
    'Write 0 to refuse the old token at once.',
  );
}

function momentOf(text: string, nowMs: number): number | undefined {
  const [aheadMs, dayMs] = [durationOf(text), dayOf(text)];
  if (aheadMs !== undefined) return nowMs + aheadMs;
  return dayMs === undefined ? instantOf(text) : dayMs + DAY_MS;
}

const quoteText = (text: string): string => `'${clipHarmless(text, CHARS_SHOWN)}'`;

const argumentsError = (message: string, remedy: string): BridgeError =>
  new BridgeError('E_ARGUMENTS', message, { fault: 'operator', remedy });
