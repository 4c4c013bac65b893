import { expect, it } from 'vitest';
import type { BridgeEvent } from '../../src/base/log/events.js';
import { describeEvent as describeBy, logObserver, openLog } from '../../src/base/log/log.js';
import { eventWords } from '../../src/cli/serving/events.js';

const describeEvent = (event: BridgeEvent) => describeBy(event, eventWords());

function written(
  options: Partial<Parameters<typeof openLog>[0]>,
  ...events: readonly BridgeEvent[]
): string[] {
  const lines: string[] = [];
  const log = openLog(
    { level: 'info', format: 'json', colour: false, ...options },
    { write: (line) => lines.push(line) },
  );
  events.forEach(logObserver(log, eventWords(), (text) => text.replaceAll('s3cret-value', '…')));
  return lines;
}

const swept: BridgeEvent = { type: 'engine.swept', removed: 1 };
const noise: BridgeEvent = { type: 'sandbox.noise', container: 'c1', line: 'odd' };

it('a machine reads one object per line', () => {
  const [line = ''] = written({}, swept);
  expect(line.endsWith('\n')).toBe(true);
  expect(JSON.parse(line)).toEqual({
    level: 'info',
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
    event: 'engine.swept',
    msg: 'removed 1 container left by a bridge that has ended',
  });
});

it('whose it is stands in a field of its own, and ahead of the sentence', () => {
  const ofAnn = { ...swept, principal: 'token:ann\n' };
  const [line = ''] = written({}, ofAnn);
  expect(JSON.parse(line)).toMatchObject({ event: 'engine.swept', principal: 'token:ann\n' });
  expect(written({ format: 'line' }, ofAnn)[0]).toContain(' token:ann\\n: removed 1 container');
});

it('what a request was, and what came of it, stand in fields of their own', () => {
  const request: BridgeEvent = {
    type: 'http.request',
    request: '0123456789abcdef',
    principal: 'token:ann#0123456789abcdef',
    address: '10.0.0.5',
    method: 'POST',
    path: '/mcp',
    calls: ['tools/call'],
    status: 429,
    isWhole: true,
    durationMs: 3.4,
    run: 'a-1',
  };
  expect(JSON.parse(written({}, request)[0] ?? '')).toMatchObject({
    event: 'http.request',
    request: '0123456789abcdef',
    principal: 'token:ann#0123456789abcdef',
    remote: '10.0.0.5',
    method: 'POST',
    path: '/mcp',
    calls: ['tools/call'],
    status: 429,
    durationMs: 3,
    run: 'a-1',
  });
  const refused: BridgeEvent = {
    type: 'auth.refused',
    from: '10.0.0.6',
    method: 'POST',
    status: 401,
    message: 'No.',
  };
  expect(JSON.parse(written({}, refused)[0] ?? '')).toMatchObject({
    event: 'auth.refused',
    remote: '10.0.0.6',
    method: 'POST',
    status: 401,
  });
});

it('lines of a run name it, and say how it ended and how long it took', () => {
  const [ended, rejected] = written(
    {},
    {
      type: 'run.ended',
      run: 'a-1',
      servers: [],
      status: 'error',
      error: { kind: 'ValueError', message: 's3cret' },
      durationMs: 12.6,
      calls: 2,
      principal: 'token:ann#01',
    },
    {
      type: 'run.rejected',
      run: 'a-2',
      client: 'c',
      servers: [],
      language: 'python',
      code: { bytes: 1, sha256: '' },
      timeoutSeconds: 1,
      error: { kind: 'E_BUSY', message: 'Nothing has run.' },
    },
  ).map((line) => JSON.parse(line) as object);
  expect(ended).toMatchObject({
    run: 'a-1',
    status: 'error',
    error: 'ValueError',
    durationMs: 13,
    calls: 2,
    principal: 'token:ann#01',
  });
  expect(JSON.stringify(ended)).not.toContain('s3cret');
  expect(rejected).toMatchObject({ run: 'a-2', status: 'refused', error: 'E_BUSY' });
});

