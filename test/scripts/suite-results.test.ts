import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

type Result = {
  readonly file?: string;
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  readonly failures: ReadonlyArray<{ readonly title: string; readonly message: string }>;
};
type Ended = { readonly exitCode: number; readonly output: string; readonly stopped?: boolean };
type Results = {
  readonly MAX_UNSTEADY: number;
  readonly resultsOf: (report: string, ended: Ended) => readonly Result[];
  readonly unittestResults: (ended: Ended) => readonly Result[];
  readonly whyRed: (
    results: readonly Result[],
    unsteady: ReadonlyArray<{ readonly file: string }>,
  ) => string | undefined;
};
const { MAX_UNSTEADY, resultsOf, unittestResults, whyRed } = (await import(
  new URL('../../scripts/suite/results.mjs', import.meta.url).href
)) as Results;

const passed = (file: string, count = 1): Result => ({
  file,
  passed: count,
  failed: 0,
  skipped: 0,
  failures: [],
});
const counts = (results: readonly Result[]) =>
  results.map(({ file, passed, failed, skipped }) => [file, passed, failed, skipped]);

describe('a run of vitest', () => {
  let folder = '';
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'suite-results-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));
  const reported = (lines: readonly object[], ended: Partial<Ended> = {}) => {
    const report = join(folder, 'report.jsonl');
    writeFileSync(report, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
    return resultsOf(report, { exitCode: 0, output: '', ...ended });
  };

  it('has the counts of each file', () => {
    const lines = [{ started: 'a' }, {}, passed('a', 3), { started: 'b' }, passed('b'), { ended: true }];
    expect(counts(reported(lines))).toEqual([
      ['a', 3, 0, 0],
      ['b', 1, 0, 0],
    ]);
  });

  it('keeps what it has found when it is stopped, and blames the file that hung', () => {
    const lines = [{ started: 'a' }, passed('a', 3), { started: 'b' }, {}];
    const results = reported(lines, { exitCode: 137, stopped: true });
    expect(counts(results)).toEqual([
      ['a', 3, 0, 0],
      ['b', 0, 1, 0],
    ]);
    expect(results[1]?.failures[0]?.message).toBe('it hung, and was stopped');
  });

  it('has failed where it ends badly without a failed test', () => {
    const results = reported([{ started: 'a' }, passed('a')], { exitCode: 1, output: 'the last words' });
    expect(counts(results)).toEqual([
      ['a', 1, 0, 0],
      [undefined, 0, 1, 0],
    ]);
    expect(results[1]?.failures[0]?.message).toContain('the last words');
    expect(counts(resultsOf(join(folder, 'none'), { exitCode: 1, output: '' }))).toEqual([
      [undefined, 0, 1, 0],
    ]);
  });

  it('blames no file for what is found after all of them', () => {
    const results = reported([passed('a'), { error: 'the suite left behind: x' }], { exitCode: 1 });
    expect(results[1]).toMatchObject({ failed: 1, failures: [{ message: 'the suite left behind: x' }] });
    expect(results[1]?.file).toBeUndefined();
  });
});

describe('a run of unittest', () => {
  const RULE = '='.repeat(70);
  const line = '-'.repeat(70);

  it('names the module of each failure, in the words of every Python', () => {
    const output = [
      RULE,
      'FAIL: test_a (tests.test_x.Thing.test_a)',
      line,
      'Traceback of a',
      '',
      RULE,
      'ERROR: test_b (tests.test_y.Thing)',
      line,
      'Traceback of b',
      '',
      line,
      'Ran 10 tests in 1.0s',
      '',
      'FAILED (failures=1, errors=1, skipped=2)',
    ].join('\n');
    const results = unittestResults({ exitCode: 1, output });
    expect(counts(results)).toEqual([
      [undefined, 6, 0, 2],
      ['tests.test_x', 0, 1, 0],
      ['tests.test_y', 0, 1, 0],
    ]);
    expect(results[1]?.failures[0]?.message).toContain('Traceback of a');
    expect(results[1]?.failures[0]?.message).not.toContain('Traceback of b');
  });

  it('has failed where it does not report, and where a failure names no module', () => {
    expect(counts(unittestResults({ exitCode: 1, output: 'no such file' }))).toEqual([[undefined, 0, 1, 0]]);
    const output = 'Ran 3 tests in 1.0s\n\nFAILED (unexpected successes=1)';
    expect(counts(unittestResults({ exitCode: 1, output }))).toEqual([
      [undefined, 2, 0, 0],
      [undefined, 0, 1, 0],
    ]);
  });
});

describe('a run of the suite', () => {
  const results = [passed('test/a.test.ts')];
  const files = (count: number) => Array.from({ length: count }, (_, at) => ({ file: `test/${at}.test.ts` }));

  it('passes with as many unsteady files as it may have, and not with one more', () => {
    expect(whyRed(results, files(MAX_UNSTEADY))).toBeUndefined();
    expect(whyRed(results, files(MAX_UNSTEADY + 1))).toBe(
      '4 files passed only when they were looked at again; at most 3 may',
    );
  });

  it('is red for a failure, and for a wall that is unsteady', () => {
    expect(whyRed([{ ...passed('a'), failed: 1 }], [])).toBe('tests failed');
    for (const file of [
      'test/walls/walls.test.ts',
      'test/walls/sessions/containers.test.ts',
      'test/containers/walls.test.ts',
    ])
      expect(whyRed(results, [{ file }])).toBe(`${file} holds only sometimes, and is a wall`);
  });
});
