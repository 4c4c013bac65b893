// Output for people: in colour on a terminal, plain in a pipe. Decides nothing; every command loads this file, `serve` too.

import picocolors from 'picocolors';
import { madeVisible, madeVisibleJson } from '../../base/text/unseen.js';

type Colours = ReturnType<typeof picocolors.createColors>;

/** Colours when `stream` is a terminal and NO_COLOR is not set. */
export function coloursFor(stream: NodeJS.WriteStream): Colours {
  const wanted = stream.isTTY === true && !process.env['NO_COLOR'] && process.env['TERM'] !== 'dumb';
  return picocolors.createColors(wanted);
}

/** A line on stderr that is not what was asked for, but about it. */
export function sayDim(line: string): void {
  process.stderr.write(`${coloursFor(process.stderr).dim(line)}\n`);
}

/** Pretty JSON, as every `--json` prints it. What does not show is escaped as JSON does, so that nothing is changed. */
export function printJson(value: unknown): void {
  process.stdout.write(`${madeVisibleJson(JSON.stringify(value, undefined, 2))}\n`);
}

export function megabytes(sizeBytes: number): string {
  return `${(sizeBytes / 1e6).toFixed(sizeBytes < 1e7 ? 1 : 0)} MB`;
}

export function seconds(durationMs: number): string {
  return `${(durationMs / 1000).toFixed(durationMs < 10_000 ? 2 : 0)} s`;
}

/** Names come from files; one with characters that do not show must not rewrite the terminal, nor read as another. */
export const visible = (text: string): string =>
  madeVisible(JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"'));
