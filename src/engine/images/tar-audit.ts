// Reads the headers of an image's tar file and says what must not be in it: set-id files, file capabilities and
// device nodes would be ways to more privilege inside a container. Relies on the format only, extracts nothing.

import { type FileHandle, open } from 'node:fs/promises';
import { MB_BYTES } from '../../base/text/sizes.js';

const BLOCK = 512;
const SET_ID = 0o6000;
/** A header that precedes a file (long name, extended attributes) is small; a bigger one is no honest archive. */
const MAX_EXTENSION_BYTES = MB_BYTES;
const DEVICE_TYPES = new Set(['3', '4']);
const EXTENSION_TYPES = new Set(['x', 'g', 'L', 'K']);

/** One sentence per entry that an image must not hold, naming its path. */
export async function unsafeEntries(tarFile: string): Promise<string[]> {
  const findings: string[] = [];
  await using file = await open(tarFile);
  const block = Buffer.alloc(BLOCK);
  let extensions = '';
  let entries = 0;
  for (let position = 0; (await file.read(block, 0, BLOCK, position)).bytesRead === BLOCK; ) {
    if (block.every((byte) => byte === 0)) break;
    const type = String.fromCharCode(block[156] ?? 0);
    const size = numberAt(block, 124, 12);
    if (EXTENSION_TYPES.has(type)) {
      extensions += await contentOf(file, position + BLOCK, size);
    } else {
      entries += 1;
      const name = nameOf(block, extensions);
      if ((numberAt(block, 100, 8) & SET_ID) !== 0) findings.push(`${name} is set-id`);
      if (DEVICE_TYPES.has(type)) findings.push(`${name} is a device node`);
      if (extensions.includes('security.capability')) findings.push(`${name} has file capabilities`);
      extensions = '';
    }
    position += BLOCK + Math.ceil(size / BLOCK) * BLOCK;
  }
  if (entries === 0) findings.push('the archive is empty');
  return findings;
}

async function contentOf(file: FileHandle, position: number, size: number): Promise<string> {
  if (size > MAX_EXTENSION_BYTES) throw new RangeError(`tar extension header of ${size} bytes`);
  const { buffer } = await file.read(Buffer.alloc(size), 0, size, position);
  return buffer.toString('utf8');
}

function nameOf(block: Buffer, extensions: string): string {
  const extended = /(?:^|\n)\d+ path=([^\n]*)/.exec(extensions)?.[1];
  return extended ?? textAt(block, 0, 100);
}

function textAt(block: Buffer, offset: number, length: number): string {
  const field = block.subarray(offset, offset + length);
  const end = field.indexOf(0);
  return field.toString('utf8', 0, end === -1 ? length : end);
}

// Octal text, or big-endian binary when the first bit is set (GNU tar, for sizes from 8 GiB).
function numberAt(block: Buffer, offset: number, length: number): number {
  if (((block[offset] ?? 0) & 0x80) !== 0) return block.readUIntBE(offset + length - 6, 6);
  return Number.parseInt(textAt(block, offset, length).trim() || '0', 8);
}
