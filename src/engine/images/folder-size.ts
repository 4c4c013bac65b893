// How much a folder holds while it is being filled.

import { type Dirent, promises } from 'node:fs';
import { join } from 'node:path';

const EVERY_MS = 1_500;

/** Bytes of all files below `folder` that this user can see; what vanishes meanwhile counts nothing. */
export async function folderBytes(folder: string): Promise<number> {
  const entries = await promises.readdir(folder, { withFileTypes: true }).catch((): Dirent[] => []);
  let sum = 0;
  for (const entry of entries) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) sum += await folderBytes(path);
    else if (entry.isFile()) sum += (await promises.lstat(path).catch(() => undefined))?.size ?? 0;
  }
  return sum;
}

/** Tells the size of `folder` again and again until it is disposed of. */
export function watchFolder(folder: string, tell: ((bytes: number) => void) | undefined): Disposable {
  if (tell === undefined) return { [Symbol.dispose]: () => {} };
  let isOver = false;
  let timer: NodeJS.Timeout | undefined;
  const look = async () => {
    const bytes = await folderBytes(folder);
    if (isOver) return;
    tell(bytes);
    timer = setTimeout(look, EVERY_MS);
  };
  timer = setTimeout(look, EVERY_MS);
  return {
    [Symbol.dispose]: () => {
      isOver = true;
      clearTimeout(timer);
    },
  };
}
