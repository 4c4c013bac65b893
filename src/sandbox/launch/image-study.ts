// Finds out what the image of run_python holds, once for each image and behind everybody's back: the version from a
// sandbox's greeting, the modules from the labels of an image that we have built, and of any other from a sandbox of its
// own, in which nothing runs but the question. The harness is compiled in such a sandbox as well, where the trial was one of
// another image or of another bridge's harness. A launcher that only serves one command asks nothing of the kind.

import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../../base/errors.js';
import { readLabels } from '../../engine/images/image-labels.js';
import { readOwnName } from '../../engine/images/image-name.js';
import { modulesOf, recipeOf } from '../../engine/images/recipe.js';
import { Sandbox } from '../conversation/sandbox.js';
import { bestKnownFirst, factsFrom, factsOf, KNOWN_MODULES, rememberFacts } from '../python/image-facts.js';
import { compileIn, runOwnCode, startByName } from '../python/python-name.js';
import { carry, type PythonName } from '../spec/harness-files.js';
import {
  keepHarness,
  type LaunchContext,
  type LaunchSetUp,
  specOn,
  startOptionsOn,
} from './launch-set-up.js';

/** The first call comes first. */
const LOOK_AFTER_MS = 2_000;
const LOOK_SECONDS = 10;
/** Modules of every image that no program uses as a library. */
const TOOLS = ['pip', 'setuptools', 'wheel', 'pkg_resources', 'distutils'];
const CODE = `
import importlib.metadata, importlib.util
def has(name):
    try:
        return importlib.util.find_spec(name) is not None
    except Exception:
        return False
def tops(dist):
    listed = (dist.read_text("top_level.txt") or "").split()
    return listed or {str(path).split("/")[0].removesuffix(".py") for path in dist.files or ()}
found = {name for name in ${JSON.stringify(KNOWN_MODULES)} if has(name)}
for dist in importlib.metadata.distributions():
    try:
        found.update(name for name in tops(dist) if name.isidentifier() and not name.startswith("_") and has(name))
    except Exception:
        pass
sorted(found - set(${JSON.stringify(TOOLS)}))
`;

const isModule = (name: unknown): name is string => typeof name === 'string' && /^\w{1,64}$/.test(name);

export class ImageStudy {
  readonly #context: LaunchContext;
  readonly #closing: AbortSignal;
  readonly #onCompiled: (before: LaunchSetUp, now: LaunchSetUp) => void;
  /** Id of the image that was studied last. */
  #studied = '';

  /** `onCompiled` has the set-up with the compiled harness in the place of the one without. */
  constructor(
    context: LaunchContext,
    closing: AbortSignal,
    onCompiled: (before: LaunchSetUp, now: LaunchSetUp) => void,
  ) {
    this.#context = context;
    this.#closing = closing;
    this.#onCompiled = onCompiled;
  }

  /** Studies the image of a sandbox that has greeted with `version`. Free where the image is known. Never rejects. */
  async study(pad: LaunchSetUp, version: string): Promise<void> {
    const { id } = pad.image;
    if (this.#studied === id) return;
    this.#studied = id;
    try {
      const { stateDir } = this.#context.settings;
      const known = factsOf(stateDir, id)?.modules ?? undefined;
      this.#remember(pad, version, known);
      const modules = known ?? (await this.#asLabelled(pad)) ?? (await this.#asSeen(pad));
      if (known === undefined && modules !== undefined) this.#remember(pad, version, modules);
      await this.#compile(pad);
    } catch (thrown) {
      if (this.#closing.aborted) return;
      const message = `the contents of the image are not known: ${messageOf(thrown)}`;
      this.#context.observer({ type: 'engine.trouble', message });
    }
  }

  #remember({ image }: LaunchSetUp, version: string, modules: readonly string[] | undefined): void {
    const found = factsFrom(version, modules);
    if (found === undefined) return;
    rememberFacts(this.#context.settings, image.id, found);
    this.#context.observer({ type: 'image.known', image: image.image, ...found });
  }

  /** Modules of an image that we have built, by its labels; an image from before those labels has the modules of its recipe. */
  async #asLabelled({ image, engine }: LaunchSetUp): Promise<readonly string[] | undefined> {
    const name = readOwnName(image.image);
    if (name === undefined) return undefined;
    const labels = await readLabels(engine.images, image.image, this.#closing);
    if (labels?.modules !== undefined) return labels.modules;
    const recipe = recipeOf(name);
    return recipe && modulesOf(recipe);
  }

  async #asSeen(pad: LaunchSetUp): Promise<readonly string[] | undefined> {
    await using sandbox = await this.#startLater(pad);
    if (sandbox === undefined) return undefined;
    const { value } = await runOwnCode(sandbox, CODE, LOOK_SECONDS);
    return Array.isArray(value) ? bestKnownFirst(value.filter(isModule)) : undefined;
  }

  /** An engine elsewhere would make another image for that. */
  async #compile(pad: LaunchSetUp): Promise<void> {
    if (pad.isCompiled || pad.engine.derived !== undefined) return;
    await using sandbox = await this.#startLater(pad);
    const compiled = sandbox && (await compileIn(sandbox));
    if (compiled !== undefined) this.#onCompiled(pad, keepHarness(pad, this.#context, compiled));
  }

  /** A sandbox in which nobody else's code runs. */
  async #startLater(pad: LaunchSetUp): Promise<Sandbox | undefined> {
    const { settings, observer } = this.#context;
    if (settings.warm === 0) return undefined;
    await sleep(LOOK_AFTER_MS, undefined, { signal: this.#closing, ref: false });
    const startWith = async (python: PythonName): Promise<Sandbox> => {
      const carried = await carry(
        pad.engine,
        { image: pad.image, files: { ...pad.files, python } },
        this.#closing,
      );
      const spec = specOn({ ...pad, ...carried }, this.#context, 'image-study');
      return Sandbox.start(pad.engine, spec, startOptionsOn(pad, observer), this.#closing);
    };
    return await startByName(pad.image, this.#context, startWith, this.#closing);
  }
}
