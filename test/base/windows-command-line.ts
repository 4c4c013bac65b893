// How Windows reads a command line, written anew from the descriptions of its parsers and not from what our code writes:
// cmd.exe's two phases, for a line behind /c and for a line of a batch file; the C runtime that node.exe and python.exe
// are built with; and CommandLineToArgvW, which other programs call.

export type Variables = Readonly<Record<string, string>>;

/** What cmd.exe makes of a line: the commands that it would start, each with its text, in order. */
export type CmdReading = readonly string[];

/** Arguments that mean something to one of the readers, or spell a variable that a machine has. */
export const HOSTILE = [
  '',
  ' ',
  'plain',
  '-y',
  '@scope/package@1.2.3',
  'a b',
  'a\tb',
  'a"b',
  '"',
  '""',
  '"""',
  'a""b',
  '"quoted"',
  '{"key": "value", "path": "C:\\\\x\\\\"}',
  'Authorization: Bearer x',
  '&calc',
  '& calc.exe &',
  '"&calc',
  '"&calc&"',
  '" & calc & "',
  'a"&b"&c',
  '\\"&calc',
  '\\\\"&calc&\\"',
  '|more',
  '>file',
  '<file',
  '(a)',
  '^',
  '^^',
  '^&calc',
  '"^&calc',
  'a^',
  '%PATH%',
  '%%PATH%%',
  '%',
  '%%',
  '100%',
  '%a b%',
  '%x%%x%',
  'a%x%b',
  '%cd:~,%',
  '%PATH:~0,3%',
  '%PATH:a=b%',
  '"%PATH%"',
  '%=C:%',
  '%*',
  '%1',
  '%~1',
  '%^PATH%',
  '!PATH!',
  '^!PATH^!',
  '\\',
  '\\\\',
  'C:\\Users\\x y\\',
  'C:\\Users\\x y\\\\',
  'C:\\no_space\\',
  'ends with space\\ ',
  '\\\\server\\share\\',
  '\\"',
  '\\\\"',
  'a\\b"c\\',
  ',;=',
  'a=b',
  'a;b,c',
  '*?[x]',
  '/c',
  "it's",
  'ünï ✓ 語 😀',
  '\u0001\u007f',
  '`whoami`',
  '$(calc)',
];

/** The longest line that cmd.exe reads. */
export const CMD_MAX_CHARS = 8_191;

/** Phase 1 behind /c: a `%` that begins no name of a variable stays, and reading goes on behind it. */
function expandedInLine(line: string, env: Variables): string {
  let out = '';
  for (let at = 0; at < line.length; at++) {
    if (line[at] !== '%') {
      out += line[at];
      continue;
    }
    const end = line.indexOf('%', at + 1);
    const value = end === -1 ? undefined : variableValue(line.slice(at + 1, end), env);
    if (value === undefined) out += '%';
    else {
      out += value;
      at = end;
    }
  }
  return out;
}

/** Phase 1 in a batch file: `%%` is a `%`, `%*` the arguments as they stand, `%1` one of them, and an unknown name is nothing. */
function expandedInBatch(line: string, rest: string, env: Variables): string {
  const words = batchWords(rest);
  let out = '';
  for (let at = 0; at < line.length; at++) {
    if (line[at] !== '%') {
      out += line[at];
      continue;
    }
    const next = line[at + 1] ?? '';
    const bare = /^%~(\d)/.exec(line.slice(at));
    if (next === '%') {
      out += '%';
      at += 1;
    } else if (next === '*') {
      out += rest;
      at += 1;
    } else if (/\d/.test(next)) {
      out += words[Number(next) - 1] ?? '';
      at += 1;
    } else if (bare !== null) {
      out += (words[Number(bare[1]) - 1] ?? '').replace(/^"(.*)"$/, '$1');
      at += 2;
    } else {
      const end = line.indexOf('%', at + 1);
      if (end === -1) continue;
      out += variableValue(line.slice(at + 1, end), env) ?? '';
      at = end;
    }
  }
  return out;
}

/** The value of `name`, or of `name:~start,length`; undefined for a variable that is not there. */
function variableValue(text: string, env: Variables): string | undefined {
  const [, name = '', start, length] = /^([^:]*)(?::~(-?\d*)(?:,(-?\d*))?)?$/.exec(text) ?? [];
  if (name === '') return undefined;
  const spelling = Object.keys(env).find((one) => one.toUpperCase() === name.toUpperCase());
  const value = spelling === undefined ? undefined : env[spelling];
  if (value === undefined || start === undefined) return value;
  // An empty start or length counts as nought.
  const from = Number(start) < 0 ? value.length + Number(start) : Number(start);
  if (length === undefined) return value.slice(from);
  return Number(length) < 0 ? value.slice(from, Number(length)) : value.slice(from, from + Number(length));
}

