// What `execute_code` can do, in the words of the capabilities resource.

import type { Language } from '../config/languages/language.js';
import { MAX_FILE_BYTES, MAX_FILES, MAX_INPUT_BYTES, MAX_INPUT_FILES } from '../protocol/frames.js';

const MB_BYTES = 1024 ** 2;

/** A section of Markdown. */
export const aboutPrograms = (
  languages: readonly Language[],
): string => `\`execute_code\` runs a program of one or more files in a fresh container: read-only, nothing to install, nothing kept
between calls. Either \`snippet_name\`, or \`language\` and \`entrypoint_code\`.

| language | also called | main file | calls tools |
|---|---|---|---|
${languages.map(row).join('\n')}

\`additional_files\` (\`[{filename, content}]\`, with \`encoding: "base64"\` for what is no text; at most ${MAX_INPUT_FILES} of ${MAX_INPUT_BYTES / MB_BYTES} MiB in all)
lie beside the main file, in folders of their own where their names say so. \`args\`, \`env\` (variables by name) and \`stdin\` are what a shell would give
it. What it writes to \`out/\` comes back: short text in the answer, everything else as a link, at most ${MAX_FILES} files of
${MAX_FILE_BYTES / MB_BYTES} MiB. The answer has the program's stdout and stderr; one that ends with another exit status than 0 has failed.`;

const row = ({ name, aliases, file, tools }: Language): string =>
  `| ${name} | ${aliases.join(', ')} | ${file} | ${tools === 'none' ? 'no' : 'yes'} |`;
