// A run's plot and its rows that are judged or compared, put where a newcomer sees them: docs/bench.svg and a region of README.md.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { putIntoReadme } from '../readme-region.mjs';
import { plot } from './plot.mjs';
import { shown } from './report.mjs';
import { ROOT } from './stage.mjs';

/** The names of the files that were written. `about` says where and when the rows were taken. */
export function publish(rows, about) {
  const told = rows.filter(
    ({ met, ours, theirs }) => ours !== undefined && (met !== undefined || theirs !== undefined),
  );
  const table = [HEAD, '|---|--:|---|--:|---|---|', ...told.map(line)].join('\n');
  putIntoReadme('bench', `${table}\n\n${about}.`);
  mkdirSync(join(ROOT, 'docs'), { recursive: true });
  writeFileSync(join(ROOT, 'docs/bench.svg'), plot(rows, about));
  return ['docs/bench.svg', 'README.md'];
}

const HEAD = '| measure | ours | compared with | ratio | target | met |';

const VERDICTS = new Map([
  [true, 'yes'],
  [false, '**no**'],
]);

function line({ measure, unit, ours, theirs, ratio, target, met }) {
  const figure = (value) => `${shown(value)} ${unit}`.trim();
  const other = theirs === undefined ? '' : `${theirs.label}: ${figure(theirs.p50)}`;
  const cells = [measure, figure(ours.p50), other, shown(ratio), target ?? '', VERDICTS.get(met) ?? ''];
  return `| ${cells.join(' | ').replaceAll('<', '&lt;').replaceAll('>', '&gt;')} |`;
}
