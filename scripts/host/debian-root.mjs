// Debian packages of a release, unpacked into a folder from this machine's own mirrors. Needs root and mmdebstrap, and
// leaves nothing mounted.

import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { command } from './command.mjs';

/**
 * Makes the folder `root`, by a tar first: then nothing that mmdebstrap mounts while it works can be in the folder.
 * `variant` is what mmdebstrap begins with; `scratch` is an existing folder that apt's own user may enter.
 */
export async function unpackDebian({ suite, variant = 'important', packages, scratch, root }) {
  const tar = join(scratch, 'root.tar');
  await command(
    [
      'mmdebstrap',
      '--mode=root',
      `--variant=${variant}`,
      ...(packages.length === 0 ? [] : [`--include=${packages.join(',')}`]),
      ...(await aptOptions()),
      '--skip=output/dev',
      suite,
      tar,
      ...(await sources(suite, scratch)),
    ],
    { env: { LC_ALL: 'C.UTF-8', TMPDIR: scratch } },
  );
  mkdirSync(root);
  await command([
    'tar',
    '--extract',
    '--numeric-owner',
    '--xattrs',
    '--xattrs-include=*',
    '--file',
    tar,
    '--directory',
    root,
  ]);
  rmSync(tar);
}

/** How this machine's apt reaches its mirrors. */
async function aptOptions() {
  const dump = await command(['apt-config', 'dump', 'Acquire']);
  return dump
    .split('\n')
    .filter((line) => /^Acquire::(?:https?::Proxy|Check-Valid-Until|Check-Date|Retries) /.test(line))
    .map((line) => `--aptopt=${line}`);
}

/** This machine's own Debian sources, turned to the suite as `image build` does. */
async function sources(suite, scratch) {
  const { debianSources, readAptFacts } = await import('../../dist/engine/images/apt-sources.js');
  const text = debianSources(suite, readAptFacts());
  if (text === undefined) return [];
  const file = join(scratch, 'debian.sources');
  writeFileSync(file, text);
  return [file];
}
