// The files of a call, in the form of either tool: checked whole before anything is spent, and brought into the one form
// that travels. A complaint names the very entry and field, what was got and what is allowed.

import { z } from 'zod';
import { describeValue } from '../../base/text/echo.js';
import { MB_BYTES } from '../../base/text/sizes.js';
import { NameSet, nameProblem, PLAIN_NAME } from '../../run/artifacts/file-names.js';
import { type InputFile, MAX_INPUT_BYTES, MAX_INPUT_FILES } from '../../wire/frames.js';

type EncodedFile = { readonly name: string; readonly content: string; readonly encoding: 'utf8' | 'base64' };

/** How a tool says files in its arguments. */
type FilesForm = {
  readonly argument: string;
  /** One of them, in words. */
  readonly shape: string;
  readonly nameField: string;
  readonly contentField: Readonly<Record<'utf8' | 'base64', string>>;
  readonly entry: z.ZodType<EncodedFile>;
};

/** How `run_python` takes files. */
export const FILES: FilesForm = {
  argument: 'files',
  shape: 'an object {name, text} or {name, base64}',
  nameField: 'name',
  contentField: { utf8: 'text', base64: 'base64' },
  entry: z.union([
    z
      .strictObject({ name: z.string(), text: z.string() })
      .transform(({ name, text }): EncodedFile => ({ name, content: text, encoding: 'utf8' })),
    z
      .strictObject({ name: z.string(), base64: z.string() })
      .transform(({ name, base64 }): EncodedFile => ({ name, content: base64, encoding: 'base64' })),
  ]),
};

/** How `execute_code` takes files. */
export const ADDITIONAL_FILES: FilesForm = {
  argument: 'additional_files',
  shape: 'an object {filename, content}, with encoding "base64" if content is base64',
  nameField: 'filename',
  contentField: { utf8: 'content', base64: 'content' },
  entry: z
    .strictObject({
      filename: z.string(),
      content: z.string(),
      // Both spellings of the one are as common.
      encoding: z.enum(['utf8', 'utf-8', 'base64']).optional(),
    })
    .transform(
      ({ filename, content, encoding }): EncodedFile => ({
        name: filename,
        content,
        encoding: encoding === 'base64' ? 'base64' : 'utf8',
      }),
    ),
};

const MEGABYTES = MAX_INPUT_BYTES / MB_BYTES;

const list = z.array(z.unknown()).max(MAX_INPUT_FILES);

/** `names` are those that are taken already; it takes the others. */
export function readInputFiles(
  value: unknown,
  form: FilesForm,
  names = new NameSet(),
): readonly InputFile[] | { readonly complaint: string } {
  const { argument, shape, nameField, contentField } = form;
  const parsed = list.safeParse(value ?? []);
  if (!parsed.success)
    return complain(argument, value, `a list of at most ${MAX_INPUT_FILES} files, each ${shape}`);
  const files: InputFile[] = [];
  let bytes = 0;
  for (const [number, each] of parsed.data.entries()) {
    const at = `${argument}[${number}]`;
    const entry = form.entry.safeParse(each);
    if (!entry.success) return complain(at, each, shape);
    const { name, content, encoding } = entry.data;
    const problem = nameProblem(name) ?? names.add(name);
    if (problem !== undefined) return complain(`${at}.${nameField}`, name, PLAIN_NAME, `, which ${problem}`);
    const data = encoding === 'utf8' ? encodedText(content) : withoutBreaks(content);
    const field = `${at}.${contentField[encoding]}`;
    if (data === undefined) return complain(field, undefined, 'well-formed text', ' a lone surrogate');
    // Text that is encoded here is sound, and everybody waits while it is looked through.
    if (encoding === 'base64' && !isBase64(data)) return complain(field, data, 'base64 with padding');
    bytes += Buffer.byteLength(data, 'base64');
    if (bytes > MAX_INPUT_BYTES)
      return { complaint: `${at}: the files are larger than ${MEGABYTES} MiB together, which is the limit.` };
    files.push({ name, data });
  }
  return files;
}

const encodedText = (text: string): string | undefined =>
  text.isWellFormed() ? Buffer.from(text).toString('base64') : undefined;

/** Line breaks are those of most programs that write base64. */
const withoutBreaks = (base64: string): string =>
  base64.includes('\n') || base64.includes('\r') ? base64.replaceAll(/[\r\n]+/g, '') : base64;

/**
 * Whether `text` is base64 with padding. Node's decoder leaves out the ASCII that it does not know and ends at the padding, so
 * that what it decodes is shorter then; the letters of base64url it knows as well. A pattern takes ten times as long, and
 * everybody waits.
 */
const isBase64 = (text: string): boolean =>
  text.length % 4 === 0 &&
  Buffer.byteLength(text) === text.length &&
  !text.includes('-') &&
  !text.includes('_') &&
  Buffer.from(text, 'base64').length === Buffer.byteLength(text, 'base64');

function complain(
  where: string,
  value: unknown,
  expected: string,
  problem = '',
): { readonly complaint: string } {
  const got = value === undefined && problem !== '' ? '' : ` ${describeValue(value)}`;
  return { complaint: `${where}: got${got}${problem}, expected ${expected}.` };
}
