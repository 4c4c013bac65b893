// What `runs` shows: where there is more than it can show, which runs and logins are asked for, and new lines as they come.

import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AuditTail, lineText } from '../../src/cli/kept/follow-audit.js';
import { type AuditedRun, sinceFrom, wantedBy } from '../../src/cli/kept/read-audit.js';
import { lostText, notShownText, runsText } from '../../src/cli/kept/runs.js';
import { Audit } from '../../src/run/audit/audit.js';
import type { CallLine, LoginLine, RunLine } from '../../src/run/audit/audit-line.js';
import { digestOf } from '../../src/run/audit/digest.js';
import { until } from '../support/time.js';

const run = (listed: number | undefined, notListed: number, shown: number) => ({
  run: 'a-1',
  line: { kind: 'run', ...(listed === undefined ? {} : { listed }), notListed } as RunLine,
  calls: Array.from({ length: shown }, () => ({}) as CallLine),
});

it('calls that made room and calls that never had a line are counted apart', () => {
  expect(notShownText(run(3, 0, 3))).toBe('');
  expect(notShownText(run(2_402, 0, 901))).toMatch(
    /^\n1501 more were removed to make room for newer lines. MCP_BRIDGE_AUDIT_MB/,
  );
  expect(
    notShownText(run(10_000, 300, 9_000))
      .trim()
      .split('\n'),
  ).toEqual([
    expect.stringMatching(/^1000 more were removed/),
    expect.stringMatching(/^300 more have no line/),
  ]);
  expect(notShownText(run(undefined, 0, 3))).toBe('');
  expect(notShownText({ run: 'a-2', line: undefined, calls: [] })).toBe('');
});

it('each run is shown with its language', () => {
  const line = { servers: [], at: '', client: '', durationMs: 1, language: 'go' } as const;
  const text = runsText([{ run: 'a-1', line: line as unknown as RunLine, calls: [] }]);
  expect(text.split('\n')[0]).toMatch(/run +language +status/);
  expect(text).toMatch(/a-1 +go /);
});

it('of many servers the first are named', () => {
  const line = {
    servers: Array.from({ length: 30 }, (_, n) => `s${n}`),
    at: '',
    client: '',
    durationMs: 1,
  } as const;
  const text = runsText([{ run: 'a-1', line: line as unknown as RunLine, calls: [] }]);
  expect(text).toContain('s0, s1, s2, s3 and 26 more');
});

it('what does not show is visible, in a column as in a line', () => {
  const line = { servers: ['git\u202e\u200b'], at: '', client: '\u009b2J\u{e0041}', durationMs: 1 } as const;
  const text = runsText([{ run: 'a-1', line: line as unknown as RunLine, calls: [] }]);
  expect(text).toContain('git\\u202e\\u200b');
  expect(text).toContain('\\x9b2J\\u{e0041}');
});

it('where lines are missing is said below', () => {
  expect(lostText([])).toBe('');
  const lost = {
    kind: 'lost',
    at: '2026-01-02T00:00:09.5Z',
    since: '2026-01-01T00:00:00Z',
    lines: 7,
  } as const;
  expect(lostText([lost])).toBe(
    '\n7 lines are missing from 2026-01-01 00:00:00 to 2026-01-02 00:00:09: the disk was too slow, full or broken.\n',
  );
});

it('why a run failed stands below its line, once', () => {
  const failed = (error: RunLine['error']) =>
    ({
      servers: [],
      at: '',
      client: '',
      durationMs: 1,
      status: 'error',
      calls: 0,
      error,
    }) as unknown as RunLine;
  const text = (error: RunLine['error']) =>
    runsText([{ run: 'a-1', line: failed(error), calls: [] }])
      .split('\n')
      .slice(2);
  expect(text({ kind: 'ZeroDivisionError', message: 'ZeroDivisionError: division by zero' })).toEqual([
    '  ZeroDivisionError: division by zero',
    '',
  ]);
  expect(text({ kind: 'E_TIMEOUT', message: 'Timed out\u001b[2J after 1 s.' })).toEqual([
    '  E_TIMEOUT: Timed out\\u001b[2J after 1 s.',
    '',
  ]);
  expect(text(undefined)).toEqual(['']);
});

