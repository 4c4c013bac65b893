// Commands that take root, as a person would run them: with sudo where we are not root. In a pipe sudo must not ask for a
// password, because nobody would see the question.

import { spawn } from 'node:child_process';
import { BridgeError } from '../../base/errors.js';
import { run, tailOf } from '../../base/process/process.js';
import { shellWord } from '../../base/process/shell-word.js';

const TIMEOUT_MS = 20 * 60_000;
const SUDO_TIMEOUT_MS = 15_000;

type RootAccess = 'root' | 'sudo' | 'sudo with a password' | 'none';

/** The command line of `argv`, as somebody types it who is root or is not. */
export const rootCommand = (argv: readonly string[], isRoot: boolean): string =>
  commandLine([...(isRoot ? [] : ['sudo']), ...argv]);

export const commandLine = (argv: readonly string[]): string =>
  // An option needs no quotes where the command does not begin with it.
  argv.map((word) => (/^--?[\w=-]+$/.test(word) ? word : shellWord(word))).join(' ');

/** By what way root is to be had. */
export async function rootAccess(isRoot: boolean, isInteractive: boolean): Promise<RootAccess> {
  if (isRoot) return 'root';
  try {
    const asked = await run(
      ['sudo', '-n', 'true'],
      { timeoutMs: SUDO_TIMEOUT_MS },
      new AbortController().signal,
    );
    if (asked.exitCode === 0) return 'sudo';
    return isInteractive ? 'sudo with a password' : 'none';
  } catch {
    return 'none';
  }
}

/**
 * Runs `argv` as root to its end: a package manager that is cut in the middle leaves packages half installed, so that an
 * interrupt is only looked at afterwards. Throws E_PROCESS with the last lines of what it said.
 */
export async function runAsRoot(argv: readonly string[], access: RootAccess): Promise<void> {
  if (access === 'sudo with a password') return runInForeground(['sudo', ...argv]);
  const [program = '', ...args] = access === 'sudo' ? ['sudo', '-n', ...argv] : argv;
  await runToTheEnd([program, ...args]);
}

/** Runs `argv` as the user that we are; else as runAsRoot does, with the same end and errors. */
export async function runToTheEnd(argv: readonly [string, ...string[]]): Promise<void> {
  const result = await run(
    argv,
    { timeoutMs: TIMEOUT_MS, env: { DEBIAN_FRONTEND: 'noninteractive' } },
    new AbortController().signal,
  );
  if (result.exitCode !== 0) throw hasFailed(argv, `said: ${tailOf(result)}`);
}

/** With the terminal, on which sudo asks and the command shows what it does. */
async function runInForeground(argv: readonly [string, ...string[]]): Promise<void> {
  const [program, ...args] = argv;
  const exitCode = await new Promise<number | null>((resolve, reject) => {
    // Output of the command is for the person; our own stdout may go into a file.
    const child = spawn(program, args, { stdio: ['inherit', process.stderr, 'inherit'] });
    child.once('error', reject);
    child.once('close', resolve);
  });
  if (exitCode !== 0) throw hasFailed(argv, `ended with ${exitCode ?? 'a signal'}`);
}

const hasFailed = (argv: readonly string[], how: string): BridgeError =>
  new BridgeError('E_PROCESS', `\`${commandLine(argv)}\` ${how}`, {
    fault: 'operator',
    remedy: 'Run the command yourself and see what it says.',
  });
