// An Outcome as a CallToolResult, in the form that the operator chose and that this client can make use of.

import { encode } from '@toon-format/toon';
import { RawJson, stringify } from '../../base/json/json-text.js';
import { type Piece, toldApart } from '../../base/text/own-lines.js';
import { MB_BYTES } from '../../base/text/sizes.js';
import { clip, makeHarmless, shownExactly } from '../../base/text/text.js';
import { hostView } from '../../hosts/records/all-hosts.js';
import type { HostView } from '../../hosts/terms/host.js';
import type { SettingValues } from '../../settings/environment/variables.js';
import { sureChars } from '../artifacts/shown-amounts.js';
import {
  type Captured,
  capturedWithGap,
  type Outcome,
  type OutcomeError,
  type ResultValue,
} from '../outcome/outcome.js';
import { addressPieces, filePieces, type ResourceLink, resourceLinks } from './files.js';
import { payloadOf, showStrings } from './payload.js';
import {
  failurePieces,
  type ImageBlock,
  imageBlocks,
  pictureLines,
  planPieces,
  runningPieces,
  sessionPieces,
  streamPieces,
} from './pieces.js';

/** `sections` is what execute_code says where nobody chose: stdout and stderr, each under its own head. */
export type RenderMode = SettingValues['outputMode'] | 'sections';

type RenderOptions = {
  readonly mode: RenderMode;
  readonly structured: 'auto' | 'always' | 'never';
  /** `clientInfo.name` of the agent. */
  readonly client: string;
  /** False where it knows no `resource_link`, and would refuse the whole answer for one. */
  readonly links?: boolean;
};

/** Whether answers carry `structuredContent`. Where a host shows its model that, the compact form is thrown away. */
export const isStructured = ({ structured, client }: Pick<RenderOptions, 'structured' | 'client'>): boolean =>
  structured === 'always' || (structured === 'auto' && !hostView(client).showsStructured);

/** At most MAX_ANSWER_BYTES as JSON, and the pictures, which have a bound of their own and no copy anywhere. */
export function render(outcome: Outcome, options: RenderOptions): ReturnType<typeof renderWhole> {
  const { roomBytes } = hostView(options.client);
  const { content, ...rest } = fitAnswer(outcome, (fitting) => renderWhole(fitting, options), roomBytes);
  const [text, ...links] = content;
  return { content: [text, ...imageBlocks(outcome.pictures), ...links], ...rest };
}

/** Gives the shape of the protocol's CallToolResult that we make. */
function renderWhole(
  outcome: Outcome,
  { mode, structured, client, links = true }: RenderOptions,
): {
  readonly content: readonly [
    { readonly type: 'text'; readonly text: string },
    ...(ImageBlock | ResourceLink)[],
  ];
  readonly structuredContent?: Readonly<Record<string, unknown>>;
  readonly isError: boolean;
} {
  const view = hostView(client);
  const payload = showStrings(payloadOf(outcome, view.paths));
  const forms: Readonly<Record<RenderMode, () => string>> = {
    compact: () => toldApart(renderCompact(outcome, view)),
    sections: () => toldApart(sections(outcome, view)),
    toon: () => toonOrJson(payload),
    json: () => stringify(payload),
  };
  // Whatever was overlooked where the words came from, nothing leaves that does not show.
  const text = shownExactly(forms[mode]());
  return {
    content: [{ type: 'text', text }, ...(links && view.links ? resourceLinks(outcome) : [])],
    ...(isStructured({ structured, client }) ? { structuredContent: payload } : {}),
    isError: outcome.status !== 'success' && outcome.status !== 'running',
  };
}

// The default form: what a terminal would have shown, with as few words of ours as possible. A model reads this.

