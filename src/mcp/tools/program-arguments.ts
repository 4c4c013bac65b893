// The arguments of `execute_code`, checked whole before anything is spent: a snippet, or a language and its code, never
// both; names, sizes and words that a program can be given. Relies on the snippets' own errors for what is wrong with one.

import { z } from 'zod';
import { asBridgeError } from '../../base/errors.js';
import { closest } from '../../base/text/closest.js';
import { MB_BYTES } from '../../base/text/sizes.js';
import { NameSet, nameProblem, PLAIN_NAME } from '../../run/artifacts/file-names.js';
import type { RunInput } from '../../run/life/run-request.js';
import type { CallProblem } from '../../run/outcome/outcome.js';
import {
  allowedWord,
  MAX_WORDS_BYTES,
  variableNameTrouble,
  wordsBytes,
} from '../../run/programs/program-words.js';
import type { Snippets } from '../../run/programs/snippets.js';
import { planFor } from '../../settings/environment/plan.js';
import type { Settings } from '../../settings/environment/settings.js';
import { callsTools, type Language } from '../../settings/languages/language.js';
import { languageNamed } from '../../settings/languages/records.js';
import { MAX_INPUT_BYTES } from '../../wire/frames.js';
import { type Allowed, complaint, described, echo, shapeComplaint } from '../requests/complaint.js';
import { MAX_CODE_CHARS } from './definition.js';
import { ADDITIONAL_FILES, readInputFiles } from './input-files.js';

