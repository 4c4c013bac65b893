// Pictures that lie, break off, or are too many or too large: each is left out with a sentence, and nothing is decoded.

import { describe, expect, it } from 'vitest';
import { PictureCollector } from '../../../src/run/outcome/pictures.js';
import { MAX_PICTURES, MAX_PICTURES_CHARS } from '../../../src/wire/frames.js';
import { gif, jpeg, png, webp } from '../../support/pictures.js';

const base64 = (bytes: Buffer) => bytes.toString('base64');

function kept(...pictures: readonly string[]) {
  const collector = new PictureCollector();
  for (const picture of pictures) collector.add(picture);
  return collector.pictures;
}

describe('what is shown', () => {
  it.each([
    ['png', png(640, 480)],
    ['jpeg', jpeg(640, 480)],
    ['gif', gif(640, 480)],
    ['webp', webp(640, 480)],
  ] as const)('%s, by what its bytes say', (kind, bytes) => {
    expect(kept(base64(bytes))).toEqual({
      shown: [{ number: 1, kind, width: 640, height: 480, bytes: bytes.length, data: base64(bytes) }],
      leftOut: [],
    });
  });

  it('keeps the order, and the numbers of what is missing', () => {
    const { shown, leftOut } = kept(base64(png(1, 1)), 'nonsense', base64(jpeg(2, 2)));
    expect(shown.map(({ number, kind }) => [number, kind])).toEqual([
      [1, 'png'],
      [3, 'jpeg'],
    ]);
    expect(leftOut).toEqual(['picture 2 is not shown: it is not a complete PNG, JPEG, GIF or WebP']);
  });
});

describe('what is left out', () => {
  const whole = png(64, 64);
  const large = png(10, 10, { padding: 3_000_000 });
  it.each<[string, string, string]>([
    ['another thing', base64(Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>')), 'not a complete PNG'],
    ['nothing', '', 'not a complete PNG'],
    ['a start and no more', base64(whole.subarray(0, 30)), 'not a complete PNG'],
    ['a picture that breaks off', base64(whole.subarray(0, -1)), 'not a complete PNG'],
    ['a JPEG that breaks off', base64(jpeg(64, 64).subarray(0, -2)), 'not a complete PNG'],
    ['a WebP of another length', base64(Buffer.concat([webp(9, 9), Buffer.alloc(2)])), 'not a complete PNG'],
    ['a JPEG whose segments lead nowhere', base64(endlessJpeg()), 'not a complete PNG'],
    ['a bomb', base64(png(1, 1, { claimed: [100_000, 100_000] })), '100000x100000 pixels'],
    ['one long side', base64(png(1, 1, { claimed: [2001, 1] })), '2001x1 pixels'],
    ['no pixels', base64(png(1, 1, { claimed: [0, 7] })), '0x7 pixels'],
    ['3 MB', base64(large), 'it takes 3000 KB, and one run may show 737 KB'],
    ['base64 that is none', `${base64(whole).slice(0, -4)}!!!!`, 'not base64'],
    ['base64 with line breaks', `${base64(whole)}\n`, 'not base64'],
    ['base64 of URLs', base64(whole).replaceAll('+', '-').replaceAll('/', '_'), 'not base64'],
  ])('%s', (_name, data, reason) => {
    const { shown, leftOut } = kept(data);
    expect(shown).toEqual([]);
    expect(leftOut).toEqual([expect.stringContaining(reason)]);
  });

  it('leaves out the ninth, and says every further one in one sentence', () => {
    const { shown, leftOut } = kept(...Array.from({ length: 40 }, () => base64(whole)));
    expect(shown).toHaveLength(MAX_PICTURES);
    expect(leftOut).toEqual([
      'picture 9 is not shown: at most 8 are shown in one run',
      'picture 10 is not shown: at most 8 are shown in one run',
      'picture 11 is not shown: at most 8 are shown in one run',
      '29 more pictures are not shown',
    ]);
  });

  it('what would take more together than one run may show', () => {
    const half = base64(png(10, 10, { padding: 400_000 }));
    const { shown, leftOut } = kept(half, half, base64(whole));
    expect(shown.map(({ number }) => number)).toEqual([1, 3]);
    const all = Math.floor((((2 * half.length) / 4) * 3) / 1000);
    expect(leftOut).toEqual([
      `picture 2 is not shown: with it the pictures would take ${all} KB, and one run may show 737 KB`,
    ]);
    expect(shown.reduce((sum, { data }) => sum + data.length, 0)).toBeLessThan(MAX_PICTURES_CHARS);
  });
});

/** Segments of no length, as many as there is room for. */
function endlessJpeg(): Buffer {
  const segments = Buffer.alloc(600_000);
  for (let at = 0; at < segments.length; at += 4) segments.writeUInt32BE(0xff_e0_00_02, at);
  return Buffer.concat([Buffer.from('ffd8', 'hex'), segments, Buffer.from('ffd9', 'hex')]);
}
