// What the configuration needs to know of the machine and the user, as plain values, so that nothing else in this
// floor asks the operating system and a test can be any machine. Reads no file and no environment variable.

import { existsSync } from 'node:fs';
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
};

/** The facts of this machine and process. */
export function hostFacts(): HostFacts {
  return {
    home: homeFolder(homedir(), () => userInfo().homedir),
    platform: process.platform,
    cores: availableParallelism(),
    cwd: currentFolder(),
    uid: process.getuid?.(),
    exists: existsSync,
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
