// Installs packages by the system's own package manager, only where the user agrees; else says the exact commands.

import { commandLine, rootAccess, rootCommand, runAsRoot, runToTheEnd } from './as-root.js';
import type { SetupContext } from './context.js';
import { agrees } from './dialogue.js';
import { type StepResult, skipped } from './step.js';
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
    return { done: false, result: skipped(`${what}; it would be installed with`, { commands, warnings }) };
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
