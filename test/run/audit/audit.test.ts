// The audit from events to lines on disk: what is kept of a run and a call, who may read it, how much there may be, and
// that nothing of it reaches a run.

import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { BridgeEvent } from '../../../src/base/log/events.js';
import { Redactor } from '../../../src/base/secrets/redact.js';
import { readAudit } from '../../../src/cli/kept/read-audit.js';
import { Audit } from '../../../src/run/audit/audit.js';
import { digestOf } from '../../../src/run/audit/digest.js';
import { PATIENTLY, pause, until } from '../../support/time.js';

let dir: string;
let told: BridgeEvent[];
beforeEach(() => {
  dir = join(mkdtempSync(join(tmpdir(), 'audit-test-')), 'state', 'audit');
  told = [];
});
afterEach(() => rmSync(join(dir, '../..'), { recursive: true, force: true }));

const redactor = new Redactor();
redactor.addAll({ MY_TOKEN: 'swordfish-12345' });

const open = (quotaBytes = 1024 ** 2) =>
  new Audit({
    dir,
    quotaBytes,
    redact: (text) => redactor.redact(text),
    observer: (event) => told.push(event),
  });

const started = (run: string, servers: readonly string[] = ['s']): BridgeEvent => ({
  type: 'run.started',
  run,
  client: 'tester 1.0',
  servers,
  language: 'python',
  code: digestOf('print(1)'),
  timeoutSeconds: 30,
});
const ended = (run: string, calls = 1, servers: readonly string[] = ['s']): BridgeEvent => ({
  type: 'run.ended',
  run,
  servers,
  status: 'success',
  durationMs: 12.4,
  calls,
});
const called = (
  run: string,
  more: Partial<Extract<BridgeEvent, { type: 'run.call' }>> = {},
): BridgeEvent => ({
  type: 'run.call',
  run,
  call: 1,
  server: 's',
  tool: 't',
  allowed: true,
  rule: 'no rule',
  error: undefined,
  failed: false,
  durationMs: 3.6,
  arguments: digestOf('{"a":1}'),
  result: digestOf('{"content":[]}'),
  argumentsText: undefined,
  ...more,
});
const texts = () => readdirSync(dir).map((name) => readFileSync(join(dir, name), 'utf8'));

