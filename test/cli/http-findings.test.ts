// What doctor says of an address of `serve --http`, listened on and not.

import { execFileSync } from 'node:child_process';
import { chmodSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { httpFindings } from '../../src/cli/doctor/http-findings.js';
import { parseSettings } from '../../src/settings/environment/settings.js';
import { hostFacts } from '../../src/settings/files/host-facts.js';
import { ownFolder, stubFront } from '../support/http-front.js';

const opened: AsyncDisposable[] = [];
afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each[Symbol.asyncDispose]();
});

const findings = async (address: string, env: Readonly<Record<string, string>> = {}) => {
  const MCP_BRIDGE_STATE_DIR = join(ownFolder(opened), 'state');
  const { settings } = parseSettings({ MCP_BRIDGE_STATE_DIR, ...env }, hostFacts());
  return (await httpFindings(address, settings)).map(({ name, status, detail }) => [name, status, detail]);
};

it('an address of the network without credentials and without TLS fails twice', async () => {
  expect(await findings('0.0.0.0:1')).toEqual([
    ['http access', 'fail', expect.stringContaining('nobody has a credential')],
    ['http encryption', 'fail', expect.stringContaining('refused')],
    ['http live', 'warn', expect.stringContaining('nothing listens there now')],
  ]);
});

it('a bridge that listens keeps strangers out', async () => {
  const { url } = await stubFront(opened);
  const found = await findings(url.host);
  expect(found.map(([, status]) => status)).toEqual(['ok', 'ok', 'ok', 'ok', 'ok', 'ok', 'ok']);
  expect(found).toContainEqual(['http walls', 'ok', 'a request without a credential was answered with 401']);
});

it('one that lets everybody in is found', async () => {
  const everybody = async () => ({
    principal: { id: 'all', name: 'all', servers: undefined, scopes: [], expiresAtMs: undefined },
  });
  const { url } = await stubFront(opened, { parts: { authenticate: everybody } });
  expect(await findings(url.host)).toContainEqual([
    'http walls',
    'fail',
    expect.stringContaining('without a credential'),
  ]);
});

it('a unix socket is its owner’s, and one that is not there is not fine', async () => {
  const path = join(ownFolder(opened), 's');
  expect((await findings(`unix:${path}`)).map(([name, status]) => [name, status])).toEqual([
    ['http access', 'warn'],
    ['http encryption', 'ok'],
    ['http live', 'warn'],
  ]);
  expect((await findings('unix:/no/such/folder/s'))[0]).toEqual([
    'http access',
    'fail',
    'there is no folder /no/such/folder',
  ]);
  await stubFront(opened, { address: `unix:${path}` });
  expect((await findings(`unix:${path}`))[0]).toEqual([
    'http access',
    'ok',
    expect.stringContaining('only this user can open'),
  ]);
  chmodSync(path, 0o666);
  expect((await findings(`unix:${path}`))[0]?.[1]).toBe('fail');
});

