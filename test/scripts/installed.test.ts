// The package as npm and npx install it into an empty home. `npm run test:install` does the same on other systems with other
// versions of Node; the first call with a container is in test/front-door.

import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MANIFEST, type Newcomer, newcomer } from '../support/installed.js';

let person: Newcomer;
beforeAll(async () => {
  person = await newcomer();
});
afterAll(() => person[Symbol.dispose]());

/** How doctor says that the bridge was started. */
async function startedAs(program: string, ...args: readonly string[]): Promise<string> {
  // Without an engine doctor starts no container, and exits with 1.
  person.env['MCP_BRIDGE_RUNTIME'] = join(person.home, 'no-engine');
  const output = await person.run(program, ...args, 'doctor', '--json').catch((thrown) => thrown.stdout);
  const { findings } = JSON.parse(output) as { findings: Array<{ name: string; detail: string }> };
  return findings.find(({ name }) => name === 'bridge')?.detail ?? '';
}

describe('npm i -g', () => {
  beforeAll(() => person.run('npm', 'i', '-g', MANIFEST.name));

  it('installs one package, whose programs start by their names', async () => {
    expect(readdirSync(join(person.home, '.local/lib/node_modules'))).toEqual([MANIFEST.name]);
    expect(readdirSync(person.bin).toSorted()).toEqual(Object.keys(MANIFEST.bin).toSorted());
    expect((await person.run(MANIFEST.name, '--version')).trim()).toBe(MANIFEST.version);
    expect(await person.run('code-exec', '--help')).toContain('MCP_EXEC_');
  });

  it('is what doctor names, with the commands that this user can type', async () => {
    expect(await startedAs(MANIFEST.name)).toContain(`${MANIFEST.version}, started as \`${MANIFEST.name}\``);
  });
});

describe('npx', () => {
  it('starts it without a question', async () => {
    expect((await person.run('npx', '-y', MANIFEST.name, '--version')).trim()).toBe(MANIFEST.version);
  });

  it('is what doctor names, with the commands that this user can type', async () => {
    await person.run('npm', 'rm', '-g', MANIFEST.name);
    expect(await startedAs('npx', '-y', MANIFEST.name)).toContain(`\`npx -y ${MANIFEST.name}\``);
  });
});

it('nothing else was fetched', () => {
  const foreign = person.registry.asked.filter((path) => !path.startsWith(`/${MANIFEST.name}`));
  expect(foreign.filter((path) => !path.startsWith('/-/npm/') && path !== '/npm')).toEqual([]);
});
