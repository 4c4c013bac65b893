// What the bridge says of itself in words: the server's instructions and the capabilities resource. The size of both
// does not grow with the number of tools; server names are cut with a count.

import { nameList } from '../../base/text/name-list.js';
import { MB_BYTES } from '../../base/text/sizes.js';
import { PACKAGE_NAME, VERSION } from '../../base/version.js';
import type { ToolName } from '../../settings/environment/variables.js';
import { callsTools, type Language } from '../../settings/languages/language.js';
import { MAX_FILE_BYTES, MAX_FILES, MAX_INPUT_BYTES, MAX_INPUT_FILES } from '../../wire/limits.js';
import { aboutPython } from './python-capabilities.js';

export const CAPABILITIES_URI = `resource://${PACKAGE_NAME}/capabilities`;
export const CAPABILITIES_MIME_TYPE = 'text/markdown';

/** What the operator offers. */
type Offer = { readonly tools: readonly ToolName[]; readonly languages: readonly Language[] };

/** At most 1,200 characters, whatever is configured. */
export function instructions(servers: readonly string[], offer: Offer): string {
  const commands = offer.tools.includes('execute') ? COMMANDS : '';
  if (offer.tools.every((name) => name === 'execute')) return commands;
  return [aboutCode(servers, offer), commands].filter((part) => part !== '').join('\n');
}

const COMMANDS =
  'execute runs one command (a program and its arguments, no shell) in an isolated machine; files in /work stay for later commands.';

function aboutCode(servers: readonly string[], { tools, languages }: Offer): string {
  const names = languages.map(({ name }) => name).join(', ');
  if (!tools.includes('run_python')) {
    const able = withTools(languages);
    return `Code runs in a throw-away container, in ${names}; nothing is kept between calls but what a program writes to out/, which comes back.${
      able.length === 0
        ? ''
        : `
Servers you can name in execute_code's \`servers\` (${able.join(', ')}): ${nameList(servers)}.`
    }`;
  }
  const programs = tools.includes('execute_code')
    ? `
execute_code runs whole programs (${names}) with files, stdin and arguments; run_python is the one for calling tools.`
    : '';
  return `Code runs in a throw-away container; your MCP servers are reached from inside it, so intermediate data never passes through your context. Prefer one script that calls several tools, filters, and prints the little that matters.
Servers you can name in run_python's \`servers\`: ${nameList(servers)}.${programs}`;
}

/** The capabilities resource, Markdown. */
export function capabilities(servers: readonly string[], { tools, languages }: Offer): string {
  const isCell = tools.includes('run_python');
  const isProgram = tools.includes('execute_code');
  const able = isProgram ? withTools(languages) : [];
  const parts = [
    ...(isCell ? [CELLS] : []),
    ...(isProgram ? [aboutPrograms(languages)] : []),
    ...(tools.includes('execute') ? [aboutCommands] : []),
    ...(isCell || able.length > 0 ? [`Servers: ${nameList(servers)}`] : []),
    ...(isCell || able.includes('python') ? [aboutPython(isCell)] : []),
  ];
  return `# ${PACKAGE_NAME} ${VERSION}

${parts.join('\n\n')}
`;
}

const CELLS = `\`run_python\` runs Python in a fresh container: no network, read-only, nothing kept between calls. The user's MCP
servers are callable inside, by name, when the call's \`servers\` lists them.`;

/** What `execute_code` can do. */
const aboutPrograms = (
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

/** What `execute` can do. The same for both ways in which it is done. */
const aboutCommands = `\`execute\` runs one command in an isolated machine: \`command\` is a program's name or path, \`args\` its arguments, handed on
as they are; there is no shell unless the command is one (\`sh\`, \`["-c", "a | b"]\`). \`stdin\`, \`timeout_ms\`, \`cwd\` and \`env\`
are optional. Files in /work stay for later commands; everything else may be gone. The answer has stdout, then stderr
under its own head; \`[exit status 3]\`, a signal or a timeout comes first. Of long output head and tail are shown.`;

/** Names of the languages whose programs can call tools. */
const withTools = (languages: readonly Language[]): readonly string[] =>
  languages.filter(callsTools).map(({ name }) => name);
