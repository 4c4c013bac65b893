// `token` as a shell sees it: what goes to stdout and what to stderr, what is kept, and what a running bridge makes of it.

import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { TokenBook } from '../../src/service/access/authenticator.js';
import { tempHome } from '../support/start-bridge.js';
import { commandHere } from './command.js';

let home: string;
let stateDir: string;
beforeEach(() => {
  home = tempHome();
  stateDir = join(home, 'state');
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const token = (...args: readonly string[]) =>
  commandHere(['token', ...args], { home, env: { MCP_BRIDGE_STATE_DIR: stateDir } });

describe('token create', () => {
  it('prints the token alone on stdout, and what to know of it on stderr', async () => {
    const { stdout, stderr, exitCode } = await token('create', 'ci');
    expect(stdout).toMatch(/^msb_[0-9A-Za-z]{49}\n$/);
    expect(exitCode).toBe(0);
    expect(stderr).not.toContain(stdout.trim());
    expect(stderr).toContain('It reaches no server');
    expect(stderr).toContain('token change ci --servers SERVER');
    expect(new TokenBook(stateDir).verdict(stdout.trim())).toMatchObject({
      principal: { name: 'ci', servers: [], expiresAtMs: undefined },
    });
  });

  it('keeps nothing of it anywhere', async () => {
    const { stdout } = await token('create', 'ci');
    const files = readdirSync(stateDir, { recursive: true, withFileTypes: true }).filter((one) =>
      one.isFile(),
    );
    expect(files.length).toBeGreaterThan(0);
    for (const file of files)
      expect(readFileSync(join(file.parentPath, file.name), 'utf8')).not.toContain(stdout.slice(4, 24));
  });

  it('takes servers, an end and scopes, and notes a server that is not configured', async () => {
    const { stdout, stderr } = await token(
      'create',
      'ci',
      '--servers',
      'github,files',
      '--expires',
      '2099-12-31',
      '--scopes',
      'a b',
    );
    expect(new TokenBook(stateDir).verdict(stdout.trim())).toMatchObject({
      principal: { servers: ['github', 'files'], scopes: ['a', 'b'], expiresAtMs: Date.UTC(2100, 0, 1) },
    });
    expect(stderr).toContain("no server 'github' is configured");
    expect(stderr).toContain('It ends at 2100-01-01T00:00:00.000Z.');
  });

  it.each([
    ['a name that is taken', ['create', 'ci'], "There is a token 'ci'"],
    ['a name without characters', ['create', ''], 'The name of a token'],
    ['an end that is over', ['create', 'cd', '--expires', '2020-01-01'], '--expires'],
    ['a pattern', ['create', 'cd', '--servers', 'git*'], '--servers'],
    ['nothing to change', ['change', 'ci'], 'needs what is to change'],
    ['an unknown name', ['revoke', 'cj'], "Did you mean 'ci'?"],
  ])('refuses %s with exit code 2 and prints no token', async (_what, args, said) => {
    await token('create', 'ci');
    const { stdout, stderr, exitCode } = await token(...args);
    expect(stdout).toBe('');
    expect(stderr).toContain(said);
    expect(exitCode).toBe(2);
  });
});

it('token change alters what it says and leaves the rest and the token itself', async () => {
  const { stdout } = await token('create', 'ci', '--expires', '30d', '--scopes', 'a');
  const book = new TokenBook(stateDir);
  const before = book.verdict(stdout.trim());
  if (before.state !== 'known') throw new Error('unknown');
  expect((await token('change', 'ci', '--servers', '*')).exitCode).toBe(0);
  expect(book.verdict(stdout.trim())).toEqual({
    state: 'known',
    principal: { ...before.principal, servers: undefined },
  });
  await token('change', 'ci', '--expires', 'never', '--servers', '');
  expect(book.verdict(stdout.trim())).toMatchObject({ principal: { servers: [], expiresAtMs: undefined } });
});

it('token list shows everything but the token, and token revoke ends it', async () => {
  expect((await token('list')).stdout).toContain('There is no token.');
  const { stdout } = await token('create', 'ci', '--servers', 'github', '--expires', '2099-12-31');
  const secret = stdout.trim();
  new TokenBook(stateDir).verdict(secret);
  const shown = await token('list');
  expect(shown.stdout).toMatch(/ci +github +\d{4}-\d\d-\d\d +2100-01-01 00:00 +about \d{4}/);
  const json = await token('list', '--json');
  const listed = JSON.parse(json.stdout) as { tokens: Record<string, unknown>[] };
  expect(listed.tokens).toEqual([
    {
      id: expect.any(String),
      name: 'ci',
      servers: ['github'],
      scopes: [],
      createdAt: expect.any(String),
      expiresAt: '2100-01-01T00:00:00.000Z',
      expired: false,
      lastUsedAt: expect.any(String),
    },
  ]);
  for (const said of [shown.stdout, json.stdout]) expect(said).not.toContain(secret.slice(4, 14));
  const revoked = await token('revoke', 'ci');
  expect(revoked).toMatchObject({ stdout: '', exitCode: 0 });
  expect(new TokenBook(stateDir).verdict(secret)).toEqual({ state: 'unknown' });
});
