// isolator's file on the command line: a wrong one stops every command, and doctor says what of it has no effect.

import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { CHECKS } from '../../src/cli/doctor/doctor-checks.js';
import type { Examination } from '../../src/cli/doctor/examination.js';
import { readIsolatorFile } from '../../src/settings/languages/isolator-file.js';
import { Home } from '../hosts/home.js';
import { tempHome } from '../support/start-bridge.js';
import { commandHere } from './command.js';

it.each([['snippets'], ['servers']])('%s does not begin with a wrong file', async (name) => {
  const home = tempHome();
  const file = join(home, 'isolator_config.json');
  writeFileSync(file, '{"defaultNetworkMode": "host"}', { mode: 0o600 });
  const env = { MCP_BRIDGE_ISOLATOR_CONFIG: '~/isolator_config.json' };
  const { stdout, stderr, exitCode } = await commandHere([name], { home, env });
  expect(stderr).toContain(`MCP_BRIDGE_ISOLATOR_CONFIG: ${file}: 'defaultNetworkMode' is "host"`);
  expect([stdout, exitCode]).toEqual(['', 2]);
  rmSync(home, { recursive: true });
});

it('a file in the working directory is not read unless it is named', async () => {
  const home = tempHome();
  writeFileSync(join(home, 'isolator_config.json'), '{"defaultNetworkMode": "host"}', { mode: 0o600 });
  const env = { MCP_BRIDGE_TOOLS: 'execute_code' };
  expect((await commandHere(['servers'], { home, env })).exitCode).toBe(0);
  rmSync(home, { recursive: true });
});

it('doctor names the file and each key that has no effect', () => {
  using home = new Home();
  const check = CHECKS.find(({ name }) => name === 'isolator file');
  const findingOf = (content: object | undefined) => {
    const file = content === undefined ? undefined : home.write('isolator_config.json', content, 0o600);
    const deciding = { explicitlySet: new Set<string>(), maxTimeoutSeconds: 120 };
    const imported = file === undefined ? undefined : readIsolatorFile(file, deciding, home.facts);
    return check?.examine({ settings: { imported } } as Examination);
  };
  expect(findingOf(undefined)).toBeUndefined();
  expect(findingOf({ defaultCpus: 1 })).toMatchObject({
    status: 'ok',
    detail: `${join(home.path, 'isolator_config.json')} is understood`,
  });
  expect(findingOf({ isolatorPath: '/x', defaultReadOnlyRootfs: false })).toMatchObject({
    status: 'warn',
    detail: expect.stringMatching(/isolatorPath has no effect.* defaultReadOnlyRootfs is false/),
  });
});
