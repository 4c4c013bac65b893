// The survey of what all bridges of this user have kept, as their shared folder has it: for people, who know no addresses.
// Reads only; a file that is being written, removed or torn meanwhile is passed over.

import { lstat, readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { INDEX_FILE, KEPT_FOLDER } from './kept-room.js';
import { fileNameOf, type KeptThing, keptIndex } from './kept-run.js';
import { HANDLE, keptUri } from './kept-uri.js';

export type SurveyedFile = Omit<KeptThing, 'path'> & {
  /** The file on this machine. */
  readonly path: string;
  /** Id of the run that left it; undefined where an earlier version has kept it. */
  readonly run: string | undefined;
  /** When its run ended, in milliseconds since the epoch. */
  readonly atMs: number;
};

export type SurveyOptions = {
  readonly stateDir: string;
  /** Files kept longer ago are not listed, as they cannot be read any more. */
  readonly keepSeconds: number;
  readonly nowMs?: number;
};

/** Newest first; files of one run in the order in which they were kept. Throws where the folder cannot be read. */
export async function surveyKept({
  stateDir,
  keepSeconds,
  nowMs = Date.now(),
}: SurveyOptions): Promise<readonly SurveyedFile[]> {
  const dir = join(stateDir, KEPT_FOLDER);
  const handles = (await namesIn(dir)).filter((name) => HANDLE.test(name));
  const runs = await Promise.all(handles.map((handle) => runIn(dir, handle)));
  return runs
    .filter(({ atMs, files }) => files.length > 0 && nowMs - atMs <= keepSeconds * 1000)
    .sort((one, other) => other.atMs - one.atMs)
    .flatMap(({ files }) => files);
}

async function namesIn(dir: string): Promise<string[]> {
  try {
    return await readdir(dir);
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw thrown;
  }
}

type SurveyedRun = { readonly atMs: number; readonly files: readonly SurveyedFile[] };

async function runIn(dir: string, handle: string): Promise<SurveyedRun> {
  const folder = join(dir, handle);
  try {
    const { mtimeMs: atMs } = await stat(folder);
    const entries = keptIndex.parse(JSON.parse(await readFile(join(folder, INDEX_FILE), 'utf8')));
    const files = await Promise.all(
      entries.map(async ({ name, mimeType, run, ...file }) => {
        const path = join(folder, fileNameOf(file));
        const found = await lstat(path);
        if (!found.isFile()) return [];
        return [{ uri: keptUri({ handle, name }), name, mimeType, sizeBytes: found.size, path, run, atMs }];
      }),
    );
    return { atMs, files: files.flat() };
  } catch {
    return { atMs: 0, files: [] };
  }
}