const SNIPPET_OR_CODE = 'snippet_name alone, or language and entrypoint_code';
/** The first line of a Markdown fence: a language, or nothing. */
const FENCE_OPENING = /^(`{3,})[ \t]*(?:(?:\{[\w.+#-]*\}?|[\w.+#-]+\}?|\})[ \t]*)?$/;

export type ProgramSource = {
  readonly settings: Settings;
  /** The languages that may be named. */
  readonly offered: readonly Language[];
  readonly snippets: Pick<Snippets, 'find'>;
};

export type ProgramSchema = ReturnType<typeof programSchema>;
type ProgramValues = z.output<ProgramSchema>;

/** Made once: making a schema costs more than using it. */
export const programSchema = ({ maxTimeoutSeconds }: Settings) =>
  z.strictObject({
    language: z.string().optional(),
    entrypoint_code: z
      .string()
      .max(MAX_CODE_CHARS)
      .refine((code) => code.trim() !== '' && code.isWellFormed())
      .optional(),
    entrypoint_filename: z.string().optional(),
    // Checked one by one, with sentences of their own.
    additional_files: z.unknown().optional(),
    snippet_name: z.string().optional(),
    stdin: z
      .string()
      .refine((text) => text.isWellFormed() && Buffer.byteLength(text) <= MAX_INPUT_BYTES)
      .optional(),
    args: z.array(z.string()).default([]),
    env: z.record(z.string(), z.string()).default({}),
    servers: z.array(z.string()).default([]),
    mode: z.enum(['plan']).optional(),
    timeout: z.int().min(1).max(maxTimeoutSeconds).optional(),
  });

const allowed = (offered: readonly Language[], { maxTimeoutSeconds }: Settings): Allowed => ({
  fields: {
    language: oneOf(offered),
    entrypoint_code: `well-formed text that is not empty, of at most ${MAX_CODE_CHARS} characters`,
    entrypoint_filename: PLAIN_NAME,
    additional_files: 'a list of files',
    snippet_name: "a snippet's name",
    stdin: `well-formed text of at most ${MAX_INPUT_BYTES / MB_BYTES} MiB`,
    args: 'a list of texts, such as ["--all", "x.csv"]',
    env: 'an object of texts by their names, such as {"TZ": "Asia/Tokyo"}',
    servers: 'a list of server names, such as ["github"]',
    mode: '"plan", or nothing',
    timeout: `a whole number of seconds from 1 to ${maxTimeoutSeconds}`,
  },
  whole: `an object with ${SNIPPET_OR_CODE}`,
  otherNames: {
    code: 'entrypoint_code',
    source: 'entrypoint_code',
    files: 'additional_files',
    filename: 'entrypoint_filename',
    file: 'entrypoint_filename',
    input: 'stdin',
    argv: 'args',
    arguments: 'args',
    environment: 'env',
    env_vars: 'env',
    name: 'snippet_name',
  },
});

/** The run that is asked for, or what is wrong with the arguments. */
export async function readProgram(
  args: unknown,
  schema: ProgramSchema,
  source: ProgramSource,
): Promise<RunInput | CallProblem> {
  const { settings, offered } = source;
  const parsed = schema.safeParse(args);
  if (!parsed.success) return shapeComplaint(parsed.error, args, allowed(offered, settings));
  const given = parsed.data;
  const origin = given.snippet_name ? await fromSnippet(given, source) : fromCode(given, offered);
  if ('message' in origin) return origin;
  const { language, code, file } = origin;
  const objection = toolsObjection(given, language, offered) ?? wordsObjection(given) ?? fileObjection(file);
  if (objection !== undefined) return objection;
  const names = new NameSet();
  names.add(file);
  const files = readInputFiles(given.additional_files, ADDITIONAL_FILES, names);
  if ('complaint' in files) return complaint(files.complaint);
  const stdin = given.stdin === undefined ? undefined : Buffer.from(given.stdin);
  const { args: words, env } = given;
  return {
    task: { type: 'program', language, code: withPlainLines(code), file, args: words, env, stdin },
    servers: [...new Set(given.servers)],
    files,
    timeoutSeconds: given.timeout ?? planFor(language, settings).timeoutSeconds,
    ...(given.mode === 'plan' ? { isPlan: true } : {}),
  };
}

/** To Bash the carriage return of a line from Windows is part of its last word; all other languages pass over it. */
const withPlainLines = (code: string): string => code.replaceAll('\r\n', '\n');

type Origin = { readonly language: Language; readonly code: string; readonly file: string };

async function fromSnippet(
  { snippet_name: name = '', language, entrypoint_code: code, entrypoint_filename: file }: ProgramValues,
  { offered, snippets }: ProgramSource,
): Promise<Origin | CallProblem> {
  const besides = [
    ...(language === undefined ? [] : ['language']),
    ...(code === undefined ? [] : ['entrypoint_code']),
  ];
  if (besides.length > 0)
    return complaint(
      `snippet_name: got ${described(name)} together with ${besides.join(' and ')}, expected ${SNIPPET_OR_CODE}.`,
      'Leave one of the two out.',
    );
  try {
    const snippet = await snippets.find(name);
    if (!offered.some((each) => each.name === snippet.language.name))
      return complaint(
        `snippet_name: got ${described(name)}, which is ${snippet.language.title}, expected a snippet in ${oneOf(offered)}.`,
      );
    return { language: snippet.language, code: snippet.code, file: file ?? snippet.file };
  } catch (thrown) {
    const error = asBridgeError(thrown);
    if (error.fault !== 'agent') throw error;
    return complaint(`snippet_name: ${error.message}`, error.remedy);
  }
}

function fromCode(
  { language: word, entrypoint_code: code, entrypoint_filename: file }: ProgramValues,
  offered: readonly Language[],
): Origin | CallProblem {
  if (word === undefined && code === undefined)
    return complaint(`language: got nothing, nor a snippet_name, expected ${SNIPPET_OR_CODE}.`);
  if (word === undefined)
    return complaint(`language: got nothing beside entrypoint_code, expected ${oneOf(offered)}.`);
  const name = languageNamed(word)?.name;
  const language = offered.find((each) => each.name === name);
  if (language === undefined) {
    const near = closest(
      word,
      offered.flatMap((each) => [each.name, ...each.aliases]),
    );
    const suggestion = near === undefined ? '' : ` Did you mean '${languageNamed(near)?.name}'?`;
    return complaint(`language: got ${described(word)}, expected ${oneOf(offered)}.${suggestion}`);
  }
  if (code === undefined)
    return complaint(
      `entrypoint_code: got nothing beside language ${described(word)}, expected the program's source.`,
    );
  return {
    language,
    code: language.ways.length === 0 ? code : outOfFence(code),
    file: file ?? language.file,
  };
}

