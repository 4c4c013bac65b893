// One run of vitest, as a part of the suite or as a second look at some of its files.

import { randomBytes } from 'node:crypto';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { run } from './processes.mjs';
import { resultsOf } from './results.mjs';

/**
 * The results of tests of a project of vitest.config.ts: those of `only` without those of `except`, paths of files and folders, or
 * just `files`. `as` is an argv prefix that changes the user, who must be able to write in `cwd`.
 */
export async function vitest(
  { root, scratch, silentMs },
  project,
  { files, only = [], except = [], flags = [], env = {}, cwd = root, as = [] },
) {
  const report = join(as.length === 0 ? scratch : cwd, `${randomBytes(4).toString('hex')}.jsonl`);
  const selection = files ?? [
    ...flags,
    ...only,
    ...except.flatMap((path) => [
      '--exclude',
      path.endsWith('.ts') || path.includes('*') ? path : `${path}/**`,
    ]),
  ];
  const ended = await run(
    [
      ...as,
      'env',
      ...Object.entries({ ...env, SUITE_REPORT: report }).map((pair) => pair.join('=')),
      process.execPath,
      join(cwd, 'node_modules/vitest/vitest.mjs'),
      'run',
      `--project=${project}`,
      '--reporter=default',
      '--reporter=./scripts/suite/vitest-reporter.mjs',
      ...selection,
    ],
    { silentMs, cwd, sign: () => sizeOf(report) },
  );
  return resultsOf(report, ended);
}

function sizeOf(file) {
  try {
    return statSync(file).size;
  } catch {
    // Nothing has been written yet.
    return 0;
  }
}
