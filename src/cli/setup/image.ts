// `image build` and `image list`: images that need no registry, and which of the local ones a sandbox would use.

import { join } from 'node:path';
import { BridgeError } from '../../base/errors.js';
import { ownCommand } from '../../base/process/own-command.js';
import { VERSION } from '../../base/version.js';
import { chooseEngine, rememberedChoice, runtimeOf } from '../../engine/detect.js';
import type { BuiltImage, EngineFacts, PipWish } from '../../engine/engine.js';
import { driverOf } from '../../engine/engines.js';
import { listImages } from '../../engine/images/image-choice.js';
import { checkPackages, checkSuite, shortName } from '../../engine/images/image-name.js';
import { BASE_PROFILE, localImageName, readRecipe } from '../../engine/images/recipe.js';
import { parseRequirements } from '../../engine/images/requirements.js';
import { engineSelectionOf } from '../../sandbox/launch/launch-set-up.js';
import { pythonProfile } from '../../sandbox/spec/profile.js';
import { languages } from '../../settings/languages/records.js';
import { type Prepared, prepare } from '../serving/prepare.js';
import { columns } from '../terminal/columns.js';
import { interruptSignal } from '../terminal/interrupt.js';
import { coloursFor, megabytes, printJson, seconds } from '../terminal/output.js';
import { type BarProgress, ProgressBar } from '../terminal/progress-bar.js';
import { widthOf } from '../terminal/wrap.js';

/** The profile of commands, whose image has a variable of its own. */
const COMMANDS = 'code-exec';

/** One after the other, each reported when it is there; a profile that does not exist ends it before the first. */
export async function imageBuild(
  wanted: readonly string[],
  {
    suite,
    with: packages,
    pip: requirements = [],
    json,
  }: {
    readonly suite?: string;
    readonly with?: readonly string[];
    readonly pip?: readonly string[];
    readonly json?: true;
  },
): Promise<void> {
  const added = packages === undefined ? [] : checkPackages(packages);
  const asked = requirements.length === 0 ? [] : parseRequirements(requirements);
  if (suite !== undefined) checkSuite(suite);
  const profiles = [...new Set(wanted.length === 0 ? [BASE_PROFILE] : wanted)];
  for (const profile of profiles) {
    readRecipe(profile);
    if (asked.length > 0) checkIsPython(profile);
  }
  const prepared = prepare('warn', 'ends');
  const signal = interruptSignal();
  const { binary, status, images } = await chooseEngine(engineSelectionOf(prepared.settings), signal);
  const pip = asked.length === 0 ? undefined : pipWish(asked, prepared, binary, status);
  if (images.build === undefined)
    throw new BridgeError('E_IMAGE_BUILD', `${binary} takes images from registries only.`, {
      fault: 'operator',
    });
  const made: BuiltImage[] = [];
  for (const profile of profiles) {
    using progress = json ? NO_PROGRESS : new BuildProgress(process.stderr);
    const { onProgress, onBytes } = progress;
    const built = await images.build({ profile, suite, added, pip, onProgress, onBytes }, signal);
    progress[Symbol.dispose]();
    made.push(built);
    if (json) continue;
    process.stdout.write(
      `${built.image}  ${megabytes(built.sizeBytes)}, built in ${seconds(built.durationMs)}\n${pipText(built)}${howToUse(profile, built.image)}`,
    );
  }
  if (json) {
    printJson({
      images: made.map(({ durationMs, ...image }) => ({ ...image, durationMs: Math.round(durationMs) })),
    });
  }
}

/** Throws for an image that is of no use to `run_python`, for which alone packages are added by pip. */
function checkIsPython(profile: string): void {
  if (
    profile !== COMMANDS &&
    !languages.some((language) => language.profile === profile && profile !== BASE_PROFILE)
  )
    return;
  throw new BridgeError('E_ARGUMENTS', `--pip: got the profile '${profile}', expected base or data.`, {
    fault: 'operator',
    remedy: 'For example: image build data --pip polars.',
  });
}

function pipWish(
  requirements: readonly string[],
  { settings, discovery: { env } }: Pick<Prepared, 'settings' | 'discovery'>,
  binary: string,
  facts: EngineFacts,
): PipWish {
  const remembered = rememberedChoice(engineSelectionOf(settings));
  const candidates = driverOf(binary).runtimes(facts, settings.ociRuntime);
  return {
    requirements,
    lockDir: join(settings.stateDir, 'images'),
    certificatesFile: env['PIP_CERT'] || undefined,
    ociRuntimes: remembered?.binary === binary ? [runtimeOf(remembered), ...candidates] : candidates,
  };
}

