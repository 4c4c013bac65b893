// Facts about the image of run_python, in the state directory's cache: which Python it has and what that imports beyond the
// standard library. Written when a sandbox of the image has greeted, read where tools are listed, since a list starts nothing
// and asks no engine. Also facts about the Python of images, so that they are found out once: which images have none, which
// call it `python`, and which directory holds the Python of our own image for those without. Lost facts are found out again.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { replaceFile } from '../../base/files/replace-file.js';
import type { Settings } from '../../settings/environment/settings.js';
import type { PythonName } from '../spec/harness-files.js';

const RECORD_FILE = join('cache', 'image-facts.json');
/** Images, and settings that name one: a few of each are in use at a time. */
const MAX_ENTRIES = 32;
const MAX_MODULES = 200;

const facts = z.object({
  /** Major and minor number, such as `3.13`. */
  python: z.string().regex(/^\d{1,3}\.\d{1,3}$/),
  /** Names to import; null where nobody has looked yet. */
  modules: z
    .array(z.string().regex(/^\w{1,64}$/))
    .max(MAX_MODULES)
    .nullable(),
});
const recordFile = z.object({
  /** Latest first, by the engine's id. */
  images: z.array(z.object({ id: z.string(), facts })),
  /** Latest first: which image the settings that make this key have led to. */
  chosen: z.array(z.object({ key: z.string(), id: z.string() })),
});

export type ImageFacts = { readonly python: string; readonly modules: readonly string[] | null };

/** The settings that decide which image is chosen. */
type Choosing = Pick<Settings, 'stateDir' | 'image' | 'runtime' | 'engineUrl' | 'explicitlySet'>;

const keyOf = ({ image, runtime, engineUrl, explicitlySet }: Choosing): string =>
  JSON.stringify([runtime, engineUrl, explicitlySet.has('MCP_BRIDGE_IMAGE'), image]);

/** Facts about the image that these settings have led to last; undefined where that is not known. */
export function lastFacts(settings: Choosing): ImageFacts | undefined {
  const { images, chosen } = readRecords(settings.stateDir);
  const key = keyOf(settings);
  const id = chosen.find((each) => each.key === key)?.id;
  return images.find((each) => each.id === id)?.facts;
}

/** Facts about one image, by its id. */
export const factsOf = (stateDir: string, id: string): ImageFacts | undefined =>
  readRecords(stateDir).images.find((each) => each.id === id)?.facts;

/** Remembers that these settings lead to this image. Throws what the file system says. */
export function rememberFacts(settings: Choosing, id: string, found: ImageFacts): void {
  const known = readRecords(settings.stateDir);
  const key = keyOf(settings);
  const isKnown =
    known.chosen.some((each) => each.key === key && each.id === id) &&
    known.images.some((each) => each.id === id && JSON.stringify(each.facts) === JSON.stringify(found));
  if (isKnown) return;
  const images = [{ id, facts: found }, ...known.images.filter((each) => each.id !== id)];
  const chosen = [{ key, id }, ...known.chosen.filter((each) => each.key !== key)];
  const records = { images: images.slice(0, MAX_ENTRIES), chosen: chosen.slice(0, MAX_ENTRIES) };
  replaceFile(join(settings.stateDir, RECORD_FILE), JSON.stringify(recordFile.parse(records)));
}

/** From what a sandbox and an image say of themselves, which are claims: undefined where there is no version in it. */
export function factsFrom(version: string, modules: readonly string[] | undefined): ImageFacts | undefined {
  const python = /^\d+\.\d+/.exec(version)?.[0];
  const parsed = facts.safeParse({ python, modules: modules?.slice(0, MAX_MODULES) ?? null });
  return parsed.success ? parsed.data : undefined;
}

function readRecords(stateDir: string): z.infer<typeof recordFile> {
  try {
    return recordFile.parse(JSON.parse(readFileSync(join(stateDir, RECORD_FILE), 'utf8')));
  } catch {
    // Absent, or of another version.
    return { images: [], chosen: [] };
  }
}

const PYTHONS_FILE = join('cache', 'image-pythons.json');
/** How many images are remembered: a few versions for each language. */
const MAX_IMAGES = 64;
/** Bridges of other versions, or with another image, may share the state directory. */
const MAX_TREES = 4;

const pythonsFile = z.object({
  /** Ids of images. */
  withoutPython: z.array(z.string()),
  /** Ids of images that have `python`, and no `python3`. */
  unnumbered: z.array(z.string()),
  /** Latest first. `key` says of which Python, `hash` names the directory. */
  trees: z.array(z.object({ key: z.string(), hash: z.string().regex(/^[0-9a-f]+$/) })),
});

