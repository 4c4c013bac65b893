// Facts that the steps ask of this machine, as values and two functions, so that a test can play any machine.

import { existsSync } from 'node:fs';
import { release, userInfo } from 'node:os';
import { readText } from '../../base/files/read-text.js';
import { findProgram } from '../../base/process/find-program.js';
import type { DiscoverContext } from '../../hosts/discovery/discover.js';
import { subordinateIds } from '../doctor/machine.js';
import { type System, systemOf } from './systems.js';

export type SetupMachine = {
  /** How it installs programs; undefined where we do not know. */
  readonly system: System | undefined;
  readonly isRoot: boolean;
  readonly username: string;
  /** Release of the kernel, such as 6.1.0-18-amd64. */
  readonly kernel: string;
  readonly hasSystemd: boolean;
  /** Whether both versions of control groups are mounted, which crun of Debian 12 refuses. */
  readonly hasBothCgroups: boolean;
  /** Path of a program, also of one that only root's PATH has. */
  readonly find: (program: string) => string | undefined;
  /** How many ids /etc/subuid or /etc/subgid gives to the user. */
  readonly idsIn: (file: string) => number;
};

/** On Debian an ordinary user's PATH lacks the folders where runc lies. */
const ROOTS_FOLDERS = ':/usr/local/sbin:/usr/sbin:/sbin';

export function thisMachine({ env, host }: DiscoverContext): SetupMachine {
  const withRoots =
    host.platform === 'win32' ? env : { ...env, PATH: `${env['PATH'] ?? ''}${ROOTS_FOLDERS}` };
  return {
    system: systemOf(host.platform, readText('/etc/os-release') ?? ''),
    isRoot: host.uid === 0,
    username: userInfo().username,
    kernel: release(),
    hasSystemd: existsSync('/run/systemd/system'),
    hasBothCgroups: existsSync('/sys/fs/cgroup/unified'),
    find: (program) => findProgram(program, withRoots),
    idsIn: subordinateIds,
  };
}
