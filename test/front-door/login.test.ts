// A remote server that wants a login, through the front door: the run says the command, the command mends it, and the
// bridges that run meanwhile go on by themselves.

import { spawn } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import {
  type AuthServer,
  Browser,
  type ProtectedServer,
  startAuthServer,
  startProtectedServer,
} from '../support/oauth.js';
import { bridgeEnv, MAIN, OWN, startBridge, type TestBridge, tempHome } from '../support/start-bridge.js';
import { makeUsed } from '../support/used-state.js';

let auth: AuthServer;
let server: ProtectedServer;
let bridge: TestBridge;
let twin: TestBridge;
const stateDir = makeUsed(join(tempHome(), 'state'));

beforeAll(async () => {
  auth = await startAuthServer();
  server = await startProtectedServer(auth);
  const servers = { linear: { type: 'http' as const, url: server.url } };
  const env = { MCP_BRIDGE_STATE_DIR: stateDir };
  [bridge, twin] = await Promise.all([startBridge(servers, { env }), startBridge(servers, { env })]);
});
afterAll(async () => {
  await Promise.all([bridge, twin].map((one) => one[Symbol.asyncDispose]()));
  await server[Symbol.asyncDispose]();
  await auth[Symbol.asyncDispose]();
});
beforeEach(() => {
  auth.isDown = false;
});

const run = (tool = 'echo', from = bridge) =>
  from.run(`r = await mcp_linear.${tool}()\nprint(r)`, { servers: ['linear'] });

async function logIn(): Promise<void> {
  const child = spawn(process.execPath, [MAIN, 'login', 'linear', '--no-browser'], {
    cwd: bridge.home,
    env: bridgeEnv(bridge.home, {
      MCP_BRIDGE_STATE_DIR: stateDir,
      MCP_SERVERS_CONFIG: join(bridge.home, 'servers.json'),
    }),
  });
  let said = '';
  let isVisited = false;
  child.stderr.on('data', (chunk: Buffer) => {
    said += chunk.toString();
    const [, address] = /^ {2}(http:\S+)$/m.exec(said) ?? [];
    if (address === undefined || isVisited) return;
    isVisited = true;
    void new Browser().visit(address);
  });
  const exitCode = await new Promise((resolve) => child.once('close', resolve));
  if (exitCode !== 0) throw new Error(said);
}

const tokenFile = () => {
  const [name = ''] = readdirSync(join(stateDir, 'tokens'));
  return join(stateDir, 'tokens', name);
};
const kept = () => JSON.parse(readFileSync(tokenFile(), 'utf8')) as Record<string, string>;

it('says exactly the command, and needs no restart after it', async () => {
  for (let attempt = 0; attempt < 2; attempt++) {
    const { error, remedy, stderr } = await run();
    expect(`${error} ${remedy} ${stderr?.join('\n')}`).toContain(
      `Run \`${OWN} login linear\` in a terminal.`,
    );
  }
  await logIn();
  expect(await run()).toMatchObject({ status: 'success', stdout: [expect.stringContaining('echo')] });
});

it('two bridges whose token has ended both go on, by one refresh', async () => {
  expect(await run('echo', twin)).toMatchObject({ status: 'success' });
  const { accessToken } = kept();
  writeFileSync(tokenFile(), JSON.stringify({ ...kept(), expiresAtMs: Date.now() - 1 }));
  const before = auth.requests.filter((request) => request === 'POST /token').length;
  for (const { status } of await Promise.all([run(), run('echo', twin)])) expect(status).toBe('success');
  expect(auth.requests.filter((request) => request === 'POST /token').length - before).toBe(1);
  expect(kept()['accessToken']).not.toBe(accessToken);
});

it('no token is in the log or in an answer', async () => {
  const { accessToken = '', refreshToken = '', client } = kept();
  await auth.revoke(refreshToken, { id: String(Object(client).client_id) });
  const answer = await run();
  expect(JSON.stringify(answer)).toContain(`${OWN} login linear`);
  for (const secret of [accessToken, refreshToken]) {
    expect(secret.length).toBeGreaterThan(20);
    expect(JSON.stringify(answer) + bridge.stderr() + twin.stderr()).not.toContain(secret);
  }
});
