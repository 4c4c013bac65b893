// The attack table, `npm run walls`; --help says how. Runs the table's test and prints one line per attack, what became of it and of its control, and the summary. Needs a
// built bridge and an engine. `--accept` names limits that nothing enforces here; the attacks on limits are left out then.

import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import Table from 'cli-table3';
import pc from 'picocolors';
import { leaveWrong, takeOptions } from './options.mjs';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const DETAIL_CHARS = 44;
const COLOURS = {
  contained: pc.green,
  'not contained': pc.red,
  unproven: pc.red,
  absent: pc.dim,
  difference: pc.yellow,
};

const values = takeOptions({
  command: 'npm run walls --',
  about: 'Attacks sandboxes of the built bridge, each attack also with its defence off, and says what held.',
  options: {
    runtime: { value: 'NAME', says: 'OCI runtime, such as runc or runsc' },
    launch: { value: 'HOW', says: 'how sandboxes are started: auto, engine or template (MCP_BRIDGE_LAUNCH)' },
    only: { value: 'PATTERN', says: 'only attacks whose id fits this regular expression' },
    accept: {
      value: 'LIMITS',
      says: 'of memory, pids, cpu: limits that nothing enforces here, not attacked',
    },
    json: { value: 'FILE', says: 'write the whole report there' },
  },
});
if (values.only !== undefined) checkPattern(values.only);

const folder = mkdtempSync(join(tmpdir(), 'mcp-sandbox-bridge-walls-'));
const file = join(folder, 'walls.json');
let attacks;
try {
  const exitCode = await runTest();
  if (!existsSync(file)) throw new Error('The table was not tried; see above.');
  const report = JSON.parse(readFileSync(file, 'utf8'));
  if (values.json !== undefined) writeFileSync(resolve(values.json), `${JSON.stringify(report, null, 2)}\n`);
  attacks = report.attacks.length;
  if (attacks > 0) print(report);
  process.exitCode = exitCode;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
if (attacks === 0) leaveWrong(`--only: no attack fits '${values.only}'.`);

function checkPattern(pattern) {
  try {
    new RegExp(pattern);
  } catch (thrown) {
    leaveWrong(`--only: ${thrown.message}.`);
  }
}

/** The exit code of the table's test; what it printed is shown where there is no report. */
function runTest() {
  const wishes = {
    WALLS_JSON: file,
    ...(values.runtime === undefined ? {} : { WALLS_RUNTIME: values.runtime }),
    ...(values.launch === undefined ? {} : { WALLS_LAUNCH: values.launch }),
    ...(values.only === undefined ? {} : { WALLS_ONLY: values.only }),
    ...(values.accept === undefined ? {} : { WALLS_ACCEPT: values.accept }),
  };
  const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs');
  const args = [vitest, 'run', '--project=containers', '--reporter=dot', 'test/walls/walls.test.ts'];
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

function print({ attacks, line }) {
  const short = (text) => text.replaceAll(/\s+/g, ' ').slice(0, DETAIL_CHARS);
  const table = new Table({
    head: ['attack', 'state', 'in the sandbox', 'with the defence off'],
    style: { head: [] },
  });
  for (const { id, state, seen, control, reason } of attacks) {
    const shown = `${state}${reason === undefined ? '' : ` (${short(reason)})`}`;
    table.push([id, COLOURS[state](shown), short(seen), short(control)]);
  }
  console.log(table.toString());
  console.log(values.accept === undefined ? line : `${line}; the attacks on limits were left out`);
}
