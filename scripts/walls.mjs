// The attack table: `npm run walls -- [--runtime runc|runsc] [--only PATTERN] [--accept memory,pids,cpu] [--json FILE]`.
// Runs the table's test and prints one line per attack, what became of it and of its control, and the summary. Needs a
// built bridge and an engine. `--accept` names limits that nothing enforces here; the attacks on limits are left out then.

import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import Table from 'cli-table3';
import pc from 'picocolors';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const DETAIL_CHARS = 44;
const COLOURS = {
  contained: pc.green,
  'not contained': pc.red,
  unproven: pc.red,
  absent: pc.dim,
  difference: pc.yellow,
};

const { values } = parseArgs({
  options: Object.fromEntries(
    ['runtime', 'only', 'accept', 'json'].map((name) => [name, { type: 'string' }]),
  ),
});

const folder = mkdtempSync(join(tmpdir(), 'mcp-sandbox-bridge-walls-'));
const file = join(folder, 'walls.json');
try {
  const exitCode = await runTest();
  const report = JSON.parse(readFileSync(file, 'utf8'));
  if (values.json !== undefined) writeFileSync(resolve(values.json), `${JSON.stringify(report, null, 2)}\n`);
  print(report);
  process.exitCode = exitCode;
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** The exit code of the table's test; what it printed is shown where there is no report. */
function runTest() {
  const wishes = {
    WALLS_JSON: file,
    ...(values.runtime === undefined ? {} : { WALLS_RUNTIME: values.runtime }),
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