/** Versions of the packages that pip has added, and where they are locked; '' without any. */
export function pipText({ pip }: Pick<BuiltImage, 'pip'>): string {
  if (pip === undefined) return '';
  const added = pip.packages.map(({ name, version }) => `${name} ${version}`).join(', ');
  const present = Object.entries(pip.present)
    .filter(([name]) => pip.packages.every((each) => each.name !== name))
    .map(([name, version]) => `${name} ${version}`)
    .join(', ');
  const lines = [
    `Added: ${added}`,
    ...(present === '' ? [] : [`Already in the image: ${present}`]),
    `Locked in ${pip.lockFile}: the next build takes the same files. Delete it to take newer ones.`,
  ];
  return `${lines.join('\n')}\n`;
}

/** A line for an image that is not used by itself; the default's and the languages' are. */
function howToUse(profile: string, image: string): string {
  const isPlain = image === localImageName(readRecipe(profile), VERSION);
  const ownLanguages = languages.filter((language) => language.profile === profile);
  if (profile === COMMANDS) return isPlain ? '' : `Set MCP_BRIDGE_EXECUTE_IMAGE=${image} to use it.\n`;
  if (profile !== BASE_PROFILE && ownLanguages.length > 0) {
    const set = ownLanguages.map(({ name }) => `${name}=${image}`).join(',');
    return isPlain ? '' : `Set MCP_BRIDGE_LANGUAGE_IMAGES=${set} to use it.\n`;
  }
  if (isPlain && profile === BASE_PROFILE) return '';
  const name = isPlain ? profile : shortName(image);
  return `Set MCP_BRIDGE_IMAGE=${name} to use it, or run --image ${name} for one run.\n`;
}

export async function imageList({ json }: { readonly json?: true }): Promise<void> {
  const { settings } = prepare('warn', 'ends');
  const signal = interruptSignal();
  const engine = await chooseEngine(engineSelectionOf(settings), signal);
  const images = await listImages(pythonProfile(settings), engine.images, signal);
  if (json) {
    printJson({ images });
    return;
  }
  if (images.length === 0) {
    process.stdout.write(`There is no image yet. Run \`${ownCommand('image', 'build')}\`.\n`);
    return;
  }
  process.stdout.write(imagesText(images));
}

/** A line for each; ends with a newline. */
export function imagesText(images: Awaited<ReturnType<typeof listImages>>): string {
  const paint = coloursFor(process.stdout);
  return columns(
    images.map(({ image, id, sizeBytes, chosen, age }) => [
      chosen ? paint.green('used') : '',
      age === undefined ? image : `${image} (${age})`,
      megabytes(sizeBytes),
      paint.dim(id.replace(/^sha256:/, '').slice(0, 12)),
    ]),
    { width: widthOf(process.stdout), wraps: [1], drops: [3] },
  );
}

// How far the making of an image is: mmdebstrap says which step it is at, and how long each takes is known well enough.

/** The beginnings of mmdebstrap's lines and of ours, in their order, with the share of the time that is over by then. */
const STEPS = [
  ['Installing ', 0],
  ['running apt-get update', 0.02],
  ['downloading packages', 0.08],
  ['extracting archives', 0.25],
  ['installing essential', 0.35],
  ['installing remaining', 0.6],
  ['cleaning package lists', 0.82],
  ['creating tarball', 0.86],
  ['Fetching ', 0.9],
  ['Importing as ', 0.93],
] as const;

/** Shows on `stream` what a build tells of itself; `onProgress` and `onBytes` are what buildImage takes. */
export class BuildProgress implements Disposable {
  readonly #bar: ProgressBar;
  readonly #isBar: boolean;
  #now: BarProgress | undefined;

  constructor(stream: NodeJS.WriteStream) {
    this.#bar = new ProgressBar(stream);
    this.#isBar = stream.isTTY === true;
  }

  readonly onProgress = (line: string): void => {
    const found = STEPS.find(([beginning]) => line.startsWith(beginning));
    // A line that is no step of ours, such as how long a step took, is a line in a pipe and no news for a bar.
    if (found === undefined && this.#isBar) return;
    const share = Math.max(found?.[1] ?? 0, this.#now?.share ?? 0);
    this.#now = { step: line.replace(/\.{3}$/, ''), share };
    this.#bar.show(this.#now);
  };

  readonly onBytes = (bytes: number): void => {
    if (this.#now !== undefined) this.#bar.show({ ...this.#now, bytes });
  };

  [Symbol.dispose](): void {
    this.#bar[Symbol.dispose]();
  }
}

/** A progress for who wants none, such as whoever reads JSON. */
export const NO_PROGRESS = { onProgress: () => {}, onBytes: undefined, [Symbol.dispose]: () => {} } as const;
