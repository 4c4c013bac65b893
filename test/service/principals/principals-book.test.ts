// The rules of principals as the bridge asks for them, from a file that changes while it runs.

import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { BridgeEvent } from '../../../src/base/log/events.js';
import { LOCAL_USER, type Principal } from '../../../src/base/principal.js';
import { NO_RULES } from '../../../src/service/principals/principal-rules.js';
import { PrincipalsBook } from '../../../src/service/principals/principals-book.js';
import { stepUp, wantedUse } from '../../../src/service/principals/scope-rules.js';
import { hostFacts } from '../../../src/settings/files/host-facts.js';

const ISSUER = 'https://login.example.com';
const OTHER = 'https://other.example.com';
const base = { servers: undefined, scopes: [], expiresAtMs: undefined };
const CI: Principal = { ...base, id: 'token:ci#0123456789abcdef', name: 'ci', servers: ['github', 'mail'] };
const ANN: Principal = { ...base, id: `oauth:${ISSUER} ann`, name: 'ann', groups: ['ops', 'eng'] };
const BOT: Principal = { ...base, id: `oauth-client:${ISSUER} ann`, name: 'ann' };

let folder: string;
let file: string;
let events: BridgeEvent[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'book-'));
  file = join(folder, 'principals.json');
  events = [];
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const write = (content: object) =>
  writeFileSync(file, JSON.stringify({ version: 1, ...content }), { mode: 0o600 });
const bookOf = (issuers: readonly string[] = [ISSUER], principalsFile: string | undefined = file) =>
  new PrincipalsBook(
    {
      stateDir: '/nowhere',
      principalsFile,
      oauth: { issuers, resource: 'https://x.example.com', audiences: [], scopes: [] },
    },
    hostFacts(),
    (event) => events.push(event),
  );

describe('where nothing is said', () => {
  it.each([
    ['without a file', undefined],
    ['with an empty one', {}],
  ])('%s a token has what it names, and nobody of an issuer has a server', (_what, content) => {
    if (content !== undefined) write(content);
    const book =
      content === undefined
        ? new PrincipalsBook(
            { principalsFile: undefined, oauth: undefined, stateDir: '/nowhere' },
            hostFacts(),
            () => {},
          )
        : bookOf();
    expect(book.rulesOf(CI)).toEqual(NO_RULES);
    expect(book.rulesOf(ANN)).toEqual({ ...NO_RULES, servers: [] });
    expect(book.rulesOf(BOT)).toEqual({ ...NO_RULES, servers: [] });
    expect(book.rulesOf(LOCAL_USER)).toEqual(NO_RULES);
  });

  it('the user of the machine is under no rule, whatever the file says', () => {
    write({
      default: { servers: [] },
      tokens: { 'local user': { servers: [] } },
      scopes: { a: { servers: ['x'] } },
    });
    expect(bookOf().rulesOf(LOCAL_USER)).toEqual(NO_RULES);
  });
});

it('an entry becomes rules', () => {
  write({
    tokens: {
      ci: {
        servers: ['github'],
        allow: ['github.*'],
        deny: ['*.delete_*'],
        policy: '/etc/ci.yaml',
        headers: {
          github: {
            Authorization: { variable: 'CI_GITHUB' },
            'X-Team': 'build',
            'X-On': { passThrough: 'a' },
          },
        },
        quotas: { runsAtOnce: 2, memory: '1g' },
      },
    },
  });
  expect(bookOf().rulesOf(CI)).toEqual({
    servers: ['github'],
    allow: ['github.*'],
    deny: ['*.delete_*'],
    policyFile: '/etc/ci.yaml',
    data: [],
    headers: {
      github: {
        Authorization: { from: 'variable', name: 'CI_GITHUB' },
        'X-Team': { from: 'text', text: 'build' },
        'X-On': { from: 'exchange' },
      },
    },
    quotas: { runsAtOnce: 2, memoryBytes: 1024 ** 3 },
  });
});

