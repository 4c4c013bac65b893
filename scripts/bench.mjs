// Measures the bridge on this machine, each figure beside what it is compared with, taken in turns in the same run.
// Writes raw numbers, a table and a plot to bench-results/. A missed target is a result, not a failure: the exit code
// is 1 only where something could not be measured. With --publish the plot and the judged rows go into the documents too;
// --from takes them from an earlier run instead of measuring; --help says how.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pc from 'picocolors';
import { loadNow, machineFacts, machineLine } from './bench/machine.mjs';
import { plot } from './bench/plot.mjs';
import { runInGroup } from './bench/processor.mjs';
import { publish } from './bench/publish.mjs';
import { markdownTable, textTable } from './bench/report.mjs';
import { MAIN, ROOT, Stage } from './bench/stage.mjs';
import { REGIONS } from './measured-region.mjs';
import { takeOptions, USAGE_EXIT_CODE } from './options.mjs';

const RESULTS = join(ROOT, 'bench-results');

const leave = (message) => {
  console.error(message);
  process.exit(USAGE_EXIT_CODE);
};

const options = (known) =>
  takeOptions({
    command: 'npm run bench --',
    about: 'Measures the built bridge on this machine, each figure beside what it is compared with.',
    options: {
      quick: { says: 'fewer repetitions' },
      only: { value: 'NAME,NAME', says: 'only these measures', among: known },
      json: { value: 'FILE', says: 'write the raw numbers there too' },
      out: { value: 'FOLDER', says: 'where raw numbers, table and plot are written', default: RESULTS },
      publish: { says: `put the plot and the judged rows into ${REGIONS.bench}` },
      from: { value: 'FILE', says: 'take the numbers of an earlier run instead of measuring' },
    },
  });

/** Rows of one measure; one that cannot be taken is a row that says why. */
async function take(name, measure, stage, bare, signal) {
  process.stderr.write(pc.dim(`${name} ... `));
  const loadBefore = loadNow();
  const startedAt = performance.now();
  let rows;
  try {
    rows = await measure(stage, bare, signal);
  } catch (thrown) {
    rows = [{ measure: name, failed: thrown.message }];
  }
  const seconds = Math.round((performance.now() - startedAt) / 100) / 10;
  process.stderr.write(pc.dim(`${seconds} s\n`));
  return rows.map((row) => ({ name, ...row, seconds, loadBefore }));
}

function paint(line, row) {
  if (row === undefined) return pc.bold(line);
  if (row.failed !== undefined || row.met === false) return pc.red(line);
  return row.met ? line : pc.dim(line);
}

function write(file, text) {
  writeFileSync(file, text);
  console.log(pc.dim(`wrote ${file}`));
}

/** Where, when and on how busy a machine the rows were taken. */
function aboutOf(/** @type {any} */ { quick, ...facts }, rows) {
  const loads = rows.map(({ loadBefore }) => loadBefore);
  const load = `load ${Math.min(...loads)} to ${Math.max(...loads)}`;
  return `${machineLine(facts)}; ${facts.date.slice(0, 10)}; ${load}${quick ? '; quick run' : ''}`;
}

function report(rows, facts) {
  const about = aboutOf({ ...facts, quick }, rows);
  const raw = `${JSON.stringify({ ...facts, quick, rows }, null, 1)}\n`;
  const drawing = plot(rows, about);
  console.log(`\n${textTable(rows, paint)}\n`);
  for (const { measure, note } of rows) if (note !== undefined) console.log(`  ${measure}: ${note}`);
  console.log(pc.dim(`\n${about}`));
  mkdirSync(out, { recursive: true });
  write(join(out, 'raw.json'), raw);
  write(join(out, 'table.md'), `${markdownTable(rows)}\n\n${about}.\n`);
  if (drawing !== undefined) write(join(out, 'plot.svg'), drawing);
  if (json !== undefined) write(json, raw);
}

// They are made of the built bridge.
const isBuilt = existsSync(MAIN);
const MEASURES = isBuilt ? (await import('./bench/measures.mjs')).MEASURES : {};
const {
  quick,
  only,
  json,
  out,
  publish: isPublished,
  from,
} = options(isBuilt ? Object.keys(MEASURES) : undefined);
if (!isBuilt) leave('The bridge is not built. Run `npm run build`.');
if (from === undefined) await measureInGroup();
else publishEarlier(JSON.parse(readFileSync(from, 'utf8')));

function publishEarlier({ rows, ...facts }) {
  console.log(`wrote ${publish(rows, aboutOf(facts, rows)).join(', ')}`);
}

/** In a group of its own where that can be had, so that processor time is counted; else as it is. */
async function measureInGroup() {
  const exitCode = await runInGroup();
  if (exitCode === undefined) await measure();
  else process.exitCode = exitCode;
}

async function measure() {
  const { Bare } = await import('./bench/bare.mjs');
  const interrupted = new AbortController();
  const stage = new Stage({ quick });
  process.once('exit', () => stage.close());
  process.once('SIGINT', () => {
    interrupted.abort();
    process.exit(130);
  });
  let bare;
  try {
    bare = await Bare.open(stage, interrupted.signal);
    const rows = [];
    for (const [name, measureOf] of Object.entries(MEASURES)) {
      if (only.includes(name)) rows.push(...(await take(name, measureOf, stage, bare, interrupted.signal)));
    }
    const facts = machineFacts(bare.choice);
    report(rows, facts);
    if (isPublished) publishEarlier({ rows, quick, ...facts });
    if (rows.some(({ failed }) => failed !== undefined)) process.exitCode = 1;
  } catch (thrown) {
    console.error(thrown.remedy === undefined ? thrown : `${thrown.message} ${thrown.remedy}`);
    process.exitCode = 1;
  } finally {
    await bare?.close();
  }
}
