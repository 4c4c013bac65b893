// Installs packages by the system's own package manager, only where the user agrees; else says the exact commands.

import { spawn } from 'node:child_process';
import { BridgeError } from '../../base/errors.js';
import { shellWord } from '../../base/process/own-command.js';
import { run, tailOf } from '../../base/process/process.js';
import { agrees } from './dialogue.js';
import { type SetupContext, type StepResult, skippedResult } from './step.js';
import type { System } from './systems.js';

type Installation =
  | { readonly done: true; readonly undo: readonly string[] }
  | { readonly done: false; readonly result: StepResult };

/** The commands that install `packages`, as a person types them. */
function installCommands(
  system: System,
  packages: readonly string[],
  { isEngine, isRoot }: { readonly isEngine: boolean; readonly isRoot: boolean },
): string[] {
  const { update, install, asRoot, afterwards } = system;
  const argvs = [...(update === undefined ? [] : [update]), [...install, ...packages]];
  const typed = (argv: readonly string[]) => (asRoot ? rootCommand(argv, isRoot) : commandLine(argv));
  return [...argvs.map(typed), ...(isEngine ? afterwards.map(commandLine) : [])];
}

/**
 * @param what is missing, as the beginning of a sentence
 * @param isEngine whether the engine itself is among the packages, which may have to be started once
 */
export async function installPackages(
  setup: SetupContext,
  what: string,
  system: System,
  packages: readonly string[],
  isEngine: boolean,
): Promise<Installation> {
  const { isRoot } = setup.machine;
  const commands = installCommands(system, packages, { isEngine, isRoot });
  const warnings = system.note === undefined ? [] : [{ detail: system.note }];
  if (setup.options.dryRun) {
    return {
      done: false,
      result: skippedResult(`${what}; it would be installed with`, { commands, warnings }),
    };
  }
  const byHand = (detail: string, remedy: string): Installation => ({
    done: false,
    result: { status: 'failed', detail, remedy, commands, warnings },
  });
  setup.clear();
  if (setup.isInteractive && !setup.options.yes) {
    process.stderr.write(`${what}. To install it:\n${commands.map((command) => `  ${command}\n`).join('')}`);
  }
  if (!(await agrees(setup, 'Run this now?'))) {
    return byHand(what, 'Run these commands, or have them run by the option --yes:');
  }
  const access = system.asRoot ? await rootAccess(isRoot, setup.isInteractive) : 'root';
  if (access === 'none') return byHand(`${what}, and root is not to be had by sudo here`, 'Run as root:');
  const { update, install, remove, asRoot, afterwards } = system;
  for (const argv of [...(update === undefined ? [] : [update]), [...install, ...packages]]) {
    setup.show({ step: commandLine(argv) });
    if (access === 'sudo with a password') setup.clear();
    await runAsRoot(argv, access);
    setup.signal.throwIfAborted();
  }
  if (isEngine) {
    for (const [program = '', ...args] of afterwards) {
      setup.show({ step: commandLine([program, ...args]) });
      await runToTheEnd([program, ...args]);
    }
  }
  const undo = asRoot ? rootCommand([...remove, ...packages], isRoot) : commandLine([...remove, ...packages]);
  return { done: true, undo: [undo] };
}

// Commands that take root, as a person would run them: with sudo where we are not root. In a pipe sudo must not ask for a
// password, because nobody would see the question.

const TIMEOUT_MS = 20 * 60_000;
const SUDO_TIMEOUT_MS = 15_000;

/** The command line of `argv`, as somebody types it who is root or is not. */
export const rootCommand = (argv: readonly string[], isRoot: boolean): string =>
  commandLine([...(isRoot ? [] : ['sudo']), ...argv]);

export const commandLine = (argv: readonly string[]): string =>
  // An option needs no quotes where the command does not begin with it.
  argv.map((word) => (/^--?[\w=-]+$/.test(word) ? word : shellWord(word))).join(' ');

/** How root is to be had. */
export async function rootAccess(
  isRoot: boolean,
  isInteractive: boolean,
): Promise<'root' | 'sudo' | 'sudo with a password' | 'none'> {
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
export async function runAsRoot(
  argv: readonly string[],
  access: Awaited<ReturnType<typeof rootAccess>>,
): Promise<void> {
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

/** Runs a command with the terminal, on which sudo asks and the command shows what it does. */
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
