// Facts that the configuration needs about the machine and the user, as plain values, so that nothing else in this floor asks
// the operating system and a test can be any machine. Reads no file and no environment variable.

import { existsSync, realpathSync } from 'node:fs';
import { availableParallelism, homedir, userInfo } from 'node:os';
import path from 'node:path';

export type HostFacts = {
  readonly home: string;
  readonly platform: NodeJS.Platform;
  readonly cores: number;
  readonly cwd: string;
  /** The user's id; undefined where there is no such thing (Windows). */
  readonly uid: number | undefined;
  readonly exists: (file: string) => boolean;
  /** How the disk spells the path of something that is there; absent where every spelling is a path of its own. */
  readonly spelling?: (path: string) => string;
};

/** The facts of this machine and process. */
export function hostFacts(): HostFacts {
  const { platform } = process;
  const home = homeFolder(homedir(), () => userInfo().homedir);
  const cwd = currentFolder();
  const common = { platform, cores: availableParallelism(), uid: process.getuid?.(), exists: existsSync };
  if (platform !== 'darwin' && platform !== 'win32') return { ...common, home, cwd };
  // Both came from somebody who may have typed them; every other path begins with one of them.
  return {
    ...common,
    home: spelledByDisk(home),
    cwd: spelledByDisk(cwd),
    spelling: (path) => spelledByDisk(path),
  };
}

/**
 * The user's home: what HOME says (`said`), and what the system says where that is no absolute path, as when it is set
 * and empty. Neither may be; then it is what HOME says.
 */
export function homeFolder(said: string, bySystem: () => string): string {
  if (path.isAbsolute(said)) return said;
  try {
    return bySystem();
  } catch {
    // A user id without an entry among the system's users.
    return said;
  }
}

/** Where we were started. A folder that was removed under us lets no program start in it either, so we leave it. */
function currentFolder(): string {
  try {
    return process.cwd();
  } catch {
    process.chdir(existsSync(homedir()) ? homedir() : '/');
    return process.cwd();
  }
}

/** The path as the file system spells it; as it was written where it is not there, or leads through a link. */
export function spelledByDisk(
  path: string,
  realPath: (path: string) => string = realpathSync.native,
): string {
  try {
    const real = realPath(path);
    return foldPath(real) === foldPath(path) ? real : path;
  } catch {
    return path;
  }
}

/** The path without case and form of composed letters: two paths whose folded forms differ are never one file. */
export const foldPath = (path: string): string => path.normalize('NFC').toLowerCase();

/** Path rules of the machine that the facts describe, which need not be the one that runs this. */
export function pathRules(host: HostFacts): path.PlatformPath {
  return host.platform === 'win32' ? path.win32 : path.posix;
}

/** An absolute path from what a person wrote: `~/` is the home folder, anything relative starts at `base`. */
export function absolutePath(written: string, base: string, host: HostFacts): string {
  const rules = pathRules(host);
  const home = /^~(?=$|[/\\])/;
  return rules.resolve(base, home.test(written) ? rules.join(host.home, written.slice(1)) : written);
}

// Whether two spellings are one file or folder. Linux minds case; Windows does not, and takes both slashes; on macOS it
// depends on the volume, so the file system is asked there. Hosts note a project as it was spelled when they were started.

/** A text that is the same for all spellings of one path on this machine. On Linux it is the path. */
export function pathKey(path: string, host: HostFacts): string {
  if (host.platform === 'win32') return foldedCase(pathRules(host).normalize(path));
  return host.spelling === undefined ? path : host.spelling(path);
}

export function isSamePath(one: string, other: string, host: HostFacts): boolean {
  if (one === other) return true;
  if (host.platform === 'win32') return pathKey(one, host) === pathKey(other, host);
  // Asking the disk about each of a host's hundred projects is not for nothing, so what differs in more is not asked about.
  if (host.spelling === undefined || foldPath(one) !== foldPath(other)) return false;
  return host.spelling(one) === host.spelling(other);
}

/** The key of `record` that spells `path`: as it is, else in another way. */
export function keyOfPath(
  record: Readonly<Record<string, unknown>>,
  path: string,
  host: HostFacts,
): string | undefined {
  if (Object.hasOwn(record, path)) return path;
  if (host.platform !== 'win32' && host.spelling === undefined) return undefined;
  return Object.keys(record).find((key) => isSamePath(key, path, host));
}

/**
 * Letters that are each other's upper and lower case become one, as NTFS compares names. The Kelvin sign or a long s is
 * no k and no s there, whatever Unicode says, and a folder that is approved must not approve another one.
 */
function foldedCase(path: string): string {
  let folded = '';
  for (const char of path) {
    const upper = char.toUpperCase();
    folded += upper.length === char.length && upper.toLowerCase() === char ? upper : char;
  }
  return folded;
}
