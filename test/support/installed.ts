// The package as a newcomer installs it, with this machine's Node and npm, into an empty home: packed from the build, and
// served by a stand-in for the registry that has nothing else.

import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { removeFolder } from './remove-folder.js';
import { bridgeEnv } from './start-bridge.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
export const MANIFEST = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));

type Registry = { readonly url: string; readonly asked: readonly string[]; readonly close: () => void };

export type Newcomer = Disposable & {
  readonly home: string;
  readonly registry: Registry;
  /** Folder into which `npm i -g` links the programs. */
  readonly bin: string;
  readonly env: Record<string, string>;
  /** Runs a program and gives its stdout; rejects when it fails. Programs of `bin` are found by their names. */
  readonly run: (program: string, ...args: readonly string[]) => Promise<string>;
};

export async function newcomer(): Promise<Newcomer> {
  const folder = mkdtempSync(join(process.env['TEST_ROOT'] ?? tmpdir(), 'newcomer-'));
  const home = join(folder, 'home');
  mkdirSync(home);
  const { packedPackage } = await script<{ packedPackage: (folder: string) => string }>('packed-package');
  const { startRegistry } = await script<{
    startRegistry: (tarball: string, manifest: object) => Promise<Registry>;
  }>('registry');
  const registry = await startRegistry(packedPackage(folder), MANIFEST);
  const prefix = join(home, '.local');
  const bin = join(prefix, 'bin');
  const env = bridgeEnv(home, {
    PATH: [bin, process.env['PATH'] ?? ''].join(delimiter),
    npm_config_registry: registry.url,
    npm_config_prefix: prefix,
    npm_config_cache: join(home, '.npm'),
    npm_config_userconfig: join(home, '.npmrc'),
    npm_config_update_notifier: 'false',
  });
  const run: Newcomer['run'] = async (program, ...args) =>
    (await promisify(execFile)(program, [...args], { cwd: home, env })).stdout;
  return {
    home,
    registry,
    bin,
    env,
    run,
    [Symbol.dispose]: () => {
      registry.close();
      removeFolder(folder);
    },
  };
}

function script<T>(name: string): Promise<T> {
  return import(new URL(`../../scripts/install/${name}.mjs`, import.meta.url).href);
}
