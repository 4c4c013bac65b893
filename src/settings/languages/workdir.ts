// Which folder of a sandbox can be its working directory. A file system in memory is put there, and hides what the image
// has in that place: where programs, the kernel's files and our own lie, none can be.

import { languages } from './records.js';

/** Where nobody names another. */
export const DEFAULT_WORKDIR = '/workspace';

const MAX_CHARS = 200;
/** Each of them, what is in them, and what they are in. */
const RESERVED: Readonly<Record<string, string>> = {
  'has programs of the image':
    '/bin /lib /lib32 /lib64 /libx32 /sbin /usr/bin /usr/lib /usr/lib32 /usr/lib64 /usr/libexec /usr/libx32 /usr/local /usr/sbin /usr/share',
  'has what the system is set up with': '/boot /etc /var/lib',
  'belongs to the kernel': '/dev /proc /sys',
  'is where the system keeps its own files': '/run /var/run /var/lock',
  'can be entered by root only': '/root /lost+found',
  'holds what the bridge runs in the sandbox': '/ipc /python-fallback',
  'is a writable place already': [
    '/tmp',
    ...languages.flatMap(({ places }) => places.map(({ target }) => target)),
  ].join(' '),
};

const isWithin = (path: string, folder: string): boolean => path === folder || path.startsWith(`${folder}/`);

/** Why it cannot be one, as `it …`; undefined where it can. */
export function workdirTrouble(path: string): string | undefined {
  if (!path.startsWith('/')) return 'it is not absolute';
  if (path === '/') return 'it is the whole file system';
  if (path.length > MAX_CHARS) return `it has ${path.length} characters; at most ${MAX_CHARS} are taken`;
  // The engines' options have no way to quote.
  if (!/^[\w./+@-]+$/.test(path)) return 'it has characters other than letters, digits and _ . + @ -';
  if (/\/\.{0,2}(\/|$)/.test(path)) return 'it has a part that is empty, . or ..';
  for (const [why, folders] of Object.entries(RESERVED)) {
    const folder = folders
      .split(' ')
      .find((reserved) => isWithin(path, reserved) || isWithin(reserved, path));
    if (folder !== undefined)
      return `${isWithin(path, folder) ? folder : `${folder}, which is in it,`} ${why}`;
  }
  return undefined;
}
