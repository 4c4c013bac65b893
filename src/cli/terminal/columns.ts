// Tables for people. A file of its own, since `serve`, which hosts wait for, shows none.

import Table from 'cli-table3';
import { shownWidth, wrapText } from './wrap.js';

const BORDERLESS = Object.fromEntries(
  ['top', 'top-mid', 'top-left', 'top-right', 'bottom', 'bottom-mid', 'bottom-left', 'bottom-right', 'left']
    .concat(['left-mid', 'mid', 'mid-mid', 'right', 'right-mid', 'middle'])
    .map((part) => [part, '']),
);
const GAP = 2;
/** A column of sentences that is narrower helps nobody: before that, others are left out. */
const MIN_WRAPPED = 20;
/** Nothing else is left to be left out. */
const MIN_COLUMN = 8;

/**
 * Aligned columns without borders, each row on its own line unless `fit` says otherwise; cells may be coloured. `fit` names
 * columns by their index.
 */
export function columns(
  rows: readonly (readonly string[])[],
  fit: {
    /** Columns of the terminal; undefined where every row has one line, however long. */
    readonly width: number | undefined;
    /** Sentences, whose words go on below. */
    readonly wraps?: readonly number[];
    /** Columns that can be left out, the first of them first. */
    readonly drops?: readonly number[];
  } = { width: undefined },
): string {
  const table = new Table({
    chars: BORDERLESS,
    style: { 'padding-left': 0, 'padding-right': GAP, compact: true },
  });
  const shown = fit.width === undefined ? rows : fitRows(rows, fit.width, fit.wraps, fit.drops);
  table.push(...shown.map((row) => [...row]));
  const lines = table.toString().split('\n');
  return lines.map((line) => `${line.trimEnd()}\n`).join('');
}

function fitRows(
  rows: readonly (readonly string[])[],
  width: number,
  wraps: readonly number[] = [],
  drops: readonly number[] = [],
): readonly (readonly string[])[] {
  const natural = rows.reduce<number[]>(
    (widest, row) => row.map((cell, at) => Math.max(widest[at] ?? 0, shownWidth(cell))),
    [],
  );
  let kept = natural.map((_, at) => at).filter((at) => natural[at] !== 0);
  const least = (at: number) => Math.min(natural[at] ?? 0, wraps.includes(at) ? MIN_WRAPPED : Infinity);
  const sum = (of: (at: number) => number) =>
    kept.reduce((total, at) => total + of(at) + GAP, kept.length === 0 ? 0 : -GAP);
  for (const dropped of drops) {
    if (sum(least) <= width) break;
    kept = kept.filter((at) => at !== dropped);
  }
  const widths = shares(kept, natural, wraps, width);
  return rows.map((row) =>
    kept.map((at) => {
      const columnWidth = widths.get(at);
      return columnWidth === undefined ? (row[at] ?? '') : wrapText(row[at] ?? '', columnWidth).join('\n');
    }),
  );
}

/** Widths of the columns whose words are wrapped: what the others leave, the narrowest first served. */
function shares(
  kept: readonly number[],
  natural: readonly number[],
  wraps: readonly number[],
  width: number,
): ReadonlyMap<number, number> {
  const own = (at: number) => natural[at] ?? 0;
  const wrapping = kept.filter((at) => wraps.includes(at)).sort((one, other) => own(one) - own(other));
  const fixed = kept.filter((at) => !wraps.includes(at)).reduce((total, at) => total + own(at), 0);
  let room = width - fixed - GAP * (kept.length - 1);
  const widths = new Map<number, number>();
  for (const [index, at] of wrapping.entries()) {
    const share = Math.max(MIN_COLUMN, Math.min(own(at), Math.floor(room / (wrapping.length - index))));
    widths.set(at, share);
    room -= share;
  }
  return widths;
}