it('a stranger’s text in a field is redacted, and one line without control sequences', () => {
  const refused: BridgeEvent = {
    type: 'auth.refused',
    from: `s3cret-value\u001b[31m${'x'.repeat(9999)}`,
    method: 'GET\n',
    status: 401,
    message: '',
  };
  const { remote, method } = JSON.parse(written({}, refused)[0] ?? '') as Record<string, string>;
  expect(remote).toMatch(/^…x+/);
  expect(remote?.length).toBeLessThan(600);
  expect(method).toBe('GET\\n');
});

it('a person reads a time, a level and a sentence', () => {
  expect(written({ format: 'line' }, swept)).toEqual([
    expect.stringMatching(/^\d\d:\d\d:\d\d info {2}removed 1 container left by a bridge that has ended\n$/),
  ]);
});

it('what stands, why, what holds the limits, and what the last probe saw are one line', () => {
  const known = {
    type: 'walls.known',
    setup: 'podman 4.3.1 with runc, rootless, cgroup v1, seccomp strict',
    reason: 'crun: refused; runc: started a container',
    limits: 'memory: watchdog, pids: rlimit, cpu: priority',
  } as const;
  const start =
    'walls: podman 4.3.1 with runc, rootless, cgroup v1, seccomp strict (crun: refused; runc: started a container); limits by memory: watchdog, pids: rlimit, cpu: priority;';
  expect(describeEvent({ ...known, probe: undefined })[1]).toBe(
    `${start} not probed since the last boot (mcp-sandbox-bridge doctor --probe does)`,
  );
  const probe = { at: 'then', enforced: 30, watchdog: 3, overshootMb: 12, unknown: 1, notEnforced: ['/sys'] };
  expect(describeEvent({ ...known, probe })[1]).toBe(
    `${start} probed then: 30 enforced, 3 by watchdog (12 MB late), 1 not enforced (/sys), 1 unknown`,
  );
});

it('changed tools are a warning on one line, whatever they are called', () => {
  const tools = ['send (description)', 'x\n\u202efake'];
  expect(describeEvent({ type: 'downstream.changed', server: 'mail', tools })).toEqual([
    'warn',
    'mail: 2 tools not as first seen: send (description), x\\n\\u202efake',
  ]);
});

it('a module that is not loaded ahead is one warning, however many sandboxes say it', () => {
  const unloaded = (module: string): BridgeEvent => ({
    type: 'sandbox.unloaded',
    container: 'c1',
    module,
    error: "ModuleNotFoundError: No module named 'panda'",
  });
  expect(
    written({}, unloaded('panda'), unloaded('panda'), unloaded('nunpy')).map((line) => JSON.parse(line)),
  ).toMatchObject([
    {
      level: 'warn',
      msg: "module panda of MCP_BRIDGE_PREIMPORT is not loaded ahead: ModuleNotFoundError: No module named 'panda'",
    },
    { level: 'warn', msg: expect.stringContaining('nunpy') },
  ]);
});

it('colour is only there when asked for', () => {
  expect(written({ format: 'line', colour: true }, swept)[0]).toContain('\u001b[');
  expect(written({ format: 'line', colour: false }, swept)[0]).not.toContain('\u001b[');
});

it('the level decides what is written', () => {
  expect(written({ level: 'info' }, noise)).toHaveLength(0);
  expect(written({ level: 'debug' }, noise)).toHaveLength(1);
  expect(written({ level: 'silent' }, { type: 'bridge.fault', where: 'x', message: 'y' })).toHaveLength(0);
});

it('a stranger’s text stays one line, without control sequences, and is cut', () => {
  const [, sentence] = describeEvent({
    ...noise,
    line: `a\n${'\u001b'}[31m{"level":"error"}\u0007${'x'.repeat(9999)}`,
  });
  expect(sentence).toContain('said: a\\n{"level":"error"}\\x07xxx');
  for (const char of ['\n', '\u001b', '\u0007']) expect(sentence).not.toContain(char);
  expect(sentence.length).toBeLessThan(600);
});

