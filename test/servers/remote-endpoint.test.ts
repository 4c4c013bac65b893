// Remote servers that let nobody in: what is said of each, that it names no secret, and how credentials get renewed.

import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import http, { type RequestListener } from 'node:http';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { BridgeError } from '../../src/base/errors.js';
import { Redactor } from '../../src/base/secrets/redact.js';
import type { RemoteSpec } from '../../src/hosts/downstream-spec.js';
import { Callers } from '../../src/servers/asking/agent-capabilities.js';
import { CallsUnderWay } from '../../src/servers/asking/calls-under-way.js';
import { ServerRequests } from '../../src/servers/asking/passed-on.js';
import { connect } from '../../src/servers/server/connect.js';
import { isAlive } from '../support/processes.js';
import { HANGS_MS, NEVER, nodeStarts, until } from '../support/time.js';
import { call, poolOf } from './hostile.js';
import { hostileWeb, type RemoteServer, remote, socketsTo } from './remote-servers.js';

const SECRET = 'sk-1234567890abcdef';
const ends: (() => unknown)[] = [];
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'remote-test-'));
});
afterEach(async () => {
  vi.useRealTimers();
  for (const end of ends.splice(0).reverse()) await end();
  rmSync(folder, { recursive: true });
});

async function web(...modes: string[]): Promise<RemoteServer> {
  const server = await hostileWeb(...modes).start();
  ends.push(() => server.kill());
  return server;
}

