// An image of others, made here in a second: the one that sandboxes use here, after some Python has changed its files.

import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LaunchSetUp } from '../../src/sandbox/launch/launch-set-up.js';

export const podman = (...args: readonly string[]): string =>
  execFileSync('podman', ['--log-level=error', ...args], { encoding: 'utf8' });

/** Makes the image `name`; `code` runs as root in the image of `pad`, and may remove Python itself. */
export function makeChangedImage(
  name: string,
  code: string,
  { choice, image }: Pick<LaunchSetUp, 'choice' | 'image'>,
): void {
  const spec = [`--runtime=${choice.ociRuntime}`, 'run', '--network=none', '--ulimit=nofile=1024:1024'];
  const container = `trial-changed-${process.pid}`;
  const folder = mkdtempSync(join(tmpdir(), 'trial-changed-'));
  const archive = join(folder, 'image.tar');
  try {
    podman(...spec, '--ulimit=nproc=128:128', `--name=${container}`, image.image, 'python3', '-c', code);
    podman('export', `--output=${archive}`, container);
    podman('import', '--quiet', archive, name);
  } finally {
    podman('rm', '--force', '--ignore', container);
    rmSync(folder, { recursive: true });
  }
}
