// What a run left besides its answer, in the words of each form: small texts as they are, everything else by name, size
// and address. An address is said once, and what stayed behind is said with its reason.

import type { Piece } from '../base/own-lines.js';
import type { Left, LeftFile } from '../run/artifacts/artifacts.js';
import type { Kept } from '../run/artifacts/kept-run.js';
import type { Outcome } from '../run/outcome/outcome.js';

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

/** Lines of a text; with `links` their addresses follow as blocks. */
export function filePieces(outcome: Outcome, links: boolean): readonly Piece[] {
  const { left, stdout, stderr } = outcome;
  if (left === undefined) return [];
  const { files, result, keepSeconds } = left;
  const isCut = [stdout, stderr].some(({ dropped, whole }) => dropped > 0 && whole === undefined);
  const inline = files.flatMap(({ name, text, content }) =>
    text === undefined
      ? []
      : [{ own: `--- ${sized(name, content.length)} ---` }, { code: text.replace(/(?<!\n)\n+$/, '') }],
  );
  const kept = [...files.flatMap(({ kept }) => kept ?? []), ...(result === undefined ? [] : [result])];
  const told = kept.map(({ name, sizeBytes, uri }) => sized(name, sizeBytes) + (links ? '' : `: ${uri}`));
  const lost = files.filter(isLost).map(({ name, content }) => sized(name, content.length));
  const lines = [
    ...(told.length === 0
      ? []
      : [`[files, readable for ${duration(keepSeconds)}] ${told.join(links ? ', ' : '\n')}`]),
    ...(lost.length === 0 ? [] : [`[files not kept: ${whyLost(left)}] ${lost.join(', ')}`]),
    ...(isCut && left.trouble !== undefined ? [`[whole output not kept: ${left.trouble}]`] : []),
    ...skippedLine(left),
  ];
  return [...inline, ...lines.map((own) => ({ own }))];
}

/** For the structured forms. */
export function fileEntries(outcome: Outcome): FileEntry[] {
  const { left, stdout, stderr } = outcome;
  const output = [stdout.whole, stderr.whole].flatMap((whole) =>
    whole === undefined ? [] : [entryOf(whole)],
  );
  if (left === undefined) return output;
  const files = left.files.map((file) => fileEntry(file, left));
  const result = left.result === undefined ? [] : [entryOf(left.result)];
  const skipped = left.skipped.map(({ name, reason }) => ({ name, problem: `not returned: it ${reason}` }));
  const more = left.skippedMore === 0 ? [] : [{ name: `${left.skippedMore} more`, problem: 'not returned' }];
  return [...files, ...result, ...output, ...skipped, ...more];
}

function fileEntry(file: LeftFile, left: Left): FileEntry {
  const { name, content, text, kept } = file;
  const bytes = content.length;
  if (text !== undefined) return { name, bytes, text };
  return kept === undefined ? { name, bytes, problem: `not kept: ${whyLost(left)}` } : entryOf(kept);
}

const entryOf = ({ name, sizeBytes, uri }: Kept): FileEntry => ({ name, bytes: sizeBytes, uri });

function keptOf({ left, stdout, stderr }: Outcome): Kept[] {
  const all = [...(left?.files ?? []).map(({ kept }) => kept), left?.result, stdout.whole, stderr.whole];
  return all.filter((kept) => kept !== undefined);
}

function skippedLine({ skipped, skippedMore }: Left): string[] {
  if (skipped.length === 0) return [];
  const more = skippedMore === 0 ? '' : ` and ${skippedMore} more`;
  return [`[not returned] ${skipped.map(({ name, reason }) => `${name} ${reason}`).join(', ')}${more}`];
}

const isLost = ({ text, kept }: LeftFile): boolean => text === undefined && kept === undefined;

const whyLost = ({ trouble, keepSeconds }: Left): string =>
  keepSeconds === 0 ? 'keeping is switched off' : (trouble ?? 'the reason is unknown');

const sized = (name: string, bytes: number): string => `${name} (${bytes} byte${bytes === 1 ? '' : 's'})`;

/** `90 s`, `60 min`, `24 h`. */
export function duration(seconds: number): string {
  if (seconds < 120) return `${seconds} s`;
  return seconds < 7_200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3_600)} h`;
}
