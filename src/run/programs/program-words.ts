// Words that a program can be started with: arguments and variables as Linux takes them, so that a refusal by Linux is not a
// riddle in the middle of a run. Pure; callers say what is wrong in their own words.

import { KB_BYTES, MB_BYTES } from '../../base/text/sizes.js';

/** Most bytes that Linux takes for one argument or one `NAME=value`, without the NUL at its end. */
const MAX_WORD_BYTES = 128 * KB_BYTES - 1;
/** Most bytes of all words: half of what Linux takes below a stack of 8 MiB. The sandbox's variables need part of the rest. */
export const MAX_WORDS_BYTES = MB_BYTES;
/** Each has a NUL at its end, and a pointer. */
const BYTES_BESIDES_WORD = 1 + 8;

/** Variables by which the harness tells a program of itself. */
const OURS: readonly string[] = ['MCP_SANDBOX_CONVERSATION'];

/** As every shell can name it. Without `=`, which would end the name, and without NUL. */
const VARIABLE_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** The problem with the name of a variable, as the end of a sentence that says what was got. */
export function variableNameTrouble(name: string): string | undefined {
  if (OURS.includes(name)) return 'which the sandbox sets itself, expected another one';
  if (VARIABLE_NAME.test(name)) return undefined;
  return 'expected letters, digits and _, and no digit at its beginning';
}

/** Description of what an argument, or the value of the variable `name`, may be; undefined where `text` is that. */
export function allowedWord(text: string, name?: string): string | undefined {
  const most = MAX_WORD_BYTES - (name === undefined ? 0 : Buffer.byteLength(`${name}=`));
  if (Buffer.byteLength(text) <= most && !text.includes('\0') && text.isWellFormed()) return undefined;
  return `well-formed text without NUL of at most ${most} bytes`;
}

/** Bytes that the kernel counts for arguments and variables, to be compared with MAX_WORDS_BYTES. */
export function wordsBytes(args: readonly string[], env: Readonly<Record<string, string>>): number {
  const words = [...args, ...Object.entries(env).map(([name, value]) => `${name}=${value}`)];
  return words.reduce((sum, word) => sum + Buffer.byteLength(word) + BYTES_BESIDES_WORD, 0);
}
