// Pictures as blocks of an MCP result, and as the lines that stand for them in its text: a client that shows none, and
// the person who reads along, see at least that there were some.

import type { Picture, Pictures } from '../outcome/pictures.js';

/** The shape of the protocol's ImageContent that we make. */
export type ImageBlock = { readonly type: 'image'; readonly data: string; readonly mimeType: string };

/** Facts about a picture for the flat forms of an answer: everything but the picture itself. */
export type PictureSize = Pick<Picture, 'kind' | 'width' | 'height' | 'bytes'>;

export const imageBlocks = ({ shown }: Pictures): ImageBlock[] =>
  shown.map(({ kind, data }) => ({ type: 'image', data, mimeType: `image/${kind}` }));

export const pictureSizes = ({ shown }: Pictures): PictureSize[] =>
  shown.map(({ kind, width, height, bytes }) => ({ kind, width, height, bytes }));

/** One line per picture, less those that stand in the output already, where the code has shown them. */
export function pictureLines({ shown, leftOut }: Pictures, output: string): string[] {
  const lines = shown.map(pictureLine).filter((line) => !output.includes(line));
  return [...lines, ...leftOut.map((sentence) => `[${sentence}]`)];
}

/** `mcp/_shown_pictures.py` in the sandbox prints the same. */
const pictureLine = ({ number, kind, width, height, bytes }: Picture): string =>
  `[picture ${number}: ${width}x${height} ${kind}, ${Math.ceil(bytes / 1000)} KB]`;
