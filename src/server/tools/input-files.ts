// The argument `files` of a run: checked whole before anything is spent, and brought into the one form that travels. A
// complaint names the very entry and field, what was got and what is allowed.

import { z } from 'zod';
import { clip, harmless } from '../../base/text.js';
import { type InputFile, MAX_INPUT_BYTES, MAX_INPUT_FILES } from '../../protocol/frames.js';
import { NameSet, nameProblem, PLAIN_NAME } from '../../run/file-names.js';

/** As the agent is told it. */
export const FILES_SCHEMA = {
  type: 'array',
  description: 'Put into the working directory; text or base64',
  items: {
    type: 'object',
    properties: { name: { type: 'string' }, text: { type: 'string' }, base64: { type: 'string' } },
    required: ['name'],
  },
};

const MAX_ECHO_CHARS = 80;
const MEGABYTES = MAX_INPUT_BYTES / 1024 ** 2;
const FILE = 'an object {name, text} or {name, base64}';
/** With padding, as most programs write it; line breaks are theirs too. */
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

const list = z.array(z.unknown()).max(MAX_INPUT_FILES);
const entry = z.union([
  z.strictObject({ name: z.string(), text: z.string() }),
  z.strictObject({ name: z.string(), base64: z.string() }),
]);

/** What is wrong, as a sentence. */
export type FilesComplaint = { readonly complaint: string };

export function readInputFiles(value: unknown): readonly InputFile[] | FilesComplaint {
  const parsed = list.safeParse(value ?? []);
  if (!parsed.success)
    return complain('files', value, `a list of at most ${MAX_INPUT_FILES} files, each ${FILE}`);
  const names = new NameSet();
  const files: InputFile[] = [];
  let bytes = 0;
  for (const [number, each] of parsed.data.entries()) {
    const at = `files[${number}]`;
    const file = entry.safeParse(each);
    if (!file.success) return complain(at, each, FILE);
    const { name } = file.data;
    const problem = nameProblem(name) ?? names.add(name);
    if (problem !== undefined) return complain(`${at}.name`, name, PLAIN_NAME, `, which ${problem}`);
    const data = 'text' in file.data ? encodedText(file.data.text) : withoutBreaks(file.data.base64);
    if (data === undefined) return complain(`${at}.text`, undefined, 'well-formed text', ' a lone surrogate');
    if (data.length % 4 !== 0 || !BASE64.test(data))
      return complain(`${at}.base64`, data, 'base64 with padding');
    bytes += Buffer.byteLength(data, 'base64');
    if (bytes > MAX_INPUT_BYTES)
      return { complaint: `${at}: the files are larger than ${MEGABYTES} MiB together, which is the most.` };
    files.push({ name, data });
  }
  return files;
}

const encodedText = (text: string): string | undefined =>
  text.isWellFormed() ? Buffer.from(text).toString('base64') : undefined;

const withoutBreaks = (base64: string): string => base64.replaceAll(/[\r\n]+/g, '');

function complain(where: string, value: unknown, expected: string, problem = ''): FilesComplaint {
  const got = value === undefined ? '' : ` ${clip(harmless(JSON.stringify(value)), MAX_ECHO_CHARS)}`;
  return {
    complaint: `${where}: got${got || (problem === '' ? ' nothing' : '')}${problem}, expected ${expected}.`,
  };
}
