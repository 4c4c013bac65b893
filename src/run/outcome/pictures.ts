// The pictures that a guest has sent, checked as they come. Nothing is decoded: they are base64 of a picture whose header
// and end are there, small enough for any client, or they are left out with a sentence. An API that is handed a picture
// which it cannot read refuses the whole conversation, and goes on to refuse it.

import { MAX_PICTURE_SIDE, MAX_PICTURES, MAX_PICTURES_CHARS } from '../../wire/frames.js';

/** `width` and `height` are in pixels, as the picture claims. */
type PictureHeader = {
  readonly kind: 'png' | 'jpeg' | 'gif' | 'webp';
  readonly width: number;
  readonly height: number;
};

export type Picture = PictureHeader & {
  /** Counts from 1, those that were left out included. */
  readonly number: number;
  readonly bytes: number;
  /** Base64. */
  readonly data: string;
};

/** Pictures that were shown in one run, and sentences for pictures that were not. */
export type Pictures = { readonly shown: readonly Picture[]; readonly leftOut: readonly string[] };

export const NO_PICTURES: Pictures = { shown: [], leftOut: [] };

/** Sentences about single pictures; what more are left out is a matter of how many there were. */
const MAX_SENTENCES = 3;

export class PictureCollector {
  readonly #shown: Picture[] = [];
  readonly #sentences: string[] = [];
  #chars = 0;
  #count = 0;

  /** Keeps one picture, or why not. */
  add(data: string): void {
    this.#count++;
    const fault = this.#faultOf(data);
    if (fault !== undefined && this.#sentences.length < MAX_SENTENCES) {
      this.#sentences.push(`picture ${this.#count} is not shown: ${fault}`);
    }
  }

  get pictures(): Pictures {
    const missing = this.#count - this.#shown.length - this.#sentences.length;
    const more =
      missing === 0 ? [] : [`${missing} more ${missing === 1 ? 'picture is' : 'pictures are'} not shown`];
    return { shown: [...this.#shown], leftOut: [...this.#sentences, ...more] };
  }

  #faultOf(data: string): string | undefined {
    if (this.#count > MAX_PICTURES) return `at most ${MAX_PICTURES} are shown in one run`;
    const kilobytes = (chars: number) => `${Math.floor(((chars / 4) * 3) / 1000)} KB`;
    if (data.length > MAX_PICTURES_CHARS) {
      return `it takes ${kilobytes(data.length)}, and one run may show ${kilobytes(MAX_PICTURES_CHARS)}`;
    }
    if (this.#chars + data.length > MAX_PICTURES_CHARS) {
      const all = kilobytes(this.#chars + data.length);
      return `with it the pictures would take ${all}, and one run may show ${kilobytes(MAX_PICTURES_CHARS)}`;
    }
    const bytes = Buffer.from(data, 'base64');
    // Node reads over whatever is no base64; a strict reader refuses it.
    if (bytes.toString('base64') !== data) return 'it is not base64';
    const header = pictureHeader(bytes);
    if (header === undefined) return 'it is not a complete PNG, JPEG, GIF or WebP';
    const { width, height } = header;
    if (Math.min(width, height) < 1 || Math.max(width, height) > MAX_PICTURE_SIDE) {
      return `it has ${width}x${height} pixels, and each side may have at most ${MAX_PICTURE_SIDE}`;
    }
    this.#chars += data.length;
    this.#shown.push({ number: this.#count, ...header, bytes: bytes.length, data });
    return undefined;
  }
}

// Reads the format and size that the first bytes of a picture claim, and whether its last bytes are there. Reads PNG, JPEG,
// GIF and WebP, the formats that models take. Decodes nothing, so a few bytes that promise 10^10 pixels cost nothing here.

const PNG_START = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');
const PNG_END = Buffer.from('\0\0\0\0IEND\xaeB`\x82', 'latin1');
/** Width and height stand in its first chunk, which is always this long. */
const PNG_IHDR = Buffer.from('\0\0\0\x0dIHDR', 'latin1');

/** Undefined for what is none of the four, or ends before its end. */
export function pictureHeader(bytes: Buffer): PictureHeader | undefined {
  // Every header below fits in this many bytes; what is shorter is hardly a picture.
  if (bytes.length < 30) return undefined;
  if (startsWith(bytes, PNG_START)) return png(bytes);
  if (bytes.readUIntBE(0, 3) === 0xffd8ff) return jpeg(bytes);
  const start = bytes.toString('latin1', 0, 6);
  if (start === 'GIF87a' || start === 'GIF89a') return gif(bytes);
  if (start.startsWith('RIFF') && bytes.toString('latin1', 8, 12) === 'WEBP') return webp(bytes);
  return undefined;
}

const startsWith = (bytes: Buffer, start: Buffer, at = 0): boolean =>
  bytes.subarray(at, at + start.length).equals(start);

function png(bytes: Buffer): PictureHeader | undefined {
  if (!startsWith(bytes, PNG_IHDR, 8) || !bytes.subarray(-PNG_END.length).equals(PNG_END)) return undefined;
  return { kind: 'png', width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) };
}

function gif(bytes: Buffer): PictureHeader | undefined {
  if (bytes.at(-1) !== 0x3b) return undefined;
  return { kind: 'gif', width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) };
}

/** Segment by segment to the frame header, which is where the sides stand. */
function jpeg(bytes: Buffer): PictureHeader | undefined {
  if (bytes.readUInt16BE(bytes.length - 2) !== 0xffd9) return undefined;
  let at = 2;
  while (at + 9 <= bytes.length && bytes[at] === 0xff) {
    const marker = bytes[at + 1] ?? 0;
    if (marker === 0xff) {
      at++;
      continue;
    }
    // SOF0 to SOF15, less the three that are tables.
    if (marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc) {
      return { kind: 'jpeg', height: bytes.readUInt16BE(at + 5), width: bytes.readUInt16BE(at + 7) };
    }
    at += 2 + bytes.readUInt16BE(at + 2);
  }
  return undefined;
}

function webp(bytes: Buffer): PictureHeader | undefined {
  // Padded to an even length, which the length that it names may leave out.
  const named = bytes.readUInt32LE(4) + 8;
  if (bytes.length !== named && bytes.length !== named + 1) return undefined;
  switch (bytes.toString('latin1', 12, 16)) {
    case 'VP8 ':
      return {
        kind: 'webp',
        width: bytes.readUInt16LE(26) & 0x3fff,
        height: bytes.readUInt16LE(28) & 0x3fff,
      };
    case 'VP8L': {
      const bits = bytes.readUInt32LE(21);
      return { kind: 'webp', width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
    }
    case 'VP8X':
      return { kind: 'webp', width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 };
    default:
      return undefined;
  }
}
