// How an argument vector is started on a system. On POSIX systems it is handed to the kernel as it is. On Windows npx and
// many others are batch files (`npx.cmd`), which only cmd.exe reads, and which Node refuses to start without a shell; so
// the program is looked up here, and a batch file becomes a command line in which nothing but the arguments can be read.
// Pure: what is on the disk is asked of a function.

import { accessSync, constants } from 'node:fs';
import { delimiter, isAbsolute, join, win32 } from 'node:path';
import { BridgeError } from '../errors.js';
import { isFile } from '../files/is-file.js';
import { type Environment, windowsSystemProgram, windowsVariable } from './environment.js';

/** Arguments for Node's spawn. `isVerbatim` is its `windowsVerbatimArguments`: the arguments are quoted already. */
export type Start = {
  readonly file: string;
  readonly args: readonly string[];
  readonly isVerbatim: boolean;
};

export type StartPlace = {
  readonly platform: NodeJS.Platform;
  /** The environment of the program, in which it is looked up. */
  readonly env: Environment;
  /** The folder in which it is started; an empty one is our own. */
  readonly cwd: string;
  /** Whether something that is no folder lies at an absolute path. */
  readonly isFile: (path: string) => boolean;
};

/** Endings of files that Windows starts, directly or through cmd.exe; not scripts for another program (.js, .ps1, .py). */
const STARTABLE = ['.com', '.exe', '.bat', '.cmd'];
const BATCH = /\.(?:bat|cmd)$/i;
/** Longest line that cmd.exe reads; it cuts off the rest. */
const MAX_LINE_CHARS = 8_191;
/** Characters that mean nothing to cmd.exe, to a batch file or to the C runtime; an argument of these alone stays bare. */
const PLAIN = /^[\w#$*+\-./:?@\\]*[\w#$*+\-./:?@]$/;
/** An empty part of the current folder's name. Behind a `%` it keeps cmd.exe from reading a variable's name there. */
const NOTHING = '%cd:~,%';

/**
 * On POSIX systems the same vector. On Windows throws an error with the code ENOENT where there is no such program, and
 * E_PROCESS for arguments that no batch file can be given.
 */
export function startOf(program: string, args: readonly string[], place: StartPlace): Start {
  if (place.platform !== 'win32') return { file: program, args, isVerbatim: false };
  const file = findOnWindows(program, place);
  if (file === undefined) {
    // Node would look into the working directory too, where a cloned repository may have put a program of this name.
    throw Object.assign(new Error(`spawn ${program} ENOENT`), { code: 'ENOENT' });
  }
  return BATCH.test(file) ? batchStart(file, args, place.env) : { file, args, isVerbatim: false };
}

/** A line of the user's own, for the shell that a host would hand it to: cmd.exe on Windows, /bin/sh elsewhere. */
export function startOfLine(line: string, place: Pick<StartPlace, 'platform' | 'env'>): Start {
  if (place.platform !== 'win32') return { file: '/bin/sh', args: ['-c', line], isVerbatim: false };
  // `/s` takes off the outer quotes and leaves the line as it was written.
  const args = ['/d', '/s', '/c', `"${line}"`];
  return { file: windowsSystemProgram('cmd.exe', place.env), args, isVerbatim: true };
}

/**
 * The absolute path of what `program` starts on Windows, by the folders of PATH and the endings of PATHEXT in their order;
 * undefined where there is none. The working directory is searched only where `program` has a folder in it.
 */
export function findOnWindows(
  program: string,
  { env, cwd, isFile }: Omit<StartPlace, 'platform'>,
): string | undefined {
  const name = withoutTrail(program);
  if (name === '' || /[\0"\r\n]/.test(name)) return undefined;
  const hasFolder = /[\\/]|^[A-Za-z]:/.test(name);
  const folders = hasFolder ? [''] : searchFolders(windowsVariable(env, 'PATH') ?? '');
  const names = spellings(name, windowsVariable(env, 'PATHEXT') ?? '');
  for (const folder of folders) {
    for (const spelling of names) {
      const path = win32.resolve(cwd, folder, spelling);
      if (isFile(path)) return path;
    }
  }
  return undefined;
}

/** Windows takes dots and spaces off the end of a name, so that `x.cmd.` is a batch file that does not look like one. */
function withoutTrail(name: string): string {
  let end = name.length;
  while (end > 0 && '. '.includes(name.charAt(end - 1))) end--;
  return name.slice(0, end);
}

/** A name with an ending that starts is also tried as it stands; without one it is never a program of Windows. */
function spellings(name: string, pathExt: string): string[] {
  const isStartable = (ending: string) => STARTABLE.includes(ending.toLowerCase());
  const said = pathExt.split(';').map((ending) => ending.trim());
  const endings = said.some(isStartable) ? said.filter(isStartable) : STARTABLE;
  const asWritten = isStartable(win32.extname(name)) ? [name] : [];
  return [...asWritten, ...endings.map((ending) => name + ending)];
}

/** The folders of PATH. A semicolon between quotes belongs to a name; a relative folder would be somebody else's choice. */
function searchFolders(path: string): string[] {
  const folders = [''];
  let isQuoted = false;
  for (const char of path) {
    if (char === '"') isQuoted = !isQuoted;
    else if (char === ';' && !isQuoted) folders.push('');
    else folders[folders.length - 1] += char;
  }
  return folders.map((folder) => folder.trim()).filter((folder) => win32.isAbsolute(folder));
}

/**
 * `cmd.exe /d /e:on /v:off /s /c "…"`: no AutoRun of the registry; the extensions that NOTHING needs; `!` means nothing.
 * Every argument that could mean something stands between quotes, and a quote in it is doubled: so cmd.exe is inside of
 * quotes throughout, however often a batch file hands `%*` on, and the C runtime of Node and Python reads one quote. Carets
 * instead would have to be counted by how often the line is read, and a batch file may read it once more than most.
 */
function batchStart(file: string, args: readonly string[], env: Environment): Start {
  const name = win32.basename(file);
  for (const [index, arg] of args.entries()) {
    if (/[\0\r\n]/.test(arg)) {
      throw startError(
        `argument ${index + 1} of ${name} has a line break or a NUL, which a batch file cannot take`,
      );
    }
  }
  const written = args.reduce((sum, arg) => sum + arg.length, file.length);
  const line = written > MAX_LINE_CHARS ? '' : [quoteArgument(file), ...args.map(word)].join(' ');
  if (line === '' || line.length > MAX_LINE_CHARS) {
    throw startError(
      `the command line of ${name} has more than ${MAX_LINE_CHARS} characters, the most that a batch file takes`,
    );
  }
  return {
    file: windowsSystemProgram('cmd.exe', env),
    args: ['/d', '/e:on', '/v:off', '/s', '/c', `"${line}"`],
    isVerbatim: true,
  };
}

const word = (arg: string): string => (PLAIN.test(arg) ? arg : quoteArgument(arg));

function quoteArgument(text: string): string {
  let line = '"';
  let backslashes = 0;
  for (const char of text) {
    // Backslashes before a quote are doubled for the C runtime; anywhere else they mean themselves.
    if (char === '"') line += `${'\\'.repeat(backslashes)}""`;
    else line += char === '%' ? `%${NOTHING}` : char;
    backslashes = char === '\\' ? backslashes + 1 : 0;
  }
  return `${line}${'\\'.repeat(backslashes)}"`;
}

const startError = (message: string): BridgeError =>
  new BridgeError('E_PROCESS', `${message}.`, {
    fault: 'operator',
    remedy: 'Name the program that the batch file starts, such as node with the script as its first argument',
  });

/** Absolute path of the program that `command` starts, if there is one. */
export function findProgram(command: string, env: Environment): string | undefined {
  if (process.platform === 'win32') return findOnWindows(command, { env, cwd: '', isFile });
  if (isAbsolute(command)) return isExecutable(command) ? command : undefined;
  const folders = (env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  return folders.map((folder) => join(folder, command)).find(isExecutable);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
