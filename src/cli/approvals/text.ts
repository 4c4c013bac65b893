// Questions as a person reads them in a terminal: whole, and with nothing in them that a terminal would obey.

import { laidOutJson } from '../../base/json/laid-out-json.js';
import { ownCommand } from '../../base/process/own-command.js';
import { shownTool } from '../../base/text/shown-name.js';
import type { Question } from '../../policy/approvals/question.js';
import type { Unreadable } from '../../policy/inbox/inbox-folder.js';
import { columns } from '../terminal/columns.js';
import { coloursFor, visibleText } from '../terminal/output.js';
import { hangText, paragraph, shownWidth, widthOf } from '../terminal/wrap.js';

export const NOTHING = 'Nothing to approve.';

const BAR = '│';
const GOES_ON = '┆';
/** A character takes no more than two. */
const MOST_COLUMNS_OF_ONE = 2;
/** Run and client are the first to go where a line is too narrow. */
const DROPS = [7, 6, 5, 3];

/** Text for people; ends with a newline. */
export function questionsText(questions: readonly Question[], nowMs = Date.now()): string {
  const paint = coloursFor(process.stdout);
  const width = widthOf(process.stdout);
  const head = ['question', 'asked', 'waits', 'calls', 'tool', 'rule', 'run', 'client'].map((word) =>
    paint.dim(word),
  );
  const rows = questions.map((question) => [
    paint.bold(question.id),
    `${span(nowMs - Date.parse(question.askedAt))} ago`,
    `${span(Date.parse(question.expiresAt) - nowMs)} more`,
    `${question.object.calls.length}`,
    toolOf(question),
    visibleText(question.rule),
    paint.dim(visibleText(question.run)),
    paint.dim(visibleText(clientOf(question))),
  ]);
  const table = columns([head, ...rows], { width, wraps: [4, 5], drops: DROPS });
  const commands = ['show', 'allow', 'deny'].map((word) => `\`${ownCommand('approvals', word, 'ID')}\``);
  const next = `${commands[0]} shows what would be sent, ${commands[1]} and ${commands[2]} answer.`;
  return `${table}\n${hangText(next, 0, width)}\n`;
}

/** All of one question. The calls are not wrapped: what is shown is what is sent. Ends with a newline. */
export function questionText(question: Question, nowMs = Date.now()): string {
  const paint = coloursFor(process.stdout);
  const { calls } = question.object;
  const facts: ReadonlyArray<readonly [string, string | undefined]> = [
    ['rule', question.rule],
    ['client', question.client],
    ['run', question.run],
    ['session', question.session],
    ['principal', question.principal],
    ['asked', `${span(nowMs - Date.parse(question.askedAt))} ago`],
    ['waits', `${span(Date.parse(question.expiresAt) - nowMs)} more`],
    ['offers', question.offers.join(', ')],
  ];
  const rows = facts.flatMap(([name, value]) =>
    value === undefined ? [] : [[paint.dim(name), visibleText(value)]],
  );
  const table = columns(rows, { width: widthOf(process.stdout), wraps: [1] });
  const count =
    calls.length === 1
      ? 'This call would be sent:'
      : `These ${calls.length} calls would be sent, all or none:`;
  const texts = calls.map(({ arguments: text }, at) => {
    const number = calls.length === 1 ? '' : paint.dim(`${at + 1}.\n`);
    return `${number}${prefixWithBar(laidOutJson(text), paint.dim)}\n`;
  });
  return `${paint.bold(question.id)}  ${paint.bold(toolOf(question))}\n${table}\n${count}\n${texts.join('')}`;
}

/**
 * Every line of a call has a bar ahead of it, so that no line of it looks like ours. A terminal would begin a line of its own
 * where one is too long: it is broken here, with nothing lost, and goes on behind another bar.
 */
function prefixWithBar(text: string, paint: (bar: string) => string): string {
  const width = widthOf(process.stdout);
  const room = width === undefined ? Number.POSITIVE_INFINITY : width - BAR.length - 1;
  return text
    .split('\n')
    .map((line) => `${paint(BAR)} ${pieces(line, room).join(`\n${paint(GOES_ON)} `)}`)
    .join('\n');
}

function pieces(line: string, room: number): readonly string[] {
  if (line.length * MOST_COLUMNS_OF_ONE <= room) return [line];
  const found: string[] = [];
  let piece = '';
  let used = 0;
  for (const character of line) {
    const columnsOfIt = shownWidth(character);
    if (used + columnsOfIt > room) {
      found.push(piece);
      piece = '';
      used = 0;
    }
    piece += character;
    used += columnsOfIt;
  }
  return [...found, piece];
}

/** Files of the folder that are no questions; empty where there are none. */
export const unreadableText = (files: readonly Unreadable[]): string =>
  files
    .map(({ file, why }) => paragraph(`${visibleText(file)} ${visibleText(why)}; it is skipped.`))
    .join('');

export const toolOf = ({ object }: Question): string => shownTool(object.server, object.tool);

const clientOf = ({ client, principal }: Question): string =>
  principal === undefined ? client : `${client} for ${principal}`;

/** `42 s`, `12 min`, `3 h`; nothing is less than 0 s. */
function span(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 120) return `${seconds} s`;
  return seconds < 7_200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`;
}
