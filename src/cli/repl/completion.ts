// Completions for TAB: tools and their arguments out of what is known of servers, everything else out of what the session has.

import { RawJson } from '../../base/json/json-text.js';
import type { ServerDoc, ToolDoc } from '../../wire/frames.js';

type CompletionSources = {
  /** Servers by what they are called in Python. */
  readonly servers: () => readonly Pick<ServerDoc, 'alias' | 'tools'>[];
  /** Names that the session has, or those of one of its objects; none where that is not known. */
  readonly namesIn: (object: string | undefined) => Promise<readonly string[]>;
};

const INDENT = '    ';
const IN_DOTTED = /[\w.]/;
const WORD_LETTER = /\w/;
const NAME = /^[A-Za-z_]\w*$/;
const CALLEE = /\bmcp_(\w+)\.(\w+)\s*$/;
const MODULE = /^mcp_(\w+)$/;

/**
 * `line` is what stands before the cursor. Gives words that its last word could become, and that last word, as readline wants
 * them.
 */
export async function completionsOf(line: string, sources: CompletionSources): Promise<[string[], string]> {
  if (line.trim() === '') return [[`${line}${INDENT}`], line];
  const place = placeIn(line);
  if (place.isInText) return [[], ''];
  const { object, word } = lastWord(line);
  if (object !== undefined) {
    const server = serverNamed(MODULE.exec(object)?.[1], sources);
    const names = server?.tools.map(({ alias }) => alias) ?? (await sources.namesIn(object));
    return [namesBeginningWith(names, word).map((name) => `${object}.${name}`), `${object}.${word}`];
  }
  const own = namesBeginningWith(argumentsLeft(place.callee, place.given, sources), word);
  // Behind a comma or a bracket anything may follow, which is no help.
  const others = word === '' ? [] : namesBeginningWith(await sources.namesIn(undefined), word);
  return [[...own, ...others], word];
}

/** The end of the line: `mcp_x.to` is the word `to` of the object `mcp_x`. */
function lastWord(line: string): { readonly object: string | undefined; readonly word: string } {
  let start = line.length;
  while (start > 0 && IN_DOTTED.test(line[start - 1] ?? '')) start--;
  const dotted = line.slice(start);
  const dot = dotted.lastIndexOf('.');
  const object = dotted.slice(0, Math.max(0, dot));
  const isName = object.split('.').every((part) => NAME.test(part));
  return { object: dot > 0 && isName ? object : undefined, word: dotted.slice(dot + 1) };
}

function namesBeginningWith(names: readonly string[], begin: string): string[] {
  const shown = names.filter((name) => name.startsWith(begin) && (begin !== '' || !name.startsWith('_')));
  return [...new Set(shown)].sort();
}

const serverNamed = (alias: string | undefined, { servers }: CompletionSources) =>
  alias === undefined ? undefined : servers().find((server) => server.alias === alias);

/** Arguments that the tool whose call is open has not been given yet, with their equals sign. */
function argumentsLeft(callee: string, given: string, sources: CompletionSources): readonly string[] {
  const [, alias, name] = CALLEE.exec(callee) ?? [];
  const tool = serverNamed(alias, sources)?.tools.find((each) => each.alias === name);
  // Within a value the names of arguments are none of its.
  if (tool === undefined || isInValue(given)) return [];
  return argumentNames(tool)
    .filter((each) => !isGiven(each, given))
    .map((each) => `${each}=`);
}

/** Whether what is given ends in the value of an argument, of which no more than a word is there. */
function isInValue(given: string): boolean {
  let end = given.length;
  while (end > 0 && WORD_LETTER.test(given[end - 1] ?? '')) end--;
  return given.slice(0, end).trimEnd().endsWith('=');
}

/** Whether an argument of this name stands in what is given. */
function isGiven(name: string, given: string): boolean {
  for (let at = given.indexOf(name); at !== -1; at = given.indexOf(name, at + 1)) {
    const isWhole = !WORD_LETTER.test(given[at - 1] ?? '');
    if (
      isWhole &&
      given
        .slice(at + name.length)
        .trimStart()
        .startsWith('=')
    )
      return true;
  }
  return false;
}

function argumentNames({ inputSchema }: Pick<ToolDoc, 'inputSchema'>): readonly string[] {
  const schema: unknown = inputSchema instanceof RawJson ? JSON.parse(inputSchema.text) : inputSchema;
  const { properties } = Object(schema) as { readonly properties?: unknown };
  return Object.keys(Object(properties)).filter((name) => NAME.test(name));
}

function placeIn(line: string): {
  readonly isInText: boolean;
  /** Text before the innermost open bracket, where that is a round one. */
  readonly callee: string;
  /** Text behind the innermost open bracket, where that is a round one. */
  readonly given: string;
} {
  const open: number[] = [];
  let quote = '';
  for (let at = 0; at < line.length; at++) {
    const letter = line[at] ?? '';
    if (quote !== '') {
      if (letter === '\\') at++;
      else if (letter === quote) quote = '';
    } else if (letter === '"' || letter === "'") quote = letter;
    else if ('([{'.includes(letter)) open.push(at);
    else if (')]}'.includes(letter)) open.pop();
  }
  const start = open.at(-1);
  const isCall = start !== undefined && line[start] === '(';
  return {
    isInText: quote !== '',
    callee: isCall ? line.slice(0, start) : '',
    given: isCall ? line.slice(start + 1) : '',
  };
}

const GLOBALS =
  'if 1: print(*{*globals(), *dir(__import__("builtins")), *__import__("keyword").kwlist}, sep="\\n")';
/** More than that nobody reads through, and it has to fit what an answer shows of its output. */
const MAX_NAMES = 2_000;

/**
 * The names that a session has, asked of itself by a call of one statement, which leaves `_` as it is. What was asked is known
 * until the next program runs.
 */
export class SessionNames {
  readonly #printed: (code: string) => Promise<string>;
  readonly #known = new Map<string | undefined, Promise<readonly string[]>>();

  /** `printed`: what code prints that runs in the session. */
  constructor(printed: (code: string) => Promise<string>) {
    this.#printed = printed;
  }

  /** Names of the session, or of one of its objects, which is named with dots. */
  of(object: string | undefined): Promise<readonly string[]> {
    const known = this.#known.get(object) ?? this.#ask(object);
    this.#known.set(object, known);
    return known;
  }

  forget(): void {
    this.#known.clear();
  }

  async #ask(object: string | undefined): Promise<readonly string[]> {
    const text = await this.#printed(object === undefined ? GLOBALS : codeFor(object));
    return text
      .split('\n')
      .filter((name) => /^\w+$/.test(name))
      .slice(0, MAX_NAMES);
  }
}

const codeFor = (object: string): string =>
  object === 'runtime'
    ? 'if 1: print(*runtime.__all__, "session", sep="\\n")'
    : `if 1: print(*dir(${object}), sep="\\n")`;