it('whose a run is stands in a column, where there is more than one principal', () => {
  const line = { servers: [], at: '', client: '', durationMs: 1, status: 'success' } as unknown as RunLine;
  const mine: AuditedRun = { run: 'a-1', line, calls: [] };
  const anns: AuditedRun = { ...mine, run: 'a-2', line: { ...line, principal: 'token:ann#01' } };
  expect(runsText([mine])).not.toContain('principal');
  const [head, first, second] = runsText([mine, anns]).split('\n');
  expect(head).toMatch(/run +principal +language/);
  expect(first).toMatch(/a-1 +local /);
  expect(second).toMatch(/a-2 +ann /);
});

describe('--since', () => {
  const nowMs = Date.UTC(2026, 10, 26, 12);

  it('takes how long ago, a day and a moment', () => {
    expect(sinceFrom('12h', nowMs)).toBe(Date.UTC(2026, 10, 26, 0));
    expect(sinceFrom('30m', nowMs)).toBe(nowMs - 1_800_000);
    expect(sinceFrom('2026-11-25', nowMs)).toBe(Date.UTC(2026, 10, 25));
    expect(sinceFrom('2026-11-25T12:00Z', nowMs)).toBe(Date.UTC(2026, 10, 25, 12));
  });

  it.each(['', '12', 'yesterday', '2026-02-30', '12 h', '-1h'])(
    'says what is allowed in place of %j',
    (text) => {
      expect(() => sinceFrom(text, nowMs)).toThrow(/^--since is '.*'; allowed: a time up to now such as 30m/);
    },
  );
});

it('runs and logins are chosen by their principal, their time and their end', () => {
  const at = (day: number) => `2026-11-${day}T00:00:00.000Z`;
  const run = (
    principal: string | undefined,
    day: number,
    status = 'success',
    error?: string,
  ): AuditedRun => ({
    run: 'a-1',
    line: {
      ...{ servers: ['github'], status, at: at(day) },
      ...(principal === undefined ? {} : { principal }),
    } as unknown as RunLine,
    calls: error === undefined ? [] : [{ error } as CallLine],
  });
  const [anns, bobs, mine] = [
    run('token:ann#01', 20),
    run('oauth:https://login.example.com bob', 21, 'refused'),
    run(undefined, 22, 'success', 'E_DENIED'),
  ];
  const all = [anns, bobs, mine];
  const chosen = (...words: Parameters<typeof wantedBy>) => all.filter(wantedBy(...words).run);
  expect(chosen({}, undefined)).toEqual(all);
  expect(chosen({ principal: 'ann' }, undefined)).toEqual([anns]);
  expect(chosen({ principal: 'token:ann#01' }, undefined)).toEqual([anns]);
  expect(chosen({ principal: 'bob' }, undefined)).toEqual([bobs]);
  expect(chosen({ principal: 'local' }, undefined)).toEqual([mine]);
  expect(chosen({ failed: true }, undefined)).toEqual([bobs, mine]);
  expect(chosen({}, Date.parse(at(21)))).toEqual([bobs, mine]);
  expect(chosen({ server: 'files' }, undefined)).toEqual([]);
  const login = (more: Partial<LoginLine>): LoginLine => ({
    ...{ kind: 'login', at: at(21), outcome: 'accepted', remote: '10.0.0.5', method: 'POST' },
    ...more,
  });
  const [accepted, refused] = [login({ principal: 'token:ann#01' }), login({ outcome: 'refused' })];
  const logins = (...words: Parameters<typeof wantedBy>) =>
    [accepted, refused].filter(wantedBy(...words).login);
  expect(logins({}, undefined)).toEqual([accepted, refused]);
  expect(logins({ failed: true }, undefined)).toEqual([refused]);
  expect(logins({ principal: 'ann' }, undefined)).toEqual([accepted]);
  expect(logins({ principal: 'local' }, undefined)).toEqual([]);
  expect(logins({}, Date.parse(at(22)))).toEqual([]);
});

