// A program at a terminal of its own, with somebody who says yes: logins of hosts are for people, and some refuse to start
// without a terminal.

import { spawn } from 'node:child_process';
import { stripVTControlCharacters } from 'node:util';

const TIMEOUT_MS = 60_000;
/** Gives the program of its arguments a terminal. At the end of its own input it would hang up. */
const IN_TERMINAL = 'import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])) % 256)';

/** { code, said }: its exit code and all that it showed. It is answered `y` once what it shows matches `asks`. */
export function atTerminal(argv, { env, cwd, asks }) {
  const options = {
    env,
    cwd,
    stdio: /** @type {import('node:child_process').StdioOptions} */ (['pipe', 'pipe', 'pipe']),
    detached: true,
  };
  const child = spawn('python3', ['-c', IN_TERMINAL, ...argv], options);
  let said = '';
  let isAnswered = asks === undefined;
  child.stdin.on('error', () => {});
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => {
      said += chunk;
      if (isAnswered || !asks.test(said)) return;
      isAnswered = true;
      child.stdin.write('y\n');
    });
  const clock = setTimeout(() => process.kill(-child.pid, 'SIGKILL'), TIMEOUT_MS);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) =>
      resolve({ code: signal ?? code, said: stripVTControlCharacters(said).trim() }),
    );
  }).finally(() => clearTimeout(clock));
}
