// Whose login `login --principal` makes, keeps and shows.

import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { principalNamed } from '../../src/cli/servers/login-principal.js';
import { TokenStore } from '../../src/servers/login/token-store.js';
import { principalOf } from '../../src/service/access/authenticator.js';
import { TokenFile } from '../../src/service/access/token-file.js';
import { principalStateDir } from '../../src/settings/files/state-dir.js';
import { tempHome } from '../support/start-bridge.js';
import { NEVER } from '../support/time.js';
import { commandHere } from './command.js';

const ISSUER = 'https://login.example.com';
const OTHER = 'https://other.example.com/';
const TOKEN = {
  id: '0123456789abcdef',
  name: 'ci',
  hash: '0'.repeat(64),
  servers: [],
  scopes: [],
  createdAtMs: 0,
};

describe('a principal is named', () => {
  it.each([
    ['ci', [], 'token:ci#0123456789abcdef'],
    ['token:ci', [ISSUER], 'token:ci#0123456789abcdef'],
    ['subject:ann', [ISSUER], `oauth:${ISSUER} ann`],
    [`subject:${OTHER} ann b`, [ISSUER, OTHER], `oauth:${OTHER} ann b`],
    ['client:nightly', [ISSUER], `oauth-client:${ISSUER} nightly`],
  ])('%s', (written, issuers, id) => {
    expect(principalNamed(written, [TOKEN], issuers)).toEqual({ id });
  });

  it.each([
    ['c1', [ISSUER], "Did you mean 'ci'?"],
    ['', [], 'allowed: the name of a token'],
    ['subject:ann', [], 'subject:SUBJECT'],
    ['subject:ann', [ISSUER, OTHER], 'subject:ISSUER SUBJECT'],
    ['subject:', [ISSUER], 'allowed'],
    [`subject:${ISSUER} `, [ISSUER], 'allowed'],
  ])('does not name one by %j with %j', (written, issuers, said) => {
    expect(() => principalNamed(written, [TOKEN], issuers)).toThrow(said);
  });
});

describe('in the state directory', () => {
  let home: string;
  let stateDir: string;
  beforeEach(() => {
    home = tempHome();
    stateDir = join(home, 'state');
  });
  afterEach(() => rmSync(home, { recursive: true, force: true }));
  const token = async (name: string) => {
    const terms = { servers: [], scopes: [], expiresAtMs: undefined };
    return principalOf((await new TokenFile(stateDir).add(name, terms, () => {}, NEVER)).record);
  };
  const run = (args: readonly string[], env: Record<string, string> = {}) =>
    commandHere(args, { home, env: { MCP_BRIDGE_STATE_DIR: stateDir, ...env } });

  it('a login of a token is in a folder of its own, and gone for the next token of that name', async () => {
    const principal = await token('ci');
    const url = 'https://mcp.example.com/mcp';
    new TokenStore(principalStateDir(stateDir, principal)).write({
      name: 'linear',
      url,
      issuer: ISSUER,
      metadata: {
        issuer: ISSUER,
        authorization_endpoint: `${ISSUER}/a`,
        token_endpoint: `${ISSUER}/t`,
        response_types_supported: ['code'],
      },
      client: { client_id: 'x' },
      scopes: [],
      accessToken: 's3cret-access',
      obtainedAtMs: 0,
    });
    const listed = async (...more: readonly string[]) => (await run(['login', '--list', ...more])).stdout;
    expect(await listed('--principal', 'ci')).toContain('linear');
    expect(await listed()).toContain('There are no logins');
    await new TokenFile(stateDir).change(() => [], NEVER);
    await token('ci');
    expect(await listed('--principal', 'ci')).toContain('There are no logins');
  });

  it('a wrong name makes no folder', async () => {
    const { stderr, exitCode } = await run(['login', 'linear', '--principal', 'nobody']);
    expect(stderr).toContain("--principal is 'nobody'");
    expect(exitCode).toBe(2);
    expect(() => readdirSync(join(stateDir, 'principals'))).toThrow(/ENOENT/);
  });

  it('a server that all share has no login of one', async () => {
    await token('ci');
    const file = join(stateDir, 'principals.yaml');
    writeFileSync(file, 'version: 1\nsharedServers: [linear]', { mode: 0o600 });
    const { stderr } = await run(['login', 'linear', '--principal', 'ci'], { MCP_BRIDGE_PRINCIPALS: file });
    expect(stderr).toContain('it has one login for everybody');
  });
});
