// What is configured and may be used, call after call: nearly every one finds what the one before found.

import { afterEach, beforeEach, expect, it } from 'vitest';
import { LastGoodFiles } from '../../src/hosts/discovery/discover.js';
import { parseSettings } from '../../src/settings/environment/settings.js';
import { Configured } from '../../src/tenant/configured.js';
import { Home } from '../hosts/home.js';
import { pause } from '../support/time.js';

/** A file that changed less than a tenth of a second ago is read anew whatever it says. */
const SETTLED_MS = 150;

let home: Home;
beforeEach(() => {
  home = new Home();
});
afterEach(() => home[Symbol.dispose]());

it('a policy that changes counts for servers whose entries have not changed', async () => {
  const policy = (deny: readonly string[]) =>
    home.write('policy.yaml', `version: 1\ndeny: [${deny}]\n`, 0o600);
  const config = home.write(
    'servers.json',
    { mcpServers: { a: { command: 'a' }, b: { command: 'b' } } },
    0o600,
  );
  const env = { MCP_SERVERS_CONFIG: config, MCP_BRIDGE_POLICY: policy(['b']) };
  const { settings } = parseSettings(env, home.facts);
  const context = { settings, env: {}, host: home.facts, lastGood: new LastGoodFiles() };
  const configured = new Configured({ settings, context, observer: () => {} });
  const names = () => configured.rediscover().ready.map(({ name }) => name);
  await pause(SETTLED_MS);
  expect([names(), names()]).toEqual([['a'], ['a']]);
  policy(['a']);
  expect(names()).toEqual(['b']);
  policy([]);
  expect(names()).toEqual(['a', 'b']);
});
