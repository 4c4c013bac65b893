// The form in which execute_code answers where nobody chose another: where files are, what failed, then stdout and stderr, each under its
// own head, whether there is anything in it or not. What was cut out of a stream is said
// where it is missing, as in every form.

import type { Piece } from '../../base/text/own-lines.js';
import type { HostView } from '../../hosts/terms/host.js';
import type { Outcome } from '../outcome/outcome.js';
import { addressPieces, filePieces } from './files.js';
import { pictureLines } from './pictures.js';
import { failurePieces, planPieces, runningPieces, sessionPieces, streamPieces } from './pieces.js';

export function sections(outcome: Outcome, view: HostView): readonly Piece[] {
  const { status, stdout, stderr, pictures, note, error } = outcome;
  return [
    ...sessionPieces(outcome),
    ...runningPieces(outcome),
    ...planPieces(outcome),
    ...addressPieces(outcome, view),
    ...(error === undefined ? [] : failure(status, error)),
    { own: '--- stdout ---' },
    ...streamPieces(stdout, false),
    { own: '--- stderr ---' },
    ...streamPieces({ ...stderr, text: stderr.text.replace(/(?<!\n)\n+$/, '') }, false),
    ...pictureLines(pictures, stdout.text).map((own) => ({ own })),
    ...(note === undefined ? [] : [{ own: `[note] ${note}` }]),
    ...filePieces(outcome),
  ];
}

/** One line, unless the program's own words are several, and an empty one. */
function failure(status: Outcome['status'], error: NonNullable<Outcome['error']>): readonly Piece[] {
  const { message, remedy } = error;
  const head = `Execution Failed (${status}):`;
  const full = remedy === undefined || /[.!?…]$/.test(message) ? message : `${message}.`;
  const code = ` ${full}${remedy === undefined ? '' : ` ${remedy}`}`;
  const marked = failurePieces(head, status, { ...error, traceback: [] });
  const isDoubtful = marked.some((piece) => piece.isDoubtful === true);
  return [
    { own: head, code, isDoubtful, marked: marked.flatMap((piece) => piece.marked ?? [piece]) },
    { code: '' },
  ];
}
