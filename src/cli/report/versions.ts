// `--version --json`, and the head of `report`: which versions meet here. Asks the engine what it is, and starts no container.

import { messageOf } from '../../base/errors.js';
import { PACKAGE_NAME, VERSION } from '../../base/version.js';
import { chooseEngine } from '../../engine/detect.js';
import { localChoice } from '../../engine/images/image-choice.js';
import { engineSelectionOf } from '../../sandbox/launch/launch-set-up.js';
import { pythonProfile } from '../../sandbox/spec/profile.js';
import type { Settings } from '../../settings/environment/settings.js';
import { examine } from '../serving/prepare.js';
import { interruptSignal } from '../terminal/interrupt.js';
import { printJson } from '../terminal/output.js';

export type Versions = {
  readonly name: string;
  readonly version: string;
  readonly node: string;
  /** Platform and processor, such as `linux x64`. */
  readonly system: string;
  /** Null if no engine can be used; `problem` says why. */
  readonly engine: { readonly program: string; readonly version: string; readonly mode: string } | null;
  /** The image that a run would start from; null if it is not on this machine. */
  readonly image: { readonly name: string; readonly id: string } | null;
  readonly problem: string | null;
};

/** Prints them as JSON, also if some settings are wrong. */
export async function printVersions(): Promise<void> {
  printJson(await findVersions(examine('error', 'ends').settings, interruptSignal()));
}

/** Never rejects. */
export async function findVersions(settings: Settings, signal: AbortSignal): Promise<Versions> {
  const own = {
    name: PACKAGE_NAME,
    version: VERSION,
    node: process.version,
    system: `${process.platform} ${process.arch}`,
  };
  let engine: Versions['engine'] = null;
  try {
    const { binary, status, images } = await chooseEngine(engineSelectionOf(settings), signal);
    engine = { program: binary, version: status.version, mode: status.mode };
    const choice = await localChoice(pythonProfile(settings), images, signal);
    const image = choice === undefined ? null : { name: choice.image, id: choice.id };
    return { ...own, engine, image, problem: null };
  } catch (thrown) {
    return { ...own, engine, image: null, problem: messageOf(thrown) };
  }
}
