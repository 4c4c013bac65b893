// The default form: what a terminal would have shown, with as few words of ours as possible. A model reads this.

import type { Outcome, ResultValue } from '../run/outcome.js';
import { fileLines } from './files.js';
import { pictureLines } from './pictures.js';
import { toonRows } from './toon.js';

const trimEnd = (text: string): string => text.replace(/(?<!\n)\n+$/, '');

/** Plain text; never empty. `links` when the addresses of files follow it as links. */
export function compact(outcome: Outcome, links: boolean): string {
  const { stdout, stderr, result, pictures, error, note } = outcome;
  const parts = [trimEnd(stdout.text)];
  if (stderr.text !== '') parts.push(`--- stderr ---\n${trimEnd(stderr.text)}`);
  if (result !== undefined && result.repr !== '') parts.push(`=>${shown(result)}`);
  parts.push(...pictureLines(pictures, stdout.text));
  if (note !== undefined) parts.push(`[note] ${note}`);
  if (error !== undefined) parts.push(failure(outcome.status, error));
  parts.push(...fileLines(outcome, links));
  return parts.filter((part) => part !== '').join('\n') || '(no output)';
}

/** Rows as a table where that is the shorter form; else what Python shows. Several lines start on one of their own. */
function shown({ repr, json }: ResultValue): string {
  const rows = json === undefined ? undefined : toonRows(json);
  const text = rows !== undefined && rows.length < repr.length ? rows : repr;
  return text.includes('\n') ? `\n${text}` : ` ${text}`;
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
