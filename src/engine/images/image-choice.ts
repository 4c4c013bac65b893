// Which image a sandbox starts from, and why: what was named if it is there, our own local one in place of the
// default, else what a registry gives. A profile's name means the image that we built of it. An image that the operator
// named is never replaced by another; one of imported settings is, so that a configuration which was written for another
// program works at once, and is told of.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { asBridgeError, BridgeError } from '../../base/errors.js';
import { replaceFile } from '../../base/files/replace-file.js';
import type { Observer } from '../../base/log/events.js';
import { ownCommand } from '../../base/process/own-command.js';
import { didYouMean } from '../../base/text/closest.js';
import { inMegabytes } from '../../base/text/sizes.js';
import { VERSION } from '../../base/version.js';
import type { ImageSource } from '../../settings/environment/plan.js';
import type { EngineFacts, EngineImages } from '../engine.js';
import { isBeforeContact } from '../machine/client-words.js';
import { derivedName } from './derived-image.js';
import { imageAge } from './image-labels.js';
import { buildWords, fullName, OWN_IMAGES, type OwnImageName, profiles, readOwnName } from './image-name.js';
import { PullTraces } from './pull-traces.js';
import { BASE_PROFILE, localImageName, readRecipe } from './recipe.js';

export type ImageChoice = {
  readonly image: string;
  /** The engine's id, which changes when the image behind the name does. */
  readonly id: string;
  readonly reason: /** The image that was meant is here; `by` says who named it. */
    | { readonly kind: 'found'; readonly by: ImageSource }
    /** A profile was meant, and its image has been built here. */
    | { readonly kind: 'profile'; readonly profile: string }
    /** Our own stands in for `image`, which is not here; `by` says who named that. */
    | { readonly kind: 'stand-in'; readonly image: string; readonly by: ImageSource }
    | { readonly kind: 'pulled' };
};

export type RequestedImage = {
  /** A reference, the name of a profile, or the short name of an image of ours. */
  readonly image: string;
  readonly imageSource: ImageSource;
  /** The recipe whose image stands in for one that nobody insists on. */
  readonly profile: string;
};

/** All that choosing asks of an engine. */
type ImageStore = Pick<EngineImages, 'name' | 'imageId' | 'pull' | 'build'>;

const NAMED_BY = { operator: 'named by the operator', default: 'the default' } as const;
/** Half a sentence about who named an image. */
const namedBy = (source: ImageSource): string =>
  typeof source === 'string' ? NAMED_BY[source] : `named in ${source.importedFrom}`;

/** Half a sentence for doctor. */
export function imageReasonInWords(reason: ImageChoice['reason']): string {
  switch (reason.kind) {
    case 'found':
      return `${namedBy(reason.by)}, found locally`;
    case 'profile':
      return `profile ${reason.profile}, built here`;
    case 'stand-in':
      return `built here, because ${reason.image} (${namedBy(reason.by)}) is not here`;
    case 'pulled':
      return 'pulled from its registry';
  }
}

/** The image of imported settings in whose place our own is used; undefined in all other cases. */
export const replacedImage = ({
  reason,
}: ImageChoice): { readonly image: string; readonly namedIn: string } | undefined =>
  reason.kind === 'stand-in' && typeof reason.by === 'object'
    ? { image: reason.image, namedIn: reason.by.importedFrom }
    : undefined;

/** The profile of commands, whose image has a variable of its own. */
const COMMANDS = 'code-exec';

/** How long the absence of a registry is believed. */
const REFUSAL_LASTS_MS = 60_000;

const refusals = new Map<string, { readonly until: number; readonly error: BridgeError }>();

/** The image that stands in for the default where no registry can be reached. */
export const ownImage = (): string => builtImage(BASE_PROFILE);

