// Files of runs as the page is sent them. Code in a sandbox has chosen their names and all that is in them, so no browser is told of a
// type that it would show by itself: the page shows texts and pictures out of the same bytes, as text and as pixels.

import { basename } from 'node:path';
import type { ShownFile } from './shown.js';
import type { RunFile } from './sources.js';

/** Types that `fileType` gives after a look at the content: text that is text, and pictures that begin as such. */
const TEXT = /^(?:text\/[\w.+-]+|application\/json)$/;
const PICTURE = /^image\/(png|jpeg|gif|webp)$/;

export function shownFile({ name, mimeType, sizeBytes }: Omit<RunFile, 'read'>): ShownFile {
  const [, kind] = PICTURE.exec(mimeType) ?? [];
  const shows = TEXT.test(mimeType) ? 'text' : (kind as ShownFile['shows']);
  return { name, bytes: sizeBytes, ...(shows === undefined ? {} : { shows }) };
}

/** Headers by which a browser saves the file, under the last part of its name, and runs nothing of it wherever it lands. */
export const fileHeaders = (name: string): Readonly<Record<string, string>> => ({
  'content-type': 'application/octet-stream',
  'content-disposition': `attachment; ${fileName(basename(name) || 'file')}`,
  'content-security-policy': "sandbox; default-src 'none'; frame-ancestors 'none'",
});

/** The name in both forms of RFC 6266: as it is, and for old readers without whatever is not plain. */
function fileName(name: string): string {
  const plain = name.replace(/[^\w.-]/g, '_');
  const exact = encodeURIComponent(name.toWellFormed()).replace(
    /['()*]/g,
    (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `filename="${plain}"; filename*=UTF-8''${exact}`;
}
