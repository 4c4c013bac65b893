// Pictures for tests, made here byte by byte: small ones of every kind, and ones that lie about themselves.

import { crc32, deflateSync } from 'node:zlib';

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  const check = Buffer.alloc(4);
  check.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, check]);
}

/** A real PNG, grey. `claimed` is what its header says instead; `padding` is bytes that no reader looks at. */
export function png(
  width: number,
  height: number,
  {
    claimed = [width, height],
    padding = 0,
  }: { readonly claimed?: readonly [number, number]; readonly padding?: number } = {},
): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(claimed[0], 0);
  header.writeUInt32BE(claimed[1], 4);
  header[8] = 8;
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(Buffer.alloc((width + 1) * height))),
    ...(padding === 0 ? [] : [chunk('tEXt', Buffer.alloc(padding, 'x'))]),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

/** Headers and ends, with nothing between that could be decoded. */
export const jpeg = (width: number, height: number): Buffer => {
  const sides = Buffer.alloc(4);
  sides.writeUInt16BE(height, 0);
  sides.writeUInt16BE(width, 2);
  const start = Buffer.from('ffd8ffe000104a46494600010100000100010000ffff', 'hex');
  const frame = Buffer.concat([Buffer.from('c0000b08', 'hex'), sides, Buffer.from('01011100', 'hex')]);
  return Buffer.concat([start, frame, Buffer.from('ffda000801010000003f0000ffd9', 'hex')]);
};

export const gif = (width: number, height: number): Buffer => {
  const sides = Buffer.alloc(4);
  sides.writeUInt16LE(width, 0);
  sides.writeUInt16LE(height, 2);
  return Buffer.concat([Buffer.from('GIF89a'), sides, Buffer.alloc(30), Buffer.from(';')]);
};

export const webp = (width: number, height: number): Buffer => {
  const body = Buffer.alloc(18);
  body.write('WEBPVP8X', 0, 'latin1');
  body.writeUInt32LE(10, 8);
  const sides = Buffer.alloc(6);
  sides.writeUIntLE(width - 1, 0, 3);
  sides.writeUIntLE(height - 1, 3, 3);
  const whole = Buffer.concat([body.subarray(0, 16), sides]);
  const length = Buffer.alloc(4);
  length.writeUInt32LE(whole.length);
  return Buffer.concat([Buffer.from('RIFF'), length, whole]);
};
