// What `runs` shows where there is more than it can show.

import { expect, it } from 'vitest';
import { lostText, notShownText, runsText } from '../../src/cli/kept/runs.js';
import type { CallLine, RunLine } from '../../src/run/audit/audit-line.js';

const run = (listed: number | undefined, notListed: number, shown: number) => ({
  run: 'a-1',
  line: { kind: 'run', ...(listed === undefined ? {} : { listed }), notListed } as RunLine,
  calls: Array.from({ length: shown }, () => ({}) as CallLine),
});

it('calls that made room and calls that never had a line are counted apart', () => {
  expect(notShownText(run(3, 0, 3))).toBe('');
  expect(notShownText(run(2_402, 0, 901))).toMatch(
    /^\n1501 more made room for newer lines: MCP_BRIDGE_AUDIT_MB/,
  );
  expect(
    notShownText(run(10_000, 300, 9_000))
      .trim()
      .split('\n'),
  ).toEqual([expect.stringMatching(/^1000 more made room/), expect.stringMatching(/^300 more have no line/)]);
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
    runsText([{ run: 'a-1', line: failed(error), calls: [] }], true)
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
