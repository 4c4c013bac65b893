// The recipe of an image that we build, as data: one JSON file per profile in sandbox-runtime/images, with the scripts that it
// names beside it. Only read here; image.ts makes the image.

import { z } from 'zod';
import { BridgeError } from '../../base/errors.js';
import { didYouMean } from '../../base/text/closest.js';
import { PACKAGE_NAME } from '../../base/version.js';
import { addedTag, OWN_IMAGES, type OwnImageName, profiles, rawRecipe } from './image-name.js';
import { nameOfRequirement, pipTag } from './requirements.js';

export const BASE_PROFILE = 'base';
/** Where an image has what it carries of this package. */
export const CARRIED_TO = `/opt/${PACKAGE_NAME}`;

const names = z.array(z.string());
/** Fields that are merely added where a recipe extends another. */
const additions = {
  packages: names.min(1),
  /** Packages that others depend on and the image does without: never downloaded, and gone from dpkg's books in the end. */
  standIns: names.default([]),
  removePackages: names.default([]),
  /** Relative to the image's root; shell patterns. */
  removePaths: z.array(z.string().regex(/^[^/]/, 'must be relative')).default([]),
  /** Scripts beside the recipe, run in this order with the image's root as their argument. */
  hooks: z.array(z.string().regex(/^[\w-]+\.sh$/)).default([]),
  env: z.record(z.string(), z.string()).default({}),
  /**
   * Paths inside this package, relative to its root. They are copied to the image's CARRIED_TO before the hooks run.
   */
  carries: z.array(z.string().regex(/^[\w.-]+$/)).default([]),
  /** The module that Python imports from a package `python3-<name>` where its name is not `<name>`. */
  modules: z.record(z.string(), z.string()).default({}),
  /** Reasons for those who read the recipe, by what they are about; nothing is done with them. */
  why: z.record(z.string(), z.string()).default({}),
};
const identity = {
  profile: z.string(),
  /** The image's name under our namespace. */
  name: z.string(),
  description: z.string(),
};
const wholeRecipe = z.strictObject({
  ...identity,
  ...additions,
  /** Debian release to take the packages from, unless the caller names another. */
  suite: z.string(),
  command: names,
  /**
   * Packages that stand for Debian's essential ones where an image is only unpacked: no package's script is run, and furnish.sh does
   * what theirs would have done. Undefined for a recipe whose packages need their scripts.
   */
  unpacked: names.optional(),
});
const extendingRecipe = z.strictObject({
  ...identity,
  ...additions,
  /** The profile whose lists come before these, with its command. It must not extend another. */
  extends: z.string(),
  /** Where its packages are too old in that one's release. */
  suite: z.string().optional(),
});

export type Recipe = Readonly<z.infer<typeof wholeRecipe>> & {
  /** Debian packages that the operator has added to those of the recipe, sorted; their set has a tag of its own. */
  readonly added?: readonly string[];
  /** Python packages that pip adds on top, as `parseRequirements` gives them. */
  readonly pip?: readonly string[];
};

/** Throws E_ARGUMENTS for a profile that does not exist. */
export function readRecipe(profile: string): Recipe {
  const known = profiles();
  if (!known.includes(profile)) {
    throw new BridgeError(
      'E_ARGUMENTS',
      `There is no image profile '${profile}'.${didYouMean(profile, known)}`,
      { fault: 'operator', remedy: `Profiles: ${known.join(', ')}.` },
    );
  }
  return parseRecipe(rawRecipe, profile);
}

/** The recipe `profile` among those that `load` gives, with what it extends in front. Throws where one is wrong. */
export function parseRecipe(load: (profile: string) => unknown, profile: string): Recipe {
  const loaded = load(profile);
  if (!extendsAnother(loaded)) return wholeRecipe.parse(loaded);
  const { extends: parent, ...own } = extendingRecipe.parse(loaded);
  const base = wholeRecipe.parse(load(parent));
  return {
    ...base,
    ...own,
    // Packages that are added here may need their scripts.
    unpacked: undefined,
    suite: own.suite ?? base.suite,
    packages: [...base.packages, ...own.packages],
    standIns: [...base.standIns, ...own.standIns],
    removePackages: [...base.removePackages, ...own.removePackages],
    removePaths: [...base.removePaths, ...own.removePaths],
    hooks: [...base.hooks, ...own.hooks],
    carries: [...base.carries, ...own.carries],
    env: { ...base.env, ...own.env },
    modules: { ...base.modules, ...own.modules },
    why: { ...base.why, ...own.why },
  };
}

