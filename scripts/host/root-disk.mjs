// The first disk of a machine, and its kernel: Debian packages unpacked from this machine's own mirrors, furnished, and
// written into a file system image. Made once per recipe and kept in .cache/host. Needs root, mmdebstrap and e2fsprogs;
// mounts nothing.

import { createHash } from 'node:crypto';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { command } from './command.mjs';
import { unpackDebian } from './debian-root.mjs';
import { furnishNamespaces } from './furnish-namespaces.mjs';
import { furnishRoot } from './furnish-root.mjs';
import { KERNEL_SUITE, NAMESPACES, SUITES } from './suites.mjs';

const HERE = dirname(fileURLToPath(import.meta.url));
const CACHE = join(HERE, '../../.cache/host');
/** For the packages, the image twice (as loaded and as unpacked), and a thousand containers. The file is sparse. */
const DISK_SIZE = '4G';

/** {disk, kernel, initrd} of a suite; `say` is told what takes long. */
export async function rootDisk(suite, say) {
  const kernel = join(CACHE, `kernel-${stamp(KERNEL_SUITE)}`);
  if (!existsSync(kernel)) await build(KERNEL_SUITE, kernel, say);
  const disk = diskOf(suite);
  if (!existsSync(disk)) await build(suite, kernel, say);
  return { disk, kernel: join(kernel, 'vmlinuz'), initrd: join(kernel, 'initrd.img') };
}

/** {disk, kernel, initrd} of the machine that gives no user namespace; all of one folder. */
export async function namespaceMachine(say) {
  const folder = join(CACHE, `namespaces-${stamp('namespaces')}`);
  if (!existsSync(folder)) {
    await withScratch(async (scratch) => {
      const { suite, packages } = NAMESPACES;
      say(`${suite} with its own kernel: unpacking Debian packages, about two minutes`);
      const root = join(scratch, 'root');
      const made = join(scratch, 'made');
      await unpackDebian({ suite, packages, scratch, root });
      furnishRoot(root);
      furnishNamespaces(root);
      mkdirSync(made);
      copyKernel(root, made, suite);
      await writeDisk(root, join(made, 'disk.img'));
      discard((name) => name.startsWith('namespaces-'));
      renameSync(made, folder);
    });
  }
  const file = (name) => join(folder, name);
  return { disk: file('disk.img'), kernel: file('vmlinuz'), initrd: file('initrd.img') };
}

const diskOf = (suite) => join(CACHE, `${suite}-${stamp(suite)}.img`);

/** Cached files that a newer one takes the place of. */
function discard(isOld) {
  for (const name of readdirSync(CACHE).filter(isOld)) rmSync(join(CACHE, name), { recursive: true });
}

/** Of everything that a disk is made from. */
function stamp(suite) {
  const hash = createHash('sha256').update(JSON.stringify([suite, SUITES[suite] ?? NAMESPACES, DISK_SIZE]));
  for (const file of ['furnish-root.mjs', 'furnish-namespaces.mjs', 'suites.mjs'])
    hash.update(readFileSync(join(HERE, file)));
  return hash.digest('hex').slice(0, 12);
}

/** A folder for `work`, which is gone when that has ended. */
async function withScratch(work) {
  mkdirSync(CACHE, { recursive: true });
  const scratch = mkdtempSync(join(CACHE, 'making-'));
  const tidy = () => rmSync(scratch, { recursive: true, force: true });
  process.once('exit', tidy);
  // apt fetches as a user of its own.
  chmodSync(scratch, 0o755);
  try {
    await work(scratch);
  } finally {
    process.off('exit', tidy);
    tidy();
  }
}

const build = (suite, kernel, say) =>
  withScratch(async (scratch) => {
    say(`${suite}: unpacking Debian packages, about two minutes`);
    const root = join(scratch, 'root');
    await unpackDebian({ suite, packages: SUITES[suite].packages, scratch, root });
    furnishRoot(root);
    if (suite === KERNEL_SUITE) takeKernel(root, join(scratch, 'kernel'), kernel);
    else cpSync(join(kernel, 'modules'), join(root, 'usr/lib/modules'), { recursive: true });
    say(`${suite}: writing the disk`);
    const disk = join(scratch, 'disk.img');
    await writeDisk(root, disk);
    discard((name) => name.startsWith(`${suite}-`));
    renameSync(disk, diskOf(suite));
  });

const writeDisk = (root, disk) =>
  command(['mkfs.ext4', '-q', '-F', '-L', 'root', '-d', root, disk, DISK_SIZE]);

/** Keeps the kernel, its initrd and its modules for every machine. Disks with the modules of another one go. */
function takeKernel(root, made, kernel) {
  mkdirSync(made);
  copyKernel(root, made, KERNEL_SUITE);
  cpSync(join(root, 'usr/lib/modules'), join(made, 'modules'), { recursive: true });
  discard((name) => name.startsWith('kernel-') || name.endsWith('.img'));
  renameSync(made, kernel);
}

function copyKernel(root, made, suite) {
  const boot = (prefix) => {
    const name = readdirSync(join(root, 'boot')).find((one) => one.startsWith(prefix));
    if (name === undefined) throw new Error(`${suite} has no /boot/${prefix}*`);
    return join(root, 'boot', name);
  };
  cpSync(boot('vmlinuz-'), join(made, 'vmlinuz'));
  cpSync(boot('initrd.img-'), join(made, 'initrd.img'));
}
