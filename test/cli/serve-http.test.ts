// The built bridge over HTTP, as whoever operates it starts and ends it. It runs no container: its commands go to the command
// server.

import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { join, resolve } from 'node:path';
import {
  Client as ModernClient,
  StreamableHTTPClientTransport as ModernTransport,
} from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { HttpInstances, MAIN, type Started } from '../support/http-instances.js';
import { PATIENTLY, pause } from '../support/time.js';

let instances: HttpInstances;
let dir: string;

beforeEach(() => {
  instances = new HttpInstances();
  dir = instances.dir;
});
afterEach(() => instances[Symbol.asyncDispose]());

const start: HttpInstances['start'] = (...words) => instances.start(...words);

const tokenIn = async ({ stderr }: Started): Promise<string> => {
  await vi.waitFor(() => expect(stderr()).toMatch(/msb_\w+/), PATIENTLY);
  return /msb_\w+/.exec(stderr())?.[0] ?? '';
};
const bearer = (token: string) => ({ requestInit: { headers: { authorization: `Bearer ${token}` } } });
const stdoutOf = (result: unknown) =>
  (result as { readonly structuredContent: { readonly stdout: string } }).structuredContent.stdout;

describe('a bridge on loopback', () => {
  it('makes a token at its first start, serves both eras with it, and ends with 0', async () => {
    const bridge = start(['serve', '--http', '127.0.0.1:0']);
    const url = await bridge.url();
    const token = await tokenIn(bridge);
    const old = new Client({ name: 'old', version: '1' });
    await old.connect(new StreamableHTTPClientTransport(url, bearer(token)) as never);
    const echo = { name: 'execute', arguments: { command: 'echo', args: ['hello'] } };
    expect(stdoutOf(await old.callTool(echo))).toBe('hello\n');
    const young = new ModernClient(
      { name: 'young', version: '1' },
      { versionNegotiation: { mode: { pin: '2026-07-28' } } },
    );
    await young.connect(new ModernTransport(url, bearer(token)));
    expect(stdoutOf(await young.callTool(echo))).toBe('hello\n');
    await young.close();
    await old.close();
    const refused = await fetch(url, { method: 'POST', body: '{}' });
    expect(refused.status).toBe(401);
    bridge.child.kill('SIGTERM');
    expect(await bridge.exit).toBe(0);
    const lines = bridge
      .stderr()
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as Readonly<Record<string, string>>);
    const run = lines.find(({ event }) => event === 'run.started');
    expect(run?.['principal']).toMatch(/^token:first-start#/);
    expect(lines).toContainEqual(
      expect.objectContaining({
        event: 'http.request',
        principal: run?.['principal'],
        request: run?.['request'],
      }),
    );

    const again = start(['serve', '--http', '127.0.0.1:0']);
    await again.url();
    expect(again.stderr()).not.toContain('msb_');
  });

  it('tells `runs --follow` of each login and run as it comes, which Ctrl-C ends with 130', async () => {
    const bridge = start(['serve', '--http', '127.0.0.1:0']);
    const url = await bridge.url();
    const token = await tokenIn(bridge);
    const child = spawn(process.execPath, [MAIN, 'runs', '--follow', '--since', '1h', '--json'], {
      env: instances.environment(),
      cwd: dir,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const following = instances.watched(child);
    let written = '';
    child.stdout.on('data', (chunk: Buffer) => {
      written += chunk.toString();
    });
    const said = () =>
      written
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);
    const client = new Client({ name: 'old', version: '1' });
    await client.connect(new StreamableHTTPClientTransport(url, bearer(token)) as never);
    await client.callTool({ name: 'execute', arguments: { command: 'echo', args: ['hello'] } });
    await client.close();
    const wrong = await fetch(url, { method: 'POST', headers: { authorization: 'Bearer msb_wrong' } });
    expect(wrong.status).toBe(401);
    const principal = expect.stringMatching(/^token:first-start#/);
    await vi.waitFor(() => {
      expect(said()).toContainEqual(
        expect.objectContaining({ kind: 'login', outcome: 'accepted', principal }),
      );
      expect(said()).toContainEqual(expect.objectContaining({ kind: 'run', status: 'success', principal }));
      expect(said()).toContainEqual(
        expect.objectContaining({ kind: 'login', outcome: 'refused', status: 401 }),
      );
    }, PATIENTLY);
    child.kill('SIGINT');
    expect(await following.exit).toBe(130);
  });

  it('lets everybody in again after the backup and the restore that docs/uninstall-and-files.md has, taken while it runs', async () => {
    const page = readFileSync(resolve('docs/uninstall-and-files.md'), 'utf8');
    const [, script = ''] = /## Backup and restore[\s\S]*?```sh\n([\s\S]*?)```/.exec(page) ?? [];
    const [backup = '', restore = ''] = script.split(/^# Restore.*$/m);
    const assignment = backup.split('\n')[0] ?? '';
    const shell = (text: string) =>
      spawnSync('/bin/sh', ['-c', text], { cwd: dir, env: instances.environment(), encoding: 'utf8' });
    const state = join(dir, 'state');

    const bridge = start(['serve', '--http', '127.0.0.1:0']);
    const url = await bridge.url();
    const token = await tokenIn(bridge);
    const echo = { name: 'execute', arguments: { command: 'echo', args: ['hello'] } };
    const callAs = async (at: URL, secret: string) => {
      const client = new Client({ name: 'old', version: '1' });
      await client.connect(new StreamableHTTPClientTransport(at, bearer(secret)) as never);
      const said = stdoutOf(await client.callTool(echo));
      await client.close();
      return said;
    };
    await callAs(url, token);
    await vi.waitFor(() => expect(instances.command('runs', '--json')).toContain('"success"'), PATIENTLY);
    const folders = readdirSync(join(state, 'principals'));
    expect(shell(backup)).toMatchObject({ status: expect.toBeOneOf([0, 1]), stderr: '' });
    bridge.child.kill('SIGTERM');
    await bridge.exit;
    // What came after the backup is gone with the restore.
    const later = instances.command('token', 'create', 'later');

    expect(shell(`${assignment}\n${restore}`)).toMatchObject({ status: 0, stderr: '' });
    expect(readdirSync(join(state, 'principals')).toSorted()).toEqual(folders.toSorted());
    expect(statSync(join(state, 'http', 'tokens.json')).mode & 0o777).toBe(0o600);
    expect(existsSync(join(state, 'cache', 'code'))).toBe(false);
    const again = start(['serve', '--http', '127.0.0.1:0']);
    const urlAgain = await again.url();
    expect(await callAs(urlAgain, token)).toBe('hello\n');
    const refused = { method: 'POST', headers: { authorization: `Bearer ${later}` } };
    expect((await fetch(urlAgain, refused)).status).toBe(401);
    const { runs } = JSON.parse(instances.command('runs', '--json')) as { runs: readonly object[] };
    expect(runs.length).toBeGreaterThanOrEqual(1);
    again.child.kill('SIGTERM');
    expect(await again.exit).toBe(0);
  });

  it('is shown by status and ended by stop; one that was killed leaves a record that nobody believes', async () => {
    const [kept, killed] = [0, 1].map(() => start(['serve', '--http', '127.0.0.1:0'])) as [Started, Started];
    const urls = [(await kept.url()).href, (await killed.url()).href];
    const shown = () =>
      JSON.parse(instances.command('status', '--json')).http as Array<{ pid: number; address: string }>;
    await vi.waitFor(() => expect(shown()).toHaveLength(2), PATIENTLY);
    expect(
      shown()
        .map(({ address }) => address)
        .sort(),
    ).toEqual([...urls].sort());
    killed.child.kill('SIGKILL');
    await killed.exit;
    expect(shown()).toMatchObject([{ pid: kept.child.pid, address: urls[0], isHere: true }]);
    expect(instances.command('status')).toContain(urls[0]);
    // Nobody reaps it meanwhile, as this process waits for the command: it has ended all the same.
    expect(instances.command('stop')).toBe(`The bridge ${kept.child.pid} at ${urls[0]} has ended.`);
    expect(await kept.exit).toBe(0);
    expect(shown()).toEqual([]);
    expect(instances.command('stop')).toBe('No shared bridge runs, and none over HTTP.');
  });

  it('logs a request however many messages it has, and the requests behind it', async () => {
    const bridge = start(['serve', '--http', '127.0.0.1:0']);
    const url = await bridge.url();
    const headers = { authorization: `Bearer ${await tokenIn(bridge)}`, 'content-type': 'application/json' };
    const message = { jsonrpc: '2.0', method: 'x'.repeat(200) };
    const body = JSON.stringify(Array.from({ length: 10_000 }, () => message));
    expect((await fetch(url, { method: 'POST', headers, body })).status).toBe(406);
    await vi.waitFor(() => expect(bridge.stderr()).toContain('9950 more'), PATIENTLY);
    bridge.child.kill('SIGTERM');
    expect(await bridge.exit).toBe(0);
    expect(bridge.stderr()).toContain('"event":"bridge.closing"');
  });

  it('stop waits for a run that is under way, and with --now it does not', async () => {
    const bridge = start(['serve', '--http', '127.0.0.1:0']);
    const url = await bridge.url();
    const client = new Client({ name: 'old', version: '1' });
    await client.connect(new StreamableHTTPClientTransport(url, bearer(await tokenIn(bridge))) as never);
    const calling = client
      .callTool({ name: 'execute', arguments: { command: 'sleep', args: ['600'] } })
      .then(stdoutOf, () => 'lost');
    await vi.waitFor(() => expect(bridge.stderr()).toContain('run.started'), PATIENTLY);
    const waiting = start(['stop']);
    await vi.waitFor(
      () => expect(waiting.stderr()).toContain('waiting for calls of the bridge at'),
      PATIENTLY,
    );
    expect(waiting.child.exitCode).toBeNull();
    expect(instances.command('stop', '--now')).toContain('has ended');
    expect(await bridge.exit).toBe(143);
    expect(await waiting.exit).toBe(0);
    await client.close();
    expect(await calling).toBe('lost');
  });

  it('lets a run finish after SIGTERM, and does not after a second signal', async () => {
    for (const signals of [1, 2]) {
      const bridge = start(['serve', '--http', '127.0.0.1:0'], {
        MCP_BRIDGE_STATE_DIR: join(dir, `s${signals}`),
      });
      const url = await bridge.url();
      const client = new Client({ name: 'old', version: '1' });
      await client.connect(new StreamableHTTPClientTransport(url, bearer(await tokenIn(bridge))) as never);
      const free = join(dir, `free${signals}`);
      const waiting = `until [ -e '${free}' ]; do sleep 0.1; done`;
      const calling = client
        .callTool({ name: 'execute', arguments: { command: 'sh', args: ['-c', `${waiting}; echo late`] } })
        .then(stdoutOf, () => 'lost');
      await vi.waitFor(() => expect(bridge.stderr()).toContain('run.started'), PATIENTLY);
      bridge.child.kill('SIGTERM');
      await vi.waitFor(() => expect(bridge.stderr()).toContain('http.draining'), PATIENTLY);
      expect((await fetch(new URL('/readyz', url))).status).toBe(503);
      if (signals === 2) bridge.child.kill('SIGTERM');
      else writeFileSync(free, '');
      expect(await bridge.exit).toBe(signals === 2 ? 143 : 0);
      if (signals === 1) expect(await calling).toBe('late\n');
      await client.close();
    }
  });
});

it('takes the socket that systemd hands over, and asks its owner for no credential', async () => {
  const path = join(dir, 's');
  const holder = net.createServer();
  await new Promise<void>((settle) => holder.listen(path, () => settle()));
  chmodSync(path, 0o600);
  const { fd } = (holder as unknown as { readonly _handle: { readonly fd: number } })._handle;
  const words = [
    '-c',
    `LISTEN_FDS=1 LISTEN_PID=$$ exec "$0" "$1" serve --http systemd`,
    process.execPath,
    MAIN,
  ];
  const bridge = instances.watched(
    spawn('/bin/sh', words, {
      env: instances.environment(),
      cwd: dir,
      stdio: ['ignore', 'ignore', 'pipe', fd],
    }),
  );
  await vi.waitFor(() => expect(bridge.stderr()).toContain(`listens at unix:${path}`), PATIENTLY);
  // The bridge has a copy of its own; what arrives here is nobody's.
  holder.close();
  expect(bridge.stderr()).not.toContain('msb_');
  bridge.child.kill('SIGTERM');
  expect(await bridge.exit).toBe(0);
});

it('goes on serving at a SIGHUP', async () => {
  const bridge = start(['serve', '--http', '127.0.0.1:0']);
  const url = await bridge.url();
  bridge.child.kill('SIGHUP');
  await pause(300);
  expect((await fetch(new URL('/healthz', url))).status).toBe(200);
});

it.each([
  [['--http', '0.0.0.0:0'], 'no credentials are configured'],
  [['--http', 'nonsense'], "'nonsense' is not an address"],
  [['--http', '0', '--allowed-host', 'https://x'], 'no host name'],
])('serve %j is refused with a sentence and 2', async (words, sentence) => {
  const bridge = start(['serve', ...words]);
  expect(await bridge.exit).toBe(2);
  expect(bridge.stderr()).toContain(sentence);
  expect(bridge.stderr()).toContain('next:');
});
