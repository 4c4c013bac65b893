// Where podman runs in a machine, the launcher brings that machine up before it asks the engine anything.

import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { Launcher } from '../../src/sandbox/launch/launcher.js';
import { parseSettings } from '../../src/settings/environment/settings.js';
import { PLAIN_KIND } from '../support/plain-kind.js';
import { NEVER } from '../support/time.js';

const FAKE = fileURLToPath(new URL('../fixtures/fake-podman.mjs', import.meta.url));
let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'launcher-'));
  symlinkSync(FAKE, join(dir, 'podman'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

function launcherOn(platform: NodeJS.Platform, world: object): Launcher {
  writeFileSync(join(dir, 'world.json'), JSON.stringify({ machines: [], ...world }));
  const host = { home: dir, platform, cores: 2, cwd: dir, uid: 1000, exists: () => false };
  const env = { MCP_BRIDGE_RUNTIME: join(dir, 'podman'), MCP_BRIDGE_STATE_DIR: join(dir, 'state') };
  return new Launcher(parseSettings(env, host).settings, host, () => {});
}

const calls = () =>
  readFileSync(join(dir, 'calls.jsonl'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as string[]).slice(0, 2).join(' '));

it('makes and starts the machine, and only then looks at the engine', async () => {
  await using launcher = launcherOn('darwin', {});
  await expect(launcher.start(PLAIN_KIND, NEVER)).rejects.toMatchObject({ code: 'E_ENGINE_BROKEN' });
  // The engine does not answer, so the machine is looked at once more, which runs.
  expect(calls()).toEqual([
    ...['machine list', 'machine init', 'machine list', 'machine start', 'info --format'],
    ...['machine list', 'info --format'],
  ]);
});

it('needs none on Linux', async () => {
  await using launcher = launcherOn('linux', {});
  await expect(launcher.start(PLAIN_KIND, NEVER)).rejects.toMatchObject({ code: 'E_ENGINE_BROKEN' });
  expect(calls()).toEqual(['info --format']);
});

it('says why a machine does not start, with the remedy', async () => {
  const trouble = { 'machine start': { stderr: 'Error: vfkit exited unexpectedly', exitCode: 125 } };
  await using launcher = launcherOn('darwin', {
    machines: [{ Name: 'm', Default: true, Running: false }],
    trouble,
  });
  await expect(launcher.start(PLAIN_KIND, NEVER)).rejects.toMatchObject({
    message: expect.stringContaining('vfkit'),
    remedy: expect.stringMatching(/\w/),
  });
});
