// What is wrong with the arguments and variables that a call of `execute_code` gives its program, as the agent reads it.

import type { Objection } from '../../run/outcome/outcome.js';
import {
  allowedWord,
  MAX_WORDS_BYTES,
  variableNameTrouble,
  wordsBytes,
} from '../../run/programs/program-words.js';
import { complaint, described, echo } from '../requests/complaint.js';

type ProgramWords = { readonly args: readonly string[]; readonly env: Readonly<Record<string, string>> };

/** What is wrong with the arguments and variables of the program. */
export function wordsObjection({ args, env }: ProgramWords): Objection | undefined {
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

const wordObjection = (field: string, word: string, allowed: string): Objection =>
  complaint(`${field}: got ${described(word)}, of ${Buffer.byteLength(word)} bytes, expected ${allowed}.`);
