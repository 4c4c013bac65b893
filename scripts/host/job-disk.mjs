// The second disk of a machine: what a user would have fetched from the network. The packed tarball of this checkout,
// installed by npm with its dependencies; the servers of the main job; Node; our image as the engine saves it.

import { chmodSync, copyFileSync, cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { packageOf, SERVERS } from '../main-job.mjs';
import { command } from './command.mjs';

const HERE = dirname(fileURLToPath(import.meta.url));
const ROOT = join(HERE, '../..');
/** For what mkfs needs itself, beside the content. */
const SPARE_MB = 64;
/** What the machine runs of ours beside the package. */
const PROGRAMS = [
  'from-template.mjs',
  'main-job.mjs',
  'host/bridge.mjs',
  'host/job.mjs',
  'host/job-steps.mjs',
  'host/limit-attacks.mjs',
  'host/namespace-job.mjs',
  'host/namespace-situations.mjs',
  'host/suites.mjs',
  'kernel-memory/attacks.mjs',
];

/**
 * Makes the disk in the folder `scratch`. `image`: the name of ours, in the engine of this machine. `files`: texts that the
 * job reads, by name.
 */
export async function jobDisk(scratch, image, say, files = {}) {
  const folder = join(scratch, 'job');
  const app = join(folder, 'app');
  mkdirSync(join(folder, 'bin'), { recursive: true });
  mkdirSync(app);
  say('packing and installing the package');
  await install(scratch, app);
  for (const name of PROGRAMS) cpSync(join(ROOT, 'scripts', name), join(app, name));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(app, name), text);
  const node = join(folder, 'bin/node');
  copyFileSync(process.execPath, node);
  chmodSync(node, 0o755);
  say('saving the image');
  await command(['podman', 'save', '--quiet', '--output', join(folder, 'image.tar'), image]);
  await command(['chmod', '-R', 'a+rX', folder]);
  const usedMb = Number.parseInt(await command(['du', '--summarize', '--block-size=1M', folder]), 10);
  const disk = join(scratch, 'job.img');
  const size = `${Math.ceil(usedMb * 1.2) + SPARE_MB}M`;
  await command(['mkfs.ext4', '-q', '-F', '-L', 'job', '-m', '0', '-d', folder, disk, size]);
  return disk;
}

async function install(scratch, app) {
  await command(['npm', 'run', '--silent', 'build'], { cwd: ROOT });
  await command(['npm', 'pack', '--silent', '--ignore-scripts', '--pack-destination', scratch], {
    cwd: ROOT,
  });
  const { name, version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'));
  // The job's own client needs the SDK; the bridge has its packages in its bundle.
  const others = [...SERVERS.map(packageOf), '@modelcontextprotocol/sdk'].map(
    (one) => `${one}@${packages[`node_modules/${one}`].version}`,
  );
  // Else npm installs into the nearest folder above that has one.
  writeFileSync(join(app, 'package.json'), '{"private":true}\n');
  const tarball = join(scratch, `${name}-${version}.tgz`);
  const quietly = ['--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error'];
  await command(['npm', 'install', '--omit=dev', ...quietly, tarball, ...others], { cwd: app });
}
