// The root of a machine for newcomers: Debian packages unpacked from this machine's own mirrors, and one ordinary user with
// the usual range of ids. Made once per recipe and kept in .cache/install.

import { createHash } from 'node:crypto';
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { unpackDebian } from '../host/debian-root.mjs';
import { NEWCOMER, SUITES } from './suites.mjs';

/** The folder of the suite's root; `say` is told what takes long. Needs root and mmdebstrap. */
export async function debianRoot(suite, cache, say) {
  const recipe = JSON.stringify([suite, SUITES[suite], NEWCOMER, furnish.toString()]);
  const folder = join(cache, `${suite}-${createHash('sha256').update(recipe).digest('hex').slice(0, 12)}`);
  if (existsSync(folder)) return folder;
  say(`${suite}: unpacking Debian packages, about two minutes`);
  mkdirSync(cache, { recursive: true });
  const scratch = mkdtempSync(join(cache, 'making-'));
  try {
    // apt fetches as a user of its own.
    chmodSync(scratch, 0o755);
    const root = join(scratch, 'root');
    await unpackDebian({ suite, packages: SUITES[suite], scratch, root });
    furnish(root);
    for (const name of readdirSync(cache).filter((one) => one.startsWith(`${suite}-`)))
      rmSync(join(cache, name), { recursive: true });
    renameSync(root, folder);
    return folder;
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

function furnish(root) {
  const { name, id, home } = NEWCOMER;
  const path = (file) => join(root, file);
  appendFileSync(path('etc/passwd'), `${name}:x:${id}:${id}::${home}:/bin/bash\n`);
  appendFileSync(path('etc/group'), `${name}:x:${id}:\n`);
  for (const file of ['etc/subuid', 'etc/subgid']) writeFileSync(path(file), `${name}:100000:65536\n`);
  writeFileSync(path('etc/hostname'), 'newcomer\n');
  rmSync(path('etc/resolv.conf'), { force: true });
  writeFileSync(path('etc/resolv.conf'), '');
  // What a machine mounts.
  for (const folder of ['proc', 'sys', 'dev', 'run', 'tmp', 'opt/node', `.${home}`, '.old'])
    mkdirSync(path(folder), { recursive: true });
}
