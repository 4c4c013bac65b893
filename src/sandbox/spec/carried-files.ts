// Where what the bridge brings along lies for a container: mounted from this machine, or, where the engine runs elsewhere,
// in an image of ours on top of the sandbox's own. That is made once for each image and each state of the files.

import { basename, dirname } from 'node:path';
import type { Derivation, Engine } from '../../engine/engine.js';
import type { ImageChoice } from '../../engine/images/image-choice.js';
import { FALLBACK_MOUNT, HARNESS_MOUNT, type PythonName } from './harness-files.js';
import { hashOf } from './installed-files.js';

/** Files of ours that the engine reads from the host, and the Python that is to read them. */
export type HostFiles = {
  readonly harnessDir: string;
  readonly fallbackDir: string | undefined;
  /** Whether the image that is started holds them already. */
  readonly areInImage?: boolean;
  readonly seccompFile: string;
  /** The name that the image gives its Python. */
  readonly python: PythonName;
};

/** The image that a container starts from, and where the bridge's files lie for it. */
type Carried = { readonly image: ImageChoice; readonly files: HostFiles };

/** Throws E_IMAGE_BUILD. */
export async function carry(
  { derived }: Pick<Engine, 'derived'>,
  brought: Carried,
  signal: AbortSignal,
): Promise<Carried> {
  if (derived === undefined) return brought;
  const { image, files } = brought;
  const made = await derived.make(derivationOf(brought), signal);
  return { image: { ...image, image: made }, files: { ...files, areInImage: true } };
}

/** Removes the image that was made for these files, which nobody will start from again. */
export async function dropCarried({ derived }: Pick<Engine, 'derived'>, brought: Carried): Promise<void> {
  await derived?.remove(derivationOf(brought).key);
}

function derivationOf({ image, files }: Carried): Derivation {
  const { harnessDir, fallbackDir, seccompFile } = files;
  return {
    base: image.image,
    key: keyOf(image, files),
    folders: {
      [HARNESS_MOUNT]: harnessDir,
      ...(fallbackDir === undefined ? {} : { [FALLBACK_MOUNT]: fallbackDir }),
    },
    seccompFile,
  };
}

/** The folders are named for their content. */
const keyOf = ({ id }: ImageChoice, { harnessDir, fallbackDir, seccompFile }: HostFiles): string =>
  hashOf(
    new Map([
      ['image', id],
      ['harness', basename(harnessDir)],
      ['python-fallback', fallbackDir === undefined ? '' : basename(fallbackDir)],
      ['seccomp', basename(dirname(seccompFile))],
    ]),
  );
