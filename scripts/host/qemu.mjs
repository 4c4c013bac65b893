// A newer qemu than this machine's, for kernels that the older one cannot run: Debian's own packages unpacked into
// .cache/host and started by their own loader, so that nothing of this machine is replaced.

import { chmodSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { unpackDebian } from './debian-root.mjs';
import { NEWER_QEMU } from './suites.mjs';

const CACHE = join(dirname(fileURLToPath(import.meta.url)), '../../.cache/host');

/** The argv that its options are put behind. */
export async function newerQemu(say) {
  const { suite, packages } = NEWER_QEMU;
  const root = join(CACHE, `qemu-${suite}`);
  if (!existsSync(root)) {
    mkdirSync(CACHE, { recursive: true });
    const scratch = mkdtempSync(join(CACHE, 'making-'));
    // apt fetches as a user of its own.
    chmodSync(scratch, 0o755);
    try {
      say(`${suite}: unpacking its qemu, some ten seconds`);
      const made = join(scratch, 'root');
      await unpackDebian({ suite, variant: 'extract', packages, scratch, root: made });
      renameSync(made, root);
    } finally {
      rmSync(scratch, { recursive: true, force: true });
    }
  }
  const libraries = join(root, 'usr/lib/x86_64-linux-gnu');
  return [
    join(libraries, 'ld-linux-x86-64.so.2'),
    '--library-path',
    libraries,
    join(root, 'usr/bin/qemu-system-x86_64'),
    ...['qemu', 'seabios'].flatMap((name) => ['-L', join(root, 'usr/share', name)]),
  ];
}
