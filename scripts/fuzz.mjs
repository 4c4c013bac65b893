// The fuzz tests with a hundred times as many inputs, for the night. --help says how. Without a seed
// the day's number is one, so that every night tries others and a failure can be repeated.

import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { furtherReaders } from './fuzz/further-readers.mjs';
import { takeOptions } from './options.mjs';

const DAY_MS = 86_400_000;
/** What is asked of one input takes a few milliseconds, mostly for the clock of each condition. */
const AS_SLOW = 20;
const ofToday = (Math.floor(Date.now() / DAY_MS) % 2_000) * 1_000_000 + 1;
const { inputs, seed, readers } = takeOptions({
  command: 'npm run fuzz --',
  about: 'Gives the parsers of what sandboxes say a great many hostile inputs.',
  options: {
    inputs: {
      value: 'N',
      kind: 'count',
      says: `how many; with --readers one in ${AS_SLOW} of them`,
      default: 1_000_000,
    },
    seed: { value: 'N', kind: 'count', says: 'the same seed gives the same inputs', default: ofToday },
    readers: {
      says: 'instead, holds what conditions say of arguments against servers that read them: in JavaScript, and in Go and Python where those are installed',
    },
  },
});

const root = fileURLToPath(new URL('../', import.meta.url));
const [file, count, env] = readers
  ? ['test/policy/condition-readers.test.ts', Math.ceil(inputs / AS_SLOW), furtherReaders(root)]
  : ['test/wire/fuzz.test.ts', inputs, {}];
console.log(`seed ${seed}, ${count} inputs`);
const { status } = spawnSync(
  process.execPath,
  ['node_modules/vitest/vitest.mjs', 'run', '--project=unit', file],
  {
    cwd: root,
    stdio: 'inherit',
    env: {
      ...process.env,
      ...env,
      FUZZ_INPUTS: String(count),
      FUZZ_VALUES: String(Math.ceil(count / 10)),
      FUZZ_SEED: String(seed),
    },
  },
);
process.exit(status ?? 1);
