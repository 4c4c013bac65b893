// The pictures that a guest has sent, checked as they come. Nothing is decoded: they are base64 of a picture whose header
// and end are there, small enough for any client, or they are left out with a sentence. An API that is handed a picture
// which it cannot read refuses the whole conversation, and goes on to refuse it.

import { type PictureKind, pictureHeader } from '../../base/text/picture-header.js';
import { MAX_PICTURE_SIDE, MAX_PICTURES, MAX_PICTURES_CHARS } from '../../wire/frames.js';

export type Picture = {
  /** Counts from 1, those that were left out included. */
  readonly number: number;
  readonly kind: PictureKind;
  /** Pixels. */
  readonly width: number;
  readonly height: number;
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
