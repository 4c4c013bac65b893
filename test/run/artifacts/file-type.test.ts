// Media types of what code leaves: an ending is a claim, which the first bytes have to bear out.

import { describe, expect, it } from 'vitest';
import { fileType } from '../../../src/run/artifacts/file-type.js';

const ZIP = Buffer.from('504b03041400000008000000', 'hex');
const OLE = Buffer.from('d0cf11e0a1b11ae1000000000000', 'hex');
const bytes = (text: string) => Buffer.concat([Buffer.from(text, 'latin1'), Buffer.from([0, 1, 2, 0])]);

describe('fileType', () => {
  it.each([
    ['report.docx', ZIP, 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'],
    ['slides.pptx', ZIP, 'application/vnd.openxmlformats-officedocument.presentationml.presentation'],
    ['Book.XLSX', ZIP, 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'],
    ['report.odt', ZIP, 'application/vnd.oasis.opendocument.text'],
    ['slides.odp', ZIP, 'application/vnd.oasis.opendocument.presentation'],
    ['book.ods', ZIP, 'application/vnd.oasis.opendocument.spreadsheet'],
    ['old.doc', OLE, 'application/msword'],
    ['old.xls', OLE, 'application/vnd.ms-excel'],
    ['old.ppt', OLE, 'application/vnd.ms-powerpoint'],
    ['all.zip', ZIP, 'application/zip'],
    ['data.parquet', bytes('PAR1'), 'application/vnd.apache.parquet'],
    ['data.feather', bytes('ARROW1'), 'application/vnd.apache.arrow.file'],
    ['data.sqlite', bytes('SQLite format 3\0'), 'application/vnd.sqlite3'],
    ['paper.pdf', bytes('%PDF-1.7'), 'application/pdf'],
  ])('%s is %#', (name, content, mimeType) => {
    expect(fileType(name, content)).toEqual({ mimeType, text: undefined });
  });

  it.each([
    ['page.xlsx', bytes('<html><script>')],
    ['program.docx', bytes('\x7fELF')],
    ['macros.xlsm', ZIP],
    ['page.html', ZIP],
  ])('%s is only bytes where it does not begin so, or may hold a script', (name, content) => {
    expect(fileType(name, content)).toEqual({ mimeType: 'application/octet-stream', text: undefined });
  });
});
