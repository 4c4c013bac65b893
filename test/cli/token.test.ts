// `token` as a shell sees it: what goes to stdout and what to stderr, what is kept, and what a running bridge makes of it.

import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'smol-toml';
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

const DAY_MS = 86_400_000;
const URL_OF_TEAM = 'https://mcp.example.com/mcp';

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
      principal: { name: 'ci', servers: [] },
    });
  });

  it('ends after 90 days, and never only where that is said', async () => {
    const soonest = Date.now() + 90 * DAY_MS;
    const [usual, endless] = [await token('create', 'ci'), await token('create', 'cd', '--expires', 'never')];
    const latest = Date.now() + 90 * DAY_MS;
    const book = new TokenBook(stateDir);
    const endOf = (text: string) => {
      const verdict = book.verdict(text.trim());
      return verdict.state === 'known' ? verdict.principal.expiresAtMs : 0;
    };
    expect(endOf(usual.stdout)).toBeGreaterThanOrEqual(soonest);
    expect(endOf(usual.stdout)).toBeLessThanOrEqual(latest);
    expect(endOf(endless.stdout)).toBeUndefined();
    expect(endless.stderr).toContain('It has no end.');
    expect((await token('create', '--help')).stdout).toContain('(default: "90d")');
  });

  it('says what Claude Code, Codex and Cursor are to be given, with a place for the token', async () => {
    const { stdout, stderr } = await token('create', 'ci', '--url', 'https://mcp.example.com');
    expect(stderr).toContain(
      "claude mcp add --scope user --transport http sandbox https://mcp.example.com/mcp --header 'Authorization: Bearer TOKEN'",
    );
    expect(stderr).toContain('[mcp_servers.sandbox]');
    expect(stderr).toContain('"url": "https://mcp.example.com/mcp"');
    expect(stderr).not.toContain(stdout.trim());
    expect((await token('create', 'cd')).stderr).toContain('This address is of this machine only.');
  });

  it('prints all of that as JSON with the token, as the three hosts read it', async () => {
    const { stdout, stderr } = await token('create', 'ci', '--servers', '*', '--url', URL_OF_TEAM, '--json');
    const said = JSON.parse(stdout) as { token: string; paste: Record<string, string> };
    expect(stderr).toBe('');
    expect(said).toMatchObject({ name: 'ci', servers: '*', endpoint: URL_OF_TEAM });
    expect(said).toHaveProperty('expiresAt');
    expect(said).not.toHaveProperty('hash');
    expect(new TokenBook(stateDir).verdict(said.token)).toMatchObject({ principal: { name: 'ci' } });
    const headers = { Authorization: `Bearer ${said.token}` };
    expect(parse(said.paste['codex'] ?? '')).toEqual({
      mcp_servers: { sandbox: { url: URL_OF_TEAM, http_headers: headers } },
    });
    expect(JSON.parse(said.paste['cursor'] ?? '')).toEqual({
      mcpServers: { sandbox: { url: URL_OF_TEAM, headers } },
    });
    expect(said.paste['claude-code']).toContain(`--header 'Authorization: Bearer ${said.token}'`);
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
    ['nothing to change', ['change', 'ci'], 'token change needs --servers'],
    ['an unknown name', ['revoke', 'cj'], "Did you mean 'ci'?"],
    ['an address without TLS', ['create', 'cd', '--url', 'http://mcp.example.com/mcp'], '--url is'],
    ['an address with a password', ['create', 'cd', '--url', 'https://a:b@mcp.example.com'], '--url is'],
    ['a word that is no address', ['create', 'cd', '--url', 'mcp.example.com'], '--url is'],
    ['an unknown name to rotate', ['rotate', 'cj'], "Did you mean 'ci'?"],
    ['a grace without a unit', ['rotate', 'ci', '--grace', '24'], '--grace is'],
    ['a grace that has no end in sight', ['rotate', 'ci', '--grace', '31d'], 'up to 30d'],
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

describe('token rotate', () => {
  it('gives the same principal a new secret, and the old one counts for a day', async () => {
    const old = (await token('create', 'ci', '--servers', 'github')).stdout.trim();
    const book = new TokenBook(stateDir);
    const before = book.verdict(old);
    if (before.state !== 'known') throw new Error('unknown');
    const soonest = Date.now() + DAY_MS;
    const { stdout, stderr, exitCode } = await token('rotate', 'ci');
    const latest = Date.now() + DAY_MS;
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^msb_[0-9A-Za-z]{49}\n$/);
    expect(stderr).toContain('The old one counts until ');
    const [after, still] = [book.verdict(stdout.trim()), book.verdict(old)];
    if (after.state !== 'known' || still.state !== 'known') throw new Error('unknown');
    for (const { principal } of [after, still]) {
      expect(principal.id).toBe(before.principal.id);
      expect(principal.servers).toEqual(['github']);
    }
    expect(still.principal.expiresAtMs).toBeGreaterThanOrEqual(soonest);
    expect(still.principal.expiresAtMs).toBeLessThanOrEqual(latest);
    expect(book.verdict(old, latest + 1)).toMatchObject({ state: 'expired', isReplaced: true });
    expect(book.verdict(stdout.trim(), latest + 1)).toMatchObject({ state: 'known' });
  });

  it('refuses the old secret at once where no grace is given, and then those before it in any case', async () => {
    const first = (await token('create', 'ci')).stdout.trim();
    const second = (await token('rotate', 'ci', '--grace', '7d')).stdout.trim();
    const book = new TokenBook(stateDir);
    expect(book.verdict(first)).toMatchObject({ state: 'known' });
    const rotated = await token('rotate', 'ci', '--grace', '0', '--json');
    const third = (JSON.parse(rotated.stdout) as { token: string }).token;
    expect(JSON.parse(rotated.stdout)).not.toHaveProperty('previousUntil');
    for (const old of [first, second]) expect(book.verdict(old)).toEqual({ state: 'unknown' });
    expect(book.verdict(third)).toMatchObject({ state: 'known' });
  });

  it('leaves a token without an end without one, and renews any other end', async () => {
    await token('create', 'endless', '--expires', 'never');
    await token('create', 'short', '--expires', '1h');
    const ends = async (...args: readonly string[]) =>
      (JSON.parse((await token('rotate', ...args, '--json')).stdout) as { expiresAt?: string }).expiresAt;
    expect(await ends('endless')).toBeUndefined();
    expect(Date.parse((await ends('short')) ?? '')).toBeGreaterThan(Date.now() + 89 * DAY_MS);
    expect(await ends('short', '--expires', '2099-12-31')).toBe('2100-01-01T00:00:00.000Z');
    expect(await ends('short', '--expires', 'never')).toBeUndefined();
  });

  it('an old secret never counts beyond the end that it had, and is listed with its own end', async () => {
    const old = (await token('create', 'ci', '--expires', '1h')).stdout.trim();
    await token('rotate', 'ci', '--grace', '24h');
    const listed = (await token('list', '--json')).stdout;
    const { tokens } = JSON.parse(listed) as { tokens: { previousUntil: string }[] };
    expect(Date.parse(tokens[0]?.previousUntil ?? '')).toBeLessThanOrEqual(Date.now() + 3_600_000);
    expect(listed).not.toContain('hash');
    await token('revoke', 'ci');
    expect(new TokenBook(stateDir).verdict(old)).toEqual({ state: 'unknown' });
  });
});

it('token change and token revoke say what they have done as JSON', async () => {
  await token('create', 'ci');
  const changed = await token('change', 'ci', '--servers', 'files', '--json');
  expect(JSON.parse(changed.stdout)).toMatchObject({ name: 'ci', servers: ['files'] });
  const revoked = await token('revoke', 'ci', '--json');
  expect(JSON.parse(revoked.stdout)).toEqual({ name: 'ci', revoked: true });
  expect(changed.stderr + revoked.stderr).toBe('');
});
