// The tool `execute_code`. Its arguments are checked whole before anything is spent: a snippet, or a language and its code,
// never both; names, sizes and words that a program can be given. Relies on snippets' own errors for what is wrong with one.

import { asBridgeError } from '../../base/errors.js';
import { findClosest } from '../../base/text/closest.js';
import { describeValue, echo } from '../../base/text/echo.js';
import { type ArgumentsOf, argumentsReader } from '../../code-exec/tool-arguments.js';
import { NameSet, nameProblem, PLAIN_NAME } from '../../run/artifacts/file-names.js';
import type { RunInput } from '../../run/life/run-request.js';
import { type CallProblem, type Outcome, outcomeWithoutRun } from '../../run/outcome/outcome.js';
import type { Snippets } from '../../run/programs/snippets.js';
import {
  allowedWord,
  MAX_WORDS_BYTES,
  type Task,
  variableNameTrouble,
  wordsBytes,
} from '../../run/programs/task.js';
import { offeredLanguages, planFor } from '../../settings/environment/plan.js';
import type { Settings } from '../../settings/environment/settings.js';
import { callsTools, isFileOf, type Language, languageNamed } from '../../settings/languages/records.js';
import { complaint } from '../requests/complaint.js';
import { type BridgeTool, executeCodeArguments, executeCodeDefinition, oneOf } from './definitions.js';
import { ADDITIONAL_FILES, readInputFiles } from './input-files.js';

