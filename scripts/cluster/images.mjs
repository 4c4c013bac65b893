// Images of a cluster that no registry has: those of this machine's podman, saved once for each id, and the one of a pod's first
// process, which is made here of a single program.

import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { demand, KEPT } from './place.mjs';
import { pauseProgram } from './programs.mjs';

export const PAUSE_IMAGE = 'localhost/mcp-sandbox-bridge/pause:1';
const IMAGES = join(KEPT, 'images');

/** The file of a docker archive with the image of the first process. */
export function pauseArchive() {
  const program = pauseProgram();
  const digest = hashOf(readFileSync(program));
  return kept(`pause-${digest.slice(0, 12)}`, (file) => {
    const scratch = mkdtempSync(join(tmpdir(), 'cluster-pause-'));
    try {
      cpSync(program, join(scratch, 'pause'));
      // Equal for the same program: the layer's name is the hash of its bytes.
      demand(
        'tar',
        '--create',
        '--mtime=@0',
        '--owner=0',
        '--group=0',
        `--file=${join(scratch, 'layer.tar')}`,
        `--directory=${scratch}`,
        'pause',
      );
      const layer = hashOf(readFileSync(join(scratch, 'layer.tar')));
      const config = JSON.stringify({
        architecture: process.arch === 'x64' ? 'amd64' : process.arch,
        os: 'linux',
        config: { Entrypoint: ['/pause'], User: '65535:65535' },
        rootfs: { type: 'layers', diff_ids: [`sha256:${layer}`] },
        history: [{ created_by: 'scripts/cluster/images.mjs' }],
      });
      writeFileSync(join(scratch, 'config.json'), config);
      writeFileSync(
        join(scratch, 'manifest.json'),
        JSON.stringify([{ Config: 'config.json', RepoTags: [PAUSE_IMAGE], Layers: ['layer.tar'] }]),
      );
      demand(
        'tar',
        '--create',
        `--file=${file}`,
        `--directory=${scratch}`,
        'config.json',
        'layer.tar',
        'manifest.json',
      );
    } finally {
      rmSync(scratch, { recursive: true, force: true });
    }
  });
}

/** The file of a docker archive with an image of this machine's podman. Throws where it has none of that name. */
export function imageArchive(/** @type {string} */ image) {
  const id = demand('podman', 'image', 'inspect', '--format={{.Id}}', image).trim();
  const key = `${image.replaceAll(/[^\w.-]/g, '_')}-${id.slice(0, 12)}`;
  return kept(key, (file) =>
    demand('podman', 'save', '--quiet', '--format=docker-archive', `--output=${file}`, image),
  );
}

function kept(/** @type {string} */ key, /** @type {(file: string) => void} */ make) {
  mkdirSync(IMAGES, { recursive: true });
  const file = join(IMAGES, `${key}.tar`);
  if (existsSync(file)) return file;
  const fresh = `${file}.${process.pid}`;
  try {
    make(fresh);
    renameSync(fresh, file);
  } finally {
    rmSync(fresh, { force: true });
  }
  return file;
}

const hashOf = (/** @type {Buffer} */ bytes) => createHash('sha256').update(bytes).digest('hex');
