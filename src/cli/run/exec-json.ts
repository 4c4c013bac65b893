// The result of `exec --json`: the fields of isolator's command line, in one line, and what isolator has not: files, and
// how much of an endless output is missing.

import type { OutputStream } from '../../base/process/streams.js';
import { HeadTail } from '../../base/text/text.js';
import { madeVisibleJson } from '../../base/text/unseen.js';
import type { Left } from '../../run/artifacts/artifacts.js';
import type { Outcome } from '../../run/outcome/outcome.js';
import type { ProgramOutput } from '../terminal/pass-on.js';

/** Characters kept of each stream. A string may have 512 MB, and JSON needs up to six characters for one. */
const MAX_STREAM_CHARS = 64 * 1024 ** 2;
/** Where no process of the program ended by itself, as Go has it, in which isolator's command line is written. */
const NO_EXIT_CODE = -1;

/** Collects what the program prints, for a line of JSON in the end. */
export class Collected implements ProgramOutput {
  readonly stdout: HeadTail;
  readonly stderr: HeadTail;

  constructor(maxChars = MAX_STREAM_CHARS) {
    this.stdout = new HeadTail(maxChars);
    this.stderr = new HeadTail(maxChars);
  }

  readonly add = (stream: OutputStream, text: string): void => this[stream].add(text);
}

/** The line in pieces, since all of it may be longer than one string can be. */
export function* jsonPieces(outcome: Outcome, { stdout, stderr }: Collected): Generator<string> {
  const { exitCode, durationMs, error, left } = outcome;
  const dropped = stdout.dropped + stderr.dropped;
  const fields = {
    status: statusOf(outcome),
    exitCode: exitCode ?? NO_EXIT_CODE,
    stdout: () => stdout.toString(),
    stderr: () => stderr.toString(),
    durationMs: Math.round(durationMs),
    ...(error === undefined ? {} : { error: [error.message, error.remedy ?? ''].join(' ').trim() }),
    ...(dropped === 0 ? {} : { droppedCharacters: dropped }),
    ...(left === undefined ? {} : { files: filesOf(left) }),
  };
  let mark = '{';
  for (const [name, value] of Object.entries(fields)) {
    const text = typeof value === 'function' ? value().toWellFormed() : value;
    yield `${mark}${JSON.stringify(name)}:${madeVisibleJson(JSON.stringify(text))}`;
    mark = ',';
  }
  yield '}\n';
}

/** isolator knows three; what was refused or cancelled has not succeeded. */
function statusOf({ status }: Outcome): 'success' | 'timeout' | 'error' {
  return status === 'success' || status === 'timeout' ? status : 'error';
}

function filesOf({ files, skipped, skippedMore }: Left): object[] {
  return [
    ...files.map(({ name, content, text }) => ({
      name,
      bytes: content.length,
      ...(text === undefined ? {} : { text }),
    })),
    ...skipped.map(({ name, reason }) => ({ name, problem: `left behind: it ${reason}` })),
    ...(skippedMore === 0 ? [] : [{ name: `${skippedMore} more`, problem: 'left behind' }]),
  ];
}
