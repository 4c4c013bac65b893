// The default form: what a terminal would have shown, with as few words of ours as possible. A model reads this.

import type { Outcome } from '../run/outcome.js';
import { fileLines } from './files.js';

const trimEnd = (text: string): string => text.replace(/\n+$/, '');

/** Plain text; never empty. `links` when the addresses of files follow it as links. */
export function compact(outcome: Outcome, links: boolean): string {
  const { stdout, stderr, result, error, note } = outcome;
  const parts = [trimEnd(stdout.text)];
  if (stderr.text !== '') parts.push(`--- stderr ---\n${trimEnd(stderr.text)}`);
  if (result !== undefined && result.repr !== '') parts.push(`=> ${result.repr}`);
  if (note !== undefined) parts.push(`[note] ${note}`);
  if (error !== undefined) parts.push(failure(outcome.status, error));
  parts.push(...fileLines(outcome, links));
  return parts.filter((part) => part !== '').join('\n') || '(no output)';
}

function failure(
  status: Outcome['status'],
  { message, traceback, remedy }: NonNullable<Outcome['error']>,
): string {
  // A traceback ends with the message already.
  const body =
    traceback.length === 0
      ? message
      : status === 'timeout'
        ? [message, ...traceback].join('\n')
        : traceback.join('\n');
  return `[${status}] ${body}${remedy === undefined ? '' : `\n${remedy}`}`;
}
