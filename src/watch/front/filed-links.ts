// Links that another process opens: a command makes one as a file of the state directory, and the bridge over HTTP that the state
// directory belongs to takes it away when somebody opens it. Whoever can write there is the operator, and nobody else makes a link.

import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, rmSync, statSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { isOnlyOurs } from '../../base/files/only-ours.js';
import { readText } from '../../base/files/read-text.js';
import { replaceFile } from '../../base/files/replace-file.js';
import { jsonIn } from '../../base/json/records.js';
import { drawSecret } from './keys.js';
import { OPERATOR, type Viewer } from './sources.js';

const FOLDER = join('http', 'ui-links');
/** How long a link waits for whoever opens it. */
export const LINK_MINUTES = 15;
const LINK_MS = LINK_MINUTES * 60_000;

const filed = z.object({
  /** Id of the principal that the link is for; null for the operator. */
  principal: z.string().nullable(),
});

/** The secret of a new link for a principal, undefined for the operator. Its file has a digest of the secret for its name, so that whoever reads a listing opens nothing. */
export function fileLink(stateDir: string, principal: string | undefined): string {
  const folder = join(stateDir, FOLDER);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  sweep(folder);
  const secret = drawSecret();
  const link: z.output<typeof filed> = { principal: principal ?? null };
  replaceFile(join(folder, nameOf(secret)), JSON.stringify(link));
  return secret;
}

/** For whom the link is, that nobody has opened; from then on somebody has. Undefined for every other text. */
export function useFiledLink(stateDir: string, secret: string): Viewer | undefined {
  const folder = join(stateDir, FOLDER);
  const path = join(folder, nameOf(secret));
  try {
    if (!isOnlyOurs(folder)) return undefined;
    const isFresh = Date.now() - statSync(path).mtimeMs < LINK_MS;
    const { data } = filed.safeParse(jsonIn(readText(path) ?? ''));
    // The one who takes the file away has opened it, also where two do at once.
    unlinkSync(path);
    if (!isFresh || data === undefined) return undefined;
    return data.principal === null ? OPERATOR : { sees: 'own', principal: data.principal };
  } catch {
    return undefined;
  }
}

function sweep(folder: string): void {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    const { mtimeMs = 0 } = statSync(path, { throwIfNoEntry: false }) ?? {};
    if (Date.now() - mtimeMs > LINK_MS) rmSync(path, { force: true });
  }
}

const nameOf = (secret: string): string => `${createHash('sha256').update(secret).digest('hex')}.json`;
