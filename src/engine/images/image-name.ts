// The names of the images that we build, written and read: localhost/mcp-sandbox-bridge/<name>:<version>[-<suite>][-with_…].
// A name can be read back, so that where an image is missing the remedy is the very command that makes it. Also where recipes
// lie, with what they say of themselves: quick, because the command line's help asks; recipe.ts reads and checks one whole.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createHash } from '../../base/crypto.js';
import { BridgeError } from '../../base/errors.js';
import { PACKAGE_NAME, PACKAGE_ROOT } from '../../base/version.js';

/** The beginning of the references of all images of ours. */
export const OWN_IMAGES = `localhost/${PACKAGE_NAME}/`;

/** Whether the reference is one that only bridges make. */
export const isOwnImage = (image: string): boolean => image.startsWith(OWN_IMAGES);

/** Debian's own rule (policy 5.6.1), less a hyphen at the end, by which apt would take a package away. */
const DEBIAN_PACKAGE = /^[a-z0-9][a-z0-9+.-]*[a-z0-9+.]$/;
/** An engine allows 128 characters of letters, digits, `_`, `.` and `-`; the version and a suite need some of them. */
const MAX_ADDED_CHARS = 90;
const WITH = '-with_';
const HASHED = 'sha256.';

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

/** The end of a tag for packages that were added, in their order; a hash where they would not fit. */
export function addedTag(added: readonly string[]): string {
  if (added.length === 0) return '';
  const words = added.join('_');
  if (words.length <= MAX_ADDED_CHARS && !words.includes('+')) return `${WITH}${words}`;
  return `${WITH}${HASHED}${createHash('sha256').update(words).digest('hex').slice(0, 16)}`;
}

export type OwnImageName = {
  readonly profile: string;
  /** Undefined for the recipe's own. */
  readonly suite: string | undefined;
  /** Undefined where the name has only a hash of them. */
  readonly added: readonly string[] | undefined;
};

/** Parts of the reference of an image of ours, of whatever version; undefined for every other image. */
export function readOwnName(image: string): OwnImageName | undefined {
  if (!image.startsWith(OWN_IMAGES)) return undefined;
  const [name, tag = '', ...rest] = image.slice(OWN_IMAGES.length).split(':');
  const profile = profiles().find((each) => (rawRecipe(each) as { name: string }).name === name);
  if (profile === undefined || rest.length > 0 || !/^\d+\.\d+\.\d+/.test(tag)) return undefined;
  const at = tag.indexOf(WITH);
  const words = at === -1 ? '' : tag.slice(at + WITH.length);
  const suite = /^\d+\.\d+\.\d+-([a-z]+)$/.exec(at === -1 ? tag : tag.slice(0, at))?.[1];
  const added = words.startsWith(HASHED) ? undefined : words.split('_').filter((word) => word !== '');
  return { profile, suite, added };
}

/** The words of the command that makes such an image. */
export const buildWords = ({ profile, suite, added }: OwnImageName): readonly string[] => [
  'image',
  'build',
  ...(profile === 'base' ? [] : [profile]),
  ...(suite === undefined ? [] : ['--suite', suite]),
  ...(added === undefined ? ['--with', '<packages>'] : added.length === 0 ? [] : ['--with', added.join(',')]),
];

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
