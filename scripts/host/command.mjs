// One way to run another program here: argv, output kept for the error, nothing shown. Throws with what it said.

import { spawn } from 'node:child_process';

const KEPT_CHARS = 4_000;

/**
 * What the program wrote to stdout. `accepted`: exit codes that are no failure.
 * @param {readonly string[]} argv
 * @param {{ cwd?: string, env?: Record<string, string>, accepted?: readonly number[] }} [options]
 * @returns {Promise<string>}
 */
export function command(argv, { cwd, env, accepted = [0] } = {}) {
  const [program, ...args] = argv;
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      cwd,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (text) => {
      stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text) => {
      stderr = (stderr + text).slice(-KEPT_CHARS);
    });
    child.on('error', (error) => reject(new Error(`${program}: ${error.message}`)));
    child.on('close', (code, signal) => {
      if (accepted.includes(code)) resolve(stdout);
      else
        reject(
          new Error(
            `${argv.join(' ')} ended with ${code ?? signal}:\n${stderr || stdout.slice(-KEPT_CHARS)}`,
          ),
        );
    });
  });
}