/** Throws E_IMAGE_MISSING when the image is neither here nor to be had. */
export async function chooseImage(
  named: RequestedImage,
  engine: ImageStore,
  observer: Observer,
  signal: AbortSignal,
): Promise<ImageChoice> {
  const wish = { ...named, image: fullName(named.image) };
  const local = await localChoice(wish, engine, signal);
  if (local !== undefined) {
    const replaced = replacedImage(local);
    if (replaced !== undefined) observer({ type: 'image.replaced', ...replaced, by: local.image });
    return local;
  }
  const unbuilt = unbuiltError(wish);
  if (unbuilt !== undefined) throw unbuilt;
  const built = await pullOrBuild(wish, engine, observer, signal);
  if (built !== undefined) return built;
  const pulled = await engine.imageId(wish.image, signal);
  if (pulled === undefined) throw missingImageError(wish, `${engine.name} pulled it but does not find it`);
  return { image: wish.image, id: pulled, reason: { kind: 'pulled' } };
}

/**
 * The error of an image that is not here, and in whose place none is: for whoever may neither pull nor build one. Its remedy
 * names the commands that do. Undefined where a sandbox can start.
 */
export async function absentImage(
  wish: RequestedImage,
  engine: Pick<ImageStore, 'name' | 'imageId'>,
  signal: AbortSignal,
): Promise<BridgeError | undefined> {
  if ((await localChoice(wish, engine, signal)) !== undefined) return undefined;
  const unbuilt = unbuiltError(wish);
  if (unbuilt !== undefined) return unbuilt;
  const { image, imageSource, profile } = wish;
  const isNamed = imageSource === 'operator';
  const pull = `\`${engine.name} pull ${image}\``;
  return new BridgeError(
    'E_IMAGE_MISSING',
    `The image ${image} is not here. The first call pulls it${isNamed ? '' : ', or builds one of ours if no registry answers'}.`,
    {
      fault: 'operator',
      remedy: isNamed
        ? `To pull it now: ${pull}. ${missingRemedy(wish)}`
        : `To have one now: ${pull}, or \`${buildCommand(profile)}\`, which needs no registry.`,
    },
  );
}

/** The error of an image of ours that was not built, and that no registry has; undefined for any other image. */
function unbuiltError({ image }: RequestedImage): BridgeError | undefined {
  const profile = profileOf(image);
  if (profile !== undefined) return notBuilt(profile);
  const own = readOwnName(image);
  return own === undefined ? undefined : ownNotBuilt(image, own);
}

/** Chooses without asking a registry: undefined where that would be the next step, or an image has to be built. */
export async function localChoice(
  { image: named, imageSource, profile }: RequestedImage,
  engine: Pick<EngineImages, 'imageId'>,
  signal: AbortSignal,
): Promise<ImageChoice | undefined> {
  const image = fullName(named);
  const meant = profileOf(image);
  const isReplaceable = meant === undefined && imageSource !== 'operator';
  const [wanted, own] = await Promise.all([
    firstPresent(meant === undefined ? [image] : builtNames(meant), engine, signal),
    firstPresent(isReplaceable ? builtNames(profile) : [], engine, signal),
  ]);
  if (wanted !== undefined)
    return {
      ...wanted,
      reason: meant === undefined ? { kind: 'found', by: imageSource } : { kind: 'profile', profile: meant },
    };
  return own && { ...own, reason: { kind: 'stand-in', image, by: imageSource } };
}

async function firstPresent(
  images: readonly string[],
  engine: Pick<EngineImages, 'imageId'>,
  signal: AbortSignal,
): Promise<Pick<ImageChoice, 'image' | 'id'> | undefined> {
  for (const image of images) {
    const id = await engine.imageId(image, signal);
    if (id !== undefined) return { image, id };
  }
  return undefined;
}

/**
 * The profile that is meant where an image is named: by the profile's own name, or by the full one that its image has
 * here. No registry has that image, and `data` alone must never become somebody's docker.io/library/data.
 */
function profileOf(image: string): string | undefined {
  return profiles().find((profile) => image === profile || image === builtImage(profile));
}

const commandFor = (own: OwnImageName): string => ownCommand(...buildWords(own));

