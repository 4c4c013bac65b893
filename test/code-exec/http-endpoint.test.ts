// `code-exec` over Streamable HTTP, with real clients: calls, sessions, cancellation, and who may not speak at all.

import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  Client as LaterClient,
  StreamableHTTPClientTransport as LaterTransport,
} from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type ExecSettings, parseExecSettings } from '../../src/code-exec/exec-settings.js';
import { type CommandTold, Execute } from '../../src/code-exec/execute.js';
import { HttpEndpoint } from '../../src/code-exec/http-endpoint.js';
import { pause, until } from '../support/time.js';

const TOKEN = 'a-token-of-some-length';
let dir: string;
let told: CommandTold[];
const open: AsyncDisposable[] = [];

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'http-endpoint-'));
  told = [];
});
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each[Symbol.asyncDispose]();
  rmSync(dir, { recursive: true, force: true });
});

async function face(
  env: Readonly<Record<string, string>> = {},
): Promise<{ url: URL; settings: ExecSettings }> {
  const settings = parseExecSettings({ MCP_EXEC_LISTEN: '127.0.0.1:0', MCP_EXEC_WORKDIR: dir, ...env });
  const execute = new Execute(settings, { PATH: '/usr/bin:/bin', MCP_EXEC_TOKEN: TOKEN }, (each) =>
    told.push(each),
  );
  const served = await HttpEndpoint.open(execute, settings);
  open.push(served);
  return {
    url: new URL(served.address.startsWith('http') ? served.address : 'http://localhost/mcp'),
    settings,
  };
}

async function client(url: URL, headers: Readonly<Record<string, string>> = {}): Promise<Client> {
  const made = new Client({ name: 'test', version: '1' });
  await made.connect(new StreamableHTTPClientTransport(url, { requestInit: { headers } }) as never);
  open.push({ [Symbol.asyncDispose]: () => made.close() });
  return made;
}

/** A command that does `first`, and ends when it is let go. */
const held = (first: string) => ({
  command: 'sh',
  args: ['-c', `${first}; until [ -e let-go ]; do sleep 0.05; done`],
});
const letGo = () => writeFileSync(join(dir, 'let-go'), '');

const call = (made: Client, args: Readonly<Record<string, unknown>>, signal?: AbortSignal) =>
  made.callTool(
    { name: 'execute', arguments: args },
    undefined,
    signal && { signal },
  ) as Promise<CallToolResult>;
const text = ({ content }: CallToolResult) => (content[0]?.type === 'text' ? content[0].text : '');

