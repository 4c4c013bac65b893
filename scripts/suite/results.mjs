// What came of tests: a list with an entry for each file, `{ file, passed, failed, skipped, failures: [{ title, message }] }`. What no
// file can be blamed for has no `file`, and cannot be looked at again.

import { existsSync, readFileSync } from 'node:fs';

/** More of them are no chance any more. */
export const MAX_UNSTEADY = 3;

/** One assertion without a file of its own. */
export const verdict = (ok, message = '') => [
  { passed: ok ? 1 : 0, failed: ok ? 0 : 1, skipped: 0, failures: ok ? [] : [{ title: '', message }] },
];

export const passedOver = () => [{ passed: 0, failed: 0, skipped: 1, failures: [] }];

/** What vitest-reporter.mjs wrote. A run that was stopped, or that ended badly without a failed test, has failed. */
export function resultsOf(report, { exitCode, stopped, output }) {
  const lines = existsSync(report) ? readFileSync(report, 'utf8').split('\n').filter(Boolean) : [];
  const told = lines.map((line) => JSON.parse(line));
  const results = told.filter(({ file }) => file !== undefined);
  const unended = told
    .map(({ started }) => started)
    .filter((file) => file !== undefined && !results.some((result) => result.file === file))
    .map((file) => failure(file, stopped ? 'it hung, and was stopped' : 'it did not end'));
  const errors = told
    .filter(({ error }) => error !== undefined)
    .map(({ error }) => failure(undefined, error));
  const all = [...results, ...unended, ...errors];
  if (exitCode === 0 || all.some(({ failed }) => failed > 0)) return all;
  return [...all, failure(undefined, `vitest ended with ${exitCode}:\n${output.slice(-2_000)}`)];
}

const failure = (file, message) => ({
  file,
  passed: 0,
  failed: 1,
  skipped: 0,
  failures: [{ title: '', message }],
});

/** Counts of Python's unittest, from what it prints at its end; each module that failed is a file of its own. */
export function unittestResults({ exitCode, output }) {
  const ran = Number(/^Ran (\d+) tests?/m.exec(output)?.[1] ?? Number.NaN);
  if (Number.isNaN(ran)) return [failure(undefined, `unittest did not report:\n${output.slice(-2_000)}`)];
  const end = output.slice(output.lastIndexOf('Ran '));
  const number = (word) => Number(new RegExp(`\\b${word}=(\\d+)`).exec(end)?.[1] ?? 0);
  const skipped = number('skipped');
  const byModule = new Map();
  for (const [text, title, module] of output.matchAll(
    /^((?:FAIL|ERROR): .*?\b(tests\.test_\w+).*)$[\s\S]*?(?=^={20}|^Ran )/gm,
  ))
    byModule.set(module, [...(byModule.get(module) ?? []), { title, message: text }]);
  const failed = [...byModule].map(([file, failures]) => ({
    file,
    passed: 0,
    failed: failures.length,
    skipped: 0,
    failures,
  }));
  const named = failed.reduce((sum, one) => sum + one.failed, 0);
  const bad = number('failures') + number('errors') + number('unexpected successes');
  const unnamed = bad > named || (bad === 0 && exitCode !== 0) ? [failure(undefined, end.slice(-2_000))] : [];
  return [
    { passed: Math.max(0, ran - skipped - bad), failed: 0, skipped, failures: [] },
    ...failed,
    ...unnamed,
  ];
}

/** Sums of a list of results. */
export const total = (results, key) => results.reduce((sum, one) => sum + one[key], 0);

/** A wall that holds only sometimes does not hold. */
export const isWall = (file) =>
  /^test\/walls\/|^test\/containers\/(?:walls|probe|limits|seccomp)\.test\.ts$/.test(file);

/** Why a run is red, in words; undefined for one that has passed. `unsteady` are the files that passed when looked at again. */
export function whyRed(results, unsteady) {
  if (total(results, 'failed') > 0) return 'tests failed';
  const wall = unsteady.find(({ file }) => isWall(file));
  if (wall !== undefined) return `${wall.file} holds only sometimes, and is a wall`;
  if (unsteady.length > MAX_UNSTEADY)
    return `${unsteady.length} files passed only when they were looked at again; at most ${MAX_UNSTEADY} may`;
  return undefined;
}
