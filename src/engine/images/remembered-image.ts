// The image that a wish has led to, kept in the state directory for as long as the engine's store is as it was then: asking
// podman takes as long as a third of a start. The file of the store that says so is written with each image that comes, goes or
// gets another name.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { replaceFile } from '../../base/files/replace-file.js';
import { VERSION } from '../../base/version.js';
import type { EngineFacts } from '../engine.js';
import type { ImageChoice, RequestedImage } from './image-choice.js';

/** Path below a state directory. What is in it holds for every state directory of a machine. */
export const IMAGES_FILE = join('cache', 'images.json');
/** Settings and engines of which a few are in use at a time. */
const MAX_ENTRIES = 8;

const by = z.union([z.enum(['operator', 'default']), z.object({ importedFrom: z.string() })]);
const choice = z.object({
  image: z.string(),
  id: z.string(),
  reason: z.discriminatedUnion('kind', [
    z.object({ kind: z.literal('found'), by }),
    z.object({ kind: z.literal('profile'), profile: z.string() }),
    z.object({ kind: z.literal('stand-in'), image: z.string(), by }),
    z.object({ kind: z.literal('pulled') }),
  ]),
}) satisfies z.ZodType<ImageChoice>;
/** Latest first. `stamp` is the state of the store; see Engine.imageStamp. */
const file = z.array(z.object({ key: z.string(), stamp: z.string(), choice }));

/** The engine whose store it is, and where that lies. */
export type StorePlace = Pick<EngineFacts, 'storageDriver' | 'storageRoot'> & { readonly binary: string };

const keyOf = (
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
  const key = keyOf(wish, store);
  return read(stateDir).find((each) => each.key === key && each.stamp === stamp)?.choice;
}

/** Does nothing where the store cannot be watched. Throws what the file system says. */
export function rememberImage(
  stateDir: string,
  wish: RequestedImage,
  store: StorePlace,
  { stamp, choice }: { readonly stamp: string; readonly choice: ImageChoice },
): void {
  if (stamp === '') return;
  const key = keyOf(wish, store);
  const others = read(stateDir).filter((each) => each.key !== key);
  const kept = [{ key, stamp, choice }, ...others].slice(0, MAX_ENTRIES);
  replaceFile(join(stateDir, IMAGES_FILE), JSON.stringify(kept));
}

function read(stateDir: string): z.infer<typeof file> {
  try {
    return file.parse(JSON.parse(readFileSync(join(stateDir, IMAGES_FILE), 'utf8')), { jitless: true });
  } catch {
    // Absent, or of another version.
    return [];
  }
}