it('a line that is followed says at one glance who did what, and why it failed', () => {
  const run: RunLine = {
    kind: 'run',
    at: '2026-01-02T03:04:05.678Z',
    run: 'a-1',
    principal: 'token:ann#01',
    client: 'c',
    servers: ['github'],
    code: digestOf(''),
    timeoutSeconds: 1,
    status: 'success',
    durationMs: 520,
    calls: 2,
    notListed: 0,
  };
  expect(lineText(run)).toBe('2026-01-02 03:04:05  ann  run a-1 success after 0.52 s, 2 calls, github');
  const error = { kind: 'E_BUSY', message: 'Nothing\nhas run.' };
  expect(lineText({ ...run, status: 'refused', error })).toBe(
    '2026-01-02 03:04:05  ann  run a-1 refused: E_BUSY: Nothing\\nhas run.',
  );
  expect(
    lineText({
      ...{ kind: 'login', at: run.at, outcome: 'refused', remote: '10.0.0.5', method: 'POST' },
      ...{ status: 401, reason: 'The token is not known here.' },
    }),
  ).toBe('2026-01-02 03:04:05  unknown  login refused from 10.0.0.5 with 401: The token is not known here.');
});

describe('following the audit', () => {
  let dir: string;
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'follow-'));
  });
  afterEach(() => rmSync(dir, { recursive: true, force: true }));

  const rejected = (run: string) => ({
    ...{ type: 'run.rejected', run, client: 'c', servers: [], language: 'python' },
    ...{ code: digestOf(''), timeoutSeconds: 1, error: { kind: 'E_BUSY', message: 'x'.repeat(100) } },
  });

  it('misses no line while files fill up and make room, and has none twice', async () => {
    const [tail, names] = [new AuditTail(dir), [] as string[]];
    const look = () => {
      for (const line of tail.next()) if (line.kind === 'run') names.push(line.run);
    };
    // An eighth of it is one file, so that twenty of them are filled.
    const quotaBytes = 32 * 1024;
    const audit = new Audit({ dir, quotaBytes, redact: (text) => text, observer: () => {} });
    const runs = Array.from({ length: 250 }, (_, at) => `a-${at}`);
    for (const run of runs) {
      audit.observe(rejected(run) as Parameters<typeof audit.observe>[0]);
      const written = names.length;
      await until(() => {
        look();
        return names.length > written;
      });
    }
    await audit[Symbol.asyncDispose]();
    look();
    expect(names).toEqual(runs);
  });

  it('takes a line when it is whole, and begins where it was told to', () => {
    const line = (run: string) =>
      `${JSON.stringify({ ...rejected(run), kind: 'run', at: run, durationMs: 0 })}\n`;
    const file = join(dir, 'a.jsonl');
    writeFileSync(file, line('a-1'));
    const [all, fromNow] = [new AuditTail(dir), new AuditTail(dir)];
    fromNow.skip();
    const runsOf = (tail: AuditTail) => tail.next().flatMap((one) => (one.kind === 'run' ? [one.run] : []));
    expect(runsOf(all)).toEqual(['a-1']);
    const [bytes, half] = [Buffer.from(line('é-2')), line('é-2').indexOf('é') + 1];
    appendFileSync(file, bytes.subarray(0, half));
    expect([runsOf(all), runsOf(fromNow)]).toEqual([[], []]);
    appendFileSync(file, bytes.subarray(half));
    writeFileSync(join(dir, 'b.jsonl'), line('b-1'));
    expect([runsOf(all), runsOf(fromNow)]).toEqual([
      ['b-1', 'é-2'],
      ['b-1', 'é-2'],
    ]);
    rmSync(file);
    expect(runsOf(all)).toEqual([]);
  });
});
