// What an exception has to do with the sandbox, and the next step: one table, a row for each thing that code written for
// a terminal meets here. The first row that fits speaks; most exceptions are the code's own affair, and none does.

import type { GuestError } from '../../sandbox/conversation/sandbox.js';
import { asyncHints } from './asynchrony.js';
import { fileHints } from './files.js';
import { firstFitting, type Hint, type HintSpec, says } from './hint.js';
import { INSTALLER } from './installers.js';
import { limitHints } from './limits.js';
import { moduleHints, noInstalling } from './modules.js';
import { toolHints } from './tools.js';

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
const quoted = ({ traceback }: GuestError): string =>
  (traceback[traceback.findIndex((line) => line.startsWith('  File "')) + 1] ?? '').trim();

/** `!pip install x`, `%pip install x`, `!{sys.executable} -m pip install x`, and `pip install x` as it is typed. */
const INSTALLS = new RegExp(
  `^[!%]{0,2} ?(?:(?:sudo|\\S*python[\\d.]*|\\{sys\\.executable\\}) (?:-m )?)?${INSTALLER} (?:-\\S+ )*(?:pip |install\\b|add\\b|sync\\b)`,
);

/** Habits from a terminal or a notebook that mean nothing here: input, magics, and what IPython puts into a program. */
const habitHints: readonly Hint[] = [
  {
    about: 'input',
    matches: says(/EOF when reading a line/, /^EOFError$/),
    sentence: () => 'There is no stdin and nobody to ask: write the value into the code.',
  },
  {
    about: 'a password',
    // What getpass raises has no words; the code's own line says who asked.
    matches: (error) =>
      error.type === 'EOFError' && error.traceback.slice(-20).some((line) => /\bgetpass\b/.test(line))
        ? []
        : undefined,
    sentence: () =>
      'There is no stdin and nobody to ask for a password. Have a server of the user hold it, or do without.',
  },
  {
    about: 'a debugger',
    matches: says(/^/, /^(?:bdb\.)?BdbQuit$/),
    sentence: () =>
      'There is no stdin for a debugger: breakpoint() ends the code. Print what you want to see, or use traceback and inspect.',
  },
  {
    about: 'an installer in a line of IPython or a shell',
    matches: (error) => (error.type === 'SyntaxError' && INSTALLS.test(quoted(error)) ? [] : undefined),
    sentence: noInstalling,
  },
  {
    about: 'a magic',
    matches: (error) =>
      error.type === 'SyntaxError' && /^(?:[!%]|%%) ?[\w{]/.test(quoted(error)) ? [] : undefined,
    sentence: () =>
      "Lines with ! and % are IPython's: use subprocess and plain Python. Packages cannot be installed here.",
  },
  {
    about: 'IPython',
    matches: says(/^name 'get_ipython' is not defined/, /^NameError$/),
    sentence: () => 'This is CPython and no notebook: there is no IPython.',
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
