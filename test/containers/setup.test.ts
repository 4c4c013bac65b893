// `setup` on this machine, with its engine and image: the first time it registers, the second time it changes nothing, and
// what it says of taking back leaves the hosts' files byte for byte as they were.

import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { registriesConf, startImageRegistry } from '../../scripts/install/image-registry.mjs';
import { VERSION } from '../../src/base/version.js';
import { command } from '../cli/command.js';
import { engineCommand, engineUnderTest } from '../support/engine-under-test.js';
import { tempHome } from '../support/start-bridge.js';

type Report = {
  readonly works: boolean;
  readonly changed: boolean;
  readonly steps: readonly { readonly name: string; readonly status: string; readonly detail: string }[];
  readonly undo: readonly string[];
};

const CODEX = '# mine\nmodel = "m"\n';
const CURSOR = '{\n  // mine\n  "mcpServers": {}\n}\n';

let home: string;
beforeAll(() => {
  home = tempHome();
  mkdirSync(join(home, '.codex'));
  mkdirSync(join(home, '.cursor'));
  writeFileSync(join(home, '.codex/config.toml'), CODEX);
  writeFileSync(join(home, '.cursor/mcp.json'), CURSOR);
});
afterAll(() => {
  rmSync(home, { recursive: true, force: true });
});

async function setUp(
  options: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Report> {
  const { stdout, stderr, exitCode } = await command(['setup', '--json', ...options], { home, env });
  expect([exitCode, stderr], stdout).toEqual([0, '']);
  return JSON.parse(stdout) as Report;
}

const statusesIn = ({ steps }: Report) => Object.fromEntries(steps.map(({ name, status }) => [name, status]));
const detailOf = ({ steps }: Report, step: string) => steps.find(({ name }) => name === step)?.detail;
const hostFiles = () =>
  ['.codex/config.toml', '.cursor/mcp.json'].map((file) => readFileSync(join(home, file), 'utf8'));

it('goes from an engine to an answer, changes nothing the second time, and is taken back whole', async () => {
  const first = await setUp(['--yes']);
  expect(statusesIn(first)).toMatchObject({ engine: 'ok', walls: 'ok', hosts: 'done', answer: 'ok' });
  expect(detailOf(first, 'answer')).toMatch(/^6 \* 7 is 42, says Python 3\.\d+\.\d+; /);
  expect(hostFiles()).not.toEqual([CODEX, CURSOR]);

  const registered = hostFiles();
  const second = await setUp(['--yes']);
  expect([second.works, second.changed, second.undo]).toEqual([true, false, []]);
  expect(hostFiles()).toEqual(registered);

  const undo = first.undo.filter((line) => / uninstall \S+$/.test(line));
  expect(undo).toHaveLength(2);
  for (const line of undo) await command(line.split(' ').slice(-2), { home });
  expect(hostFiles()).toEqual([CODEX, CURSOR]);
});

/** podman with a store of its own, which takes images from `conf`; nothing on its PATH builds one. */
function ownPodman(folder: string, conf: string): string {
  const bin = join(home, 'bin');
  mkdirSync(bin);
  writeFileSync(
    join(bin, 'podman'),
    `#!/bin/sh
PATH=/usr/sbin:/usr/bin:/sbin:/bin
export CONTAINERS_REGISTRIES_CONF=${conf}
exec /usr/bin/podman --root ${folder}/root --runroot ${folder}/run "$@"
`,
  );
  chmodSync(join(bin, 'podman'), 0o755);
  return bin;
}

it.skipIf(process.platform !== 'linux' || engineUnderTest.kind !== 'local')(
  'takes the image from a registry where one has it, and gives a first answer with it',
  async () => {
    const folder = mkdtempSync('/var/tmp/setup-test-');
    const layout = join(folder, 'image');
    engineCommand(
      'save',
      '--quiet',
      '--format',
      'oci-dir',
      '--output',
      layout,
      `localhost/mcp-sandbox-bridge/python:${VERSION}`,
    );
    const registry = await startImageRegistry(layout);
    try {
      const conf = join(home, 'registries.conf');
      writeFileSync(conf, registriesConf(registry.address));
      const report = await setUp(['--yes', '--no-register'], { PATH: ownPodman(folder, conf) });
      expect(statusesIn(report)).toMatchObject({ image: 'done', answer: 'ok' });
      expect(detailOf(report, 'image')).toMatch(/^python:3\.14-slim, \d+ MB, pulled in /);
      expect(registry.asked).toContainEqual(expect.stringMatching(/\/library\/python\/blobs\/sha256:/));
    } finally {
      registry.close();
      engineCommand('--root', `${folder}/root`, '--runroot', `${folder}/run`, 'rmi', '--all', '--force');
      rmSync(folder, { recursive: true, force: true });
    }
  },
);