const buildCommand = (profile: string): string =>
  ownCommand('image', 'build', ...(profile === BASE_PROFILE ? [] : [profile]));

const builtImage = (profile: string): string => localImageName(readRecipe(profile), VERSION);

/**
 * Names that the image of a profile may have, best first. The second is its name where its release was asked for by name and
 * the recipe's own release was another one then.
 */
function builtNames(profile: string): readonly string[] {
  const image = builtImage(profile);
  return [image, `${image}-${readRecipe(profile).suite}`];
}

const buildAdvice = (command: string): string =>
  `Run \`${command}\`, which takes about a minute and needs no registry.`;

/** The remedy where an image is not present. */
export function missingRemedy({ image, imageSource, profile }: RequestedImage): string {
  const meant = profileOf(image);
  if (meant !== undefined) return buildAdvice(buildCommand(meant));
  const own = readOwnName(fullName(image));
  if (own !== undefined) return buildAdvice(commandFor(own));
  return imageSource === 'operator'
    ? `Pull or build ${image}. Or remove it from ${profile === COMMANDS ? 'MCP_BRIDGE_EXECUTE_IMAGE' : 'MCP_BRIDGE_IMAGE or MCP_BRIDGE_LANGUAGE_IMAGES'} and run \`${buildCommand(profile)}\`.${didYouMean(image, profiles())}`
    : `Run \`${buildCommand(profile)}\`, which needs no registry.`;
}

const notBuilt = (profile: string): BridgeError =>
  new BridgeError(
    'E_IMAGE_MISSING',
    `The image of profile '${profile}' has not been built: ${builtImage(profile)} is not here.`,
    {
      fault: 'operator',
      remedy: buildAdvice(buildCommand(profile)),
    },
  );

/** An image of ours by its full name, of another release or with added packages: no registry has that either. */
const ownNotBuilt = (image: string, own: OwnImageName): BridgeError =>
  new BridgeError('E_IMAGE_MISSING', `The image ${image} has not been built here.`, {
    fault: 'operator',
    remedy: buildAdvice(commandFor(own)),
  });

/** The image that was built in place of the default one where that cannot be pulled; undefined where it was pulled. */
async function pullOrBuild(
  wish: RequestedImage,
  engine: ImageStore,
  observer: Observer,
  signal: AbortSignal,
): Promise<ImageChoice | undefined> {
  const { image } = wish;
  const refusal = refusals.get(image);
  if (refusal !== undefined && refusal.until > Date.now()) throw refusal.error;
  try {
    await pullWhileAlive(image, engine, observer, signal);
    return undefined;
  } catch (thrown) {
    if (signal.aborted) throw thrown;
    const why = thrown instanceof Error ? thrown.message : String(thrown);
    const built = await builtFor(wish, why, engine, observer, signal);
    if ('choice' in built) return built.choice;
    const error = missingImageError(wish, `${why}${built.trouble}`, built.remedy);
    refusals.set(image, { until: Date.now() + REFUSAL_LASTS_MS, error });
    throw error;
  }
}

/** Our own image in place of the default one, or why there is none. */
async function builtFor(
  { image, imageSource, profile }: RequestedImage,
  why: string,
  engine: ImageStore,
  observer: Observer,
  signal: AbortSignal,
): Promise<{ readonly choice: ImageChoice } | { readonly trouble: string; readonly remedy?: string }> {
  if (imageSource !== 'default') return { trouble: '' };
  try {
    const built = await buildInstead(profile, { image, why }, engine, observer, signal);
    if (built === undefined) return { trouble: '' };
    return { choice: { ...built, reason: { kind: 'stand-in', image, by: imageSource } } };
  } catch (thrown) {
    if (signal.aborted) throw thrown;
    const { message, remedy } = asBridgeError(thrown);
    return {
      trouble: `. An image of our own could not be built either: ${message}`,
      // The build alone is what has just failed.
      remedy: `${remedy === undefined ? '' : `${remedy} `}Run \`${ownCommand('doctor')}\`, which says what is missing on this machine, and then \`${buildCommand(profile)}\`.`,
    };
  }
}