it('a command is kept with its arguments, where they are wanted, and without secrets', async () => {
  const audit = open();
  const argumentsText = '["curl","-H","Authorization: swordfish-12345"]';
  audit.observe({ ...started('c-1'), argumentsText } as BridgeEvent);
  audit.observe(ended('c-1', 0));
  await audit[Symbol.asyncDispose]();
  const [run] = readAudit(dir).runs;
  expect(run?.line?.argumentsText).toMatch(/^\["curl","-H","Authorization: /);
  expect(run?.line?.argumentsText).not.toContain('swordfish');
});

it('a run and its calls are a line each, in a file of their owner alone', async () => {
  const audit = open();
  for (const event of [started('a-1'), called('a-1'), ended('a-1')]) audit.observe(event);
  await audit[Symbol.asyncDispose]();
  const [file = ''] = readdirSync(dir);
  expect(statSync(dir).mode & 0o777).toBe(0o700);
  expect(statSync(join(dir, file)).mode & 0o777).toBe(0o600);
  const [run] = readAudit(dir).runs;
  expect(run).toMatchObject({
    run: 'a-1',
    line: {
      kind: 'run',
      client: 'tester 1.0',
      servers: ['s'],
      status: 'success',
      durationMs: 12,
      calls: 1,
      timeoutSeconds: 30,
      code: { bytes: 8, sha256: digestOf('print(1)').sha256 },
    },
    calls: [
      {
        kind: 'call',
        call: 1,
        server: 's',
        tool: 't',
        verdict: 'allowed',
        rule: 'no rule',
        durationMs: 4,
        arguments: { bytes: 7 },
        result: { bytes: 14 },
      },
    ],
  });
  expect(run?.calls[0]).not.toHaveProperty('error');
  expect(run?.calls[0]).not.toHaveProperty('argumentsText');
  expect(run?.calls[0]?.arguments.sha256).toMatch(/^[0-9a-f]{16}$/);
});

it('a run names the data folders that its code could see, and which of them it could write', async () => {
  const audit = open();
  audit.observe(started('a-1'));
  audit.observe({ ...ended('a-1', 0), data: ['/data/sales', '/data/out:rw'] } as BridgeEvent);
  audit.observe(started('b-1'));
  audit.observe({ ...ended('b-1', 0), data: [] } as BridgeEvent);
  await audit[Symbol.asyncDispose]();
  const [one, other] = [...readAudit(dir).runs].sort((a, b) => (a.run < b.run ? -1 : 1));
  expect(one?.line?.data).toEqual(['/data/sales', '/data/out:rw']);
  expect(other?.line).not.toHaveProperty('data');
});

it('of a principal other than the user who started the bridge each line says whose it is', async () => {
  const audit = open();
  const principal = 'token:ann';
  for (const event of [started('a-1'), called('a-1'), ended('a-1')]) audit.observe({ ...event, principal });
  for (const event of [started('b-1'), called('b-1'), ended('b-1')]) audit.observe(event);
  await audit[Symbol.asyncDispose]();
  const lines = texts()
    .join('')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { readonly run: string; readonly principal?: string });
  expect(lines.map(({ run, principal }) => [run, principal])).toEqual([
    ['a-1', principal],
    ['a-1', principal],
    ['b-1', undefined],
    ['b-1', undefined],
  ]);
  expect(texts().join('').split('principal')).toHaveLength(3);
});

it('nothing is opened before there is a line', async () => {
  await open()[Symbol.asyncDispose]();
  expect(() => readdirSync(dir)).toThrow('ENOENT');
});

it('secrets are taken out, and no name of a guest writes a line of its own', async () => {
  const audit = open();
  audit.observe(started('a-1'));
  audit.observe(
    called('a-1', {
      server: 's\n{"kind":"run"}',
      tool: `t\u001b[31m${'x'.repeat(1_000)}`,
      allowed: false,
      rule: "MCP_BRIDGE_DENY 's.t'",
      error: 'E_DENIED',
      failed: true,
      argumentsText: '{"key":"swordfish-12345","q":"password=hunter2hunter2","passphrase":"correct horse"}',
    }),
  );
  audit.observe(ended('a-1', 1, ['swordfish-12345']));
  await audit[Symbol.asyncDispose]();
  expect(texts().join('')).not.toMatch(/swordfish|hunter2|horse/);
  expect(texts().join('').trim().split('\n')).toHaveLength(2);
  const [call] = readAudit(dir).runs[0]?.calls ?? [];
  expect(call).toMatchObject({ verdict: 'denied', error: 'E_DENIED', rule: "MCP_BRIDGE_DENY 's.t'" });
  expect(call?.argumentsText).toContain('[MY_TOKEN]');
  expect(call?.tool.length).toBeLessThanOrEqual(256);
});

it('names are kept so that no two are alike, and all rules by which a call was judged', async () => {
  const audit = open();
  audit.observe(started('a-1'));
  const tools = [
    'delete_all\rlist',
    'delete_all\u001b[31m',
    'delete_all',
    `x${'y'.repeat(400)}`,
    `x${'y'.repeat(401)}`,
  ];
  const rule = Array.from({ length: 20 }, (_, at) => `approvals.rules.${at} in /a/policy.yaml`).join(' and ');
  for (const tool of tools) audit.observe(called('a-1', { tool, rule }));
  audit.observe(ended('a-1', tools.length));
  await audit[Symbol.asyncDispose]();
  const calls = readAudit(dir).runs[0]?.calls ?? [];
  expect(calls.slice(0, 3).map(({ tool }) => tool)).toEqual([
    'delete_all\\x0dlist',
    'delete_all\\x1b[31m',
    'delete_all',
  ]);
  expect(new Set(calls.map(({ tool }) => tool)).size).toBe(tools.length);
  expect(calls[0]?.rule).toBe(rule);
});

it('files stay below the quota, and the newest lines stay', async () => {
  const quota = 64 * 1024;
  for (let bridge = 0; bridge < 3; bridge++) {
    const audit = open(quota);
    for (let at = 0; at < 300; at++) {
      for (const event of [started(`${bridge}-${at}`), called(`${bridge}-${at}`), ended(`${bridge}-${at}`)])
        audit.observe(event);
      // As events come in life, so that the files can be changed between them.
      if (at % 20 === 0) await pause(2);
    }
    await audit[Symbol.asyncDispose]();
  }
  // Closing waits 300 ms for the disk, and what is on its way then is written a little later.
  await vi.waitFor(() => expect(readAudit(dir).runs.at(-1)?.run).toBe('2-299'), PATIENTLY);
  const bytes = readdirSync(dir).reduce((sum, name) => sum + statSync(join(dir, name)).size, 0);
  // A line is written whole, also the last one of a file.
  expect(bytes).toBeLessThan(quota * 1.25);
  expect(told).toEqual([]);
});

it('a run of a million calls does not push out what others did', async () => {
  const audit = open(64 * 1024 ** 2);
  audit.observe(started('a-1'));
  for (let call = 1; call <= 10_005; call++) audit.observe(called('a-1', { call }));
  audit.observe(ended('a-1', 10_005));
  await audit[Symbol.asyncDispose]();
  // A slow disk goes on writing after the audit has been closed.
  await until(() => readAudit(dir).runs[0]?.line !== undefined);
  const [run] = readAudit(dir).runs;
  expect(run?.calls).toHaveLength(10_000);
  expect(run?.line).toMatchObject({ calls: 10_005, listed: 10_000, notListed: 5 });
});

it('bridges side by side write files of their own', async () => {
  const audits = [open(), open(), open()];
  for (const [at, audit] of audits.entries()) {
    for (const event of [started(`${at}-1`), called(`${at}-1`), ended(`${at}-1`)]) audit.observe(event);
  }
  await Promise.all(audits.map((audit) => audit[Symbol.asyncDispose]()));
  expect(readdirSync(dir)).toHaveLength(3);
  expect(readAudit(dir).runs.map(({ run }) => run)).toHaveLength(3);
});

it('a folder that cannot be made is told once and costs no run', async () => {
  mkdirSync(join(dir, '..'), { recursive: true });
  writeFileSync(dir, 'a file');
  const audit = open();
  for (const run of ['a-1', 'a-2']) for (const event of [started(run), ended(run)]) audit.observe(event);
  await audit[Symbol.asyncDispose]();
  expect(told).toMatchObject([{ type: 'audit.trouble', message: expect.stringContaining('EEXIST') }]);
});

it('torn and foreign lines are passed over, and a run without its own line is unfinished', async () => {
  const audit = open();
  for (const event of [started('a-1'), called('a-1')]) audit.observe(event);
  await audit[Symbol.asyncDispose]();
  const whole = texts()[0] ?? '';
  writeFileSync(
    join(dir, 'other.jsonl'),
    `\n[]\nnull\n{"kind":"run"}\n${whole.replaceAll('a-1', 'b-1')}${whole.slice(0, 50)}`,
  );
  expect(readAudit(dir).runs.map(({ run, line, calls }) => [run, line, calls.length])).toEqual([
    ['a-1', undefined, 1],
    ['b-1', undefined, 1],
  ]);
  expect(readAudit(join(dir, 'nowhere'))).toEqual({ runs: [], logins: [], lost: [] });
});

it('lines that the disk did not take are read back as a number, with the time', async () => {
  mkdirSync(dir, { recursive: true });
  const lost = { kind: 'lost', at: '2026-01-02T00:00:00Z', since: '2026-01-01T00:00:00Z', lines: 7 };
  writeFileSync(join(dir, 'a.jsonl'), `${JSON.stringify(lost)}\n{"kind":"lost","lines":"x"}\n`);
  expect(readAudit(dir)).toEqual({ runs: [], logins: [], lost: [lost] });
});

it('why a run failed is its kind and the beginning of one line, without secrets', async () => {
  const audit = open();
  audit.observe(started('a-1'));
  const message = `ValueError: swordfish-12345 ${'x'.repeat(500)}\nsecond line`;
  audit.observe({
    ...ended('a-1', 0),
    status: 'error',
    error: { kind: 'ValueError', message },
  } as BridgeEvent);
  await audit[Symbol.asyncDispose]();
  const { kind, message: kept = '' } = readAudit(dir).runs[0]?.line?.error ?? {};
  expect(kind).toBe('ValueError');
  expect(kept).toMatch(/^ValueError: /);
  expect(kept.length).toBeLessThan(300);
  expect(kept).not.toMatch(/swordfish|second/);
});

it('a run that was refused before it began has a line with the reason, and a call that was given up is none', async () => {
  const audit = open();
  const rejected = (run: string, kind: string): BridgeEvent => {
    const { type: _, ...about } = started(run) as Extract<BridgeEvent, { type: 'run.started' }>;
    const error = { kind, message: 'Nothing has run: swordfish-12345.' };
    return { ...about, type: 'run.rejected', error, principal: 'token:ann#01' };
  };
  audit.observe(rejected('a-1', 'E_BUSY'));
  audit.observe(rejected('a-2', 'E_CANCELLED'));
  await audit[Symbol.asyncDispose]();
  const [busy, given] = readAudit(dir).runs;
  expect(busy?.line).toMatchObject({
    principal: 'token:ann#01',
    client: 'tester 1.0',
    status: 'refused',
    error: { kind: 'E_BUSY', message: 'Nothing has run: [MY_TOKEN].' },
    code: digestOf('print(1)'),
    calls: 0,
  });
  expect(given?.line?.status).toBe('cancelled');
});

it('who came in over HTTP and who was refused have lines, and many refusals push nothing out', async () => {
  const audit = open();
  const from = '10.0.0.5';
  audit.observe({ type: 'auth.accepted', principal: 'token:ann#01', from, method: 'POST' });
  const refused: BridgeEvent = {
    type: 'auth.refused',
    from,
    method: 'GET',
    status: 401,
    message: 'Unknown.',
  };
  for (let count = 0; count < 1_000; count++) audit.observe(refused);
  await audit[Symbol.asyncDispose]();
  await until(() => readAudit(dir).logins.length > 60);
  const { logins } = readAudit(dir);
  expect(logins).toHaveLength(61);
  const [accepted] = logins.filter(({ outcome }) => outcome === 'accepted');
  expect(accepted).toEqual({
    kind: 'login',
    at: expect.any(String),
    principal: 'token:ann#01',
    outcome: 'accepted',
    remote: from,
    method: 'POST',
  });
  expect(logins.find(({ outcome }) => outcome === 'refused')).toEqual({
    kind: 'login',
    at: expect.any(String),
    outcome: 'refused',
    remote: from,
    method: 'GET',
    status: 401,
    reason: 'Unknown.',
  });
});

it('says of each line whose it is, in an id that looks like a secret too', async () => {
  const audit = open();
  const principals = [
    'token:ann#e3e17e78e20f0552',
    `oauth:https://login.example.com/${'a'.repeat(300)} subject-1`,
  ];
  for (const [at, principal] of principals.entries()) {
    audit.observe({ ...started(`r-${at}`), principal });
    audit.observe({ ...called(`r-${at}`), principal });
    audit.observe({ ...ended(`r-${at}`), principal });
  }
  await audit[Symbol.asyncDispose]();
  const lines = texts()
    .join('')
    .split('\n')
    .filter((line) => line !== '');
  const told = lines.map((line) => (JSON.parse(line) as { principal?: string }).principal);
  expect(told).toEqual([principals[0], principals[0], principals[1], principals[1]]);
});
