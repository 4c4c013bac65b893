// Facts about the Python of images, remembered in the state directory's cache, so that they are found out once: which images
// have none, which call it `python`, and which directory holds the Python of our own image for those without. What is lost is
// found out again.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';

/** Names that the Python of an image may have. */
export type PythonName = 'python3' | 'python';

const RECORD_FILE = join('cache', 'image-pythons.json');
/** How many images are remembered: a few versions for each language. */
const MAX_IMAGES = 64;
/** Bridges of other versions, or with another image, may share the state directory. */
const MAX_TREES = 4;

const recordFile = z.object({
  /** Ids of images. */
  withoutPython: z.array(z.string()),
  /** Ids of images that have `python`, and no `python3`. */
  unnumbered: z.array(z.string()),
  /** Latest first. `key` says of which Python, `hash` names the directory. */
  trees: z.array(z.object({ key: z.string(), hash: z.string().regex(/^[0-9a-f]+$/) })),
});

type ImagePythons = Readonly<z.infer<typeof recordFile>>;

export function readImagePythons(stateDir: string): ImagePythons {
  try {
    return recordFile.parse(JSON.parse(readFileSync(join(stateDir, RECORD_FILE), 'utf8')));
  } catch {
    // Absent, or of another version.
    return { withoutPython: [], unnumbered: [], trees: [] };
  }
}

/** Throws what the file system says. */
export function rememberWithoutPython(stateDir: string, imageId: string): void {
  const known = readImagePythons(stateDir);
  write(stateDir, { ...known, withoutPython: withFirst(imageId, known.withoutPython) });
}

/** By which name the image's Python is started, as far as anybody has found out. */
export const knownPythonName = (stateDir: string, imageId: string): PythonName =>
  readImagePythons(stateDir).unnumbered.includes(imageId) ? 'python' : 'python3';

/** Remembers that the image has `python`, and no `python3`. Throws what the file system says. */
export function rememberPython(stateDir: string, imageId: string): void {
  const known = readImagePythons(stateDir);
  write(stateDir, { ...known, unnumbered: withFirst(imageId, known.unnumbered) });
}

/** The hashes of the directories that are still of use. Throws what the file system says. */
export function rememberTree(stateDir: string, key: string, hash: string): readonly string[] {
  const known = readImagePythons(stateDir);
  const kept = [{ key, hash }, ...known.trees.filter((tree) => tree.key !== key)].slice(0, MAX_TREES);
  write(stateDir, { ...known, trees: kept });
  return kept.map((tree) => tree.hash);
}

const withFirst = (id: string, ids: readonly string[]): string[] =>
  [id, ...ids.filter((other) => other !== id)].slice(0, MAX_IMAGES);

function write(stateDir: string, known: ImagePythons): void {
  const file = join(stateDir, RECORD_FILE);
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  writeFileSync(file, JSON.stringify(known));
}
