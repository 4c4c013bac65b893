import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { BridgeError } from '../../../src/base/errors.js';
import { readPrincipalsFile } from '../../../src/service/principals/principals-file.js';
import { fieldsAt, principalsTable } from '../../../src/service/principals/principals-table.js';
import { hostFacts } from '../../../src/settings/files/host-facts.js';

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'principals-'));
  file = join(folder, 'principals.yaml');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const read = (text: string, issuers: readonly string[] = []) => {
  writeFileSync(file, text, { mode: 0o600 });
  return readPrincipalsFile(file, issuers, hostFacts());
};

function errorOf(text: string, issuers: readonly string[] = []): BridgeError {
  try {
    read(text, issuers);
  } catch (thrown) {
    if (thrown instanceof BridgeError) return thrown;
  }
  throw new Error('it was accepted');
}

it('a file with every field is read', () => {
  const text = `
version: 1
groupsClaim: realm_access.roles
sharedServers: [clock]
default: { servers: [] }
tokens:
  ci:
    servers: [github, files]
    allow: ['github', 'files.read_*']
    deny: ['*.delete_*']
    policy: ~/ci-policy.yaml
    data: [/srv/sales, '/srv/out:results:rw']
    headers:
      github:
        Authorization: { variable: CI_GITHUB }
        X-Team: build
    quotas: { runsAtOnce: 2, runsWaiting: 0, callsAtOnce: 9, callsWaiting: 0, processorSeconds: 600.5, memory: 2g }
subjects:
  ann:
    servers: '*'
    headers:
      mail: { Authorization: { exchange: mail-tokens } }
      wiki: { Authorization: { passThrough: 'https://wiki.example.com' } }
clients: { nightly: {} }
groups: { eng: { quotas: { memory: 1024 } } }
scopes:
  mail:send: { servers: ['mail.send_*'] }
  code: { tools: [execute] }
exchanges:
  mail-tokens:
    tokenEndpoint: https://login.example.com/token
    clientId: bridge
    clientSecretVariable: BRIDGE_SECRET
    audience: mail
    resource: https://mail.example.com/mcp
    scopes: [mail:send]
`;
  const content = read(text, ['https://login.example.com']);
  expect(content.tokens['ci']?.quotas).toEqual({
    runsAtOnce: 2,
    runsWaiting: 0,
    callsAtOnce: 9,
    callsWaiting: 0,
    processorSeconds: 600.5,
    memory: 2 * 1024 ** 3,
  });
  expect(content.groups['eng']).toEqual({ deny: [], data: [], headers: {}, quotas: { memory: 1024 } });
  expect(content.tokens['ci']?.data).toEqual([
    { path: '/srv/sales', name: undefined, isWritable: false },
    { path: '/srv/out', name: 'results', isWritable: true },
  ]);
  expect(content.scopes['code']).toEqual({ servers: [], tools: ['execute'] });
  // The same as JSON.
  expect(
    read(JSON.stringify({ version: 1, tokens: { ci: { servers: ['a'] } } })).tokens['ci']?.servers,
  ).toEqual(['a']);
});

