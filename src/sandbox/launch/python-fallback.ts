// Starts sandboxes on images of others: with the image's own Python, or, where that is missing or too old, with ours.
// Which of them is found out by trying, once for each image; an image that has Python pays nothing for this.

import { basename } from 'node:path';
import { asBridgeError, BridgeError, messageOf } from '../../base/errors.js';
import { MB_BYTES } from '../../base/text/sizes.js';
import { clip } from '../../base/text/text.js';
import { unlessAborted } from '../../base/waiting/unless-aborted.js';
import type { ImageChoice } from '../../engine/images/image-choice.js';
import { Sandbox } from '../conversation/sandbox.js';
import { readImagePythons, rememberTree, rememberWithoutPython } from '../python/image-facts.js';
import { lacksPython, runOwnCode, startByName } from '../python/python-name.js';
import {
  carry,
  fallbackFilesIn,
  HARNESS_MOUNT,
  type HostFiles,
  type PythonName,
} from '../spec/harness-files.js';
import { type Files, installedDir, installFiles, OPEN_DIR, removeOthers } from '../spec/installed-files.js';
import { pythonProfile, type SandboxProfile } from '../spec/profile.js';
import { OLDEST_PYTHON } from '../spec/promises.js';
import { harnessKey } from './kept-harness.js';
import { filesDir, type LaunchContext, type LaunchSetUp, specOn, startOptionsOn } from './launch-set-up.js';

/** Memory of a Python that hands over some twenty megabytes, whatever runs are allowed. */
const TAKE_BYTES = 512 * MB_BYTES;
/** Half a second for a Python that is compiled; five for one whose image has sources only. */
const TAKE_SECONDS = 60;
const MAX_REASON_CHARS = 300;
const CODE = `
import subprocess, sys
subprocess.run([sys.executable, "-I", "${HARNESS_MOUNT}/harness/python_fallback.py"], check=True)
`;

export class PythonFallback {
  readonly #context: LaunchContext;
  readonly #closing: AbortSignal;
  readonly #trees = new WeakMap<LaunchSetUp, Promise<string>>();
  #count = 0;

  /** `closing` ends what several starts wait for together. */
  constructor(context: LaunchContext, closing: AbortSignal) {
    this.#context = context;
    this.#closing = closing;
  }