it('values of variables in an engine command are left out', () => {
  const argv = [
    'podman',
    'run',
    '--env',
    'TOKEN=s3cret',
    '-e',
    'KEY=s3cret',
    '--env=PASS=s3cret\nmore',
    'image',
  ];
  const [level, sentence] = describeEvent({ type: 'engine.command', argv, durationMs: 12.4, exitCode: 0 });
  expect(level).toBe('debug');
  expect(sentence).toBe('podman run --env TOKEN=… -e KEY=… --env=PASS=… image: exit 0 after 12 ms');
});

it('secrets are looked for in what the words say of an event, and in nothing else of it', () => {
  const log = openLog({ level: 'trace', format: 'json', colour: false }, { write: () => {} });
  const looked: string[] = [];
  const observer = logObserver(log, eventWords(), (text) => {
    looked.push(text);
    return text;
  });
  const texts = { sent: '{"to":"ann"}', answer: 'x'.repeat(1_000) };
  observer({ type: 'run.answered', run: 'a-1', server: 'mail', method: 'tools/call', ...texts });
  expect(looked.toSorted()).toEqual(['a-1', 'mail', 'tools/call']);
});

it('a secret goes from what an event holds in an object of its own', () => {
  const about = {
    client: 'a',
    servers: [],
    language: 'python',
    code: { bytes: 1, sha256: '' },
    timeoutSeconds: 1,
  };
  const error = { kind: 'quota', message: 'no s3cret-value here' };
  expect(written({}, { type: 'run.rejected', run: 'a-1', ...about, error })[0]).toContain('no … here');
});

it('a secret goes before a text is cut', () => {
  const message = `${'x'.repeat(490)} s3cret-value`;
  const [line = ''] = written({}, { type: 'engine.trouble', message });
  expect(line).toContain('xxx …');
  expect(line).not.toContain('s3');
});

it('what fails is a warning, a fault of ours an error', () => {
  expect(describeEvent({ type: 'downstream.failed', server: 'github', message: 'exited' })[0]).toBe('warn');
  expect(describeEvent({ type: 'bridge.fault', where: 'run', message: 'bug' })[0]).toBe('error');
});

it('what a server asks and says is for those who want to know it, in one line each', () => {
  const asked = { type: 'downstream.asked', server: 'github', answer: 'accept', durationMs: 12.3 } as const;
  expect(describeEvent(asked)).toEqual(['debug', 'github: asked the user: accept after 12 ms']);
  const said = { type: 'downstream.said', server: 'github', level: 'info', text: 'two\nlines' } as const;
  expect(describeEvent(said)).toEqual(['debug', 'github said (info): two\\nlines']);
});

it('that a server says too much is told with how much of it nobody hears', () => {
  const flooding = (leftOut: number) =>
    describeEvent({ type: 'downstream.flooding', server: 'github', leftOut });
  expect(flooding(19_500)).toEqual([
    'warn',
    'github: sends too many messages unasked: 19500 messages left out',
  ]);
  expect(flooding(0)).toEqual([
    'warn',
    'github: writes more than was asked for, and faster than it is read, so it has to wait',
  ]);
});

it('what policy refuses is told, but a run cannot fill the log with it', () => {
  const refused = (run: string): BridgeEvent => ({
    type: 'run.refused',
    run,
    server: 'github',
    tool: 'delete\nrepo',
    code: 'E_DENIED',
    message: "denied by MCP_BRIDGE_DENY '*.delete*'.",
  });
  const lines = written({}, ...Array.from({ length: 100 }, () => refused('run-1')), refused('run-2'));
  expect(lines).toHaveLength(21);
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({
    level: 'info',
    msg: "run run-1 may not call github.delete\\nrepo: denied by MCP_BRIDGE_DENY '*.delete*'.",
  });
});

it.each(['info', 'error'] as const)('at level %s, lines that stderr could not take are told', (level) => {
  const lines: string[] = [];
  const sink: Parameters<typeof openLog>[1] = { write: (line) => lines.push(line) };
  openLog({ level, format: 'json', colour: false }, sink);
  sink.onRecovered?.(3);
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({
    event: 'log.dropped',
    msg: '3 lines of the log were dropped: stderr was full for a while',
  });
});
