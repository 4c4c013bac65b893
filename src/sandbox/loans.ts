// What is remembered of lending Python, in the state directory's cache, so that it is found out once: which images have
// none, and which directory holds what of our own images they are lent. What is lost is found out again.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';

const LOANS_FILE = join('cache', 'lent.json');
/** Of each language a few versions. */
const MAX_BORROWERS = 64;
/** Bridges of other versions, or with another image, may share the state directory. */
const MAX_TREES = 4;

const loansFile = z.object({
  /** Ids of images. */
  borrowers: z.array(z.string()),
  /** Latest first. `key` says of which Python, `hash` names the directory. */
  trees: z.array(z.object({ key: z.string(), hash: z.string().regex(/^[0-9a-f]+$/) })),
});

export type Loans = Readonly<z.infer<typeof loansFile>>;

export function readLoans(stateDir: string): Loans {
  try {
    return loansFile.parse(JSON.parse(readFileSync(join(stateDir, LOANS_FILE), 'utf8')));
  } catch {
    // Absent, or of another version.
    return { borrowers: [], trees: [] };
  }
}

/** Throws what the file system says. */
export function rememberBorrower(stateDir: string, imageId: string): void {
  const { borrowers, trees } = readLoans(stateDir);
  const others = borrowers.filter((id) => id !== imageId);
  write(stateDir, { borrowers: [imageId, ...others].slice(0, MAX_BORROWERS), trees });
}

/** The hashes of the directories that are still of use. Throws what the file system says. */
export function rememberTree(stateDir: string, key: string, hash: string): readonly string[] {
  const { borrowers, trees } = readLoans(stateDir);
  const kept = [{ key, hash }, ...trees.filter((tree) => tree.key !== key)].slice(0, MAX_TREES);
  write(stateDir, { borrowers, trees: kept });
  return kept.map((tree) => tree.hash);
}

function write(stateDir: string, loans: Loans): void {
  const file = join(stateDir, LOANS_FILE);
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  writeFileSync(file, JSON.stringify(loans));
}