describe('a mistake names file, field, what was got, what is allowed and the next step', () => {
  it.each([
    ['', 'the whole is null; allowed: a map with version'],
    ['version: 2', "'version' is 2; allowed: 1."],
    ['tokens: {}', "'version' is missing; allowed: 1."],
    ['version: 1\ntoken: {}', "there is no field 'token'. Did you mean 'tokens'?"],
    ['version: 1\ntokens: { ci: { server: [a] } }', "no field 'tokens.ci.server'. Did you mean 'servers'?"],
    [
      'version: 1\ndefault: { servers: github }',
      "'default.servers' is \"github\"; allowed: a list of servers' names, or '*'",
    ],
    [
      'version: 1\ndefault: { allow: [""] }',
      '\'default.allow.0\' is "" (it is empty); allowed: a list of patterns',
    ],
    [
      'version: 1\ndefault: { quotas: { runsAtOnce: 0 } }',
      "'default.quotas.runsAtOnce' is 0; allowed: a whole number from 1",
    ],
    [
      'version: 1\ndefault: { quotas: { memory: lots } }',
      '\'default.quotas.memory\' is "lots"; allowed: bytes',
    ],
    [
      'version: 1\ndefault: { quotas: { runsOnce: 1 } }',
      "no field 'default.quotas.runsOnce'. Did you mean 'runsAtOnce'?",
    ],
    [
      'version: 1\nscopes: { a: { tools: [run] } }',
      '\'scopes.a.tools.0\' is "run"; allowed: a list of run_python',
    ],
    ['version: 1\nscopes: { "a b": {} }', "'scopes.a b'"],
    [
      'version: 1\nexchanges: { a: { tokenEndpoint: "http://x.example.com", clientId: b } }',
      'It must be https; http is allowed for this machine only',
    ],
    [
      'version: 1\ntokens: { ci: { headers: { github: { Authorization: { exchange: gitub } } } } }\nexchanges: { github: { tokenEndpoint: "https://x.example.com/t", clientId: b } }',
      "Did you mean 'github'?",
    ],
    ['version: 1\nversion: 1', 'Map keys must be unique'],
    ['version: 1\ndefault: { deny: [*x] }', 'is written in quotes'],
  ])('%j', (text, said) => {
    const { code, message, remedy } = errorOf(text);
    expect(code).toBe('E_SETTINGS');
    expect(message).toContain(`MCP_BRIDGE_PRINCIPALS: ${file}: `);
    expect(message).toContain(said);
    expect(remedy).toContain('docs/principals.md');
  });

  it.each(['host', 'Content-Length', 'Mcp-Session-Id', 'X-Forwarded-For', 'two words', ''])(
    'a header %j cannot be set',
    (name) => {
      const text = JSON.stringify({ version: 1, default: { headers: { a: { [name]: 'x' } } } });
      expect(errorOf(text).message).toContain('no header of the connection or of MCP');
    },
  );

  it('the value of a header is in no error', () => {
    const text = JSON.stringify({
      version: 1,
      default: { headers: { a: { X: 's3cret\nvalue', Y: { text: 's3cret' } } } },
    });
    const { message } = errorOf(text);
    expect(message).toContain("'default.headers.a.X' is wrong; allowed: a text, {variable: NAME}");
    expect(message).not.toContain('s3cret');
  });

  it('a file that others may write is refused, and so is one that is not there', () => {
    writeFileSync(file, 'version: 1');
    chmodSync(file, 0o666);
    expect(() => readPrincipalsFile(file, [], hostFacts())).toThrow(/can be written by other users/);
    expect(() => readPrincipalsFile(`${file}x`, [], hostFacts())).toThrow(/does not exist/);
  });
});

it('with several issuers a key has to say which', () => {
  const issuers = ['https://one.example.com', 'https://two.example.com'];
  const text = (key: string) => JSON.stringify({ version: 1, groups: { [key]: {} } });
  expect(errorOf(text('eng'), issuers).message).toContain("'groups.eng' names no issuer");
  expect(errorOf(text('https://one.example.com.evil eng'), issuers).message).toContain('names no issuer');
  expect(() => read(text('https://two.example.com eng'), issuers)).not.toThrow();
  expect(() => read(text('eng'), issuers.slice(1))).not.toThrow();
});

it('the table has every field of the schema', () => {
  expect(fieldsAt(['tokens', 'x'])).toEqual([
    'servers',
    'allow',
    'deny',
    'policy',
    'data',
    'headers',
    'quotas',
  ]);
  expect(fieldsAt(['default', 'quotas'])).toEqual([
    'runsAtOnce',
    'runsWaiting',
    'callsAtOnce',
    'callsWaiting',
    'processorSeconds',
    'memory',
    'sessions',
  ]);
  const first = new Set(principalsTable().map(({ field }) => field.split('.')[0]));
  expect([...first].sort()).toEqual(['ENTRY', ...fieldsAt([])].sort());
});
