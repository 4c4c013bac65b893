// The form in which execute_code answers where nobody chose another: what failed, then stdout and stderr, each under its
// own head, whether there is anything in it or not. Who knows isolator knows it. What was cut out of a stream is said
// where it is missing, as in every form.

import type { Outcome } from '../run/outcome.js';
import { fileLines } from './files.js';
import { pictureLines } from './pictures.js';

/** `links` when the addresses of files follow it as links. */
export function sections(outcome: Outcome, links: boolean): string {
  const { status, stdout, stderr, pictures, note, error } = outcome;
  const parts = [
    ...(error === undefined ? [] : [failure(status, error)]),
    `--- stdout ---\n${ended(stdout.text)}--- stderr ---\n${stderr.text}`.replace(/(?<!\n)\n+$/, ''),
    ...pictureLines(pictures, stdout.text),
    ...(note === undefined ? [] : [`[note] ${note}`]),
    ...fileLines(outcome, links),
  ];
  return parts.join('\n');
}

const ended = (text: string): string => (text === '' || text.endsWith('\n') ? text : `${text}\n`);

/** One line, unless the program's own words are several, and an empty one. */
function failure(status: Outcome['status'], { message, remedy }: NonNullable<Outcome['error']>): string {
  const full = remedy === undefined || /[.!?…]$/.test(message) ? message : `${message}.`;
  return `Execution Failed (${status}): ${full}${remedy === undefined ? '' : ` ${remedy}`}\n`;
}
