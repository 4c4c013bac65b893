// The form in which execute_code answers where nobody chose another: what failed, then stdout and stderr, each under its
// own head, whether there is anything in it or not. Who knows isolator knows it.

import type { Outcome } from '../run/outcome.js';
import { fileLines } from './files.js';
import { pictureLines } from './pictures.js';

/** `links` when the addresses of files follow it as links. */
export function sections(outcome: Outcome, links: boolean): string {
  const { status, stdout, stderr, pictures, error } = outcome;
  const parts = [
    ...(error === undefined ? [] : [failure(status, error)]),
    `--- stdout ---\n${ended(stdout.text)}--- stderr ---\n${ended(stderr.text)}`.trimEnd(),
    ...pictureLines(pictures, stdout.text),
    ...fileLines(outcome, links),
  ];
  return parts.join('\n');
}

const ended = (text: string): string => (text === '' || text.endsWith('\n') ? text : `${text}\n`);

function failure(status: Outcome['status'], { message, remedy }: NonNullable<Outcome['error']>): string {
  const next = remedy === undefined ? '' : `\n${remedy}`;
  return `Execution Failed (${status}): ${message}${next}\n`;
}