describe('with a certificate', () => {
  const certificate = (names: string, days = '60') => {
    const folder = ownFolder(opened);
    const files = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') };
    const kind = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
    const what = ['-days', days, '-subj', '/CN=bridge', '-addext', `subjectAltName=${names}`];
    execFileSync('openssl', [...kind, ...what, '-keyout', files.key, '-out', files.cert], {
      stdio: 'ignore',
    });
    return files;
  };
  const settingsFor = ({ cert, key }: { cert: string; key: string }) => ({
    MCP_BRIDGE_HTTP_CERT: cert,
    MCP_BRIDGE_HTTP_KEY: key,
  });
  const of = async (what: string, address: string, env: Readonly<Record<string, string>>) =>
    (await findings(address, env)).filter(([name]) => name === what).map(([, ...rest]) => rest);

  it('a handshake is made with whoever listens, and with a trial if nobody does', async () => {
    const env = settingsFor(certificate('DNS:mcp.example.com'));
    expect(await of('http TLS', '127.0.0.1:1', env)).toEqual([
      [
        'warn',
        expect.stringMatching(
          /^TLSv1\.3 in a trial, since nothing listens there; .*DEPTH_ZERO_SELF_SIGNED_CERT/,
        ),
      ],
    ]);
    const { url } = await stubFront(opened, { env });
    expect(await of('http TLS', url.host, env)).toEqual([
      ['warn', expect.stringMatching(/^TLSv1\.3 with the program that listens there; .*DEPTH_ZERO/)],
    ]);
    expect(await of('http live', url.host, env)).toEqual([['ok', expect.stringContaining('it listens')]]);
  });

  it('another certificate than that of the files is found', async () => {
    const { url } = await stubFront(opened, { env: settingsFor(certificate('DNS:a.example')) });
    expect(await of('http TLS', url.host, settingsFor(certificate('DNS:a.example')))).toEqual([
      ['warn', expect.stringContaining('which has another certificate than')],
    ]);
  });

  it('names under which clients reach the bridge have to be in it', async () => {
    const env = {
      ...settingsFor(certificate('DNS:*.example.com,IP:10.1.2.3')),
      MCP_BRIDGE_HTTP_HOSTS: 'mcp.example.com',
    };
    expect(await of('http encryption', '10.1.2.3:1', env)).toEqual([['ok', expect.anything()]]);
    const other = { ...env, MCP_BRIDGE_HTTP_HOSTS: 'mcp.example.com,mcp.example.org' };
    expect(await of('http encryption', '0.0.0.0:1', other)).toEqual([
      ['fail', expect.stringContaining('clients reach the bridge as mcp.example.org, which is not among')],
    ]);
    const { MCP_BRIDGE_HTTP_HOSTS: _, ...nameless } = env;
    expect(await of('http encryption', '0.0.0.0:1', nameless)).toEqual([
      ['warn', expect.stringContaining('no setting says under which name clients reach the bridge')],
    ]);
  });

  it('a key of another certificate fails, and no handshake is tried with it', async () => {
    const [one, other] = [certificate('DNS:a.example'), certificate('DNS:a.example')];
    const env = settingsFor({ cert: one.cert, key: other.key });
    expect(await of('http encryption', '127.0.0.1:1', env)).toEqual([
      ['fail', expect.stringContaining('cannot be used')],
    ]);
    expect(await of('http TLS', '127.0.0.1:1', env)).toEqual([]);
  });

  it('one that ends soon is a warning', async () => {
    const env = settingsFor(certificate('DNS:a.example', '3'));
    expect(await of('http encryption', '127.0.0.1:1', env)).toEqual([['warn', expect.anything()]]);
  });

  it('a bridge without TLS is told from settings with it, and the other way round', async () => {
    const env = settingsFor(certificate('DNS:a.example'));
    const plain = await stubFront(opened);
    expect(await of('http TLS', plain.url.host, env)).toEqual([
      ['fail', expect.stringContaining('makes no TLS handshake')],
    ]);
    expect(await of('http live', plain.url.host, env)).toContainEqual([
      'fail',
      'it listens without TLS, but the settings here say with TLS',
    ]);
    const secure = await stubFront(opened, { env });
    expect(await of('http live', secure.url.host, {})).toContainEqual([
      'fail',
      'it listens with TLS, but the settings here say without TLS',
    ]);
  });
});

it('what listens and is no bridge fails', async () => {
  const server = createServer((socket) => socket.resume().end('hello\n'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  opened.push({ [Symbol.asyncDispose]: () => new Promise((resolve) => server.close(() => resolve())) });
  const { port } = server.address() as AddressInfo;
  const found = await findings(`127.0.0.1:${port}`);
  expect(found.at(-1)).toEqual(['http live', 'fail', expect.stringContaining('does not answer as a bridge')]);
});

it('what systemd listens at is said to be not tried', async () => {
  expect((await findings('systemd')).at(-1)).toEqual([
    'http live',
    'warn',
    expect.stringContaining('not tried'),
  ]);
});
