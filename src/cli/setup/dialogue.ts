// Questions that `setup` asks a person. None is asked in a pipe: who calls looks at `isInteractive` first.

import { confirm, isCancel, multiselect } from '@clack/prompts';
import { BridgeError } from '../../base/errors.js';
import type { SetupContext, SetupOptions } from './step.js';

const cancelledError = () =>
  new BridgeError('E_CANCELLED', 'Stopped at a question; what was done before it stays.', {
    fault: 'operator',
  });

/** True with --yes; asks on a terminal; otherwise false. Throws E_CANCELLED at Ctrl-C. */
export async function agrees(
  {
    options,
    isInteractive,
    clear,
  }: Pick<SetupContext, 'isInteractive' | 'clear'> & { readonly options: Pick<SetupOptions, 'yes'> },
  question: string,
): Promise<boolean> {
  if (options.yes) return true;
  if (!isInteractive) return false;
  clear();
  const answer = await confirm({ message: question });
  if (isCancel(answer)) throw cancelledError();
  return answer;
}

/** The values that the user leaves ticked; all are at first. Throws E_CANCELLED at Ctrl-C. */
export async function picks(
  { clear }: SetupContext,
  question: string,
  choices: readonly { readonly value: string; readonly label: string; readonly hint: string }[],
): Promise<readonly string[]> {
  clear();
  const answer = await multiselect({
    message: `${question} (space ticks, enter goes on)`,
    options: [...choices],
    initialValues: choices.map(({ value }) => value),
    required: false,
  });
  if (isCancel(answer)) throw cancelledError();
  return answer;
}
