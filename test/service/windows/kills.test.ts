// The short form of `npm run windows:kills`, without containers: windows call while the bridge that they share, windows and
// servers are killed at random.

import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { tempHome } from '../../support/start-bridge.js';
import { nodeStarts } from '../../support/time.js';

const SCRIPT = fileURLToPath(new URL('../../../scripts/windows-kills.mjs', import.meta.url));

it('loses no answer without a sentence, and leaves nothing', async () => {
  const json = join(tempHome(), 'report.json');
  // A bridge, and a server of it, start in a few times as long as Node does: each has its time between two kills.
  const args = [
    SCRIPT,
    `--seconds=${Math.ceil(Math.max(12_000, nodeStarts(240)) / 1000)}`,
    '--windows=4',
    `--every-ms=${Math.round(Math.max(900, nodeStarts(18)))}`,
    '--without-containers',
    `--json=${json}`,
  ];
  await promisify(execFile)(process.execPath, args).catch(() => {});
  const report = JSON.parse(readFileSync(json, 'utf8'));
  const { lost, wrong, left } = report;
  expect([lost, wrong, left], JSON.stringify({ lost, wrong, left })).toEqual([[], [], []]);
  expect(report.answered).toBeGreaterThan(5);
  expect(report.kills.bridge).toBeGreaterThan(0);
});
