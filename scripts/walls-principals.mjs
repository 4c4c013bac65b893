// The attack table between principals, `npm run walls:principals`; --help says how. Runs its tests and prints one line per
// attack, what became of it and of its control, and the summary. Needs a built bridge, and with --containers an engine.

import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import Table from 'cli-table3';
import pc from 'picocolors';
import { leaveWrong, takeOptions } from './options.mjs';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const TESTS = 'test/walls/principals';
const COLUMNS = [28, 52, 44, 30, 30];

const values = takeOptions({
  command: 'npm run walls:principals --',
  about:
    'Has one principal try to see, use, spend or stop what is another’s, each attempt also where no wall is in its way, and says what held.',
  options: {
    containers: { says: 'also the attacks that need runs in containers' },
    only: { value: 'PATTERN', says: 'only attacks whose id fits this regular expression' },
    json: { value: 'FILE', says: 'write what became of each there' },
  },
});
checkPattern(values.only);

const folder = mkdtempSync(join(tmpdir(), 'walls-principals-'));
const file = join(folder, 'rows.jsonl');
let rows = [];
try {
  const exitCodes = [await runTests('programs', 'walls.test.ts')];
  if (values.containers) exitCodes.push(await runTests('containers', 'containers.test.ts'));
  if (existsSync(file))
    rows = readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line));
  if (values.json !== undefined) writeFileSync(resolve(values.json), `${JSON.stringify(rows, null, 2)}\n`);
  print();
  process.exitCode = Math.max(...exitCodes);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
if (rows.length === 0)
  leaveWrong(values.only === undefined ? 'Nothing was tried.' : `--only: no attack fits '${values.only}'.`);

function checkPattern(pattern) {
  try {
    new RegExp(pattern ?? '');
  } catch (thrown) {
    leaveWrong(`--only: ${thrown.message}.`);
  }
}

/** The exit code of the tests of one file. */
function runTests(project, test) {
  const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs');
  const args = [vitest, 'run', `--project=${project}`, '--reporter=dot', `${TESTS}/${test}`];
  const wishes = { WALLS_JSON: file, ...(values.only === undefined ? {} : { WALLS_ONLY: values.only }) };
  return new Promise((done, fail) => {
    const child = spawn(process.execPath, args, {
      cwd: ROOT,
      env: { ...process.env, ...wishes },
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    child.on('error', fail);
    child.on('exit', (code) => done(code ?? 1));
  });
}

function print() {
  const table = new Table({
    head: ['attack', 'what it tries', 'what holds it', 'the attack', 'its control'],
    style: { head: [] },
    colWidths: COLUMNS,
    wordWrap: true,
  });
  for (const { id, tries, wall, state, seen, control } of rows)
    table.push([id, tries, wall, state === 'held' ? pc.green(seen) : pc.red(`${state}: ${seen}`), control]);
  console.log(table.toString());
  const held = rows.filter(({ state }) => state === 'held').length;
  const others = rows.filter(({ state }) => state !== 'held').map(({ id, state }) => `${id} (${state})`);
  const bad = others.length === 0 ? '' : `; ${others.join(', ')}`;
  console.log(`${rows.length} attacks: ${held} held, each with a control that gets through${bad}`);
}
