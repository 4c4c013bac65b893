// The findings of the last `doctor --probe`, kept in the state directory so that a start can say them in its log without
// probing. They hold for one boot, user, engine, OCI runtime, image and version of ours; for another there are none.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { replaceFile } from '../../base/files/replace-file.js';
import { thisOwner } from '../../base/process/owner.js';
import { VERSION } from '../../base/version.js';
import type { EngineChoice } from '../../engine/detect.js';
import type { Settings } from '../../settings/environment/settings.js';

// Beside the choice of an engine, away from JSON files that are read as lists of servers.
const PROBE_FILE = join('cache', 'probe.json');

const summary = z.object({
  /** ISO 8601, UTC. */
  at: z.string(),
  enforced: z.number(),
  watchdog: z.number(),
  /** Most megabytes by which a watchdog was late; null where none had to act. */
  overshootMb: z.number().nullable(),
  unknown: z.number(),
  /** Names of the controls. */
  notEnforced: z.array(z.string()),
});

const probeFile = z.object({ key: z.string(), summary });

/** Equal where a probe would find the same. */
export function probeKey(choice: EngineChoice, imageId: string, settings: Settings): string {
  const { binary, version, mode, ociRuntime, ociFlags } = choice;
  const { containerUser, seccomp, memoryBytes, pids, cpus } = settings;
  return JSON.stringify([
    VERSION,
    thisOwner().bootId,
    process.getuid?.(),
    ...[binary, version, mode, ociRuntime, ociFlags, imageId],
    ...[containerUser, seccomp, memoryBytes, pids, cpus],
  ]);
}

/** Throws what the file system says. */
export function rememberProbe(stateDir: string, key: string, found: Readonly<z.infer<typeof summary>>): void {
  replaceFile(join(stateDir, PROBE_FILE), JSON.stringify({ key, summary: found }, undefined, 2));
}

/** Undefined where there was none under these circumstances, or its file cannot be read. */
export function lastProbe(stateDir: string, key: string) {
  try {
    const parsed = probeFile.parse(JSON.parse(readFileSync(join(stateDir, PROBE_FILE), 'utf8')));
    return parsed.key === key ? parsed.summary : undefined;
  } catch {
    return undefined;
  }
}
