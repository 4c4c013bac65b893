// Questions that `setup` asks a person. None is asked in a pipe: who calls looks at `isInteractive` first.

import { confirm, isCancel, multiselect } from '@clack/prompts';
import { BridgeError } from '../../base/errors.js';
import { coloursFor } from '../terminal/output.js';
import { columnsOf, shownWidth, wrapText } from '../terminal/wrap.js';

/** Questions at the terminal; a test answers them itself. */
export const terminalPrompts = { confirm, multiselect } as const;

/** Facts about the person who is asked. */
type Asked = {
  readonly options: { readonly yes?: true };
  readonly isInteractive: boolean;
  readonly prompts: typeof terminalPrompts;
  readonly clear: () => void;
};

const cancelledError = () =>
  new BridgeError('E_CANCELLED', 'Stopped at a question; what was done before it stays.', {
    fault: 'operator',
  });

/**
 * The answer on a terminal, where Enter means `byDefault`; with --yes that answer without a question; false where nobody can be
 * asked. Throws E_CANCELLED at Ctrl-C.
 */
export async function agrees(
  { options, isInteractive, clear, prompts }: Asked,
  question: string,
  byDefault = true,
): Promise<boolean> {
  if (options.yes) return byDefault;
  if (!isInteractive) return false;
  clear();
  const answer = await prompts.confirm({ message: inFrame(question), initialValue: byDefault });
  if (isCancel(answer)) throw cancelledError();
  return answer;
}

/**
 * The values that the user leaves ticked; all are at first. Asks several times where the labels together are too long for the
 * line that shows the answer. Throws E_CANCELLED at Ctrl-C.
 */
export async function picks(
  { clear, prompts }: Asked,
  question: string,
  choices: readonly { readonly value: string; readonly label: string; readonly hint: string }[],
): Promise<readonly string[]> {
  clear();
  const picked: string[] = [];
  for (const part of partsThatFit(choices)) {
    const answer = await prompts.multiselect({
      message: inFrame(`${question} (space ticks, enter goes on)`),
      options: part.map((choice) => ({ ...choice, hint: hintThatFits(choice) })),
      initialValues: part.map(({ value }) => value),
      required: false,
    });
    if (isCancel(answer)) throw cancelledError();
    picked.push(...answer);
  }
  return picked;
}

/** Columns that a question's frame takes: a bar and two spaces. */
const FRAME_COLUMNS = 3;
/** Columns in front of a choice and around its hint: its box, spaces and brackets. */
const BOX_COLUMNS = 6;

const roomIn = (columns: number): number => columns - FRAME_COLUMNS - 1;

/** A question in lines that each have the bar of the frame, and none of which is broken by the terminal. */
export function inFrame(question: string, columns = columnsOf(process.stdout)): string {
  const { gray } = coloursFor(process.stdout);
  const lines = question.split('\n').flatMap((line) => wrapText(line, roomIn(columns)));
  return lines.map((line) => line.trimEnd()).join(`\n${gray('│')}  `);
}

/** The choices in groups whose labels, with commas between them, fit one line of the frame. */
export function partsThatFit<T extends { readonly label: string }>(
  choices: readonly T[],
  columns = columnsOf(process.stdout),
): readonly (readonly T[])[] {
  const parts: T[][] = [];
  let room = 0;
  for (const choice of choices) {
    const width = shownWidth(choice.label) + ', '.length;
    const last = parts.at(-1);
    if (last !== undefined && width <= room) {
      last.push(choice);
      room -= width;
    } else {
      parts.push([choice]);
      room = roomIn(columns) + ', '.length - width;
    }
  }
  return parts;
}

/** The end of the hint, which of a path tells most, as far as it fits beside the label. */
export function hintThatFits(
  { label, hint }: { readonly label: string; readonly hint: string },
  columns = columnsOf(process.stdout),
): string {
  const room = roomIn(columns) - BOX_COLUMNS - shownWidth(label);
  return shownWidth(hint) <= room ? hint : `…${hint.slice(hint.length - Math.max(0, room - 1))}`;
}
