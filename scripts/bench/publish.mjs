// A run's plot and its rows that are judged or compared, put where people look for them: docs/bench.svg, a table in
// docs/benchmark.md, and one sentence in README.md.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { putIntoRegion } from '../measured-region.mjs';
import { plot } from './plot.mjs';
import { displayNumber } from './report.mjs';
import { ROOT } from './stage.mjs';

/** The names of the files that were written. `about` says where and when the rows were taken. */
export function publish(rows, about) {
  const told = rows.filter(
    ({ met, ours, theirs }) => ours !== undefined && (met !== undefined || theirs !== undefined),
  );
  const table = [HEAD, '|---|--:|---|--:|---|---|', ...told.map(line)].join('\n');
  const written = [putIntoRegion('bench', `${table}\n\n${about}.`)];
  const summary = benchSummary(rows);
  if (summary !== undefined) written.push(putIntoRegion('bench-summary', summary));
  writeFileSync(join(ROOT, 'docs/bench.svg'), plot(rows, about));
  return ['docs/bench.svg', ...written];
}

/** The measure that the README tells; bench/warm-call.mjs names it. */
const WARM_CALL = 'warm call of print(1)';

/** One sentence about a call to a waiting sandbox; undefined where that was not measured. */
export function benchSummary(rows) {
  const row = rows.find(({ measure, ours }) => measure === WARM_CALL && ours !== undefined);
  if (row === undefined) return undefined;
  const beside =
    row.theirs === undefined
      ? ''
      : `; \`python3 -c 'print(1)'\` on the same machine took ${displayNumber(row.theirs.p50)} ${row.unit}`;
  return `A call of \`print(1)\` took ${displayNumber(row.ours.p50)} ${row.unit}${beside}. [docs/benchmark.md](docs/benchmark.md) has all measures, also those that miss their target.`;
}

const HEAD = '| measure | ours | compared with | ratio | target | met |';

const VERDICTS = new Map([
  [true, 'yes'],
  [false, '**no**'],
]);

function line({ measure, unit, ours, theirs, ratio, target, met }) {
  const figure = (value) => `${displayNumber(value)} ${unit}`.trim();
  const other = theirs === undefined ? '' : `${theirs.label}: ${figure(theirs.p50)}`;
  const cells = [
    measure,
    figure(ours.p50),
    other,
    displayNumber(ratio),
    target ?? '',
    VERDICTS.get(met) ?? '',
  ];
  return `| ${cells.join(' | ').replaceAll('<', '&lt;').replaceAll('>', '&gt;')} |`;
}
