// Habits from a terminal or a notebook that mean nothing here: input, magics, and what IPython puts into a program.

import type { GuestError } from '../../../sandbox/sandbox.js';
import { type Hint, says } from './hint.js';

/** The line that a SyntaxError quotes, without its indent. */
const quoted = ({ traceback }: GuestError): string =>
  (traceback[traceback.findIndex((line) => line.startsWith('  File "')) + 1] ?? '').trim();

export const habitHints: readonly Hint[] = [
  {
    about: 'input',
    matches: says(/EOF when reading a line/, /^EOFError$/),
    sentence: () => 'There is no stdin and nobody to ask: write the value into the code.',
  },
  {
    about: 'a magic',
    matches: (error) =>
      error.type === 'SyntaxError' && /^(?:[!%]|%%)\w/.test(quoted(error)) ? [] : undefined,
    sentence: () =>
      "Lines with ! and % are IPython's: use subprocess and plain Python. Packages cannot be installed here.",
  },
  {
    about: 'IPython',
    matches: says(/^name 'get_ipython' is not defined/, /^NameError$/),
    sentence: () => 'This is CPython and no notebook: there is no IPython.',
  },
];
