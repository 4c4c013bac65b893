// The fuzz tests with a hundred times as many inputs, for the night. --help says how. Without a seed
// the day's number is one, so that every night tries others and a failure can be repeated.

import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { takeOptions } from './options.mjs';

const DAY_MS = 86_400_000;
const ofToday = (Math.floor(Date.now() / DAY_MS) % 2_000) * 1_000_000 + 1;
const { inputs, seed } = takeOptions({
  command: 'npm run fuzz --',
  about: 'Gives the parsers of what sandboxes say a great many hostile inputs.',
  options: {
    inputs: { value: 'N', kind: 'count', says: 'how many', default: 1_000_000 },
    seed: { value: 'N', kind: 'count', says: 'the same seed gives the same inputs', default: ofToday },
  },
});

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
