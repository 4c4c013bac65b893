// The variables that `exec --env NAME=value` gives a program, checked by the rules that hold for agents. Takes nothing of our
// own environment.

import { clipHarmless } from '../../base/text/text.js';
import {
  allowedWord,
  MAX_WORDS_BYTES,
  variableNameTrouble,
  wordsBytes,
} from '../../run/programs/program-words.js';
import { usageError } from '../terminal/failure.js';

const MAX_ECHO_CHARS = 80;
const IN_A_FILE = 'Put the data into a file for --file or --stdin.';

/**
 * The variables of a program that also has these arguments. Of a name that is there twice, the last one counts.
 * Throws E_ARGUMENTS.
 */
export function variablesFor(
  args: readonly string[],
  pairs: readonly string[],
): Readonly<Record<string, string>> {
  const env = Object.fromEntries(pairs.map(variableOf));
  const bytes = wordsBytes(args, env);
  if (bytes <= MAX_WORDS_BYTES) return env;
  throw usageError(
    `The arguments and variables have ${bytes} bytes together, at most ${MAX_WORDS_BYTES} go in.`,
    IN_A_FILE,
  );
}

function variableOf(pair: string): readonly [name: string, value: string] {
  const end = pair.indexOf('=');
  if (end < 0)
    throw usageError(
      `--env: got ${shown(pair)}, expected NAME=value.`,
      'Say what its value is; none is taken from here.',
    );
  const [name, value] = [pair.slice(0, end), pair.slice(end + 1)];
  const trouble = variableNameTrouble(name);
  if (trouble !== undefined)
    throw usageError(`--env: got the name ${shown(name)}, ${trouble}.`, 'Correct the name.');
  const allowed = allowedWord(value, name);
  if (allowed === undefined) return [name, value];
  throw usageError(`--env ${name}: got ${Buffer.byteLength(value)} bytes, expected ${allowed}.`, IN_A_FILE);
}

const shown = (text: string): string => `'${clipHarmless(text, MAX_ECHO_CHARS)}'`;
