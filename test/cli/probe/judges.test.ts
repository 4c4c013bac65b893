// The judges of `doctor --probe`, driven with what machines of every kind would show.

import { describe, expect, it } from 'vitest';
import type { Seen } from '../../../src/cli/probe/attack.js';
import type { ProbedControl, WallVerdict } from '../../../src/cli/probe/control.js';
import { judgeRuntime, monitorSeconds } from '../../../src/cli/probe/host-look.js';
import {
  judgeCpus,
  judgeDeadline,
  judgeIds,
  judgeLog,
  judgeMemory,
  judgeOwner,
  judgePids,
  judgeToldIds,
} from '../../../src/cli/probe/judge.js';
import { judgeSession } from '../../../src/cli/probe/probe.js';
import { exitCodeOf } from '../../../src/cli/probe/report.js';

import type { Enforcement } from '../../../src/engine/machine/enforcement.js';
import { type Outcome, outcomeWithoutRun } from '../../../src/run/outcome/outcome.js';

const MIB = 1024 ** 2;
const failure = { type: 'E_SIGNAL', message: 'The code was ended by SIGKILL.', remedy: undefined };

const outcome = (changes: Partial<Outcome> & { printed?: string } = {}): Outcome => ({
  ...outcomeWithoutRun('error', failure, 20),
  ...changes,
  stdout: { text: changes.printed ?? '', dropped: 0 },
});

/** What is held to nothing but by us. */
const host = (held: Partial<Enforcement> = {}, cpus?: number): NonNullable<Seen['host']> => ({
  enforcement: { memory: 'watchdog', pids: 'rlimit', cpu: 'priority', ...held },
  cpus,
  ids: [],
  monitorSeconds: undefined,
});

const seen = (changes: Partial<Seen> = {}): Seen => ({
  outcome: outcome(),
  started: true,
  ranMs: 100,
  host: host(),
  told: undefined,
  peakBytes: undefined,
  keptBytes: undefined,
  gone: true,
  ...changes,
});

describe('memory', () => {
  const verdictOf = (changes: Partial<Seen>) => judgeMemory(seen(changes));

  it('is enforced where a cgroup has the limit and the attack was ended', () => {
    const found = verdictOf({
      outcome: outcome({ printed: 'taken 40\n' }),
      host: host({ memory: 'cgroup' }),
    });
    expect(found).toMatchObject({ verdict: 'ENFORCED', how: 'attack; cgroup' });
  });

  it('is a watchdog where the attack was ended and no cgroup has the limit; the overshoot is what was seen', () => {
    const limitless = { outcome: outcome({ printed: 'taken 80\n' }), peakBytes: 96 * MIB };
    expect(verdictOf(limitless)).toMatchObject({
      verdict: 'WATCHDOG',
      overshootMb: 32,
      observed: 'ended at 96 MB',
    });
    // What the code says counts where the host looked too late, and nothing is less than none.
    expect(verdictOf({ ...limitless, peakBytes: undefined })).toMatchObject({ overshootMb: 16 });
    expect(verdictOf({ ...limitless, outcome: outcome(), peakBytes: 0 })).toMatchObject({ overshootMb: 0 });
  });

  it('is not enforced where the attack got it all, whatever the cgroup says', () => {
    const all = outcome({ status: 'success', error: undefined, printed: 'taken 128\nall taken\n' });
    expect(verdictOf({ outcome: all })).toMatchObject({
      verdict: 'NOT ENFORCED',
      observed: 'took 128 MB and lived',
    });
    const bound = verdictOf({ outcome: all, host: host({ memory: 'cgroup' }) });
    expect(bound).toMatchObject({ verdict: 'NOT ENFORCED', how: 'attack, though its cgroup has the limit' });
    expect(verdictOf({ outcome: all, host: undefined }).verdict).toBe('NOT ENFORCED');
  });

  it('is enforced where the code itself was refused', () => {
    const refused = outcome({ printed: 'taken 60\nrefused: MemoryError\n' });
    expect(verdictOf({ outcome: refused })).toMatchObject({ verdict: 'ENFORCED', how: 'attack; rlimit' });
  });

  it('is unknown where nothing ran or nothing ended', () => {
    expect(verdictOf({ started: false }).verdict).toBe('UNKNOWN');
    expect(verdictOf({ outcome: outcome({ status: 'timeout' }) }).verdict).toBe('UNKNOWN');
  });

  it('is unknown where it was ended although nobody limits it', () => {
    expect(verdictOf({ host: host({ memory: 'none' }) }).verdict).toBe('UNKNOWN');
  });

  it('is enforced by the engine where only its end can be seen', () => {
    expect(verdictOf({ host: undefined })).toMatchObject({
      verdict: 'ENFORCED',
      how: 'attack; the cgroup cannot be seen from here',
    });
  });
});