describe('data folders', () => {
  const folders = () => ({
    sales: join(realpathSync(folder), 'sales'),
    secret: join(realpathSync(folder), '.ssh'),
  });
  beforeEach(() => {
    for (const path of Object.values(folders())) mkdirSync(path, { mode: 0o755 });
  });

  it("a principal's own are those of its entry, and nobody else has them", () => {
    const { sales } = folders();
    write({ tokens: { ci: { data: [`${sales}:mine`] }, other: {} } });
    const book = bookOf();
    expect(book.rulesOf(CI).data).toEqual([{ path: sales, target: '/data/mine', isWritable: false }]);
    expect(book.rulesOf({ ...CI, name: 'other' }).data).toEqual([]);
  });

  it('one that no code may see stops the start, and a later change to it changes nothing', () => {
    const { sales, secret } = folders();
    write({ tokens: { ci: { data: [secret] } } });
    expect(() => bookOf()).toThrow(/'tokens\.ci\.data': .*folder for settings/);
    write({ tokens: { ci: { data: [sales] } } });
    const book = bookOf();
    expect(book.rulesOf(CI).data).toHaveLength(1);
    write({ tokens: { ci: { data: [`${secret}:x`, `${sales}:y`] } } });
    expect(book.rulesOf(CI).data).toMatchObject([{ path: sales }]);
    expect(book.trouble).toContain('folder for settings');
  });

  it('a name that leads out is refused with its field', () => {
    write({ tokens: { ci: { data: ['/srv/a:../b'] } } });
    expect(() => bookOf()).toThrow(/'tokens\.ci\.data' is .*The name '\.\.\/b'.*allowed: a list of folders/);
  });
});

describe('which entry counts', () => {
  const content = {
    default: { servers: ['of-default'] },
    tokens: { ci: { servers: ['of-token'] }, ann: { servers: ['of-a-token-called-ann'] } },
    subjects: { ann: { servers: ['of-subject'] } },
    groups: { eng: { servers: ['of-eng'] }, ops: { servers: ['of-ops'] } },
  };
  const serversOf = (principal: Principal, change: object = {}) => {
    write({ ...content, ...change });
    return bookOf().rulesOf(principal).servers;
  };

  it('takes its own before that of a group, that of the first group in the file, then the default', () => {
    expect(serversOf(ANN)).toEqual(['of-subject']);
    expect(serversOf(ANN, { subjects: {} })).toEqual(['of-eng']);
    expect(serversOf({ ...ANN, groups: ['ops'] }, { subjects: {} })).toEqual(['of-ops']);
    expect(serversOf({ ...ANN, groups: [] }, { subjects: {} })).toEqual(['of-default']);
    expect(serversOf(CI)).toEqual(['of-token']);
    expect(serversOf({ ...CI, name: 'cd' })).toEqual(['of-default']);
  });

  it('never that of somebody of another kind with the same name', () => {
    expect(serversOf(BOT)).toEqual(['of-default']);
    expect(serversOf({ ...CI, name: 'ann', id: 'token:ann#0123456789abcdef' })).toEqual([
      'of-a-token-called-ann',
    ]);
    expect(serversOf({ ...CI, name: 'eng', groups: ['eng'] })).toEqual(['of-default']);
  });

  it('never by what every object has', () => {
    for (const name of ['constructor', '__proto__', 'toString'])
      expect(serversOf({ ...ANN, id: `oauth:${ISSUER} ${name}`, name, groups: [name] })).toEqual([
        'of-default',
      ]);
  });

  it('tells entries of several issuers apart by the issuer alone', () => {
    write({
      subjects: { [`${ISSUER} ann`]: { servers: ['a'] } },
      groups: { [`${OTHER} eng`]: { servers: ['b'] } },
    });
    const book = bookOf([ISSUER, OTHER]);
    expect(book.rulesOf(ANN).servers).toEqual(['a']);
    expect(book.rulesOf({ ...ANN, id: `oauth:${OTHER} ann`, groups: [] }).servers).toEqual([]);
    expect(book.rulesOf({ ...ANN, id: `oauth:${OTHER} bob`, name: 'bob' }).servers).toEqual(['b']);
    expect(book.rulesOf({ ...ANN, id: `oauth:${ISSUER} bob`, name: 'bob' }).servers).toEqual([]);
  });
});