/** Never empty. */
export function renderCompact(outcome: Outcome, view: HostView): readonly Piece[] {
  const { status, stdout, stderr, result, pictures, error, note } = outcome;
  const errors = streamPieces(stderr, true);
  const pieces = [
    ...sessionPieces(outcome),
    ...runningPieces(outcome),
    ...planPieces(outcome),
    ...addressPieces(outcome, view),
    ...streamPieces(stdout, true),
    ...(stderr.text === '' ? [] : [{ own: '--- stderr ---' }, ...errors]),
    ...(result === undefined || result.repr === '' ? [] : [{ own: '=>', code: resultText(result) }]),
    ...pictureLines(pictures, stdout.text).map((own) => ({ own })),
    ...(note === undefined ? [] : [{ own: `[note] ${note}` }]),
    ...(error === undefined ? [] : failurePieces(`[${status}]`, status, error)),
    ...filePieces(outcome),
  ];
  const isEmpty = pieces.length === (outcome.session === undefined ? 0 : 1);
  return isEmpty ? [...pieces, { own: '(no output)' }] : pieces;
}

/** Rows as a table where that is the shorter form; else what Python shows. Several lines start on one of their own. */
function resultText({ repr, json }: ResultValue): string {
  const rows = json === undefined ? undefined : toonRows(json);
  const text = rows !== undefined && rows.length < repr.length ? rows : repr;
  return text.includes('\n') ? `\n${text}` : ` ${text}`;
}

// The text of an answer, brought below what any client takes, and below what its host shows a model; its pictures have their
// own bound (run/outcome/pictures.ts). Single texts are capped where they arise; here their sum is bounded, in whatever form
// they are shown: a control character of one byte is seven in JSON, and twice that in JSON in JSON.

/** Stdio clients are known to end servers over answers of 8 MiB; a model could not read a tenth of this either. */
export const MAX_ANSWER_BYTES = MB_BYTES;
/** The first step below what a transcript keeps; each further one is a quarter. With the last one nothing is too long. */
const STEPS_CHARS = [20_000, 5_000, 1_000] as const;

/** Parts of a host's room that a single text may take, one step after the other; the last one is `sureChars`. */
const STEPS_OF_ROOM = [1.25, 1.5, 2, 3, 4, 6, 8, 12] as const;

/**
 * The answer that `render` makes of `outcome`, or of as much of the outcome as fits. `roomBytes` is what the host shows of the
 * text, where it cuts: our own cut says what is missing and where all of it is, a host's does not.
 */
function fitAnswer<T extends { readonly content: readonly [{ readonly text: string }, ...unknown[]] }>(
  outcome: Outcome,
  render: (outcome: Outcome) => T,
  roomBytes = Number.POSITIVE_INFINITY,
): T {
  const steps = Number.isFinite(roomBytes)
    ? [...STEPS_OF_ROOM.map((part) => Math.floor(roomBytes / part)), sureChars(roomBytes)]
    : STEPS_CHARS;
  const fits = (answer: T) =>
    Buffer.byteLength(answer.content[0].text) <= roomBytes &&
    Buffer.byteLength(stringify(answer)) <= MAX_ANSWER_BYTES;
  let answer = render(outcome);
  for (const maxChars of steps) {
    if (fits(answer)) break;
    answer = render(cut(outcome, maxChars));
  }
  return answer;
}

function cut(outcome: Outcome, maxChars: number): Outcome {
  const { stdout, stderr, result, error } = outcome;
  const json = result?.json;
  return {
    ...outcome,
    stdout: cutStream(stdout, maxChars),
    stderr: cutStream(stderr, maxChars),
    error: error === undefined ? undefined : cutError(error, maxChars),
    result: result && {
      repr: clip(result.repr, maxChars),
      json: json !== undefined && json.text.length > maxChars ? undefined : json,
      isCut: result.repr.length > maxChars || (json !== undefined && json.text.length > maxChars),
    },
  };
}

