// The fuzz tests with ten times as many inputs, for the night. `npm run fuzz -- --seed N --inputs N`; without a seed
// the day's number is one, so that every night tries others and a failure can be repeated.

import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const DAY_MS = 86_400_000;
const { values } = parseArgs({ options: { seed: { type: 'string' }, inputs: { type: 'string' } } });
const inputs = Number(values.inputs ?? 1_000_000);
const seed = Number(values.seed ?? (Math.floor(Date.now() / DAY_MS) % 2_000) * 1_000_000);
if (![inputs, seed].every(Number.isSafeInteger)) {
  console.error('usage: npm run fuzz -- [--seed N] [--inputs N]');
  process.exit(2);
}

console.log(`seed ${seed}, ${inputs} inputs`);
const root = fileURLToPath(new URL('../', import.meta.url));
const { status } = spawnSync(
  process.execPath,
  ['node_modules/vitest/vitest.mjs', 'run', '--project=unit', 'test/protocol/fuzz.test.ts'],
  {
    cwd: root,
    stdio: 'inherit',
    env: {
      ...process.env,
      FUZZ_INPUTS: String(inputs),
      FUZZ_VALUES: String(Math.ceil(inputs / 10)),
      FUZZ_SEED: String(seed),
    },
  },
);
process.exit(status ?? 1);
