// What the conformance trial makes of the suite's checks: which outcome, and what fails it.

import { describe, expect, it } from 'vitest';

type Check = { readonly id: string; readonly status: string; readonly errorMessage?: string };
type Result = { readonly checks: readonly Check[]; readonly said?: string; readonly exitCode?: number };
type Judged = { readonly outcome: string; readonly passed: number; readonly wrong?: string };

const load = (name: string) => import(new URL(`../../scripts/conformance/${name}.mjs`, import.meta.url).href);
const { judge } = (await load('verdict')) as {
  judge: (result: Result, leftOut?: Readonly<Record<string, string>>) => Judged;
};
const { summaryOf, tableOf } = (await load('report')) as {
  summaryOf: (results: readonly object[]) => string;
  tableOf: (results: readonly object[]) => string;
};
const { LEFT_OUT } = (await load('left-out')) as {
  LEFT_OUT: Readonly<Record<'server' | 'client', Readonly<Record<string, Readonly<Record<string, string>>>>>>;
};
const { RUNS } = (await load('runs')) as {
  RUNS: ReadonlyArray<{
    readonly side: string;
    readonly revision: string;
    readonly version: string;
    readonly isFor: (scenario: { readonly versions: readonly string[] }) => boolean;
  }>;
};

const ok = { id: 'a', status: 'SUCCESS' };
const info = { id: 'noise', status: 'INFO' };
const missed = { id: 'b', status: 'FAILURE', errorMessage: 'no prompt' };
const warned = { id: 'c', status: 'WARNING', errorMessage: 'no retry field' };

describe('a scenario', () => {
  it('passes when every check does', () => {
    expect(judge({ checks: [ok, info] })).toMatchObject({ outcome: 'passed', passed: 1 });
    expect(judge({ checks: [ok] }).wrong).toBeUndefined();
  });

  it('fails the trial for a miss without a reason, and a warning is a miss', () => {
    expect(judge({ checks: [ok, missed] })).toMatchObject({ outcome: 'failed', wrong: 'b: no prompt' });
    expect(judge({ checks: [warned] }).wrong).toBe('c: no retry field');
    expect(judge({ checks: [missed, warned] }, { b: 'because' }).wrong).toBe('c: no retry field');
  });

  it('does not fail it for what is listed', () => {
    expect(judge({ checks: [ok, missed], exitCode: 1 }, { b: 'because' })).toMatchObject({
      outcome: 'partly',
    });
    expect(judge({ checks: [ok, missed], exitCode: 1 }, { b: 'because' }).wrong).toBeUndefined();
    expect(judge({ checks: [missed, warned] }, { '*': 'because' })).toMatchObject({ outcome: 'left out' });
    expect(judge({ checks: [missed, warned] }, { '*': 'because' }).wrong).toBeUndefined();
  });

  it('fails it when something passes that is listed', () => {
    expect(judge({ checks: [ok] }, { b: 'because' }).wrong).toBe(
      'passes now, but is listed with a reason: b',
    );
    expect(judge({ checks: [ok, missed] }, { b: 'because', c: 'because' }).wrong).toContain(': c');
    expect(judge({ checks: [ok] }, { '*': 'because' }).wrong).toContain(': *');
  });

  it('fails it when the suite has no checks, or its client has failed', () => {
    expect(judge({ checks: [], said: 'a line\nit broke', exitCode: 1 }).wrong).toBe(
      'the suite ended with 1: it broke',
    );
    expect(judge({ checks: [ok], said: 'client exited', exitCode: 1 }).wrong).toContain('client exited');
    expect(judge({ checks: [], exitCode: 1 }, { '*': 'because' }).wrong).toBeUndefined();
  });

  it('is no miss where the suite itself skips it', () => {
    const skipped = judge({ checks: [], said: "SKIPPED: scenario 'x' is not applicable" });
    expect(skipped).toMatchObject({ outcome: 'skipped' });
    expect(skipped.wrong).toBeUndefined();
    const nothing = { id: 'skills', status: 'SKIPPED' };
    const messages = { id: 'wire-schema-valid', status: 'SUCCESS' };
    expect(judge({ checks: [nothing, messages, info] }).outcome).toBe('skipped');
    expect(judge({ checks: [nothing, ok] }).outcome).toBe('passed');
    expect(judge({ checks: [nothing, missed] }).outcome).toBe('failed');
  });
});

it('the table has a row for each scenario and the reasons by number', () => {
  const one = { side: 'server', suite: '1', scenario: 'pings' };
  const results = [
    { ...one, revision: '2025-11-25', ...judge({ checks: [ok] }) },
    { ...one, revision: '2026-07-28', ...judge({ checks: [ok, missed] }, { b: 'because | so' }) },
  ];
  expect(tableOf(results)).toBe(
    [
      '## As a server',
      '',
      '| scenario | 2025-11-25, suite 1 | 2026-07-28, suite 1 |',
      '|---|---|---|',
      '| pings | passed (1) | 1 passed, 1 missed [1] |',
      '',
      '## Reasons',
      '',
      '1. because | so',
    ].join('\n'),
  );
  expect(summaryOf(results)).toContain('Of 2 trials 1 passed whole; 1 missed checks');
});

it('every reason is a sentence', () => {
  const reasons = Object.values(LEFT_OUT).flatMap((side) =>
    Object.values(side).flatMap((checks) => Object.values(checks)),
  );
  expect(reasons.length).toBeGreaterThan(10);
  for (const reason of reasons) expect(reason).toMatch(/^[A-Z].{20,}\.$/);
});

it('every scenario is tried in the newest revision of 2025 that it is for, and in that of 2026', () => {
  const revisionsOf = (...versions: readonly string[]) =>
    RUNS.filter(({ side, isFor }) => side === 'client' && isFor({ versions })).map(
      ({ revision, version }) => `${revision} ${version.split('-')[0]}`,
    );
  expect(revisionsOf('2025-06-18', '2025-11-25', '2026-07-28')).toEqual([
    '2025-11-25 0.1.16',
    '2025-11-25 0.2.0',
    '2026-07-28 0.2.0',
  ]);
  expect(revisionsOf('2025-03-26')).toEqual(['2025-03-26 0.1.16', '2025-03-26 0.2.0']);
  expect(revisionsOf('extension')).toEqual(['extension 0.2.0']);
});