describe('processes', () => {
  const refused = outcome({ printed: 'taken 20\ntaken 21\nrefused: Resource temporarily unavailable\n' });
  it.each([
    ['a cgroup', host({ pids: 'cgroup' }), 'fork until refused; cgroup'],
    ['an rlimit', host(), 'fork until refused; rlimit, per user id'],
    ['somebody', undefined, 'fork until refused; the cgroup cannot be seen from here'],
  ])('are enforced by %s', (_who, where, how) => {
    expect(judgePids(seen({ outcome: refused, host: where }))).toEqual({
      observed: 'fork 22: Resource temporarily unavailable',
      how,
      verdict: 'ENFORCED',
    });
  });

  it('are enforced by a kernel of its own, where the guest has one', () => {
    const { how } = judgePids(seen({ outcome: refused, host: host({ pids: 'cgroup' }) }), true);
    expect(how).toBe("fork until refused; gVisor's own kernel, and its threads: cgroup");
  });

  it('are not where all forks came through, and unknown where the code vanished', () => {
    const all = outcome({ printed: 'taken 32\nall taken\n' });
    expect(judgePids(seen({ outcome: all })).verdict).toBe('NOT ENFORCED');
    expect(judgePids(seen()).verdict).toBe('UNKNOWN');
    expect(judgePids(seen({ host: host({ pids: 'cgroup' }) }))).toMatchObject({
      how: 'fork until ended; cgroup',
      verdict: 'ENFORCED',
    });
  });
});

describe('code of a session after its call', () => {
  const said = (...ticks: readonly number[]) =>
    outcome({
      status: 'success',
      error: undefined,
      result: { json: { text: JSON.stringify(ticks) } } as never,
    });
  const success = outcome({ status: 'success', error: undefined });
  it.each<[string, Outcome, Outcome, WallVerdict]>([
    ['that stood still', success, said(100, 0), 'ENFORCED'],
    ['that has ended with its session', success, outcome({ status: 'validation_error' }), 'ENFORCED'],
    ['that ticked on', success, said(400, 90), 'NOT ENFORCED'],
    ['that never ticked', success, said(0, 0), 'UNKNOWN'],
    ['whose attack broke', outcome(), said(100, 0), 'UNKNOWN'],
    ['whose session says nothing', success, outcome(), 'UNKNOWN'],
  ])('%s', (_what, first, last, verdict) => {
    expect(judgeSession({ first, last }, { how: 'as tried' })).toMatchObject({ how: 'as tried', verdict });
  });
});

describe('time, log, ids, owner', () => {
  const timeout = outcome({ status: 'timeout' });
  it.each<[string, Partial<Seen>, WallVerdict]>([
    ['in time', { outcome: timeout, ranMs: 1_100 }, 'ENFORCED'],
    ['late', { outcome: timeout, ranMs: 4_000 }, 'NOT ENFORCED'],
    ['with a container that lives on', { outcome: timeout, ranMs: 1_100, gone: false }, 'NOT ENFORCED'],
    ['with another end', { outcome: outcome(), ranMs: 500 }, 'UNKNOWN'],
    ['never begun', { started: false }, 'UNKNOWN'],
  ])('a deadline %s', (_what, changes, verdict) => {
    expect(judgeDeadline(seen(changes), 1).verdict).toBe(verdict);
  });

  it.each<[number | undefined, WallVerdict]>([
    [0, 'ENFORCED'],
    [8 * MIB, 'NOT ENFORCED'],
    [undefined, 'UNKNOWN'],
  ])('a log of %s bytes', (keptBytes, verdict) => {
    expect(judgeLog(seen({ keptBytes })).verdict).toBe(verdict);
  });

  it.each<[Array<{ first: number; count: number }> | undefined, WallVerdict]>([
    [[{ first: 100_000, count: 65_536 }], 'ENFORCED'],
    [[{ first: 0, count: 4_294_967_295 }], 'NOT ENFORCED'],
    [
      [
        { first: 1_000, count: 1 },
        { first: 100_000, count: 65_536 },
      ],
      'NOT ENFORCED',
    ],
    [[], 'UNKNOWN'],
    [undefined, 'UNKNOWN'],
  ])('ids %j', (ids, verdict) => {
    expect(judgeIds(ids, 1_000).verdict).toBe(verdict);
  });

  it('CPUs go by the quota', () => {
    expect(judgeCpus(seen({ host: host({ cpu: 'cgroup' }, 1.5) }))).toMatchObject({
      observed: '1.5 CPUs',
      verdict: 'ENFORCED',
    });
    expect(judgeCpus(seen())).toMatchObject({ observed: 'no quota', verdict: 'NOT ENFORCED' });
    expect(judgeCpus(seen({ host: undefined })).verdict).toBe('UNKNOWN');
  });

  it('a killed bridge takes its container along, or not, or nobody knows', () => {
    expect([judgeOwner(30), judgeOwner(undefined), judgeOwner(null)].map(({ verdict }) => verdict)).toEqual([
      'ENFORCED',
      'NOT ENFORCED',
      'UNKNOWN',
    ]);
  });

  it("the monitor's clock is read from its arguments", () => {
    expect(monitorSeconds(['conmon', '-i', '--timeout=150', '-p', 'x'])).toBe(150);
    expect(monitorSeconds(['conmon', '--timeout=', '-p'])).toBeUndefined();
  });
});

