// The storage driver of a rootless podman. podman 4 takes vfs for a new user on some systems, which copies the
// whole image for every container. Only a store that is not there yet is given overlay: another driver hides all images of
// an existing one.

import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { readText } from '../../base/files/read-text.js';
import { replaceFile } from '../../base/files/replace-file.js';
import { shellWord } from '../../base/process/own-command.js';
import { run } from '../../base/process/process.js';
import type { EngineStatus } from '../../engine/engine.js';
import { driverOf } from '../../engine/engines.js';
import {
  doneResult,
  failedResult,
  ok,
  type SetupContext,
  type Step,
  type StepResult,
  skippedResult,
  whyNotOwnPodman,
} from './step.js';

const QUERY_TIMEOUT_MS = 30_000;
const SLOW =
  'vfs copies the whole image for every container, so that each start takes about 50 times as long';
const SYSTEM_CONF = '/etc/containers/storage.conf';

export const storageStep: Step = {
  name: 'storage',
  needs: ['engine', 'ids'],
  doing: "looking at the engine's storage",
  perform: async (setup) => {
    const unneeded = whyNotOwnPodman(setup);
    if (unneeded !== undefined) return skippedResult(`not needed: ${unneeded}`);
    const paths = storePaths(setup);
    const { env } = setup.prepared.discovery;
    const isDecided =
      paths.hasConf ||
      Boolean(env['STORAGE_DRIVER'] || env['CONTAINERS_STORAGE_CONF']) ||
      (readText(SYSTEM_CONF) ?? '')
        .split('\n')
        .some((line) => /^rootless_storage_path\s*=/.test(line.trim()));
    if (!paths.hasStore && !isDecided) return choose(setup, paths);
    if (!paths.hasStore && setup.options.dryRun) {
      setup.found.hasNoStore = true;
      return skippedResult(
        `${paths.hasConf ? paths.confFile : 'the environment'} says which driver; there is no store yet`,
      );
    }
    if (setup.found.engine === 'planned') return skippedResult('looked at when podman is there');
    return examine(setup, paths);
  },
};

async function choose(setup: SetupContext, { confFile }: ReturnType<typeof storePaths>): Promise<StepResult> {
  const mounter = setup.machine.find('fuse-overlayfs');
  const ways = [
    ...(mountsOverlay(setup.machine.kernel) ? [undefined] : []),
    ...(mounter === undefined ? [] : [mounter]),
  ];
  setup.found.hasNoStore = true;
  if (setup.options.dryRun) return skippedResult(`overlay would be chosen for the new store, in ${confFile}`);
  let trouble = 'neither this kernel nor fuse-overlayfs can mount it';
  for (const way of ways) {
    replaceFile(confFile, overlayConf(way));
    const status = await askEngine(setup);
    if (status.state === 'ready' && status.storageDriver === 'overlay') {
      setup.found.hasNoStore = false;
      const by = way === undefined ? '' : `, mounted by ${way}`;
      return doneResult(`overlay for the new store${by}, in ${confFile}`, {
        undo: [`rm ${shellWord(confFile)}`],
      });
    }
    trouble = status.state === 'ready' ? `podman takes ${status.storageDriver} all the same` : status.reason;
    rmSync(confFile);
    setup.signal.throwIfAborted();
  }
  setup.found.hasNoStore = false;
  const status = await askEngine(setup);
  if (status.state !== 'ready') return unusableResult(status);
  const remedy = 'Install fuse-overlayfs, or move your home to a file system that overlay can be mounted on.';
  return ok(status.storageDriver, {
    warnings: [{ detail: `overlay cannot be used here: ${trouble}; ${SLOW}`, remedy }],
  });
}

async function examine(
  setup: SetupContext,
  { confFile, storeDir }: ReturnType<typeof storePaths>,
): Promise<StepResult> {
  const status = await askEngine(setup);
  if (status.state !== 'ready') return unusableResult(status);
  const { storageDriver } = status;
  if (storageDriver !== 'vfs') return ok(storageDriver);
  const conf = shellWord(confFile);
  const cost = await contents(setup);
  return ok('vfs, in a store that exists and is therefore left alone', {
    warnings: [
      {
        detail: `${SLOW}. A store with overlay costs you ${cost} in ${storeDir}, which the first of these commands deletes`,
      },
    ],
    commands: [
      'podman system reset --force',
      `mkdir -p ${conf.replace(/storage\.conf('?)$/, '$1')}`,
      `printf '[storage]\\ndriver = "overlay"\\n' > ${conf}`,
    ],
  });
}

const unusableResult = ({ reason, remedy }: Exclude<EngineStatus, { state: 'ready' }>): StepResult =>
  failedResult(`podman cannot be used: ${reason}`, remedy);

/** Contents of a store, such as `3 images and no containers`. */
async function contents({ prepared, signal }: SetupContext): Promise<string> {
  const count = async (args: readonly string[]): Promise<number> => {
    const { stdout } = await run(
      [prepared.settings.runtime ?? 'podman', ...args],
      { timeoutMs: QUERY_TIMEOUT_MS },
      signal,
    );
    return stdout.split('\n').filter((line) => line !== '').length;
  };
  const [images, containers] = await Promise.all([
    count(['images', '--quiet']),
    count(['ps', '--quiet', '--all']),
  ]);
  const words = (number: number, name: string) =>
    `${number === 0 ? 'no' : number} ${name}${number === 1 ? '' : 's'}`;
  return `${words(images, 'image')} and ${words(containers, 'container')}`;
}

function askEngine({ prepared, signal }: SetupContext): Promise<EngineStatus> {
  const { runtime = 'podman' } = prepared.settings;
  return driverOf(runtime).probe(
    runtime,
    { url: undefined, platform: prepared.discovery.host.platform },
    signal,
  );
}

// Where a rootless podman keeps its images, and the file that says by which driver.

/** Since when the kernel lets an ordinary user mount overlay. */
const OVERLAY_SINCE = [5, 13] as const;

/** Whether a kernel of this release, such as 6.1.0-18-amd64, mounts overlay for an ordinary user. */
export function mountsOverlay(kernel: string): boolean {
  const [major = 0, minor = 0] = kernel.split('.').map(Number.parseFloat);
  return major > OVERLAY_SINCE[0] || (major === OVERLAY_SINCE[0] && minor >= OVERLAY_SINCE[1]);
}

export function storePaths({ prepared }: Pick<SetupContext, 'prepared'>): {
  readonly confFile: string;
  readonly storeDir: string;
  readonly hasConf: boolean;
  /** Whether podman was ever asked anything: it makes its store at the first question. */
  readonly hasStore: boolean;
} {
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
const overlayConf = (mountProgram?: string): string =>
  `[storage]\ndriver = "overlay"\n${
    mountProgram === undefined ? '' : `\n[storage.options.overlay]\nmount_program = "${mountProgram}"\n`
  }`;
