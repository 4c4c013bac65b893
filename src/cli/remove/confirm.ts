// The question before something is removed, and what stands for its answer where nobody can be asked.

import { agrees, terminalPrompts } from '../setup/dialogue.js';
import { usageError } from '../terminal/output.js';

export type RemovalOptions = {
  /** Remove without asking. */
  readonly yes?: true;
  /** Only say what would be removed. */
  readonly dryRun?: true;
  readonly json?: true;
};

/** True with --yes; asks on a terminal. Throws E_ARGUMENTS if nobody can be asked, E_CANCELLED at Ctrl-C. */
export async function confirmRemoval(question: string, { yes, json }: RemovalOptions): Promise<boolean> {
  if (yes) return true;
  const isInteractive = !json && process.stdin.isTTY === true && process.stdout.isTTY === true;
  if (!isInteractive)
    throw usageError(
      'Nothing was removed: it asks first, and there is no terminal to ask at.',
      'Add --yes to remove it, or --dry-run to see the list only.',
    );
  const asked = { options: {}, isInteractive, clear: () => {}, prompts: terminalPrompts };
  return await agrees(asked, question, false);
}