/** Whether an image is ours by name. Images that hold the bridge's files on top of another serve nobody by their name. */
const isOurs = (name: string): boolean => name.startsWith(OWN_IMAGES) && !name.startsWith(derivedName(''));

/** The local images that could serve, with the one that would. */
export async function listImages(
  wish: RequestedImage,
  images: EngineImages,
  signal: AbortSignal,
): Promise<
  ReadonlyArray<{
    readonly image: string;
    readonly id: string;
    readonly sizeBytes: number;
    /** Whether a sandbox that starts now uses it. */
    readonly chosen: boolean;
    /** Half a sentence about one of ours that today's recipe would make otherwise; undefined for all others. */
    readonly age: string | undefined;
  }>
> {
  const ours = (await images.names(signal)).filter((name) => isOurs(name));
  const image = fullName(wish.image);
  const profile = profileOf(image);
  const wanted = profile === undefined ? [image] : builtNames(profile);
  const names = [...new Set([...wanted, ...ours])];
  const found = await Promise.all(
    names.map(async (name) => ({
      image: name,
      facts: await images.inspect(name, signal),
      age: await imageAge(images, name, signal),
    })),
  );
  const present = found.flatMap(({ facts, ...each }) => (facts === undefined ? [] : [{ ...each, ...facts }]));
  const own = wish.imageSource === 'operator' ? [] : builtNames(wish.profile);
  const chosen = [...wanted, ...own].find((name) => present.some(({ image }) => image === name));
  return present.map((found) => ({ ...found, chosen: found.image === chosen }));
}

function missingImageError(wish: RequestedImage, why: string, remedy = missingRemedy(wish)): BridgeError {
  return new BridgeError(
    'E_IMAGE_MISSING',
    `The image ${wish.image} is not here and cannot be pulled: ${why}.`,
    { fault: 'operator', remedy },
  );
}

/**
 * The image of `profile`, once it is built and the engine finds it, in place of a default one that cannot be pulled. Only for
 * an image that nobody has named: whoever names one means that one. Throws E_IMAGE_BUILD, or what the build needs and this
 * machine has not; undefined where this engine cannot be built for.
 */
async function buildInstead(
  profile: string,
  unavailable: { readonly image: string; readonly why: string },
  engine: ImageStore,
  observer: Observer,
  signal: AbortSignal,
): Promise<{ readonly image: string; readonly id: string } | undefined> {
  if (engine.build === undefined) return undefined;
  const image = builtImage(profile);
  const { image: instead, why } = unavailable;
  observer({ type: 'image.building', image, instead, why });
  const onProgress = (message: string) => observer({ type: 'image.progress', image, message });
  await engine.build({ profile, onProgress }, signal);
  const id = await engine.imageId(image, signal);
  if (id === undefined) return undefined;
  observer({ type: 'image.built', image, instead, why });
  return { image, id };
}

/** A registry that is there answers within a second or two; a firewall that drops packets never does. */
const PULL_SILENCE_MS = 20_000;
const LOOK_EVERY_MS = 1_000;

/**
 * A pull that is given up when its registry has been silent for too long, and goes on for as long as bytes come. A registry
 * that takes connections and answers nothing, or stops in the middle of a layer, would be waited for otherwise until the
 * engine's client gives up, which takes minutes or never happens. Throws what the engine says, or that the registry was silent.
 * Progress is told as `image.progress` and `image.received`.
 */
