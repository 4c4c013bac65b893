// Files that a run left besides its answer, in the words of each form: small texts as they are, everything else by name, size
// and address. Addresses stand in the text, since not every host shows its model links, and first, since some cut the rest. A
// file that stayed behind is named with the reason.

import type { Piece } from '../../base/text/own-lines.js';
import { countOf } from '../../base/text/text.js';
import type { HostView } from '../../hosts/terms/host.js';
import type { Left, LeftFile } from '../artifacts/artifacts.js';
import type { KeptThing } from '../artifacts/kept-run.js';
import type { Outcome } from '../outcome/outcome.js';

/** The protocol's own block for something that can be read with `resources/read`. */
export type ResourceLink = {
  readonly type: 'resource_link';
  readonly uri: string;
  readonly name: string;
  readonly mimeType: string;
  readonly size: number;
};

/** One file in the structured forms: with its text, its address, or the reason why there is neither. */
export type FileEntry = {
  readonly name: string;
  readonly bytes?: number;
  readonly text?: string;
  readonly uri?: string;
  /** On this machine. */
  readonly path?: string;
  readonly problem?: string;
};

export const resourceLinks = (outcome: Outcome): ResourceLink[] =>
  keptOf(outcome).map(({ uri, name, mimeType, sizeBytes }) => ({
    type: 'resource_link',
    uri,
    name,
    mimeType,
    size: sizeBytes,
  }));

/** The longest list of addresses, where the host shows all. */
const MAX_LIST_CHARS = 10_000;
/** A host that cuts shows at least this part of its room from the beginning. */
const LIST_SHARE = 3;

/** The first lines of an answer: where what is kept can be opened. None where nothing is kept. */
export function addressPieces(outcome: Outcome, { paths, roomBytes }: HostView): readonly Piece[] {
  const kept = keptOf(outcome);
  if (kept.length === 0) return [];
  const maxChars = roomBytes === undefined ? MAX_LIST_CHARS : Math.floor(roomBytes / LIST_SHARE);
  const lines: string[] = [];
  let chars = 0;
  for (const { name, sizeBytes, uri, path } of kept) {
    const line = `${nameWithSize(name, sizeBytes)}: ${uri}${paths && path !== undefined ? ` or ${path}` : ''}`;
    chars += line.length;
    if (chars > maxChars && lines.length > 0) break;
    lines.push(line);
  }
  const more = kept.length - lines.length;
  if (more > 0) lines.push(`and ${more} more; write fewer files, or one archive of all`);
  const { keepSeconds } = outcome.left ?? {};
  const head = keepSeconds === undefined ? '[files]' : `[files, readable for ${duration(keepSeconds)}]`;
  return [{ own: `${head} ${lines.join('\n')}` }];
}

/** The lines of a text behind its output: small files, and why others are not there. */
export function filePieces({ left, stdout, stderr }: Outcome): readonly Piece[] {
  if (left === undefined) return [];
  const { files } = left;
  const isCut = [stdout, stderr].some(({ dropped, whole }) => dropped > 0 && whole === undefined);
  const inline = files.flatMap(({ name, text, content }) =>
    text === undefined
      ? []
      : [{ own: `--- ${nameWithSize(name, content.length)} ---` }, { code: text.replace(/(?<!\n)\n+$/, '') }],
  );
  const lost = files.filter(isLost).map(({ name, content }) => nameWithSize(name, content.length));
  const lines = [
    ...(lost.length === 0 ? [] : [`[files not kept: ${whyLost(left)}] ${lost.join(', ')}`]),
    ...(isCut && left.trouble !== undefined ? [`[whole output not kept: ${left.trouble}]`] : []),
    ...skippedLine(left),
  ];
  return [...inline, ...lines.map((own) => ({ own }))];
}

/** Files for the structured forms. `paths`: whether the entries have the places on this machine. */
export function fileEntries(outcome: Outcome, paths: boolean): FileEntry[] {
  const { left } = outcome;
  const entryOf = ({ name, sizeBytes, uri, path }: KeptThing): FileEntry => ({
    name,
    bytes: sizeBytes,
    uri,
    ...(paths && path !== undefined ? { path } : {}),
  });
  const output = keptOutput(outcome).map(entryOf);
  if (left === undefined) return output;
  const files = left.files.map((file) =>
    file.kept === undefined ? fileEntry(file, left) : entryOf(file.kept),
  );
  const result = keptResult(outcome).map(entryOf);
  const skipped = left.skipped.map(({ name, reason }) => ({ name, problem: `not returned: it ${reason}` }));
  const more = left.skippedMore === 0 ? [] : [{ name: `${left.skippedMore} more`, problem: 'not returned' }];
  return [...files, ...result, ...output, ...skipped, ...more];
}

function fileEntry(file: LeftFile, left: Left): FileEntry {
  const { name, content, text } = file;
  const bytes = content.length;
  return text === undefined ? { name, bytes, problem: `not kept: ${whyLost(left)}` } : { name, bytes, text };
}

/** Everything that the reader of this answer may want to open. */
const keptOf = (outcome: Outcome): readonly KeptThing[] => [
  ...(outcome.left?.files ?? []).flatMap(({ kept }) => kept ?? []),
  ...keptResult(outcome),
  ...keptOutput(outcome),
];

/** Whether there is something to read beside the answer. */
export const hasKept = (outcome: Outcome): boolean => keptOf(outcome).length > 0;

/** Whole streams of which something is missing here. What was only kept in case of a cut is nobody's business. */
const keptOutput = ({ stdout, stderr }: Outcome): readonly KeptThing[] =>
  [stdout, stderr].flatMap(({ whole, dropped }) => (whole === undefined || dropped === 0 ? [] : [whole]));

const keptResult = ({ left, result }: Outcome): readonly KeptThing[] =>
  left?.result === undefined || (left.isResultSpare && result?.isCut !== true) ? [] : [left.result];

function skippedLine({ skipped, skippedMore }: Left): string[] {
  if (skipped.length === 0) return [];
  const more = skippedMore === 0 ? '' : ` and ${skippedMore} more`;
  return [`[not returned] ${skipped.map(({ name, reason }) => `${name} ${reason}`).join(', ')}${more}`];
}

const isLost = ({ text, kept }: LeftFile): boolean => text === undefined && kept === undefined;

const whyLost = ({ trouble, keepSeconds }: Left): string =>
  keepSeconds === 0 ? 'keeping files is switched off' : (trouble ?? 'the reason is unknown');

const nameWithSize = (name: string, bytes: number): string => `${name} (${countOf(bytes, 'byte')})`;

/** `90 s`, `60 min`, `24 h`. */
export function duration(seconds: number): string {
  if (seconds < 120) return `${seconds} s`;
  return seconds < 7_200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3_600)} h`;
}
