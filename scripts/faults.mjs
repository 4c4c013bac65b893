// `npm run faults` and `npm run soak`: the tests of test/faults with more injected than in the suite, and what they
// found added up. Exits with 1 when anything leaked, hung, was lost or did not hold.
//   npm run faults -- [--kills 200] [--rounds 5] [--crowd 100] [--only L06] [--json FILE]
//   npm run soak -- [--calls 1000] [--concurrency 8] [--json FILE]

import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const text = (value) => ({ type: 'string', ...(value === undefined ? {} : { default: value }) });
const { values } = parseArgs({
  options: {
    soak: { type: 'boolean', default: false },
    kills: text('200'),
    rounds: text('5'),
    crowd: text('100'),
    calls: text('1000'),
    concurrency: text('8'),
    only: text(),
    json: text(),
  },
});

const scratch = mkdtempSync(join(tmpdir(), 'faults-report-'));
const ledger = join(scratch, 'ledger.jsonl');
const amounts = values.soak
  ? { SOAK_CALLS: values.calls, SOAK_CONCURRENCY: values.concurrency }
  : {
      FAULT_KILLS: values.kills,
      FAULT_ROUNDS: values.rounds,
      FAULT_CROWD: values.crowd,
      FAULT_FLOOD_MB: '1000',
      FAULT_THOROUGH: '1',
    };
const vitest = spawnSync(
  process.execPath,
  [
    join(ROOT, 'node_modules/vitest/vitest.mjs'),
    'run',
    '--project=containers',
    ...(values.soak ? ['test/faults/soak'] : ['test/faults', '--exclude=**/soak.test.ts']),
    ...(values.only === undefined ? [] : [`--testNamePattern=${values.only}`]),
  ],
  { cwd: ROOT, stdio: 'inherit', env: { ...process.env, ...amounts, FAULT_LEDGER: ledger } },
);
const findings = existsSync(ledger)
  ? readFileSync(ledger, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
  : [];
rmSync(scratch, { recursive: true, force: true });

const sum = (of, among = findings) => among.reduce((total, finding) => total + of(finding), 0);
const totals = (among) => ({
  kinds: among.length,
  injected: sum((finding) => finding.injected, among),
  leaks: sum((finding) => finding.leaks.length, among),
  hung: sum((finding) => finding.hung, among),
  lost: sum((finding) => finding.lost, among),
  failed: among.filter((finding) => !finding.held).length,
});
const rows = [...new Set(findings.map(({ row }) => row))].sort();
const report = {
  user: process.getuid?.() === 0 ? 'root' : 'ordinary',
  total: totals(findings),
  rows: Object.fromEntries(rows.map((row) => [row, totals(findings.filter((each) => each.row === row))])),
  findings,
};

const line = (name, { kinds, injected, leaks, hung, lost, failed }) =>
  [name.padEnd(8), ...[kinds, injected, leaks, hung, lost, failed].map((n) => String(n).padStart(9))].join(
    '',
  );
console.log(
  `\n${['row'.padEnd(8), ...['kinds', 'injected', 'leaks', 'hung', 'lost', 'failed'].map((word) => word.padStart(9))].join('')}`,
);
for (const row of rows) console.log(line(row, report.rows[row]));
console.log(line('total', report.total));
if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(report, undefined, 2)}\n`);
const { leaks, hung, lost, failed } = report.total;
process.exitCode = vitest.status === 0 && findings.length > 0 && leaks + hung + lost + failed === 0 ? 0 : 1;
