// The login itself, at a real authorization server, by a browser with a person before it.

import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { Redactor } from '../../../src/base/redact.js';
import { type LogInOptions, logIn } from '../../../src/downstream/oauth/log-in.js';
import { TokenStore } from '../../../src/downstream/oauth/token-store.js';
import {
  type AuthServer,
  Browser,
  type ProtectedServer,
  startAuthServer,
  startProtectedServer,
} from '../../support/oauth.js';
import { remoteSpec } from './remote-spec.js';

let auth: AuthServer;
let server: ProtectedServer;
let stateDir: string;
let store: TokenStore;

beforeAll(async () => {
  auth = await startAuthServer();
  server = await startProtectedServer(auth);
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await auth[Symbol.asyncDispose]();
});
beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), 'oauth-'));
  store = new TokenStore(stateDir);
});
afterEach(() => rmSync(stateDir, { recursive: true, force: true }));

const { signal } = new AbortController();
const options = (onUrl: LogInOptions['onUrl'], more: Partial<LogInOptions> = {}): LogInOptions => ({
  store,
  redactor: new Redactor(),
  scopes: [],
  clientMetadataUrl: undefined,
  onUrl,
  ...more,
});

describe('a login', () => {
  test('registers the bridge, and keeps tokens that the server takes', async () => {
    let page: Promise<{ status: number; text: string }> | undefined;
    const login = await logIn(
      remoteSpec(server.url),
      options((url) => {
        page = new Browser().visit(url);
      }),
      signal,
    );
    expect(await page).toMatchObject({
      status: 200,
      text: expect.stringContaining('You can close this window.'),
    });
    expect(login).toMatchObject({ issuer: auth.issuer, resource: server.url, scopes: ['mcp:tools'] });
    expect(login.refreshToken).toBeTypeOf('string');
    const file = store.fileOf(server.url);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(join(stateDir, 'tokens')).mode & 0o777).toBe(0o700);
    expect(store.read(server.url)).toEqual({ state: 'kept', login });
  });
});