/** Arguments of a batch file: white space, commas, semicolons and equals signs between them, but not between quotes. */
function batchWords(text: string): string[] {
  const words: string[] = [];
  let isQuoted = false;
  let word = '';
  for (const char of text) {
    if (char === '"') isQuoted = !isQuoted;
    if (!isQuoted && /[\s,;=]/.test(char)) {
      if (word !== '') words.push(word);
      word = '';
    } else word += char;
  }
  return word === '' ? words : [...words, word];
}

/** Phase 2: quotes switch each other on and off, a caret outside of them takes the next character, operators end a command. */
function commandsIn(line: string): string[] {
  const commands = [''];
  let isQuoted = false;
  for (let at = 0; at < line.length; at++) {
    const char = line[at] ?? '';
    if (char === '\n') break;
    if (char === '"') isQuoted = !isQuoted;
    if (!isQuoted && char === '^') {
      at += 1;
      commands[commands.length - 1] += line[at] ?? '';
    } else if (!isQuoted && /[&|<>()]/.test(char)) commands.push('');
    else commands[commands.length - 1] += char;
  }
  return commands;
}

/** What `cmd.exe /d /e:on /v:off /s /c "…"` starts; `line` is everything behind `/c `. */
export function readByCmd(line: string, env: Variables): CmdReading {
  // `/s`: the first and the last quote go, and everything between them stays.
  const first = line.indexOf('"');
  const last = line.lastIndexOf('"');
  const inner = line.slice(0, first) + line.slice(first + 1, last) + line.slice(last + 1);
  return commandsIn(expandedInLine(inner.slice(0, CMD_MAX_CHARS), env));
}

/**
 * What a batch file with the single line `template` starts, when a command of cmd.exe calls it: `command` is its path, in
 * quotes, and what follows.
 */
export function readByBatch(command: string, template: string, env: Variables): CmdReading {
  const [, , rest = ''] = /^("[^"]*"|\S+)\s?(.*)$/s.exec(command.trim()) ?? [];
  return commandsIn(expandedInBatch(template, rest, env));
}

/** The arguments behind the program's name, as the C runtime since 2008 reads them: in quotes, two quotes are one. */
export function readByCRuntime(commandLine: string): string[] {
  const args: string[] = [];
  let at = 0;
  const isSpace = () => commandLine[at] === ' ' || commandLine[at] === '\t';
  // The program's own name ends at the next quote or space, and knows no backslashes.
  for (let isQuoted = false; at < commandLine.length && (isQuoted || !isSpace()); at++) {
    if (commandLine[at] === '"') isQuoted = !isQuoted;
  }
  for (;;) {
    while (isSpace()) at += 1;
    if (at >= commandLine.length) return args;
    let arg = '';
    let isQuoted = false;
    while (at < commandLine.length && (isQuoted || !isSpace())) {
      let slashes = 0;
      while (commandLine[at] === '\\') {
        slashes += 1;
        at += 1;
      }
      if (commandLine[at] !== '"') {
        arg += '\\'.repeat(slashes);
        if (slashes === 0) arg += commandLine[at++] ?? '';
        continue;
      }
      arg += '\\'.repeat(Math.floor(slashes / 2));
      if (slashes % 2 === 1) arg += '"';
      else if (isQuoted && commandLine[at + 1] === '"') {
        arg += '"';
        at += 1;
      } else isQuoted = !isQuoted;
      at += 1;
    }
    args.push(arg);
  }
}

/** The same as CommandLineToArgvW reads it: the third of three quotes is one, and it ends the quoted part. */
export function readByCommandLineToArgvW(commandLine: string): string[] {
  const args: string[] = [];
  let arg: string | undefined;
  let quotes = 0;
  let slashes = 0;
  const start = commandLine.startsWith('"') ? commandLine.indexOf('"', 1) + 1 : commandLine.search(/[ \t]|$/);
  for (let at = start; at < commandLine.length; at++) {
    const char = commandLine[at] ?? '';
    if ((char === ' ' || char === '\t') && quotes === 0) {
      if (arg !== undefined) args.push(arg);
      [arg, slashes] = [undefined, 0];
      continue;
    }
    arg ??= '';
    if (char === '\\') {
      arg += char;
      slashes += 1;
      continue;
    }
    if (char !== '"') {
      arg += char;
      slashes = 0;
      continue;
    }
    arg = arg.slice(0, arg.length - Math.ceil(slashes / 2));
    if (slashes % 2 === 1) arg += '"';
    else quotes += 1;
    slashes = 0;
    while (commandLine[at + 1] === '"') {
      quotes += 1;
      at += 1;
      if (quotes === 3) {
        arg += '"';
        quotes = 0;
      }
    }
    if (quotes === 2) quotes = 0;
  }
  return arg === undefined ? args : [...args, arg];
}