/** A recipe with further packages. What is named is wanted itself, so nothing stands in for it. */
export function withPackages(recipe: Recipe, names: readonly string[]): Recipe {
  const own = new Set(recipe.packages);
  const added = [...new Set(names)].filter((name) => !own.has(name)).sort();
  if (added.length === 0) return recipe;
  return {
    ...recipe,
    packages: [...recipe.packages, ...added],
    standIns: recipe.standIns.filter((name) => !added.includes(name)),
    added,
  };
}

const PYTHON_PACKAGE = 'python3-';

/** Modules that the image's packages let Python import beyond the standard library. */
export const modulesOf = ({ packages, modules, pip = [] }: Recipe): readonly string[] => {
  const fromDebian = packages
    .filter((name) => name.startsWith(PYTHON_PACKAGE))
    .map((name) => modules[name] ?? name.slice(PYTHON_PACKAGE.length).replaceAll('-', '_'));
  return [...new Set([...fromDebian, ...pip.map(nameOfRequirement).map(moduleOfPip)])];
};

/** The Debian package that has a module, by Debian's rule for names; whether there is one is Debian's to say. */
export const packageOf = (module: string, { modules }: Recipe): string =>
  Object.entries(modules).find(([, name]) => name === module)?.[0] ??
  `${PYTHON_PACKAGE}${module.toLowerCase().replaceAll('_', '-')}`;

/** Modules whose package has another name at the Python index than the module's. */
const PIP_NAMES: Readonly<Record<string, string>> = {
  bs4: 'beautifulsoup4',
  cv2: 'opencv-python-headless',
  dateutil: 'python-dateutil',
  docx: 'python-docx',
  odf: 'odfpy',
  PIL: 'pillow',
  pptx: 'python-pptx',
  skimage: 'scikit-image',
  sklearn: 'scikit-learn',
  yaml: 'pyyaml',
};

/** The package of a Python index that has a module, as far as the name tells. */
export const pipPackageOf = (module: string): string =>
  PIP_NAMES[module] ?? module.toLowerCase().replaceAll('_', '-');

const moduleOfPip = (name: string): string =>
  Object.entries(PIP_NAMES).find(([, pip]) => pip === name)?.[0] ?? name.replaceAll('-', '_');

const extendsAnother = (loaded: unknown): boolean =>
  typeof loaded === 'object' && loaded !== null && 'extends' in loaded;

/** Reference of the image that `buildImage` makes; another suite than the recipe's, and added packages, show in the tag. */
export function localImageName(recipe: Recipe, version: string, suite: string = recipe.suite): string {
  const ofSuite = suite === recipe.suite ? '' : `-${suite}`;
  const { added = [], pip = [] } = recipe;
  return `${OWN_IMAGES}${recipe.name}:${version}${ofSuite}${addedTag(added, pip.length > 0)}${pipTag(pip)}`;
}

/** Names of the processors that Debian is built for: the engines', Debian's and Node's. */
const PROCESSORS = [
  { debian: 'amd64', node: 'x64', names: ['amd64', 'x86_64'] },
  { debian: 'arm64', node: 'arm64', names: ['arm64', 'aarch64'] },
] as const;

/** Debian's name of an engine's processor where that is not this machine's; undefined where nothing has to be said. */
export function foreignArchitecture(said: string, ours: string = process.arch): string | undefined {
  const found = PROCESSORS.find(({ names }) => names.some((name) => name === said));
  return found === undefined || found.node === ours ? undefined : found.debian;
}

/** The recipe by which an image of that name is made today; undefined where only a hash tells what was added. */
export function recipeOf({ profile, added, pip }: OwnImageName): Recipe | undefined {
  if (added === undefined) return undefined;
  const recipe = withPackages(readRecipe(profile), added);
  return pip === undefined || pip.length === 0 ? recipe : { ...recipe, pip };
}
