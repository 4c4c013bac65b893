// A program at a terminal of its own, with somebody who answers: logins of hosts, dialogs and our own questions are for people,
// and some programs refuse to start without a terminal.

import { spawn } from 'node:child_process';
import { stripVTControlCharacters } from 'node:util';
import { pause } from '../bench/stage.mjs';

const TIMEOUT_MS = 60_000;
/** Nobody answers before a question is drawn. */
const HUMAN_MS = 400;
/** Gives the program of its arguments a terminal. At the end of its own input it would hang up. */
const IN_TERMINAL = 'import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])) % 256)';
const SIZED = ['sh', '-c', 'stty cols 120 rows 50; exec "$@"', 'sh'];
/** Some programs ask a terminal where its cursor is, and wait for that. */
const [WHERE, AT_THE_TOP] = ['\u001b[6n', '\u001b[1;1R'];

/** @typedef {readonly [words: string, keys: string | (() => Promise<string>)]} Answer */

/**
 * { code, said }: its exit code and all that it showed. `answers` are pairs of the words that it shows and the keys that are then
 * pressed, or a function that gives them when the time has come. Programs draw blanks by moving the cursor, so blanks do not count.
 */
export function atTerminal(
  argv,
  /** @type {{ env: object, cwd: string, answers?: readonly Answer[], withinMs?: number }} */
  { env, cwd, answers = [], withinMs = TIMEOUT_MS },
) {
  const options = {
    env: /** @type {NodeJS.ProcessEnv} */ (env),
    cwd,
    stdio: /** @type {import('node:child_process').StdioOptions} */ (['pipe', 'pipe', 'pipe']),
    detached: true,
  };
  const child = spawn('python3', ['-c', IN_TERMINAL, ...SIZED, ...argv], options);
  const left = [...answers];
  let said = '';
  let unread = '';
  child.stdin.on('error', () => {});
  const press = async (keys) => {
    await pause(HUMAN_MS);
    child.stdin.write(typeof keys === 'string' ? keys : await keys());
  };
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text) => {
      said += text;
      unread += text;
      if (text.includes(WHERE)) child.stdin.write(AT_THE_TOP);
      const [next] = left;
      if (next === undefined || !withoutBlanks(unread).includes(withoutBlanks(next[0]))) return;
      left.shift();
      unread = '';
      void press(next[1]);
    });
  const clock = setTimeout(() => process.kill(-child.pid, 'SIGKILL'), withinMs);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) =>
      resolve({ code: signal ?? code, said: stripVTControlCharacters(said).trim() }),
    );
  }).finally(() => clearTimeout(clock));
}

const withoutBlanks = (text) => stripVTControlCharacters(text).replaceAll(/\s+/g, '');