describe('the OCI runtime', () => {
  const runc = (version: string, commit = 'v1') =>
    `runc version ${version}\ncommit: ${commit}\nspec: 1.0.2\n`;
  it.each([
    [runc('1.1.5+ds1', '1.1.5+ds1-1+deb12u1'), 'UNKNOWN'],
    [runc('1.2.7'), 'UNKNOWN'],
    [runc('1.2.8'), 'ENFORCED'],
    [runc('1.3.3'), 'ENFORCED'],
    [runc('1.3.10'), 'ENFORCED'],
    [runc('1.4.0-rc.2'), 'UNKNOWN'],
    [runc('1.4.0-rc.3'), 'ENFORCED'],
    [runc('1.4.0'), 'ENFORCED'],
    [runc('1.5.0'), 'ENFORCED'],
    ['crun version 1.8.1\ncommit: f8a096be\n', 'ENFORCED'],
    ['runsc version release-20221219.0\nspec: 1.0.2\n', 'ENFORCED'],
    ['something else', 'UNKNOWN'],
    [undefined, 'UNKNOWN'],
  ])('%s', (said, verdict) => {
    expect(judgeRuntime(said).verdict).toBe(verdict);
  });

  it('names the fix that it could not confirm, and the version with the distribution’s part', () => {
    expect(judgeRuntime(runc('1.1.5+ds1', '1.1.5+ds1-1+deb12u1')).observed).toBe(
      'runc 1.1.5+ds1-1+deb12u1: fix of CVE-2025-31133 not confirmed',
    );
  });
});

describe('the exit code', () => {
  const one = (verdict: WallVerdict, required = true): ProbedControl => ({
    control: 'c',
    requested: 'r',
    observed: 'o',
    how: 'h',
    verdict,
    required,
  });
  it.each([
    [[one('ENFORCED'), one('WATCHDOG')], 0],
    [[one('ENFORCED'), one('NOT ENFORCED', false), one('UNKNOWN', false)], 0],
    [[one('UNKNOWN'), one('NOT ENFORCED')], 1],
    [[one('ENFORCED'), one('UNKNOWN')], 2],
  ])('%#', (controls, expected) => {
    expect(exitCodeOf({ controls })).toBe(expected);
  });
});

describe('a container on another machine is judged by what its engine says', () => {
  const told = {
    isRunning: true,
    timeoutSeconds: 150,
    logDriver: 'none',
    ids: [{ first: 1, count: 65_536 }],
  };
  it('its ids: none is root there, or the user of the engine', () => {
    expect(judgeToldIds(told.ids)).toMatchObject({ observed: '1-65536', verdict: 'ENFORCED' });
    expect(judgeToldIds([{ first: 0, count: 65_536 }]).verdict).toBe('NOT ENFORCED');
    expect(judgeToldIds([]).verdict).toBe('NOT ENFORCED');
    expect(judgeToldIds(undefined).verdict).toBe('UNKNOWN');
  });

  it('has its log judged by what the engine says', () => {
    expect(judgeLog(seen({ host: undefined, told })).verdict).toBe('ENFORCED');
    expect(judgeLog(seen({ host: undefined, told: { ...told, logDriver: 'json-file' } })).verdict).toBe(
      'NOT ENFORCED',
    );
  });
});
