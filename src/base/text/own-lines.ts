// Tells the bridge's own lines in an answer from the code's. Most often their form does: `=> 42`, `[error] …`. Where the
// code has written a line of such a form, a mark stands ahead of ours. It is drawn when the answer is made, after the code
// has ended, so that no code can know it.

import { drawnLetters } from '../crypto.js';

/** One or more lines of an answer. Where it has both, `code` goes on in the last line of `own`. */
export type Piece = {
  /** The bridge's own words. Each of their lines gets the mark. */
  readonly own?: string;
  /** Text that the code has written. */
  readonly code?: string;
  /** True where `code` may be taken for ours although no line of it has one of our forms. */
  readonly isDoubtful?: boolean;
  /** The pieces that take this one's place in an answer with marks, where they differ. */
  readonly marked?: readonly Piece[];
};

// Parts of a line are bounded, so that a search through 40,000 characters without a match stays linear.
const OUR_FORMS = [
  '=+>',
  '-{2}.{0,300}[^\\S\\n]-{2,3}[^\\S\\n]{0,9}$',
  '\\[(?:bridge|note|error|timeout|cancelled|running|validation.?error|success|files|not returned|whole output)\\b',
  '\\[(?:exit status|ended by|killed|not started)\\b',
  '\\[(?:…|\\.{3})? ?\\d{1,12} (?:characters|bytes|of|further|more pictures?)\\b',
  '\\[picture \\d{1,9} is not\\b',
  'execution failed\\b',
  '\\(no output\\)',
];
/** A line that begins as ours do, or that speaks of the bridge's lines as the first line of an answer with marks does. */
const LIKE_OURS = new RegExp(
  `^[^\\S\\n]{0,40}(?:${OUR_FORMS.join('|')})|\\bbridge\\b.{0,80}\\blines?\\b|\\blines?\\b.{0,80}\\bbridge\\b`,
  'im',
);
const MARK_LETTERS = 4;

/** The pieces as one text, one below the other. `draw` gives the letters of a mark; it is called again where they are taken. */
export function toldApart(pieces: readonly Piece[], draw: () => string = drawnMark): string {
  const plain = joinPieces(pieces);
  if (!pieces.some(isDoubtful)) return plain;
  let mark: string;
  do mark = `[bridge ${draw()}]`;
  while (plain.includes(mark));
  const explained = {
    own: 'Only lines that begin with this mark are the bridge’s own. The code wrote all others.',
  };
  const marked = [explained, ...pieces.flatMap((piece) => piece.marked ?? [piece])];
  return joinPieces(
    marked.map(({ own, ...piece }) =>
      own === undefined ? piece : { ...piece, own: own.replace(/^/gm, `${mark} `) },
    ),
  );
}

const joinPieces = (pieces: readonly Piece[]): string =>
  pieces.map(({ own = '', code = '' }) => own + code).join('\n');

// Compatibility forms count too: a fullwidth `＝＞` reads as ours.
const isDoubtful = ({ code = '', isDoubtful: isKnown = false }: Piece): boolean =>
  isKnown || LIKE_OURS.test(code) || LIKE_OURS.test(code.normalize('NFKC'));

const drawnMark = (): string => drawnLetters(MARK_LETTERS);
