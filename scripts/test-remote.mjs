// The container tests against engines that run elsewhere, `npm run test:remote`; --help says how. Needs root, a built bridge,
// its images, and what `scripts/setup --with remote` installs. Prints what came of each file, beside what comes of it here.

import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import Table from 'cli-table3';
import pc from 'picocolors';
import { leaveWrong, takeOptions } from './options.mjs';
import { REMOTE_KINDS, whyNoRemoteEngine } from './remote/engines.mjs';
import { countsByFile, environmentOn, SHORT, WHOLE } from './remote/suite.mjs';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));

const values = takeOptions({
  command: 'npm run test:remote --',
  about: 'Runs the container tests against engines that share neither files nor processes with the bridge.',
  options: {
    engine: { value: 'KINDS', says: 'only these, separated by commas', among: ['local', ...REMOTE_KINDS] },
    only: { value: 'PATTERN', says: 'only files whose path fits this regular expression' },
    short: { says: 'only what `scripts/test --all` has' },
    json: { value: 'FILE', says: 'write the counts there' },
  },
});
const fits = patternOf(values.only);
const suite = values.short ? SHORT : WHOLE;

const scratch = mkdtempSync(join(tmpdir(), 'remote-report-'));
const results = new Map();
const passedOver = [];
try {
  for (const kind of values.engine) {
    const files = (suite[kind] ?? []).filter((file) => fits.test(file));
    if (files.length === 0) continue;
    const why = kind === 'local' ? undefined : whyNoRemoteEngine(kind);
    if (why !== undefined) passedOver.push(`${kind}: ${why}`);
    else results.set(kind, await countsOn(kind, files));
  }
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
if (results.size === 0 && passedOver.length === 0) leaveWrong(`--only: no file fits '${values.only}'.`);

for (const line of passedOver) console.log(pc.yellow(`passed over: ${line}`));
print();
if (values.json !== undefined) {
  const counts = Object.fromEntries(
    [...results].map(([kind, { files }]) => [kind, Object.fromEntries(files)]),
  );
  writeFileSync(resolve(values.json), `${JSON.stringify(counts, undefined, 2)}\n`);
}
const failed = [...results.values()].some(({ exitCode }) => exitCode !== 0);
process.exitCode = failed || results.size === 0 ? 1 : 0;

/** @returns {RegExp} */
function patternOf(text = '') {
  try {
    return new RegExp(text);
  } catch (thrown) {
    return leaveWrong(`--only: ${thrown.message}.`);
  }
}

async function countsOn(kind, files) {
  console.log(pc.bold(`\n── ${kind}`));
  const report = join(scratch, `${kind}.json`);
  const args = [
    '--project=containers',
    '--reporter=default',
    '--reporter=json',
    `--outputFile.json=${report}`,
  ];
  const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs');
  const child = spawn(process.execPath, [vitest, 'run', ...args, ...files], {
    cwd: ROOT,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, ...environmentOn(kind, { isShort: values.short }) },
  });
  const exitCode = await new Promise((done) => child.once('exit', (code) => done(code ?? 1)));
  return { exitCode, files: existsSync(report) ? countsByFile(report, ROOT) : new Map() };
}

/** One row for each file, one column for each engine: passed, and what failed or was passed over. */
function print() {
  const kinds = [...results.keys()];
  const rows = [...new Set(kinds.flatMap((kind) => [...results.get(kind).files.keys()]))];
  const table = new Table({ head: ['file', ...kinds], style: { head: [] } });
  const cell = (counts) => {
    if (counts === undefined) return '';
    const { passed, failed, skipped } = counts;
    const notes = [
      ...(failed > 0 ? [pc.red(`${failed} failed`)] : []),
      ...(skipped > 0 ? [`${skipped} passed over`] : []),
    ];
    return [`${passed} passed`, ...notes].join(', ');
  };
  for (const file of rows)
    table.push([file, ...kinds.map((kind) => cell(results.get(kind).files.get(file)))]);
  console.log(`\n${table.toString()}`);
}
