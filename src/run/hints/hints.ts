// Hints on what an exception has to do with the sandbox, and the next step: one table, a row for each thing that code written
// for a terminal meets here. The first row that fits speaks; most exceptions are the code's own affair, and none does.

import { lstatSync, type Stats } from 'node:fs';
import { join } from 'node:path';
import { shellWord } from '../../base/process/own-command.js';
import { findClosest } from '../../base/text/closest.js';
import type { GuestError } from '../../sandbox/conversation/sandbox.js';
import {
  errno,
  firstFitting,
  type Hint,
  type HintSpec,
  limitHints,
  matchDuring,
  STARTS_SOMETHING,
  says,
  writablePlaces,
} from './hint.js';
import { INSTALLER, moduleHints, noInstalling } from './modules.js';

// Mistakes with `await`, which is the one thing that a tool call asks of code: forgotten, or where Python does not
// take it.

const awaitIt = 'A tool call has to be awaited: value = await mcp_<alias>.<tool>(...).';

const asyncHints: readonly Hint[] = [
  {
    about: 'await in a plain function',
    matches: says(
      /^'(?:await|async for|async with)' outside async function|asynchronous comprehension outside/,
      /^SyntaxError$/,
    ),
    sentence: () =>
      'Define the function that awaits with `async def`, and `await` each call of it. At the top level, `await` works as it is.',
  },
  {
    about: 'a coroutine used as a value',
    matches: says(/['"\s]coroutine['"\s]/, /^(?:TypeError|AttributeError)$/),
    sentence: () => awaitIt,
  },
  {
    about: 'a loop inside a loop',
    matches: says(/event loop is already running|while another loop is running/, /^RuntimeError$/),
    sentence: () => 'An event loop is running already: `await` the coroutine at the top level instead.',
  },
];

/**
 * Note on what a run that succeeded has most likely not meant: a call that was never awaited was never sent. Undefined where
 * neither the run's value nor its stderr shows such a call.
 */
export const unawaitedNote = (repr: string, stderr: string): string | undefined =>
  /<coroutine object /.test(repr) || /RuntimeWarning: coroutine '[^'\n]*' was never awaited/.test(stderr)
    ? `A call was not awaited, so it was not sent. ${awaitIt}`
    : undefined;

/** Exceptions of the standard library and of the libraries that programs use in its place. */
const NETWORK_ERROR =
  /^(?:OSError|TimeoutError|Connection\w*Error|(?:socket|ssl|urllib|http|ftplib|smtplib|requests|urllib3|httpx|httpcore|aiohttp)\.[\w.]+)$/;

/**
 * A network that is not there. A tool's own trouble with its network arrives as an MCPError and is none of these; nor is
 * one that the code made up itself.
 */
const networkHints: readonly Hint[] = [
  {
    about: 'localhost',
    matches: says(/\[Errno 111\]|Connection refused|Connect call failed \('(?:127\.|::1)/, NETWORK_ERROR),
    sentence: () =>
      "Nothing listens there: localhost is the sandbox itself, not the user's machine, and it has no network. Use a server's tool.",
  },
  {
    about: 'network',
    matches: says(
      /\[Errno (?:-[2358]|99|10[01])\]|Network is unreachable|[Nn]ame resolution|Name or service not known|NameResolutionError|getaddrinfo failed|Cannot connect to host/,
      NETWORK_ERROR,
    ),
    sentence: () =>
      'The sandbox has no network. Use a server\'s tool: runtime.search_tool_docs("...") finds one.',
  },
];

/** The line that a SyntaxError quotes, without its indent. */
const quotedLine = ({ traceback }: GuestError): string =>
  (traceback[traceback.findIndex((line) => line.startsWith('  File "')) + 1] ?? '').trim();

/** `!pip install x`, `%pip install x`, `!{sys.executable} -m pip install x`, and `pip install x` as it is typed. */
const INSTALLS = new RegExp(
  `^[!%]{0,2} ?(?:(?:sudo|\\S*python[\\d.]*|\\{sys\\.executable\\}) (?:-m )?)?${INSTALLER} (?:-\\S+ )*(?:pip |install\\b|add\\b|sync\\b)`,
);

/** `!ls`, `%matplotlib inline`, `%%bash`, `files = !ls`. */
const MAGIC = /^(?:[\w, ]{1,80}= ?)?(?:!|%%?) ?[\w{./~]/;

/** Habits from a terminal or a notebook that mean nothing here: input, magics, and what IPython puts into a program. */
const habitHints: readonly Hint[] = [
  {
    about: 'input',
    matches: says(/EOF when reading a line/, /^EOFError$/),
    sentence: () => 'There is no stdin and nobody to ask: write the value into the code.',
  },
  {
    about: 'a password',
    // The exception that getpass raises has no words; the code's own line says who asked.
    matches: (error) =>
      error.type === 'EOFError' && error.traceback.slice(-20).some((line) => /\bgetpass\b/.test(line))
        ? []
        : undefined,
    sentence: () =>
      'There is no stdin and nobody to ask for a password. Use a tool of a server that has the password, or do without.',
  },
  {
    about: 'a debugger',
    matches: says(/^/, /^(?:bdb\.)?BdbQuit$/),
    sentence: () =>
      'There is no stdin for a debugger: breakpoint() ends the code. Print what you want to see, or use traceback and inspect.',
  },
  {
    about: 'an installer in a line of IPython or a shell',
    matches: (error) => (error.type === 'SyntaxError' && INSTALLS.test(quotedLine(error)) ? [] : undefined),
    sentence: noInstalling,
  },
  {
    about: 'a magic',
    matches: (error) => (error.type === 'SyntaxError' && MAGIC.test(quotedLine(error)) ? [] : undefined),
    sentence: () =>
      'Lines with ! and % are IPython\'s, and this is plain Python without a shell prompt. List files with os.listdir("."), start a program with subprocess.run(["ls", "-la"]).',
  },
  {
    about: 'IPython',
    matches: says(/^name 'get_ipython' is not defined/, /^NameError$/),
    sentence: () => 'This is plain Python, not a notebook: leave out get_ipython().',
  },
];

// Exceptions of the file system: it is read-only but for a few places, nothing in those can be executed, and the
// user's own files are not in it.

/** Refused where the path begins so. */
const matchDenied = (path: string) => errno(13, ` .*['"](${path}[^'"]*)['"]`);
const SCRATCH = '/(?:workspace|tmp|dev/shm)/';
/** The working directory is one of those. */
const IN_SCRATCH = `(?:${SCRATCH}|[^/'"])`;

/** Homes, mounts, URLs, other people's systems. */
const HOST_PATH = ` .*['"](?:file:|~|/(?:home|Users|root|mnt|media|Volumes)/|[A-Za-z]:[\\\\/])`;

/** Mode bits that let every user read a file, and list and enter a folder. */
const FILE_FOR_ALL = 0o004;
const FOLDER_FOR_ALL = 0o005;

/**
 * The command that lets every user read `path` of a read-only folder; undefined if that is not what it lacks. The path is a
 * word of the guest's and chmod follows links, so each part of it must be a plain file or folder that is there.
 */
function openingCommand(path: string, { source, target }: HintSpec['data'][number]): string | undefined {
  const parts = path.slice(target.length + 1).split('/');
  if (parts.some((part) => ['', '.', '..'].includes(part))) return undefined;
  let at = source;
  for (const part of parts) {
    at = join(at, part);
    const found = lookAt(at);
    if (found === undefined || !(found.isFile() || found.isDirectory())) return undefined;
    const [mode, right] = found.isFile() ? [FILE_FOR_ALL, 'o+r'] : [FOLDER_FOR_ALL, 'o+rx'];
    if ((found.mode & mode) !== mode) return `chmod ${right} ${shellWord(at)}`;
  }
  return undefined;
}

function lookAt(path: string): Stats | undefined {
  try {
    return lstatSync(path);
  } catch {
    return undefined;
  }
}

const notRoot = (spec: HintSpec): string =>
  `The code is not root here; it can write only to ${writablePlaces(spec)}.`;

/** Code runs as the owner of folders that it can write, and else as nobody that this machine knows. */
function deniedData(spec: HintSpec, path = ''): string {
  const folder = spec.data.find(({ target }) => path === target || path.startsWith(`${target}/`));
  if (folder === undefined) return notRoot(spec);
  const { target, isWritable } = folder;
  if (isWritable)
    return `Code uses ${target} as the owner of that folder does, and can execute nothing there.`;
  const command = openingCommand(path, folder);
  return command === undefined
    ? `Code can read in ${target} what every user of the machine may read. It can write and execute nothing there: write to ${writablePlaces(spec)}.`
    : `Code runs as another user than the owner, and may not read it. The user can run \`${command}\`; then every user of the machine may read it.`;
}

const fileHints: readonly Hint[] = [
  {
    about: 'read-only file system',
    matches: errno(30),
    sentence: (walls) => `Only ${writablePlaces(walls)} can be written to; the rest is read-only.`,
  },
  {
    about: 'read-only database',
    matches: says(/unable to open database file|attempt to write a readonly database/, /^sqlite3\./),
    sentence: (walls) => `Only ${writablePlaces(walls)} can be written to: keep the database there.`,
  },
  {
    about: 'execution',
    matches: matchDuring(STARTS_SOMETHING, matchDenied(IN_SCRATCH)),
    sentence: (walls) =>
      `Nothing in ${writablePlaces(walls)} can be executed: run a script by its interpreter, as in ["python3", "x.py"] or ["sh", "x.sh"].`,
  },
  {
    about: 'a native library',
    matches: says(/failed to map segment from shared object/),
    sentence: (walls) => `Nothing in ${writablePlaces(walls)} can be loaded as a native library.`,
  },
  {
    about: 'a data folder',
    // Libraries in Rust have the path without quotation marks.
    matches: says(/['"\s](\/data(?:\/[^'"\n]*)?)/, /^PermissionError$/),
    sentence: deniedData,
  },
  {
    about: 'a place that belongs to others',
    matches: matchDenied(`(?!${SCRATCH})/`),
    sentence: notRoot,
  },
  {
    about: 'privileges',
    matches: errno(1),
    sentence: () =>
      'The code has no privileges here: it cannot change owners, mount, open raw sockets or trace processes.',
  },
  {
    about: 'out/ from elsewhere',
    matches: errno(2, ` .*['"](?:\\./)?out/[^/'"]*['"]`),
    sentence: () =>
      'out/ is the folder /workspace/out. Write that path if the code has changed its directory. A session stays in the directory of its last os.chdir.',
  },
  {
    about: "the user's files",
    matches: errno(2, HOST_PATH),
    sentence: () =>
      "The user's files are not in the sandbox: pass them in run_python's `files`, or read them with a server's tool.",
  },
];

// Failures between the code and a server's tool: the tool's own failure, arguments that are no JSON, a server that is not
// there.

/** How to say in JSON what is none. */
const AS_JSON: Readonly<Record<string, string>> = {
  datetime: 'x.isoformat()',
  date: 'x.isoformat()',
  time: 'x.isoformat()',
  timedelta: 'x.total_seconds()',
  Timestamp: 'x.isoformat()',
  set: 'list(x)',
  frozenset: 'list(x)',
  range: 'list(x)',
  generator: 'list(x)',
  dict_keys: 'list(x)',
  dict_values: 'list(x)',
  map: 'list(x)',
  filter: 'list(x)',
  Decimal: 'float(x) or str(x)',
  Fraction: 'float(x)',
  UUID: 'str(x)',
  PosixPath: 'str(x)',
  complex: 'str(x)',
  ndarray: 'x.tolist()',
  int64: 'x.item()',
  int32: 'x.item()',
  float32: 'x.item()',
  bool: 'x.item()',
  bool_: 'x.item()',
  DataFrame: 'x.to_dict("records")',
  Series: 'x.tolist()',
  coroutine: 'await x',
};

/** With the nearest of those that there are. */
function notConfigured({ aliases = [] }: HintSpec, ...words: readonly string[]): string {
  const near = findClosest(words.find((word) => word !== '') ?? '', aliases);
  const meant = near === undefined ? '' : ` Did you mean 'mcp_${near}'?`;
  return `No server of that name is configured: runtime.discovered_servers() lists them; name one in the call's \`servers\`.${meant}`;
}

const toolHints: readonly Hint[] = [
  {
    about: 'an argument that is no JSON',
    matches: says(
      /argument '[^'\n]*' cannot be sent as JSON: Object of type (\w+) is not JSON/,
      /^TypeError$/,
    ),
    sentence: (_walls, type = '') =>
      `Arguments are JSON: text, numbers, booleans, None, lists and dicts. Pass ${AS_JSON[type] ?? 'its parts, or str(x),'} instead of the ${type}.`,
  },
  {
    about: 'a tool that failed',
    // A tool's own words come after its name; the bridge's own sentences have none in front, or say what to do.
    matches: says(/^([\w.\\-]+)\.([\w-]+): (?!.* did not answer within )/, /^MCPError$/),
    sentence: (_walls, server = '', tool = '') =>
      `That is the server's own answer. The tool's parameters: await runtime.query_tool_docs("${server.replaceAll('\\.', '.')}", "${tool}", detail="full"). To go on without it, catch MCPError.`,
  },
  {
    about: 'a server that is not configured',
    matches: says(/^name 'mcp_(\w+)' is not defined/, /^NameError$/),
    sentence: notConfigured,
  },
];

/** Modules come before files: a program that is missing is a file that is missing. */
export const HINTS: readonly Hint[] = [
  ...toolHints,
  ...limitHints,
  ...networkHints,
  ...moduleHints,
  ...fileHints,
  ...asyncHints,
  ...habitHints,
];

const HINTS_WITH_NETWORK = HINTS.filter((hint) => !networkHints.includes(hint));

/** Undefined where the exception has nothing to do with the sandbox. */
export const hintFor = (error: GuestError, spec: HintSpec): string | undefined =>
  firstFitting(spec.network === 'none' ? HINTS : HINTS_WITH_NETWORK, error, spec);
