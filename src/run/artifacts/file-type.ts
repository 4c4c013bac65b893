// MIME type that a file is reported with. A name is a claim: only endings on this list get a type of their own, pictures only
// when their first bytes agree, text only when it is text. No file is ever reported as HTML, SVG or a script, whatever its
// name, since a client might run it.

import { extname } from 'node:path';
import { decodedText, isHarmless } from '../../base/text/text.js';

const TEXT_TYPES: Readonly<Record<string, string>> = {
  '.csv': 'text/csv',
  '.json': 'application/json',
  '.md': 'text/markdown',
  '.tsv': 'text/tab-separated-values',
};
const PLAIN_TEXT = 'text/plain';
const UNKNOWN = 'application/octet-stream';

/** Office files of both families are archives; the older ones are compound documents. */
const ZIP = /^PK[^ -~]{2}/;
const OLE = /^\xd0\xcf.\xe0\xa1\xb1.\xe1/s;
const SQLITE = /^SQLite format 3[^ -~]/;
const OOXML = 'application/vnd.openxmlformats-officedocument.';
const OPENDOCUMENT = 'application/vnd.oasis.opendocument.';

/** Types by ending, each with what its files begin with. */
const BINARY_TYPES: Readonly<Record<string, { readonly mimeType: string; readonly magic: RegExp }>> = {
  '.png': { mimeType: 'image/png', magic: /^\x89PNG\r\n/ },
  '.jpg': { mimeType: 'image/jpeg', magic: /^\xff\xd8\xff/ },
  '.jpeg': { mimeType: 'image/jpeg', magic: /^\xff\xd8\xff/ },
  '.gif': { mimeType: 'image/gif', magic: /^GIF8[79]a/ },
  '.webp': { mimeType: 'image/webp', magic: /^RIFF.{4}WEBP/s },
  '.pdf': { mimeType: 'application/pdf', magic: /^%PDF-/ },
  '.docx': { mimeType: `${OOXML}wordprocessingml.document`, magic: ZIP },
  '.pptx': { mimeType: `${OOXML}presentationml.presentation`, magic: ZIP },
  '.xlsx': { mimeType: `${OOXML}spreadsheetml.sheet`, magic: ZIP },
  '.odp': { mimeType: `${OPENDOCUMENT}presentation`, magic: ZIP },
  '.ods': { mimeType: `${OPENDOCUMENT}spreadsheet`, magic: ZIP },
  '.odt': { mimeType: `${OPENDOCUMENT}text`, magic: ZIP },
  '.epub': { mimeType: 'application/epub+zip', magic: ZIP },
  '.zip': { mimeType: 'application/zip', magic: ZIP },
  '.doc': { mimeType: 'application/msword', magic: OLE },
  '.ppt': { mimeType: 'application/vnd.ms-powerpoint', magic: OLE },
  '.xls': { mimeType: 'application/vnd.ms-excel', magic: OLE },
  '.parquet': { mimeType: 'application/vnd.apache.parquet', magic: /^PAR1/ },
  '.arrow': { mimeType: 'application/vnd.apache.arrow.file', magic: /^ARROW1/ },
  '.feather': { mimeType: 'application/vnd.apache.arrow.file', magic: /^ARROW1/ },
  '.sqlite': { mimeType: 'application/vnd.sqlite3', magic: SQLITE },
  '.sqlite3': { mimeType: 'application/vnd.sqlite3', magic: SQLITE },
  '.db': { mimeType: 'application/vnd.sqlite3', magic: SQLITE },
  '.mp3': { mimeType: 'audio/mpeg', magic: /^(?:ID3|\xff[\xf2\xf3\xfb])/ },
  '.wav': { mimeType: 'audio/wav', magic: /^RIFF.{4}WAVE/s },
  '.mp4': { mimeType: 'video/mp4', magic: /^.{4}ftyp/s },
};
const MAGIC_BYTES = 16;
/** Excel's CSV files begin with one. It does not show, and is nothing to read. */
const BYTE_ORDER_MARK = /^\ufeff/;

/** Reads all of `content`, so it is for files that are capped. */
export function fileType(
  name: string,
  content: Buffer,
): {
  readonly mimeType: string;
  /** The content, where it is text that is safe to show (`isHarmless`); without its byte order mark, where it has one. */
  readonly text: string | undefined;
} {
  const ending = extname(name).toLowerCase();
  const binary = BINARY_TYPES[ending];
  if (binary?.magic.test(content.subarray(0, MAGIC_BYTES).toString('latin1')))
    return { mimeType: binary.mimeType, text: undefined };
  const text = decodedText(content)?.replace(BYTE_ORDER_MARK, '');
  if (text === undefined || !isHarmless(text)) return { mimeType: UNKNOWN, text: undefined };
  return { mimeType: TEXT_TYPES[ending] ?? PLAIN_TEXT, text };
}
