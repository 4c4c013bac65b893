// Walls of a container as the kernel tells them of its first process, so that one from a template can be held against the engine's
// own: the two were started from the same walls, and must have them. Linux only.

import { readlinkSync } from 'node:fs';
import { type ReadText, readText } from '../../base/files/read-text.js';
import { CONTROLS, groupLimit } from '../machine/enforcement.js';

/** Lines of /proc/PID/status that are a wall. */
const STATUS = /^(?:Uid|Gid|Groups|Umask|Cap\w+|NoNewPrivs|Seccomp\w*):/;
const NAMESPACES = ['cgroup', 'ipc', 'mnt', 'net', 'pid', 'user', 'uts'];

/** Each wall of the container of the first process `pid`, by its name; equal for containers that are held alike. */
export function wallsSeen(pid: number, read: ReadText = readText): ReadonlyMap<string, string> {
  const text = (name: string): string => read(`/proc/${pid}/${name}`) ?? '';
  const status = text('status')
    .split('\n')
    .filter((line) => STATUS.test(line))
    .join('\n');
  return new Map([
    ['ids, capabilities and seccomp', status],
    ['limits of processes', text('limits')],
    ['users', text('uid_map')],
    ['groups', text('gid_map')],
    ['security label', text('attr/current')],
    ['order of memory kills', text('oom_score_adj')],
    ['mounts', mountsIn(text('mountinfo'))],
    ...CONTROLS.map(
      (control) => [`${control} limit`, String(groupLimit(pid, control, read)?.value)] as const,
    ),
  ]);
}

/** File systems that the kernel makes of itself: what is mounted of them is no file that anybody has written. */
const OF_KERNEL = ['cgroup', 'cgroup2', 'devtmpfs', 'proc', 'sysfs'];

/**
 * Where something is mounted, what, and how. Of the root only that it is read-only, since a sandbox's is another mount on the
 * same files; and not which file of the host it is, nor what that lies on, since a sandbox has files of its own: an ordinary
 * user's engine keeps its files on a tmpfs.
 */
const mountsIn = (mountinfo: string): string =>
  mountinfo
    .split('\n')
    .flatMap((line) => {
      const [before = '', after = ''] = line.split(' - ');
      const [, , , root = '', target = '', options = ''] = before.split(' ');
      const [type = '', , superOptions = ''] = after.split(' ');
      if (target === '') return [];
      if (target === '/') return [`/ ${options.split(',').includes('ro') ? 'ro' : 'rw'}`];
      const what = root === '/' || OF_KERNEL.includes(type) ? type : 'a file or folder';
      return [[target, options, what, what === 'tmpfs' ? superOptions : ''].join(' ')];
    })
    .sort()
    .join('\n');

/**
 * The first wall of `ours` that is not as the engine's container has it, with the lines that only one of the two has, or that is
 * shared; undefined where there is none.
 */
export function firstDifference(engines: number, ours: number): string | undefined {
  const [theirs, own] = [wallsSeen(engines), wallsSeen(ours)];
  for (const [wall, value] of theirs) {
    const now = own.get(wall) ?? '';
    if (now !== value) return `${wall} (${onlyIn(now, value)}, and not ${onlyIn(value, now)})`;
  }
  const shared = NAMESPACES.find((name) => {
    const inner = namespaceOf(ours, name);
    return inner === '' || inner === namespaceOf(engines, name) || inner === namespaceOf('self', name);
  });
  return shared && `the ${shared} namespace`;
}

/** Lines of `text` that `other` has not. */
function onlyIn(text: string, other: string): string {
  const others = new Set(other.split('\n'));
  return (
    text
      .split('\n')
      .filter((line) => !others.has(line))
      .join('; ') || 'nothing'
  );
}

/** '' where it cannot be read. */
function namespaceOf(pid: number | 'self', name: string): string {
  try {
    return readlinkSync(`/proc/${pid}/ns/${name}`);
  } catch {
    return '';
  }
}