/** A server of HTTP and nothing else. */
async function listen(server: http.Server | https.Server, listener: RequestListener): Promise<number> {
  server.on('request', listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  ends.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** Of a client that nobody is behind. */
function silent(redactor: Redactor) {
  const calls = new CallsUnderWay();
  const redact = (text: string) => redactor.redact(text);
  const observer = () => {};
  const passedOn = new ServerRequests({ server: 'far', callers: new Callers(), calls, redact, observer });
  const times = {
    connectTimeoutMs: HANGS_MS,
    probeMs: HANGS_MS,
    silenceMs: HANGS_MS,
    idleMs: HANGS_MS,
    restMs: HANGS_MS,
    maxRestMs: HANGS_MS,
  };
  return {
    context: { env: ENV, times, observer, redactor },
    handlers: { onToolsChanged: () => {}, onPromptsChanged: () => {}, passedOn },
  };
}

type Refusal = { readonly message: string; readonly remedy: string | undefined };

async function refused(spec: RemoteSpec): Promise<Refusal> {
  const redactor = new Redactor();
  const { context, handlers } = silent(redactor);
  const thrown = await connect(spec, context, handlers, NEVER).then(
    () => undefined,
    (error: BridgeError) => error,
  );
  expect(thrown).toMatchObject({ code: 'E_SERVER_UNAVAILABLE', fault: 'operator' });
  const { message = '', remedy } = thrown ?? {};
  for (const secret of [SECRET, 'userinfo', 'dXNlcmluZm8', 'query'])
    expect(`${message}${remedy}`).not.toContain(secret);
  return { message, remedy };
}

const ENV = { PATH: process.env['PATH'] ?? '' };
const LOGIN = 'Run `mcp-sandbox-bridge login far` in a terminal.';

it.each([
  [['needs=x'], {}, 'it wants a login.', LOGIN],
  [
    ['needs=x'],
    { headers: { Authorization: `Bearer ${SECRET}` } },
    'it refused the header Authorization of its entry (401).',
    'Put a valid value there',
  ],
  [
    ['needs=x'],
    { headers: { 'X-Key': SECRET } },
    'it refused the header X-Key of its entry (401).',
    'valid value',
  ],
  [['status=403'], { headers: { 'X-Key': SECRET } }, 'it answered with status 403', 'the right to use it'],
  [
    ['status=500'],
    { headers: { Authorization: `Bearer ${SECRET}` } },
    'it answered with status 500: refused with Bearer [authorization of far].',
    'Try again later',
  ],
  [['status=404'], {}, 'it answered with status 404: refused with Basic [', 'Correct its `url`'],
  [['status=404'], { transport: 'auto' }, 'it answered with status 404', 'Correct its `url`'],
  [['http-json', 'garbage'], {}, 'JSON that answers something else', 'that of an MCP server'],
  [['mute'], {}, 'status 200 and nothing instead of MCP', 'that of an MCP server'],
  [['garbage'], {}, 'the connection broke before the answer was there.', 'Check that it runs'],
  [
    ['sse', 'mute'],
    { transport: 'sse', startTimeoutMs: 200 },
    'it was not ready within 0.2 s',
    'Check that it',
  ],
  [['html'], {}, 'it answered with a web page instead of MCP.', 'that of an MCP server'],
  [['html'], { transport: 'sse' }, 'it answered with text/html instead of a stream', 'that of an MCP server'],
  [['slow-headers=600000'], { startTimeoutMs: 200 }, 'it was not ready within 0.2 s.', 'Check that it runs'],
  [['sse', 'stray-endpoint'], { transport: 'sse' }, 'messages sent to another address', 'MCP server'],
  [['old-protocol'], {}, "Server's protocol version is not supported: 1999-12-31.", 'Check that it runs'],
] as const)('%j with %j', async (modes, more, said, remedy) => {
  const server = await web(...(['sse', 'http-json'].includes(modes[0]) ? [] : ['http']), ...modes);
  const url = `http://userinfo:pw@127.0.0.1:${server.port}/mcp?query=1`;
  const refusal = await refused(remote('far', url, more as Partial<RemoteSpec>));
  expect(refusal.message).toContain(`Server 'far' could not be reached: `);
  expect(refusal.message).toContain(said);
  expect(refusal.remedy).toContain(remedy);
});

it('says that nobody is at the port, that there is no such host, or no address', async () => {
  const server = await web('http');
  await server.kill();
  const nobody = await refused(remote('far', server.url()));
  expect(nobody.message).toBe(
    `Server 'far' could not be reached: nothing listens at http://127.0.0.1:${server.port}.`,
  );
  expect(nobody.remedy).toBe(
    'Start the server, or correct its `url`; `mcp-sandbox-bridge servers` shows where it is configured.',
  );
  const nowhere = await refused(remote('far', 'http://no-such-host.invalid/mcp'));
  expect(nowhere.message).toContain('its host name no-such-host.invalid was not found');
  const none = await refused(remote('far', 'ftp://example.com/x'));
  expect(none.message).toContain('no http or https address');
  const torn = await refused(remote('far', server.url(), { headers: { 'X-Key': 'a\nb' } }));
  expect(torn.message).toContain('characters that no header may hold');
});

it('tells a server without TLS from one that nobody vouches for', async () => {
  const plain = await web('http');
  const { message } = await refused(remote('far', `https://127.0.0.1:${plain.port}/mcp`));
  expect(message).toMatch(/does not speak TLS as it should \((?:EPROTO|ERR_SSL\w+)\)/);
  const [key, cert] = ['key.pem', 'cert.pem'].map((file) => path.join(folder, file)) as [string, string];
  const subject = ['-days', '1', '-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1'];
  const made = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', key, '-out', cert, ...subject];
  execFileSync('openssl', made, { stdio: 'ignore' });
  const server = https.createServer({ key: readFileSync(key), cert: readFileSync(cert) });
  const port = await listen(server, (_request, response) => response.end());
  const refusal = await refused(remote('far', `https://127.0.0.1:${port}/mcp`));
  expect(refusal.message).toContain(
    'is not signed by an authority that is trusted here (DEPTH_ZERO_SELF_SIGNED_CERT)',
  );
  expect(refusal.remedy).toContain('NODE_EXTRA_CA_CERTS');
});

it.each(['http', 'sse'] as const)(
  'no header of %s follows a redirect to another origin',
  async (transport) => {
    const seen: unknown[] = [];
    const port = await listen(http.createServer(), ({ headers }, response) => {
      seen.push(headers);
      response.end();
    });
    const server = await web('http', `redirect=http://127.0.0.1:${port}/elsewhere?key=query`);
    const headers = { Authorization: `Bearer ${SECRET}` };
    const refusal = await refused(remote('far', server.url(), { transport, headers }));
    expect(refusal.message).toContain(
      `it redirects to http://127.0.0.1:${port}, where its headers are not sent`,
    );
    expect(refusal.remedy).toContain('If you trust that address');
    expect(seen).toEqual([]);
  },
);

/** A helper that prints the token in a file, and counts how often it was asked. */
function helper(token: string): string {
  writeFileSync(path.join(folder, 'token'), token);
  return `echo x >> ${folder}/asked; printf '{"Authorization":"Bearer %s","X-For":"%s"}' "$(cat ${folder}/token)" "$CLAUDE_CODE_MCP_SERVER_NAME"`;
}
const asked = () => readFileSync(path.join(folder, 'asked'), 'utf8').length / 2;

it("the entry's own command prints headers; they are asked for anew after a 401 and of a new session", async () => {
  const server = await web('http', `needs=Bearer ${SECRET}`);
  const headersHelper = helper('an-old-token');
  const spec = remote('far', server.url(), { headersHelper, headers: { authorization: 'none' } });
  const pool = poolOf([spec]);
  ends.push(() => pool[Symbol.asyncDispose]());
  // Refused, asked again, and this time it prints the token that is wanted.
  writeFileSync(path.join(folder, 'token'), SECRET);
  const far = await pool.get('far', NEVER);
  expect((await call(far, 'headers')).structuredContent).toMatchObject({ 'x-for': 'far' });
  expect(asked()).toBe(1);
  await call(far, 'forget');
  await call(far, 'echo', { text: 'a' });
  expect(asked()).toBe(2);
});

it('a helper whose headers are refused is asked once more', async () => {
  const server = await web('http', `needs=Bearer ${SECRET}`);
  const script = helper('an-old-token');
  // Every time after the first it prints the token that is wanted.
  const headersHelper = `${script}; printf %s ${SECRET} > ${folder}/token`;
  const pool = poolOf([remote('far', server.url(), { headersHelper })]);
  ends.push(() => pool[Symbol.asyncDispose]());
  await pool.get('far', NEVER);
  expect(asked()).toBe(2);
});

it.each([
  ['exit 3', 'its headersHelper failed (3).'],
  [`echo bad key ${SECRET.slice(0, 4)} >&2; exit 1`, 'its headersHelper failed (1): bad key sk-1.'],
  ['echo hello', 'its headersHelper printed something other than a JSON object whose values are texts.'],
  [`echo '{"a":1}'`, 'whose values are texts.'],
  ['head -c 100000 /dev/zero', 'its headersHelper printed more than 65536 bytes.'],
  ['kill -9 $$', 'its headersHelper failed (SIGKILL).'],
])('a helper that is none: %s', async (headersHelper, said) => {
  const server = await web('http');
  const { message, remedy } = await refused(remote('far', server.url(), { headersHelper }));
  expect(message).toContain(said);
  expect(remedy).toContain('Run that command by hand');
});

it('a helper that does not end is ended with the attempt', async () => {
  const server = await web('http');
  const headersHelper = `echo $$ > ${folder}/pid; sleep 600`;
  // Far more than a shell needs before it has written its number, and less than the helper's own 10 s.
  const startTimeoutMs = Math.min(Math.max(500, nodeStarts(25)), 9_000);
  const { message } = await refused(remote('far', server.url(), { headersHelper, startTimeoutMs }));
  expect(message).toContain(`it was not ready within ${startTimeoutMs / 1_000} s`);
  const pid = Number(readFileSync(path.join(folder, 'pid'), 'utf8'));
  await until(() => !isAlive(pid));
});

it.each(['http', 'sse'] as const)(
  'closing over %s ends session and sockets at once, whatever hangs',
  async (face) => {
    const server = await web(face);
    const pool = poolOf([remote('far', server.url(), { transport: face })]);
    const far = await pool.get('far', NEVER);
    const hanging = call(far, 'hang').catch((thrown: BridgeError) => thrown.code);
    // No limit of time is waited for: none comes.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    await pool[Symbol.asyncDispose]();
    vi.useRealTimers();
    expect(await hanging).toBe('E_SERVER_UNAVAILABLE');
    const again = poolOf([remote('far', server.url(), { transport: face })]);
    ends.push(() => again[Symbol.asyncDispose]());
    const { requests } = (await call(await again.get('far', NEVER), 'requests')).structuredContent as {
      requests: string[];
    };
    if (face === 'http') expect(requests.some((request) => request.startsWith('DELETE '))).toBe(true);
    await until(() => socketsTo(server.port) <= (face === 'http' ? 3 : 2));
  },
);
