// The default form: what a terminal would have shown, with as few words of ours as possible. A model reads this.

import type { Piece } from '../../base/text/own-lines.js';
import type { HostView } from '../../hosts/terms/host.js';
import type { Outcome, ResultValue } from '../outcome/outcome.js';
import { addressPieces, filePieces } from './files.js';
import { pictureLines } from './pictures.js';
import { failurePieces, planPieces, runningPieces, sessionPieces, streamPieces } from './pieces.js';
import { toonRows } from './toon.js';

/** Never empty. */
export function compact(outcome: Outcome, view: HostView): readonly Piece[] {
  const { status, stdout, stderr, result, pictures, error, note } = outcome;
  const errors = streamPieces(stderr, true);
  const pieces = [
    ...sessionPieces(outcome),
    ...runningPieces(outcome),
    ...planPieces(outcome),
    ...addressPieces(outcome, view),
    ...streamPieces(stdout, true),
    ...(stderr.text === '' ? [] : [{ own: '--- stderr ---' }, ...errors]),
    ...(result === undefined || result.repr === '' ? [] : [{ own: '=>', code: shown(result) }]),
    ...pictureLines(pictures, stdout.text).map((own) => ({ own })),
    ...(note === undefined ? [] : [{ own: `[note] ${note}` }]),
    ...(error === undefined ? [] : failurePieces(`[${status}]`, status, error)),
    ...filePieces(outcome),
  ];
  const isEmpty = pieces.length === (outcome.session === undefined ? 0 : 1);
  return isEmpty ? [...pieces, { own: '(no output)' }] : pieces;
}

/** Rows as a table where that is the shorter form; else what Python shows. Several lines start on one of their own. */
function shown({ repr, json }: ResultValue): string {
  const rows = json === undefined ? undefined : toonRows(json);
  const text = rows !== undefined && rows.length < repr.length ? rows : repr;
  return text.includes('\n') ? `\n${text}` : ` ${text}`;
}