/**
 * Code inside the Markdown fence that a model may put around the whole of a program, as it does in a conversation; `code`
 * itself where there is no fence. Python's is taken off by the harness, which parses the code (`harness/program.py`).
 */
export function outOfFence(code: string): string {
  const lines = code.trim().split(/\r?\n/);
  const fence = FENCE_OPENING.exec(lines[0] ?? '')?.[1];
  if (fence === undefined || lines.length < 3 || lines.at(-1)?.trim() !== fence) return code;
  return `${lines.slice(1, -1).join('\n')}\n`;
}

function toolsObjection(
  { servers, mode }: ProgramValues,
  { name, title }: Language,
  offered: readonly Language[],
): CallProblem | undefined {
  const able = offered.filter(callsTools);
  if (able.some((each) => each.name === name)) return undefined;
  const others = able.length === 0 ? 'no language here can' : `those in ${oneOf(able)} can`;
  if (servers.length > 0)
    return complaint(
      `servers: got ${described(servers)}, expected none: programs in ${title} cannot call tools; ${others}.`,
    );
  if (mode === undefined) return undefined;
  return complaint(
    `mode: got ${described(mode)}, expected none: programs in ${title} cannot call tools, so that there is nothing to plan; ${others}.`,
  );
}

function fileObjection(file: string): CallProblem | undefined {
  const problem = nameProblem(file) ?? new NameSet().add(file);
  if (problem === undefined) return undefined;
  return complaint(`entrypoint_filename: got ${described(file)}, which ${problem}, expected ${PLAIN_NAME}.`);
}

/** `python, go or ruby`. */
function oneOf(offered: readonly Language[]): string {
  const names = offered.map(({ name }) => name);
  return names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`;
}

// Errors about the arguments and variables that a call of `execute_code` gives its program, as the agent reads them.

type ProgramWords = { readonly args: readonly string[]; readonly env: Readonly<Record<string, string>> };

/** Error about the first wrong argument or variable of the program. */
function wordsObjection({ args, env }: ProgramWords): CallProblem | undefined {
  for (const [number, arg] of args.entries()) {
    const allowed = allowedWord(arg);
    if (allowed !== undefined) return wordObjection(`args[${number}]`, arg, allowed);
  }
  for (const [name, value] of Object.entries(env)) {
    const trouble = variableNameTrouble(name);
    if (trouble !== undefined) return complaint(`env: got the name ${described(name)}, ${trouble}.`);
    const allowed = allowedWord(value, name);
    if (allowed !== undefined) return wordObjection(`env.${echo(name)}`, value, allowed);
  }
  const bytes = wordsBytes(args, env);
  if (bytes <= MAX_WORDS_BYTES) return undefined;
  const variables = Object.keys(env).length;
  const isBoth = args.length > 0 && variables > 0;
  const fields = isBoth ? 'args and env' : variables > 0 ? 'env' : 'args';
  const counts = [
    ...(args.length > 0 ? [`${args.length} texts`] : []),
    ...(variables > 0 ? [`${variables} variables`] : []),
  ];
  return complaint(
    `${fields}: got ${counts.join(' and ')} of ${bytes} bytes together, expected at most ${MAX_WORDS_BYTES}.`,
    'Pass the data in stdin or additional_files.',
  );
}

const wordObjection = (field: string, word: string, allowed: string): CallProblem =>
  complaint(`${field}: got ${described(word)}, of ${Buffer.byteLength(word)} bytes, expected ${allowed}.`);