function cutStream(stream: Captured, maxChars: number): Captured {
  const { text, dropped, droppedBytes = 0, whole, gap } = stream;
  if (text.length <= maxChars) return stream;
  // Where something is missing already, more goes from both sides of that place, and one line tells of all.
  const [before, after] =
    gap === undefined ? [text, text] : [text.slice(0, gap.start - 1), text.slice(gap.end + 1)];
  const half = Math.floor(maxChars / 2);
  const [head, tail] = [before.slice(0, half), after.slice(-half)];
  const all = gap === undefined ? text : before + after;
  return capturedWithGap(makeHarmless(head), makeHarmless(tail), {
    dropped: dropped + all.length - head.length - tail.length,
    droppedBytes: droppedBytes + Buffer.byteLength(all) - Buffer.byteLength(head) - Buffer.byteLength(tail),
    whole,
  });
}

function cutError(error: OutcomeError, maxChars: number): OutcomeError {
  const lines = Math.ceil(maxChars / 100);
  return {
    ...error,
    message: clip(error.message, maxChars),
    traceback: error.traceback.slice(-lines).map((line) => clip(line, maxChars)),
    remedy: error.remedy === undefined ? undefined : clip(error.remedy, maxChars),
  };
}

// The form in which execute_code answers where nobody chose another: where files are, what failed, then stdout and stderr, each
// under its own head, whether there is anything in it or not. What was cut out of a stream is said where it is missing, as in
// every form.

function sections(outcome: Outcome, view: HostView): readonly Piece[] {
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

// Token-Oriented Object Notation, where it is the shorter form. TOON wins on uniform rows (about 0.45 of
// compact JSON) and loses on mixed or deep data, so both are made and the shorter one is sent.

/** Above this the encoder, 25 times slower than JSON, would be felt by every other run. */
const MAX_TOON_CHARS = 200_000;

/** Sixteen digits, an exponent of three, minus nought: JavaScript may read another number than is written there. */
const NUMBER_OF_ITS_OWN = /\d{16}|\d[eE][+-]?\d{3}|-0(?![.\d])/;

/** A block with a fence longer than any in the text, so that nothing in the text can close the block. */
function block(language: string, text: string): string {
  const ticks = (text.match(/`{3,}/g) ?? []).reduce((most, run) => Math.max(most, run.length + 1), 3);
  const fence = '`'.repeat(ticks);
  return `${fence}${language}\n${text}\n${fence}`;
}

/** A fenced block, labelled `toon` or `json`. */
function toonOrJson(value: object): string {
  const json = stringify(value);
  if (json.length > MAX_TOON_CHARS) return block('json', json);
  try {
    const toon = encode(
      Object.fromEntries(Object.entries(value).map(([key, member]) => [key, plainMember(member)])),
    );
    if (toon.length < json.length) return block('toon', toon);
  } catch {
    // Lone surrogates, cycles and deep nesting: TOON has no form for them, JSON has.
  }
  return block('json', json);
}

/**
 * A list of at least two rows, all with the same keys and nothing nested, as TOON without a fence: its head says what it
 * is. Undefined for any other value, and where JavaScript's numbers would change one.
 */
function toonRows({ text }: RawJson): string | undefined {
  if (!text.startsWith('[{') || text.length > MAX_TOON_CHARS || NUMBER_OF_ITS_OWN.test(text))
    return undefined;
  const rows = JSON.parse(text) as readonly object[];
  const keys = JSON.stringify(Object.keys(rows[0] ?? {}));
  const isTable = rows.every((row) => isFlat(row) && JSON.stringify(Object.keys(row)) === keys);
  return rows.length > 1 && keys !== '[]' && isTable ? makeHarmless(encode(rows)) : undefined;
}

const isFlat = (row: unknown): boolean =>
  typeof row === 'object' &&
  row !== null &&
  !Array.isArray(row) &&
  !Object.values(row).some((value) => typeof value === 'object' && value !== null);

/** A relayed value as data; one that JavaScript's numbers would change stays text. */
function plainMember(member: unknown): unknown {
  if (!(member instanceof RawJson)) return member;
  return NUMBER_OF_ITS_OWN.test(member.text) ? member.text : (JSON.parse(member.text) as unknown);
}
