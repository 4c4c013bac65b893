// Versions of Node with their npm, from the npm registry, each in a folder of its own below .cache/install, laid out as
// Node's own archives are.

import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { join } from 'node:path';
import { command } from '../host/command.mjs';
import { NODES } from './suites.mjs';

/** The folder that has bin/node, bin/npm and bin/npx of the major version; `say` is told what takes long. */
export async function nodeFolder(major, cache, say) {
  const { node, npm } = NODES[major];
  const folder = join(cache, `${node}-${npm}`.replaceAll('@', '-'));
  if (existsSync(folder)) return folder;
  say(`Node ${major}: fetching ${node} and ${npm}`);
  mkdirSync(cache, { recursive: true });
  const made = mkdtempSync(join(cache, 'making-'));
  try {
    chmodSync(made, 0o755);
    mkdirSync(join(made, 'bin'));
    await unpack(node, made, ['package/bin/node'], 2);
    renameSync(join(made, 'node'), join(made, 'bin/node'));
    const modules = join(made, 'lib/node_modules/npm');
    mkdirSync(modules, { recursive: true });
    await unpack(npm, modules, [], 1);
    for (const name of ['npm', 'npx'])
      symlinkSync(`../lib/node_modules/npm/bin/${name}-cli.js`, join(made, 'bin', name));
    renameSync(made, folder);
    return folder;
  } finally {
    rmSync(made, { recursive: true, force: true });
  }
}

async function unpack(spec, folder, members, strip) {
  await command(['npm', 'pack', '--ignore-scripts', '--pack-destination', folder, spec]);
  const archive = readdirSync(folder).find((name) => name.endsWith('.tgz'));
  const file = join(folder, archive);
  const argv = ['tar', '--extract', '--file', file, '--directory', folder, `--strip-components=${strip}`];
  await command([...argv, '--no-same-owner', ...members]);
  rmSync(file);
}