  /** Calls `start` with the files that the image needs. Throws what `start` throws, and why there are no such files. */
  async start(
    {
      pad,
      image,
      kind,
    }: {
      readonly pad: LaunchSetUp;
      readonly image: ImageChoice;
      readonly kind: SandboxProfile;
    },
    start: (files: HostFiles) => Promise<Sandbox>,
    signal: AbortSignal,
  ): Promise<Sandbox> {
    const { stateDir } = this.#context.settings;
    const startOwn = () =>
      startByName(image, this.#context, (python) => start({ ...pad.files, python }), signal);
    if (image.id === pad.image.id) return startOwn();
    const isKnown = readImagePythons(stateDir).withoutPython.includes(image.id);
    if (isKnown && kind.isPython) throw withoutPython(image);
    if (isKnown) return this.#startWithOurs(pad, image, start, signal);
    try {
      return await startOwn();
    } catch (thrown) {
      if (signal.aborted || !lacksPython(thrown)) throw thrown;
      if (kind.isPython) throw withoutPython(image);
      const sandbox = await this.#startWithOurs(pad, image, start, signal);
      this.#tellTrouble(() => rememberWithoutPython(stateDir, image.id));
      return sandbox;
    }
  }

  async #startWithOurs(
    pad: LaunchSetUp,
    image: ImageChoice,
    start: (files: HostFiles) => Promise<Sandbox>,
    signal: AbortSignal,
  ): Promise<Sandbox> {
    this.#context.observer({ type: 'setup.step', step: `starting the image ${image.image} with our Python` });
    const fallbackDir = await unlessAborted(this.#treeFor(pad), signal);
    try {
      return await start({ ...pad.files, fallbackDir });
    } catch (thrown) {
      // Looked at anew by the next one.
      this.#trees.delete(pad);
      const error = asBridgeError(thrown);
      if (signal.aborted || error.code !== 'E_SANDBOX_START') throw thrown;
      throw new BridgeError(
        'E_SANDBOX_START',
        `The image ${image.image} has no Python of its own, and does not start with ours: ${error.message}`,
        {
          fault: 'operator',
          remedy: `Name an image that has Python ${OLDEST_PYTHON} or later, or allow programs to run from ${fallbackDir}.`,
          cause: thrown,
        },
      );
    }
  }

  /** Once for each pad, and so anew when the image changes that it is taken from; a failure is not kept. */
  #treeFor(pad: LaunchSetUp): Promise<string> {
    const known = this.#trees.get(pad);
    if (known !== undefined) return known;
    const making = this.#makeTree(pad);
    this.#trees.set(pad, making);
    making.catch(() => this.#trees.delete(pad));
    return making;
  }

  async #makeTree(pad: LaunchSetUp): Promise<string> {
    const { settings, observer } = this.#context;
    const dir = filesDir(settings, pad.engine);
    const key = harnessKey(pad.image);
    const known = readImagePythons(settings.stateDir).trees.find((tree) => tree.key === key);
    const installed = known === undefined ? undefined : installedDir(dir, 'python-fallback', known.hash);
    if (installed !== undefined) return installed;
    observer({ type: 'setup.step', step: `taking Python out of the image ${pad.image.image}` });
    const own = pythonProfile(settings);
    const kind = { ...own, memoryBytes: Math.max(own.memoryBytes, TAKE_BYTES), preimport: [] };
    const options = startOptionsOn(pad, observer);
    const startWith = async (python: PythonName): Promise<Sandbox> => {
      const brought = { image: pad.image, files: { ...pad.files, python } };
      const carried = await carry(pad.engine, brought, this.#closing);
      const spec = specOn({ ...pad, ...carried }, this.#context, `python-fallback-${++this.#count}`, kind);
      return Sandbox.start(pad.engine, spec, options, this.#closing);
    };
    await using sandbox = await startByName(pad.image, this.#context, startWith, this.#closing);
    const made = installFiles(dir, 'python-fallback', await takePython(sandbox));
    this.#tellTrouble(() => {
      const hashes = rememberTree(settings.stateDir, key, basename(made));
      // Others use that one, and a boot clears it.
      if (dir !== OPEN_DIR) removeOthers(dir, 'python-fallback', hashes);
    });
    return made;
  }

  /** A fact that is not remembered makes only the next start slower. */
  #tellTrouble(work: () => void): void {
    try {
      work();
    } catch (thrown) {
      const message = `what is known of the Python of images could not be saved: ${messageOf(thrown)}`;
      this.#context.observer({ type: 'engine.trouble', message });
    }
  }
}

/** The files of the sandbox's own Python. Uses up the sandbox. Throws E_SANDBOX_START where it gives none. */
async function takePython(sandbox: Sandbox): Promise<Files> {
  const { stdout, stderr } = await runOwnCode(sandbox, CODE, TAKE_SECONDS);
  const files = fallbackFilesIn(stdout);
  if (files !== undefined) return files;
  const why = clip(stderr.trim() || 'it did not deliver all of it', MAX_REASON_CHARS);
  throw new BridgeError(
    'E_SANDBOX_START',
    `Python could not be taken out of the image ${sandbox.spec.image}: ${why}`,
    { fault: 'operator', remedy: 'Name an image that has Python of its own.' },
  );
}

const withoutPython = ({ image }: ImageChoice): BridgeError =>
  new BridgeError(
    'E_IMAGE_MISSING',
    `The image ${image} has no Python ${OLDEST_PYTHON} or later, named python3 or python, and programs in Python need the image's own.`,
    { fault: 'operator', remedy: 'Set an image with Python for them, or none.' },
  );
