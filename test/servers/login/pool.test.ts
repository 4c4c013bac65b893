// A remote server with a login, from the pool to the authorization server: what a run is told, and what nobody notices.

import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { RawJson } from '../../../src/base/json/json-text.js';
import type { BridgeEvent } from '../../../src/base/log/events.js';
import { Redactor } from '../../../src/base/secrets/redact.js';
import { Logins } from '../../../src/servers/login/logins.js';
import { DownstreamPool } from '../../../src/servers/pool/pool.js';
import { auth, server, useOAuthServers } from '../../support/oauth-servers.js';
import { COMMAND, kept, person } from './person.js';
import { remoteSpec } from './remote-spec.js';
import { stateDir, store, useTokenFolder } from './token-folder.js';

const { signal } = new AbortController();

let pool: DownstreamPool;
let events: BridgeEvent[];

useOAuthServers();
useTokenFolder();
beforeEach(() => {
  events = [];
  pool = open();
});
afterEach(async () => {
  await pool[Symbol.asyncDispose]();
});

function open(): DownstreamPool {
  const redactor = new Redactor();
  const logins = new Logins(stateDir, redactor);
  return new DownstreamPool({
    specs: [remoteSpec(server.url)],
    hostEnv: {},
    extraEnvNames: [],
    depth: 0,
    observer: (event) => events.push(event),
    redactor,
    loginFor: (spec) => Promise.resolve(logins.of(spec)),
  });
}

const call = async (tool: string, from = pool) => {
  const linear = await from.get('linear', signal);
  return (await linear.callTool(tool, new RawJson('{}'), () => {}, signal)).text;
};
const ECHO = '{"content":[{"type":"text","text":"echo"}]}';

it('a run is told the command, and the next one after the login needs nothing else', async () => {
  for (let attempt = 0; attempt < 2; attempt++) {
    await expect(call('echo')).rejects.toMatchObject({
      code: 'E_SERVER_UNAVAILABLE',
      message: "Server 'linear' could not be reached: it wants a login.",
      remedy: COMMAND,
      fault: 'operator',
    });
  }
  expect(pool.states()).toMatchObject([{ state: 'idle', reason: expect.stringContaining('wants a login') }]);
  await person();
  expect(await call('echo')).toBe(ECHO);
});

it('a token that ends between two calls is refreshed, and the call is not repeated', async () => {
  await person();
  await call('echo');
  const before = server.seen.length;
  const { accessToken } = kept();
  store.write({ ...kept(), expiresAtMs: Date.now() - 1 });
  expect(await call('echo')).toBe(ECHO);
  expect(server.seen.slice(before)).toEqual([`Bearer ${kept().accessToken}`]);
  expect(kept().accessToken).not.toBe(accessToken);
});

it('a token that the server refuses is refreshed, and the call made once more', async () => {
  await person();
  await call('echo');
  await auth.drop(kept().accessToken);
  expect(await call('echo')).toBe(ECHO);
  expect(JSON.stringify(events)).not.toMatch(/downstream\.(failed|closed)/);
});

it('two bridges that find it refused at once both go on', async () => {
  await person();
  await using other = open();
  await Promise.all([call('echo'), call('echo', other)]);
  for (let round = 0; round < 3; round++) {
    await auth.drop(kept().accessToken);
    const before = auth.requests.filter((request) => request === 'POST /token').length;
    const calls = Array.from({ length: 8 }, (_, index) => call('echo', index % 2 === 0 ? pool : other));
    expect(await Promise.all(calls)).toEqual(Array(8).fill(ECHO));
    expect(auth.requests.filter((request) => request === 'POST /token').length - before).toBe(1);
  }
  expect(readdirSync(join(stateDir, 'tokens'))).toHaveLength(1);
});

it('a login that was revoked says the command in the middle of a run, and again before the next', async () => {
  const { refreshToken = '', client } = await person();
  await call('echo');
  await auth.revoke(refreshToken, { id: client.client_id });
  await expect(call('echo')).rejects.toMatchObject({
    code: 'E_SERVER_UNAVAILABLE',
    message: "Tool 'echo' of server 'linear' failed. Its login has ended.",
    remedy: COMMAND,
  });
  await expect(call('echo')).rejects.toMatchObject({ remedy: COMMAND });
  await person();
  expect(await call('echo')).toBe(ECHO);
});

it('a tool that wants more says with which scopes to log in', async () => {
  await person();
  await expect(call('admin')).rejects.toMatchObject({
    code: 'E_SERVER_UNAVAILABLE',
    message: "Tool 'admin' of server 'linear' failed. It asks for more than its login was granted.",
    remedy: 'Run `mcp-sandbox-bridge login linear --scope mcp:admin` in a terminal.',
  });
  expect(await call('echo')).toBe(ECHO);
  await person(new Redactor(), ['mcp:admin']);
  expect(await call('admin')).toContain('"admin"');
});

it('no token is in an event or an error', async () => {
  const { refreshToken = '', accessToken, client } = await person();
  await call('echo');
  await auth.revoke(refreshToken, { id: client.client_id });
  const thrown = await call('echo').catch((error: unknown) => error);
  for (const secret of [refreshToken, accessToken]) {
    expect(JSON.stringify([events, String(thrown), thrown])).not.toContain(secret);
  }
});
