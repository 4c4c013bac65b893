// Which Python the model is told that it writes for, in a few words. From what is on disk: the last image that these
// settings have led to, else what their image is sure to have, since a list of tools starts nothing and asks nobody.

import { readOwnName } from '../../engine/images/image-name.js';
import { modulesOf, type Recipe, readRecipe, recipeOf } from '../../engine/images/recipe.js';
import { profiles } from '../../engine/images/recipe-dir.js';
import { type ImageFacts, lastFacts } from '../../sandbox/python/image-facts.js';
import { bestKnownFirst } from '../../sandbox/python/known-modules.js';
import { OLDEST_PYTHON } from '../../sandbox/spec/oldest-python.js';
import type { Settings } from '../../settings/environment/settings.js';

/** The list of tools has to stay short, whatever an image holds. */
const MAX_MODULES_CHARS = 70;
/** Python of the releases of Debian that recipes are built of. */
const DEBIAN_PYTHON: Readonly<Record<string, string>> = { bullseye: '3.9', bookworm: '3.11', trixie: '3.13' };
/** Tags of the official image, and of those that follow it, begin with the version. */
const OFFICIAL = /(?:^|\/)python:(3\.\d{1,2})(?![\d])/;
/** Such as `Python 3.13, standard library`, or `Python 3.13 with numpy, pandas and 3 more`. */
export function pythonWords(settings: Settings): string {
  const known = lastFacts(settings);
  if (known !== undefined && known.modules !== null) return inWords(known.python, known.modules);
  const { version, modules } = expected(settings);
  return inWords(known?.python ?? version, modules);
}

/** Version and modules that the image is sure to have, as far as its name tells. */
function expected({ image, explicitlySet }: Settings) {
  const orLater = (version: string) => `${version} or later`;
  const own = readOwnName(image);
  const recipe = own === undefined ? profileRecipe(image) : recipeOf(own);
  if (recipe !== undefined) {
    const built = DEBIAN_PYTHON[own?.suite ?? recipe.suite] ?? OLDEST_PYTHON;
    return { version: own?.suite === undefined ? orLater(built) : built, modules: modulesOf(recipe) };
  }
  // Our own image stands in for the default where that cannot be had, and is the older of the two.
  if (!explicitlySet.has('MCP_BRIDGE_IMAGE'))
    return { version: orLater(DEBIAN_PYTHON[readRecipe('base').suite] ?? OLDEST_PYTHON), modules: [] };
  return { version: OFFICIAL.exec(image)?.[1] ?? orLater(OLDEST_PYTHON), modules: null };
}

const profileRecipe = (image: string): Recipe | undefined =>
  profiles().includes(image) ? readRecipe(image) : undefined;

function inWords(version: string, modules: ImageFacts['modules']): string {
  if (modules === null) return `Python ${version}`;
  if (modules.length === 0) return `Python ${version}, standard library`;
  const shown: string[] = [];
  for (const name of bestKnownFirst(modules)) {
    if ([...shown, name].join(', ').length > MAX_MODULES_CHARS) break;
    shown.push(name);
  }
  const more = modules.length - shown.length;
  return `Python ${version} with ${shown.join(', ')}${more === 0 ? '' : ` and ${more} more`}`;
}