export async function pullWhileAlive(
  image: string,
  engine: Pick<EngineImages, 'pull'>,
  observer: Observer,
  signal: AbortSignal,
): Promise<void> {
  using traces = new PullTraces();
  const silence = new AbortController();
  let heardAt = performance.now();
  let hasAnswered = false;
  const onLine = (message: string): void => {
    observer({ type: 'image.progress', image, message });
    if (isBeforeContact(message)) return;
    hasAnswered = true;
    heardAt = performance.now();
  };
  const look = setInterval(() => {
    const before = traces.receivedBytes;
    if (traces.hasMoved()) heardAt = performance.now();
    if (traces.receivedBytes > before)
      observer({ type: 'image.received', image, bytes: traces.receivedBytes });
    // Without traces, a client that says nothing may be in the middle of a large layer.
    const canBeJudged = traces.isSeen || !hasAnswered;
    if (canBeJudged && performance.now() - heardAt >= PULL_SILENCE_MS) silence.abort();
  }, LOOK_EVERY_MS);
  try {
    await engine.pull(image, onLine, AbortSignal.any([signal, silence.signal]), traces);
  } catch (thrown) {
    if (!silence.signal.aborted || signal.aborted) throw thrown;
    const seconds = PULL_SILENCE_MS / 1000;
    throw new Error(
      hasAnswered
        ? `its registry stopped sending: ${inMegabytes(traces.receivedBytes)} had arrived, and nothing more came for ${seconds} s`
        : `no registry answered within ${seconds} s`,
    );
  } finally {
    clearInterval(look);
  }
}

// The image that a wish has led to, kept in the state directory for as long as the engine's store is as it was then: asking
// podman takes as long as a third of a start. The file of the store that says so is written with each image that comes, goes or
// gets another name.

/** Path below a state directory. What is in it holds for every state directory of a machine. */
export const IMAGES_FILE = join('cache', 'images.json');
/** Settings and engines of which a few are in use at a time. */
const MAX_KEPT = 8;

const keptBy = z.union([z.enum(['operator', 'default']), z.object({ importedFrom: z.string() })]);
const keptChoice = z.object({
  image: z.string(),
  id: z.string(),
  reason: z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('found'), by: keptBy }),
    z.object({ kind: z.literal('profile'), profile: z.string() }),
    z.object({ kind: z.literal('stand-in'), image: z.string(), by: keptBy }),
    z.object({ kind: z.literal('pulled') }),
  ]),
}) satisfies z.ZodType<ImageChoice>;
/** Latest first. `stamp` is the state of the store; see Engine.imageStamp. */
const keptChoices = z.array(z.object({ key: z.string(), stamp: z.string(), choice: keptChoice }));

/** The engine whose store it is, and where that lies. */
export type StorePlace = Pick<EngineFacts, 'storageDriver' | 'storageRoot'> & { readonly binary: string };

const imageKey = (
  { image, imageSource, profile }: RequestedImage,
  { binary, storageDriver, storageRoot }: StorePlace,
): string => JSON.stringify([VERSION, image, imageSource, profile, binary, storageDriver, storageRoot]);

/** Undefined where the store has changed since, or cannot be watched: its stamp is empty then. */
export function rememberedImage(
  stateDir: string,
  wish: RequestedImage,
  store: StorePlace,
  stamp: string,
): ImageChoice | undefined {
  if (stamp === '') return undefined;
  const key = imageKey(wish, store);
  return readKept(stateDir).find((each) => each.key === key && each.stamp === stamp)?.choice;
}

/** Does nothing where the store cannot be watched. Throws what the file system says. */
export function rememberImage(
  stateDir: string,
  wish: RequestedImage,
  store: StorePlace,
  { stamp, choice }: { readonly stamp: string; readonly choice: ImageChoice },
): void {
  if (stamp === '') return;
  const key = imageKey(wish, store);
  const others = readKept(stateDir).filter((each) => each.key !== key);
  const kept = [{ key, stamp, choice }, ...others].slice(0, MAX_KEPT);
  replaceFile(join(stateDir, IMAGES_FILE), JSON.stringify(kept));
}

function readKept(stateDir: string): z.infer<typeof keptChoices> {
  try {
    return keptChoices.parse(JSON.parse(readFileSync(join(stateDir, IMAGES_FILE), 'utf8')), {
      jitless: true,
    });
  } catch {
    // Absent, or of another version.
    return [];
  }
}
