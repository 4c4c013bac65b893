// Where a rootless podman keeps its images, and the file that says by which driver.

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { SetupContext } from './context.js';

export type StorePaths = {
  readonly confFile: string;
  readonly storeDir: string;
  readonly hasConf: boolean;
  /** Whether podman was ever asked anything: it makes its store at the first question. */
  readonly hasStore: boolean;
};

export function storePaths({ prepared }: Pick<SetupContext, 'prepared'>): StorePaths {
  const { env, host } = prepared.discovery;
  const confFile = join(env['XDG_CONFIG_HOME'] || join(host.home, '.config'), 'containers', 'storage.conf');
  const dataDir = env['XDG_DATA_HOME'] || join(host.home, '.local', 'share');
  const storeDir = join(dataDir, 'containers', 'storage');
  return {
    confFile,
    storeDir,
    hasConf: existsSync(confFile),
    hasStore: existsSync(storeDir),
  };
}

/** The text of a storage.conf; `mountProgram` where the kernel itself does not mount overlay for a user. */
export const overlayConf = (mountProgram?: string): string =>
  `[storage]\ndriver = "overlay"\n${
    mountProgram === undefined ? '' : `\n[storage.options.overlay]\nmount_program = "${mountProgram}"\n`
  }`;