export function readImagePythons(stateDir: string): Readonly<z.infer<typeof pythonsFile>> {
  try {
    return pythonsFile.parse(JSON.parse(readFileSync(join(stateDir, PYTHONS_FILE), 'utf8')), {
      jitless: true,
    });
  } catch {
    // Absent, or of another version.
    return { withoutPython: [], unnumbered: [], trees: [] };
  }
}

/** Throws what the file system says. */
export function rememberWithoutPython(stateDir: string, imageId: string): void {
  const known = readImagePythons(stateDir);
  writeImagePythons(stateDir, { ...known, withoutPython: withFirst(imageId, known.withoutPython) });
}

/** Name by which the image's Python is started, as far as anybody has found out. */
export const knownPythonName = (stateDir: string, imageId: string): PythonName =>
  readImagePythons(stateDir).unnumbered.includes(imageId) ? 'python' : 'python3';

/** Remembers that the image has `python`, and no `python3`. Throws what the file system says. */
export function rememberPython(stateDir: string, imageId: string): void {
  const known = readImagePythons(stateDir);
  writeImagePythons(stateDir, { ...known, unnumbered: withFirst(imageId, known.unnumbered) });
}

/** The hashes of the directories that are still of use. Throws what the file system says. */
export function rememberTree(stateDir: string, key: string, hash: string): readonly string[] {
  const known = readImagePythons(stateDir);
  const kept = [{ key, hash }, ...known.trees.filter((tree) => tree.key !== key)].slice(0, MAX_TREES);
  writeImagePythons(stateDir, { ...known, trees: kept });
  return kept.map((tree) => tree.hash);
}

const withFirst = (id: string, ids: readonly string[]): string[] =>
  [id, ...ids.filter((other) => other !== id)].slice(0, MAX_IMAGES);

function writeImagePythons(stateDir: string, known: Readonly<z.infer<typeof pythonsFile>>): void {
  replaceFile(join(stateDir, PYTHONS_FILE), JSON.stringify(known));
}

/** Modules that a model would like to know of, best known first: named in this order where there is no room for all. */
export const KNOWN_MODULES: readonly string[] = [
  'numpy',
  'pandas',
  'matplotlib',
  'scipy',
  'sklearn',
  'seaborn',
  'polars',
  'duckdb',
  'pyarrow',
  'statsmodels',
  'sympy',
  'networkx',
  'PIL',
  'openpyxl',
  'plotly',
  'altair',
  'bokeh',
  'torch',
  'tensorflow',
  'xgboost',
  'lightgbm',
  'cv2',
  'skimage',
  'nltk',
  'spacy',
  'shapely',
  'geopandas',
  'docx',
  'pptx',
  'pypdf',
  'reportlab',
  'xlsxwriter',
  'xlrd',
  'odf',
  'lxml',
  'bs4',
  'yaml',
  'jinja2',
  'pydantic',
  'sqlalchemy',
  'dateutil',
  'requests',
  'httpx',
  'aiohttp',
];

/** Best known first; what is not on the list keeps its order, behind it. */
export function bestKnownFirst(modules: readonly string[]): readonly string[] {
  const rank = (name: string): number => {
    const at = KNOWN_MODULES.indexOf(name);
    return at === -1 ? KNOWN_MODULES.length : at;
  };
  return [...modules].sort((one, other) => rank(one) - rank(other));
}

/** Modules that Debian does not package, and that the user can have added to an image from the Python index. */
export const INDEXED_MODULES: ReadonlySet<string> = new Set([
  'polars',
  'duckdb',
  'pyarrow',
  'bokeh',
  'tensorflow',
  'xgboost',
  'lightgbm',
  'spacy',
  'pptx',
]);

/** Known modules that Debian does not package, or that are of no use without a network. */
const NOT_PACKAGED: ReadonlySet<string> = new Set([...INDEXED_MODULES, 'requests', 'httpx', 'aiohttp']);

/** Modules that the user can have added to an image as Debian packages. */
export const PACKAGED_MODULES: ReadonlySet<string> = new Set(
  [...KNOWN_MODULES, 'html5lib', 'markdown', 'pytz', 'regex', 'rich', 'tabulate', 'tqdm', 'unidecode'].filter(
    (name) => !NOT_PACKAGED.has(name),
  ),
);
