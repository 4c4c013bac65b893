// An engine whose images and containers lie in a folder of the trial, so that nothing which is removed there is anybody else's:
// a program `podman`, first on the trial's PATH, which is the real one with a store of its own.

import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { VERSION } from '../../dist/base/version.js';
import { pause } from '../bench/stage.mjs';

const IMAGE = `localhost/mcp-sandbox-bridge/python:${VERSION}`;
const REMOVAL_TRIES = 50;
const REMOVAL_PAUSE_MS = 200;

/** Makes the store, with a copy of the bridge's image: { PATH, engine, images, close }. `images` gives the names in the store. */
export function ownStore() {
  const folder = mkdtempSync(join(tmpdir(), 'store-'));
  const real = execFileSync('sh', ['-c', 'command -v podman'], { encoding: 'utf8' }).trim();
  const bin = join(folder, 'bin');
  const engine = join(bin, 'podman');
  const place = ['root', 'runroot', 'tmpdir'].map((name) => `--${name}='${join(folder, name)}'`);
  mkdirSync(bin, { recursive: true });
  writeFileSync(engine, `#!/bin/sh\nexec '${real}' ${place.join(' ')} "$@"\n`);
  chmodSync(engine, 0o755);
  const layers = join(folder, 'root/overlay');
  const archive = join(folder, 'image.tar');
  execFileSync(real, ['save', '--quiet', '--output', archive, IMAGE], { stdio: 'ignore' });
  execFileSync(engine, ['load', '--quiet', '--input', archive], { stdio: 'ignore' });
  rmSync(archive);
  return {
    PATH: `${bin}${delimiter}${process.env['PATH']}`,
    engine,
    images: () =>
      execFileSync(engine, ['images', '--format', '{{.Repository}}:{{.Tag}}'], { encoding: 'utf8' })
        .split('\n')
        .filter((name) => name !== ''),
    close: async () => {
      // As root, the engine has mounted the folder of its layers on itself, and in it the layers of containers that still end.
      for (let left = REMOVAL_TRIES; left > 0 && existsSync(folder); left--) {
        try {
          if (existsSync(layers)) execFileSync('umount', ['--recursive', layers], { stdio: 'ignore' });
        } catch {
          // Not mounted, as for an ordinary user, or in use.
        }
        try {
          rmSync(folder, { recursive: true, force: true });
        } catch {
          await pause(REMOVAL_PAUSE_MS);
        }
      }
    },
  };
}