describe('execute over HTTP', () => {
  it('runs commands and tells of them', async () => {
    const made = await client((await face()).url);
    expect((await made.listTools()).tools.map(({ name }) => name)).toEqual(['execute']);
    const result = await call(made, {
      command: 'sh',
      args: ['-c', 'echo "$1:$ADDED:$MCP_EXEC_TOKEN"; cat; pwd; exit 3', 'sh', 'a b'],
      stdin: 'in\n',
      env: { ADDED: 'x' },
    });
    expect(result).toMatchObject({
      isError: false,
      structuredContent: {
        exitCode: 3,
        signal: null,
        timedOut: false,
        stdout: `a b:x:\nin\n${dir}\n`,
        stderr: '',
      },
    });
    expect(text(result)).toBe(`[exit status 3]\na b:x:\nin\n${dir}`);
    expect(told).toMatchObject([{ command: 'sh', cwd: dir, stdinBytes: 3, outcome: 'exit status 3' }]);
  });

  it.each([
    [{}, 'command: got nothing, expected the name or path of a program.'],
    [{ command: '' }, 'command: got "", expected the name or path of a program.'],
    [
      { command: 'ls', args: ['a\0b'] },
      'args: got ["a\\u0000b"], expected a list of texts without NUL characters.',
    ],
    [{ command: 'ls', arg: [] }, 'arg: there is no such argument. Did you mean '],
    [
      { command: 'ls', timeout_ms: 0 },
      'timeout_ms: got 0, expected a whole number of milliseconds from 1 to 600000.',
    ],
    [{ command: 'ls', cwd: 'nowhere' }, "cwd: there is no folder '"],
    [{ command: 'ls', cwd: 'x'.repeat(300) }, "cwd: there is no folder '"],
    [{ command: 'lss' }, "command: There is no program 'lss' here."],
    [{ command: 'ls', env: { 'A=B': 'x' } }, 'env: got'],
  ])('answers bad arguments: %j', async (args, message) => {
    const result = await call(await client((await face()).url), args);
    expect(result.isError).toBe(true);
    expect(text(result)).toContain(message);
  });

  it('gives each call a folder of its own, and takes it away', async () => {
    const made = await client((await face({ MCP_EXEC_TMP: 'per-request' })).url);
    const folders = await Promise.all(
      [1, 2].map(async () =>
        text(await call(made, { command: 'sh', args: ['-c', 'echo $TMPDIR; touch $TMPDIR/x'] })),
      ),
    );
    expect(new Set(folders).size).toBe(2);
    expect(folders.filter((folder) => folder === '' || existsSync(folder))).toEqual([]);
  });

  it('says so where it can make no such folder, and tells the audit no more than a line can hold', async () => {
    vi.stubEnv('TMPDIR', join(dir, 'nowhere'));
    try {
      const made = await client((await face({ MCP_EXEC_TMP: 'per-request' })).url);
      const result = await call(made, { command: 'true' });
      expect([result.isError, text(result)]).toEqual([true, expect.stringContaining('ENOENT')]);
      await call(made, { command: 'x'.repeat(100_000) });
      expect(told.map(({ outcome }) => outcome)).toEqual(['refused', 'refused']);
      expect(JSON.stringify(told).length).toBeLessThan(5_000);
    } finally {
      vi.unstubAllEnvs();
    }
  });

  it('runs many at once, up to as many as it may', async () => {
    const made = await client((await face({ MCP_EXEC_CONCURRENCY: '4' })).url);
    const calls = Array.from({ length: 8 }, () => call(made, held('echo >> begun')));
    const begun = () =>
      existsSync(join(dir, 'begun')) ? readFileSync(join(dir, 'begun'), 'utf8').length : 0;
    await until(() => begun() >= 4);
    await pause(300);
    expect(begun()).toBe(4);
    letGo();
    await Promise.all(calls);
    expect(begun()).toBe(8);
  });

  it('ends a command whose caller has cancelled, or has gone', async () => {
    const { url } = await face();
    const made = await client(url);
    const caller = new AbortController();
    const ended = call(made, held('echo > begun'), caller.signal).catch(() => {});
    await until(() => existsSync(join(dir, 'begun')));
    caller.abort();
    await ended;
    await until(() => told.length === 1);
    expect(told[0]?.outcome).toBe('killed, since the call was cancelled');
  });

  it('ends a command whose connection was lost', async () => {
    const { url } = await face();
    const made = await client(url);
    const lost = new AbortController();
    const asked = fetch(url, {
      method: 'POST',
      signal: lost.signal,
      headers: {
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
        'mcp-session-id': (made.transport as StreamableHTTPClientTransport).sessionId ?? '',
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 77,
        method: 'tools/call',
        params: { name: 'execute', arguments: { command: 'sleep', args: ['600'] } },
      }),
    });
    expect((await asked).status).toBe(200);
    lost.abort();
    await until(() => told.length === 1);
    expect(told[0]?.outcome).toBe('killed, since the call was cancelled');
    expect(text(await call(made, { command: 'echo', args: ['still there'] }))).toBe('still there');
  });

  it('gives bytes that are no text back exactly', async () => {
    const made = await client((await face()).url);
    const result = await call(made, { command: 'printf', args: ['\\377\\376\\000ok'] });
    expect(result.structuredContent).toMatchObject({
      stdout: '\ufffd\ufffd\0ok',
      stdoutBase64: Buffer.from([0xff, 0xfe, 0, 0x6f, 0x6b]).toString('base64'),
    });
    expect(text(result)).toBe(
      '[5 bytes, not all of them UTF-8: exactly in stdoutBase64 of the structured result]\n\ufffd\ufffd\\x00ok',
    );
  });

  it('takes large input, and says where it ends', async () => {
    const made = await client((await face()).url);
    const large = await call(made, { command: 'wc', args: ['-c'], stdin: 'x'.repeat(30_000_000) });
    expect(text(large)).toBe('30000000');
    const { url } = await face();
    const answer = await fetch(url, { method: 'POST', body: 'x'.repeat(70_000_000) });
    expect([answer.status, await answer.text()]).toEqual([413, expect.stringContaining('at most')]);
    const health = await fetch(new URL('/health', url));
    expect([health.status, health.headers.get('keep-alive')]).toEqual([200, 'timeout=75']);
  });

  it('bounds what it parses, before it does, and says so under the id of the request', async () => {
    const { url } = await face();
    const many = '{},'.repeat(2_000_000).slice(0, -1);
    const deep = `${'['.repeat(5_000)}${']'.repeat(5_000)}`;
    const call = (args: string, id: string) =>
      `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"execute","arguments":{"command":"ls","args":${args}}},"id":${id}}`;
    const asked = [
      [call(`[${many}]`, '77'), 77, 'holds more than 1000000 values'],
      [call(deep, '"a\\u0062"'), 'ab', 'is nested deeper than 128 levels'],
      [call(deep, '{}'), null, 'is nested deeper than 128 levels'],
      ['{"jsonrpc":"2.0","id":5,"method":', 5, 'not one well-formed JSON value'],
    ] as const;
    for (const [body, id, reason] of asked) {
      const answer = await fetch(url, { method: 'POST', body });
      const { error, ...rest } = (await answer.json()) as { error: { message: string } };
      expect([answer.status, rest]).toEqual([400, { jsonrpc: '2.0', id }]);
      expect(error.message).toContain(reason);
    }
  });

  it.each([
    ['host', ['localhost', 'evil.example']],
    ['authorization', ['Bearer a', 'Bearer b']],
    ['origin', ['http://localhost', 'http://evil.example']],
  ])('refuses %s that is there twice', async (name, values) => {
    const { url } = await face();
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const host = name === 'host' ? [] : ['host', url.host];
      const headers = [...host, ...values.flatMap((value) => [name, value])];
      const request = http.request(url, { method: 'POST', headers }, (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      request.on('error', reject).end('{}');
    });
    expect(status).toBe(400);
  });

  it('tells a real client why its call was not taken, and goes on', async () => {
    const made = await client((await face()).url);
    const args = { command: 'ls', args: [], env: { A: new Array(1_000_001).fill(0) } };
    await expect(call(made, args)).rejects.toThrow('holds more than 1000000 values');
    expect(text(await call(made, { command: 'echo', args: ['on'] }))).toBe('on');
  });

  it('keeps a silent stream open, and tells of progress whoever asked', async () => {
    const { url } = await face();
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    try {
      const made = await client(url);
      const heard: unknown[] = [];
      const long = made.callTool({ name: 'execute', arguments: held('echo > begun') }, undefined, {
        onprogress: (progress) => heard.push(progress),
      });
      await until(() => existsSync(join(dir, 'begun')));
      vi.advanceTimersByTime(31_000);
      letGo();
      expect(text((await long) as CallToolResult)).toBe('(no output)');
      expect(heard).toHaveLength(3);
      expect(heard[0]).toMatchObject({ message: expect.stringMatching(/^running for \d+ s$/) });
    } finally {
      vi.useRealTimers();
    }
  });

  it('greets anew whoever comes with a session that it does not know', async () => {
    const { url } = await face();
    const answer = await fetch(url, { method: 'POST', headers: { 'mcp-session-id': 'gone' }, body: '{}' });
    expect(answer.status).toBe(404);
    expect((await fetch(url, { method: 'POST', body: '{}' })).status).toBe(400);
  });

  it('lets nobody speak without the token', async () => {
    const { url } = await face({ MCP_EXEC_TOKEN: TOKEN });
    await expect(client(url)).rejects.toThrow();
    await expect(client(url, { authorization: 'Bearer wrong-token-of-length' })).rejects.toThrow();
    const made = await client(url, { authorization: `Bearer ${TOKEN}` });
    expect(text(await call(made, { command: 'echo', args: ['hi'] }))).toBe('hi');
    expect((await fetch(new URL('/health', url))).status).toBe(200);
    expect(told).toHaveLength(1);
  });

  it('takes no page of a browser, and no name of somebody else', async () => {
    const { url } = await face();
    const answer = await fetch(url, {
      method: 'POST',
      headers: { origin: 'https://evil.example' },
      body: '{}',
    });
    expect([answer.status, await answer.text()]).toEqual([403, expect.stringContaining('MCP_EXEC_ORIGINS')]);
    expect(await statusFor(url, 'evil.example')).toBe(403);
    expect(await statusFor(url, `localhost:${url.port}`)).not.toBe(403);
  });

  it('takes so many connections and no more, and serves those that it has', async () => {
    const settings = parseExecSettings({
      MCP_EXEC_LISTEN: '127.0.0.1:0',
      MCP_EXEC_WORKDIR: dir,
      MCP_EXEC_TOKEN: TOKEN,
    });
    const execute = new Execute(settings, { PATH: '/usr/bin:/bin' }, () => {});
    const served = await HttpEndpoint.open(execute, settings, 8);
    open.push(served);
    const { port } = new URL(served.address);
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    const health = () =>
      new Promise<number | undefined>((resolve, reject) => {
        http
          .get({ port, agent, path: '/health' }, (response) => {
            response.resume().once('end', () => resolve(response.statusCode));
          })
          .once('error', reject);
      });
    expect(await health()).toBe(200);
    // Ahead of the strangers, and not idle: it has sent half of a request.
    const strangers = Array.from({ length: 20 }, () => net.connect(Number(port)).on('error', () => {}));
    const ended = new Set<net.Socket>();
    for (const stranger of strangers) {
      stranger.once('close', () => ended.add(stranger));
      stranger.write('GET /');
    }
    // One place is the client's, unless that was idle and made room.
    await until(() => ended.size >= 12);
    expect(ended.size).toBeLessThanOrEqual(13);
    for (const stranger of strangers) stranger.destroy();
    await until(() => ended.size === strangers.length);
    await vi.waitFor(async () => expect(await health()).toBe(200));
    agent.destroy();
  });

  it('listens on a socket that only its user may open', async () => {
    const path = join(dir, 'exec.sock');
    await face({ MCP_EXEC_LISTEN: `unix:${path}` });
    const status = await new Promise((resolve, reject) => {
      http
        .get({ socketPath: path, path: '/health' }, ({ statusCode }) => resolve(statusCode))
        .once('error', reject);
    });
    expect(status).toBe(200);
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it('takes the place of a socket that was left behind, and of no other file', async () => {
    const left = join(dir, 'left.sock');
    const leaver = `require('node:net').createServer().listen('${left}', () => process.kill(process.pid, 'SIGKILL'))`;
    spawnSync(process.execPath, ['-e', leaver]);
    expect(statSync(left).isSocket()).toBe(true);
    await face({ MCP_EXEC_LISTEN: `unix:${left}` });
    const precious = join(dir, 'precious');
    writeFileSync(precious, 'kept');
    await expect(face({ MCP_EXEC_LISTEN: `unix:${precious}` })).rejects.toMatchObject({ code: 'E_SETTINGS' });
    expect(readFileSync(precious, 'utf8')).toBe('kept');
  });

  it.each([
    ['others may write to its folder', (open: string) => join(open, 's')],
    ['others may write to a folder above', (open: string) => join(open, 'own', 's')],
  ])('listens at no socket where %s', async (_where, at) => {
    const open = join(dir, 'open');
    mkdirSync(join(open, 'own'), { recursive: true, mode: 0o700 });
    const path = at(open);
    chmodSync(open, 0o777);
    await expect(face({ MCP_EXEC_LISTEN: `unix:${path}` })).rejects.toMatchObject({
      code: 'E_SETTINGS',
      message: `MCP_EXEC_LISTEN: other users could put a socket there, since ${open} can be written by other users (mode 0777).`,
    });
    chmodSync(open, 0o755);
    await face({ MCP_EXEC_LISTEN: `unix:${path}` });
    expect(statSync(path).isSocket()).toBe(true);
  });

  it('says why it cannot listen', async () => {
    const { url } = await face();
    await expect(face({ MCP_EXEC_LISTEN: `127.0.0.1:${url.port}` })).rejects.toMatchObject({
      code: 'E_SETTINGS',
      message: expect.stringContaining('EADDRINUSE'),
    });
  });
});

describe('execute over HTTP for the second line of the SDK', () => {
  const ENVELOPE = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  };

  /** A request of 2026-07-28, by hand. */
  const ask = (
    url: URL,
    params: object,
    { signal, version = '2026-07-28' }: { signal?: AbortSignal; version?: string } = {},
  ) =>
    fetch(url, {
      method: 'POST',
      ...(signal === undefined ? {} : { signal }),
      headers: {
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
        'mcp-protocol-version': version,
        'mcp-method': 'tools/call',
        'mcp-name': 'execute',
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'tools/call', params }),
    });

  it.each(['legacy', 'auto', { pin: '2026-07-28' }] as const)('mode %j runs commands', async (mode) => {
    const { url } = await face();
    const made = new LaterClient({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
    await made.connect(new LaterTransport(url));
    open.push({ [Symbol.asyncDispose]: () => made.close() });
    expect((await made.listTools()).tools.map(({ name }) => name)).toEqual(['execute']);
    const result = await made.callTool({
      name: 'execute',
      arguments: { command: 'wc', args: ['-c'], stdin: 'x'.repeat(10_000_000) },
    });
    expect(result.content).toEqual([{ type: 'text', text: '10000000' }]);
    await expect(made.callTool({ name: 'nope' })).rejects.toMatchObject({ code: -32_602 });
  });

  it('ends a command whose connection was lost, without a session', async () => {
    const { url } = await face();
    const lost = new AbortController();
    const params = { name: 'execute', arguments: { command: 'sleep', args: ['600'] }, _meta: ENVELOPE };
    expect((await ask(url, params, { signal: lost.signal })).status).toBe(200);
    lost.abort();
    await until(() => told.length === 1);
    expect(told[0]?.outcome).toBe('killed, since the call was cancelled');
  });

  it('says what is wrong with a request', async () => {
    const { url } = await face();
    const args = { name: 'execute', arguments: { command: 'true' } };
    const answers = [
      await ask(url, { ...args, _meta: ENVELOPE }, { version: '2027-01-01' }),
      await ask(url, args),
      await ask(url, { ...args, arguments: 7, _meta: ENVELOPE }),
    ];
    const codes = await Promise.all(
      answers.map(async (answer) => /"code":(-?\d+)/.exec(await answer.text())?.[1]),
    );
    expect(answers.map(({ status }) => status)).toEqual([400, 400, 200]);
    expect(codes.slice(1)).toEqual(['-32602', '-32602']);
    expect(told).toEqual([]);
  });

  it('takes no such request without the token', async () => {
    const { url } = await face({ MCP_EXEC_TOKEN: TOKEN });
    const params = { name: 'execute', arguments: { command: 'true' }, _meta: ENVELOPE };
    expect((await ask(url, params)).status).toBe(401);
    expect(told).toEqual([]);
  });
});

const statusFor = (url: URL, host: string) =>
  new Promise((resolve, reject) => {
    http
      .request(url, { method: 'POST', headers: { host } }, ({ statusCode }) => resolve(statusCode))
      .once('error', reject)
      .end('{}');
  });