describe('a file that changes', () => {
  it('counts at once; a broken change keeps the last good one and is told once', () => {
    write({ sharedServers: ['a'], groupsClaim: 'roles' });
    const book = bookOf();
    write({ sharedServers: ['b'] });
    expect(book.sharedServers()).toEqual(['b']);
    expect(book.groupsClaim()).toBe('groups');
    writeFileSync(file, '{"version": 1, "sharedServers": ');
    expect(book.sharedServers()).toEqual(['b']);
    expect(book.sharedServers()).toEqual(['b']);
    expect(events).toEqual([
      { type: 'config.problem', file, message: expect.stringContaining('the previous rules stay in force') },
    ]);
    expect(book.trouble).toContain('previous rules stay in force');
    rmSync(file);
    expect(book.sharedServers()).toEqual(['b']);
    symlinkSync(file, file);
    expect(book.sharedServers()).toEqual(['b']);
    rmSync(file);
    write({ sharedServers: ['c'] });
    expect(book.sharedServers()).toEqual(['c']);
    expect(book.trouble).toBeUndefined();
  });

  it('that cannot be used at the start stops it', () => {
    write({ sharedServer: ['a'] });
    expect(() => bookOf()).toThrow(/Did you mean 'sharedServers'/);
  });
});

describe('scopes that open servers', () => {
  const SCOPES = {
    'mail:send': { servers: ['mail'], tools: [] },
    'mail:all': { servers: ['mail', 'github.delete_*'], tools: [] },
    code: { servers: [], tools: ['execute'] },
  } as const;
  const challenge = {
    metadataUrl: 'https://x.example.com/.well-known/oauth-protected-resource',
    scopes: ['mcp:use'],
  };
  const call = (name: string, servers: unknown) => ({
    method: 'tools/call',
    params: { name, arguments: { servers } },
  });
  const refusal = (principal: Principal, message: unknown, rules = NO_RULES) =>
    stepUp(principal, rules, SCOPES, wantedUse(message), challenge);

  it('close them to whoever was granted none of them, on top of what is denied', () => {
    write({ scopes: SCOPES, tokens: { ci: { deny: ['x'] } } });
    const denied = (scopes: readonly string[]) => bookOf().rulesOf({ ...CI, scopes }).deny;
    expect(denied([])).toEqual(['x', 'mail', 'github.delete_*']);
    expect(denied(['mail:send'])).toEqual(['x', 'github.delete_*']);
    expect(denied(['mail:all'])).toEqual(['x']);
    expect(denied(['constructor'])).toEqual(['x', 'mail', 'github.delete_*']);
  });

  it('a call of a closed server is 403 with all scopes that a new token needs', () => {
    const found = refusal({ ...CI, scopes: ['other'] }, call('run_python', ['github', 'mail']));
    expect(found?.status).toBe(403);
    expect(found?.headers['www-authenticate']).toContain('error="insufficient_scope"');
    expect(found?.headers['www-authenticate']).toContain('scope="mcp:use other mail:send"');
    expect(found?.headers['www-authenticate']).toContain(`resource_metadata="${challenge.metadataUrl}"`);
    expect(refusal({ ...CI, scopes: ['mail:all'] }, call('run_python', ['mail']))).toBeUndefined();
    expect(refusal(CI, call('run_python', ['github']))).toBeUndefined();
  });

  it('and so is one of a closed tool', () => {
    expect(refusal(CI, call('execute', undefined))?.body.error_description).toContain('the scope code');
    expect(refusal({ ...CI, scopes: ['code'] }, call('execute', undefined))).toBeUndefined();
    expect(refusal(CI, call('run_python', []))).toBeUndefined();
  });

  it('of a server that does not exist for the principal nothing is said', () => {
    expect(refusal({ ...CI, servers: ['github'] }, call('run_python', ['mail']))).toBeUndefined();
    expect(refusal(ANN, call('run_python', ['mail']), { ...NO_RULES, servers: [] })).toBeUndefined();
  });

  it('the user of the machine needs none', () => {
    expect(refusal(LOCAL_USER, call('execute', ['mail']))).toBeUndefined();
  });

  it.each([
    null,
    [],
    'x',
    {},
    { method: 'tools/call' },
    { method: 'tools/list', params: { name: 'execute' } },
    call('run_python', 'mail'),
    call('run_python', [1]),
  ])('a message that asks for nothing of it passes: %j', (message) => {
    expect(refusal(CI, message)).toBeUndefined();
  });
});
