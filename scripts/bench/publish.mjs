// A run's plot and its judged rows, put where a newcomer sees them: docs/bench.svg and a region of README.md.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { plot } from './plot.mjs';
import { shown } from './report.mjs';
import { ROOT } from './stage.mjs';

const REGION = /(<!-- measured:bench -->\n)[\s\S]*?(<!-- \/measured -->)/;

/** The names of the files that were written. `about` says where and when the rows were taken. */
export function publish(rows, about) {
  const readme = join(ROOT, 'README.md');
  const text = readFileSync(readme, 'utf8');
  if (!REGION.test(text)) throw new Error('README.md has no region <!-- measured:bench -->');
  const judged = rows.filter(({ met, ours }) => met !== undefined && ours !== undefined);
  mkdirSync(join(ROOT, 'docs'), { recursive: true });
  writeFileSync(join(ROOT, 'docs/bench.svg'), plot(rows, about));
  const table = [HEAD, '|---|--:|---|--:|---|---|', ...judged.map(line)].join('\n');
  writeFileSync(
    readme,
    text.replace(REGION, (_all, open, close) => `${open}${table}\n\n${about}.\n${close}`),
  );
  return ['docs/bench.svg', 'README.md'];
}

const HEAD = '| measure | ours | compared with | ratio | target | met |';

function line({ measure, unit, ours, theirs, ratio, target, met }) {
  const figure = (value) => `${shown(value)} ${unit}`.trim();
  const other = theirs === undefined ? '' : `${theirs.label}: ${figure(theirs.p50)}`;
  const cells = [measure, figure(ours.p50), other, shown(ratio), target, met ? 'yes' : '**no**'];
  return `| ${cells.join(' | ').replaceAll('<', '&lt;').replaceAll('>', '&gt;')} |`;
}
