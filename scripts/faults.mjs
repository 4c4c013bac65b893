// `npm run faults` and `npm run soak`: the tests of test/faults with more injected than in the suite, and what they
// found added up; --help says how. Exits with 1 when anything leaked, hung, was lost or did not hold.

import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { leaveWrong, takeOptions } from './options.mjs';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const count = (says, usual) => ({ value: 'N', kind: 'count', says, default: usual });
const json = { value: 'FILE', says: 'write the whole report there' };
const FAULTS = {
  command: 'npm run faults --',
  about:
    'Breaks things under the built bridge, more often than the tests do, and counts what leaked, hung or was lost.',
  options: {
    kills: count('times that the bridge is killed', 200),
    'remote-kills': count('times that it is killed whose engine runs elsewhere', 50),
    rounds: count('rounds of cancellations', 5),
    crowd: count('runs at once', 100),
    'session-kills': count('times that a session is killed in each way', 10),
    'session-crowd': count('sessions over a limit of four', 20),
    flood: count('megabytes of output of one run', 1000),
    only: {
      value: 'PATTERN',
      says: 'only faults whose row or name fits this regular expression, such as L06',
    },
    json,
  },
};
const SOAK = {
  command: 'npm run soak --',
  about: 'Runs code again and again through one built bridge, and says what grew.',
  options: {
    calls: count('runs', 1000),
    concurrency: count('runs at once', 8),
    json,
  },
};
// `npm run soak` is this script with --soak.
const isSoak = process.argv[2] === '--soak';
if (isSoak) process.argv.splice(2, 1);
const values = takeOptions(isSoak ? SOAK : FAULTS);

const scratch = mkdtempSync(join(tmpdir(), 'faults-report-'));
const ledger = join(scratch, 'ledger.jsonl');
const amounts = isSoak
  ? { SOAK_CALLS: values.calls, SOAK_CONCURRENCY: values.concurrency }
  : {
      FAULT_KILLS: values.kills,
      FAULT_REMOTE_KILLS: values['remote-kills'],
      FAULT_ROUNDS: values.rounds,
      FAULT_CROWD: values.crowd,
      FAULT_SESSION_KILLS: values['session-kills'],
      FAULT_SESSION_CROWD: values['session-crowd'],
      FAULT_FLOOD_MB: values.flood,
      FAULT_THOROUGH: '1',
    };
const vitest = spawnSync(
  process.execPath,
  [
    join(ROOT, 'node_modules/vitest/vitest.mjs'),
    'run',
    '--project=containers',
    ...(isSoak ? ['test/faults/soak'] : ['test/faults', '--exclude=**/soak.test.ts']),
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
if (findings.length === 0 && vitest.status === 0 && values.only !== undefined)
  leaveWrong(`--only: no fault fits '${values.only}'.`);

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
