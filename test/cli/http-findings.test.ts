// What doctor says of an address of `serve --http`, listened on and not.

import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
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
    ['http live', 'ok', expect.stringContaining('nothing listens there now')],
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

it('a unix socket is its owner’s', async () => {
  const path = join(ownFolder(opened), 's');
  expect((await findings(`unix:${path}`))[0]).toEqual([
    'http access',
    'ok',
    expect.stringContaining('for this user alone'),
  ]);
});