const SNIPPET_OR_CODE = 'snippet_name alone, or language and entrypoint_code';
/** The first line of a Markdown fence: a language, or nothing. */
const FENCE_OPENING = /^(`{3,})[ \t]*(?:(?:\{[\w.+#-]*\}?|[\w.+#-]+\}?|\})[ \t]*)?$/;

export function executeCode(settings: Settings): BridgeTool<Outcome> {
  const { timeoutSeconds } = settings;
  const offered = offeredLanguages(settings);
  // Made once: making a check costs more than using it.
  const read = argumentsReader(executeCodeArguments(settings), `an object with ${SNIPPET_OR_CODE}`);
  return {
    definition: executeCodeDefinition(settings),
    outputMode: 'sections',
    call: async (args, context, bridge) => {
      const given = read(args);
      const input =
        'problem' in given
          ? complaint(given.problem, given.remedy)
          : await readProgram(given.values, { settings, offered, snippets: bridge.snippets });
      if ('message' in input) return outcomeWithoutRun('validation_error', input, timeoutSeconds);
      return addNote(await bridge.run(input, context), input.task);
    },
  };
}

/** Notes a wrong ending of the file: where Go's compiler, for one, goes by it, the run may have failed for no other reason. */
function addNote(outcome: Outcome, task: Task): Outcome {
  if (task.type !== 'program' || outcome.status !== 'error') return outcome;
  const { file, language } = task;
  if (isFileOf(language, file)) return outcome;
  const hint = `${language.title} files end in ${language.extensions.join(' or ')}; this one is named ${file}.`;
  return { ...outcome, note: outcome.note === undefined ? hint : `${outcome.note}\n${hint}` };
}

type ProgramValues = ArgumentsOf<ReturnType<typeof executeCodeArguments>>;

/** The run that is asked for, or what is wrong with the arguments. */
async function readProgram(
  given: ProgramValues,
  source: {
    readonly settings: Settings;
    /** The languages that may be named. */
    readonly offered: readonly Language[];
    readonly snippets: Pick<Snippets, 'find'>;
  },
): Promise<RunInput | CallProblem> {
  const { settings, offered, snippets } = source;
  const origin = given.snippet_name ? await fromSnippet(given, offered, snippets) : fromCode(given, offered);
  if ('message' in origin) return origin;
  const { language, code, file } = origin;
  const objection = toolsProblem(given, language, offered) ?? wordsObjection(given) ?? fileProblem(file);
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

async function fromSnippet(
  { snippet_name: name = '', language, entrypoint_code: code, entrypoint_filename: file }: ProgramValues,
  offered: readonly Language[],
  snippets: Pick<Snippets, 'find'>,
): Promise<{ readonly language: Language; readonly code: string; readonly file: string } | CallProblem> {
  const besides = [
    ...(language === undefined ? [] : ['language']),
    ...(code === undefined ? [] : ['entrypoint_code']),
  ];
  if (besides.length > 0)
    return complaint(
      `snippet_name: got ${describeValue(name)} together with ${besides.join(' and ')}, expected ${SNIPPET_OR_CODE}.`,
      'Leave one of the two out.',
    );
  try {
    const snippet = await snippets.find(name);
    if (!offered.some((each) => each.name === snippet.language.name))
      return complaint(
        `snippet_name: got ${describeValue(name)}, which is ${snippet.language.title}, expected a snippet in ${oneOf(offered)}.`,
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
): { readonly language: Language; readonly code: string; readonly file: string } | CallProblem {
  if (word === undefined && code === undefined)
    return complaint(`language: got nothing, nor a snippet_name, expected ${SNIPPET_OR_CODE}.`);
  if (word === undefined)
    return complaint(`language: got nothing beside entrypoint_code, expected ${oneOf(offered)}.`);
  const name = languageNamed(word)?.name;
  const language = offered.find((each) => each.name === name);
  if (language === undefined) {
    const near = findClosest(
      word,
      offered.flatMap((each) => [each.name, ...each.aliases]),
    );
    const suggestion = near === undefined ? '' : ` Did you mean '${languageNamed(near)?.name}'?`;
    return complaint(`language: got ${describeValue(word)}, expected ${oneOf(offered)}.${suggestion}`);
  }
  if (code === undefined)
    return complaint(
      `entrypoint_code: got nothing beside language ${describeValue(word)}, expected the program's source.`,
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

function toolsProblem(
  { servers, mode }: ProgramValues,
  { name, title }: Language,
  offered: readonly Language[],
): CallProblem | undefined {
  const able = offered.filter(callsTools);
  if (able.some((each) => each.name === name)) return undefined;
  const others = able.length === 0 ? 'no language here can' : `those in ${oneOf(able)} can`;
  if (servers.length > 0)
    return complaint(
      `servers: got ${describeValue(servers)}, expected none: programs in ${title} cannot call tools; ${others}.`,
    );
  if (mode === undefined) return undefined;
  return complaint(
    `mode: got ${describeValue(mode)}, expected none: programs in ${title} cannot call tools, so there is nothing to plan; ${others}.`,
  );
}

function fileProblem(file: string): CallProblem | undefined {
  const problem = nameProblem(file) ?? new NameSet().add(file);
  if (problem === undefined) return undefined;
  return complaint(
    `entrypoint_filename: got ${describeValue(file)}, which ${problem}, expected ${PLAIN_NAME}.`,
  );
}

// Errors about the arguments and variables that a call of `execute_code` gives its program, as the agent reads them.

/** Error about the first wrong argument or variable of the program. */
function wordsObjection({ args, env }: Pick<ProgramValues, 'args' | 'env'>): CallProblem | undefined {
  for (const [number, arg] of args.entries()) {
    const allowed = allowedWord(arg);
    if (allowed !== undefined) return wordProblem(`args[${number}]`, arg, allowed);
  }
  for (const [name, value] of Object.entries(env)) {
    const trouble = variableNameTrouble(name);
    if (trouble !== undefined) return complaint(`env: got the name ${describeValue(name)}, ${trouble}.`);
    const allowed = allowedWord(value, name);
    if (allowed !== undefined) return wordProblem(`env.${echo(name)}`, value, allowed);
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

const wordProblem = (field: string, word: string, allowed: string): CallProblem =>
  complaint(
    `${field}: got ${describeValue(word)}, of ${Buffer.byteLength(word)} bytes, expected ${allowed}.`,
  );
