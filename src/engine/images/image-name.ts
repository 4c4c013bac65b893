// The names of the images that we build, written and read: localhost/mcp-sandbox-bridge/<name>:<version>[-<suite>][-with_…][-pip_…].
// A name can be read back, so that where an image is missing the remedy is the very command that makes it. Also where recipes
// lie, with what they say of themselves: quick, because the command line's help asks; recipe.ts reads and checks one whole.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { BridgeError } from '../../base/errors.js';
import { PACKAGE_NAME, PACKAGE_ROOT, VERSION } from '../../base/version.js';
import { hashedList, PIP, readList, readPipTag } from './requirements.js';

/** The beginning of the references of all images of ours. */
export const OWN_IMAGES = `localhost/${PACKAGE_NAME}/`;

/** Whether the reference is one that only bridges make. */
export const isOwnImage = (image: string): boolean => image.startsWith(OWN_IMAGES);

/** Debian's own rule (policy 5.6.1), less a hyphen at the end, by which apt would take a package away. */
const DEBIAN_PACKAGE = /^[a-z0-9][a-z0-9+.-]*[a-z0-9+.]$/;
/** An engine allows 128 characters of letters, digits, `_`, `.` and `-`; the version and a suite need some of them. */
const MAX_ADDED_CHARS = 90;
/** Where packages from an index are named as well. */
const MAX_ADDED_CHARS_BESIDE_PIP = 40;
const WITH = '-with_';

/** Throws E_ARGUMENTS for what cannot be the name of a Debian package. */
export function checkPackages(names: readonly string[]): readonly string[] {
  const wrong = names.find((name) => !DEBIAN_PACKAGE.test(name));
  if (wrong === undefined && names.length > 0) return names;
  const got = wrong === undefined ? 'nothing' : JSON.stringify(wrong.slice(0, 80));
  throw new BridgeError(
    'E_ARGUMENTS',
    `--with: got ${got}, expected names of Debian packages with commas between them.`,
    {
      fault: 'operator',
      remedy:
        'For example: --with python3-seaborn,python3-sklearn. Most Python libraries are called python3-<name> in Debian; `apt-cache search <word>` finds others.',
    },
  );
}

/** Debian's names of its releases; anything else mmdebstrap would take for an option, a path or lines of its sources. */
const RELEASE = /^[a-z]+$/;

/** Throws E_ARGUMENTS for what cannot be the name of a Debian release. */
export function checkSuite(suite: string): string {
  if (RELEASE.test(suite)) return suite;
  throw new BridgeError(
    'E_ARGUMENTS',
    `--suite: got ${JSON.stringify(suite.slice(0, 80))}, expected the name of a Debian release in small letters.`,
    { fault: 'operator', remedy: 'For example: --suite bookworm.' },
  );
}

/** The end of a tag for Debian packages that were added, in their order; a hash where they would not fit. */
export function addedTag(added: readonly string[], isBesidePip = false): string {
  if (added.length === 0) return '';
  const words = added.join('_');
  const room = isBesidePip ? MAX_ADDED_CHARS_BESIDE_PIP : MAX_ADDED_CHARS;
  if (words.length <= room && !words.includes('+')) return `${WITH}${words}`;
  return `${WITH}${hashedList(words)}`;
}

export type OwnImageName = {
  readonly profile: string;
  /** Undefined for the recipe's own. */
  readonly suite: string | undefined;
  /** Debian packages; undefined where the name has only a hash of them. */
  readonly added: readonly string[] | undefined;
  /** Python packages that pip has added; undefined where the name has only a hash of them. */
  readonly pip: readonly string[] | undefined;
};

/** Parts of the reference of an image of ours, of whatever version; undefined for every other image. */
export function readOwnName(image: string): OwnImageName | undefined {
  if (!image.startsWith(OWN_IMAGES)) return undefined;
  const [name, wholeTag = '', ...rest] = image.slice(OWN_IMAGES.length).split(':');
  const profile = profiles().find((each) => recipeName(each) === name);
  if (profile === undefined || rest.length > 0 || !/^\d+\.\d+\.\d+/.test(wholeTag)) return undefined;
  const [tag = '', pipped = ''] = wholeTag.split(PIP);
  const at = tag.indexOf(WITH);
  const words = at === -1 ? '' : tag.slice(at + WITH.length);
  const suite = /^\d+\.\d+\.\d+-([a-z]+)$/.exec(at === -1 ? tag : tag.slice(0, at))?.[1];
  return { profile, suite, added: readList(words), pip: readPipTag(pipped) };
}

const recipeName = (profile: string): string => (rawRecipe(profile) as { name: string }).name;

/** The part behind the version in the tag of an image to which packages were added. */
const ADDITIONS = new RegExp(`^(?:-[a-z]+)?(?:${WITH}|${PIP})[\\w.-]+$`);

/**
 * The full reference of an image of ours that is named in short, `data-pip_polars` or `data-with_python3-seaborn`; every other
 * name as it is.
 */
export function fullName(image: string): string {
  for (const profile of profiles()) {
    const additions = image.slice(profile.length);
    if (image.startsWith(profile) && ADDITIONS.test(additions))
      return `${OWN_IMAGES}${recipeName(profile)}:${VERSION}${additions}`;
  }
  return image;
}

/** The short name of an image of ours of this version to which packages were added; every other name as it is. */
export function shortName(image: string): string {
  const own = readOwnName(image);
  const [, additions = ''] = image.split(`:${VERSION}`);
  return own === undefined || !ADDITIONS.test(additions) ? image : `${own.profile}${additions}`;
}

/** The name of an image of ours, and the part of its tag that names added packages; '' if there are none. */
export function withoutVersion(image: string): { readonly name: string; readonly additions: string } {
  const [name = '', tag = ''] = image.slice(OWN_IMAGES.length).split(':');
  const places = [WITH, PIP].map((words) => tag.indexOf(words)).filter((place) => place !== -1);
  return { name, additions: places.length === 0 ? '' : tag.slice(Math.min(...places)) };
}

/** The words of the command that makes such an image. */
export const buildWords = ({ profile, suite, added, pip }: OwnImageName): readonly string[] => [
  'image',
  'build',
  ...(profile === 'base' ? [] : [profile]),
  ...(suite === undefined ? [] : ['--suite', suite]),
  ...listWords('--with', added),
  ...listWords('--pip', pip),
];

const listWords = (option: string, names: readonly string[] | undefined): readonly string[] =>
  names === undefined ? [option, '<packages>'] : names.length === 0 ? [] : [option, names.join(',')];

/** The directory of recipes and their scripts. */
export const RECIPE_DIR = join(PACKAGE_ROOT, 'sandbox-runtime', 'images');

/** The profiles that can be built. */
export function profiles(): string[] {
  return readdirSync(RECIPE_DIR)
    .filter((file) => file.endsWith('.json'))
    .map((file) => file.slice(0, -'.json'.length))
    .sort();
}

/** A recipe as it is written. */
export const rawRecipe = (profile: string): unknown =>
  JSON.parse(readFileSync(join(RECIPE_DIR, `${profile}.json`), 'utf8'));

/** Each profile with what its recipe says that it holds. */
export const describedProfiles = (): ReadonlyArray<readonly [profile: string, description: string]> =>
  profiles().map((profile) => [profile, (rawRecipe(profile) as { description: string }).description]);
