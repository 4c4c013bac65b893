// Volumes: made where they are not there, opened to gVisor, and removed with what is in them. Relies on the engine's
// commands alone; whose a volume is stands in its labels (owner.ts), so that a sweep finds it.

import { chmodSync, chownSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { BridgeError, messageOf } from '../../base/errors.js';
import type { ProcessResult } from '../../base/process/process.js';
import { clip } from '../../base/text/text.js';
import type { Volume } from '../engine.js';
import { saysNoSuchVolume, saysVolumeIsThere } from '../machine/client-words.js';
import { isGvisor } from '../machine/oci-runtime.js';
import { type EngineDialect, type LaunchFacts, rootGroupOf } from './dialects.js';

export type VolumeParts = {
  readonly binary: string;
  readonly dialect: EngineDialect;
  readonly facts: Pick<LaunchFacts, 'mode' | 'ociRuntime'>;
  /** Labels for volumes that belong to one bridge and go with it, as `name=value`. */
  readonly labels: readonly string[];
  /** One command of the engine; a non-zero exit is a result, not an error. */
  readonly command: (
    args: readonly string[],
    timeoutMs: number,
    signal: AbortSignal,
  ) => Promise<ProcessResult>;
  readonly tellTrouble: (message: string) => void;
};

const MAKE_TIMEOUT_MS = 15_000;
const REMOVE_TIMEOUT_MS = 30_000;
/** A container is removed well within their sum. */
const TRIES = 6;
const PAUSE_MS = 100;
const MAX_SAID_CHARS = 300;

export class Volumes {
  readonly #parts: VolumeParts;

  constructor(parts: VolumeParts) {
    this.#parts = parts;
  }

  /** Makes the volume where it is not there. Throws E_ENGINE_BROKEN. */
  async make({ name, isKept }: Volume, signal: AbortSignal): Promise<void> {
    const { dialect, labels, facts, command } = this.#parts;
    const args = dialect.makeVolumeArgs(name, isKept ? [] : labels);
    const made = await command(args, MAKE_TIMEOUT_MS, signal);
    if (made.exitCode !== 0 && !saysVolumeIsThere(made.stderr))
      throw this.#broken(`volume create ${name}`, made);
    const group = rootGroupOf(facts.mode);
    if (group === undefined || facts.ociRuntime === undefined || !isGvisor(facts.ociRuntime.name)) return;
    // Its folder is private to root, and gVisor comes as the container's own (isGvisor): who may pass, and nobody else.
    const place = ['volume', 'inspect', '--format', '{{.Mountpoint}}', name];
    const found = await command(place, MAKE_TIMEOUT_MS, signal);
    if (found.exitCode !== 0) throw this.#broken(place.join(' '), found);
    const folder = dirname(found.stdout.trim());
    chownSync(folder, 0, group);
    chmodSync(folder, 0o710);
  }

  /** With what is in them, and with containers that still have them. Trouble is told, not thrown. */
  async remove(names: readonly string[]): Promise<void> {
    if (names.length === 0) return;
    try {
      let result = await this.#removeOnce(names);
      // While a container's monitor is removing it, podman 4.3 finds the container gone and gives up. Trying again
      // helps.
      for (let tries = 1; isTrouble(result) && tries < TRIES; tries++) {
        await setTimeout(PAUSE_MS);
        result = await this.#removeOnce(names);
      }
      if (isTrouble(result)) this.#parts.tellTrouble(`could not remove ${names.join(', ')}: ${said(result)}`);
    } catch (thrown) {
      this.#parts.tellTrouble(messageOf(thrown));
    }
  }

  #removeOnce(names: readonly string[]): Promise<ProcessResult> {
    const args = ['volume', 'rm', '--force', ...names];
    return this.#parts.command(args, REMOVE_TIMEOUT_MS, new AbortController().signal);
  }

  #broken(what: string, result: ProcessResult): BridgeError {
    const { binary } = this.#parts;
    return new BridgeError('E_ENGINE_BROKEN', `${binary} ${what}: ${said(result)}`, {
      fault: 'engine',
      remedy: `Run \`${binary} ${what}\` and fix what it reports.`,
    });
  }
}

/** One that is gone already is removed. */
const isTrouble = ({ exitCode, stderr }: ProcessResult): boolean =>
  exitCode !== 0 && !saysNoSuchVolume(stderr);

const said = ({ stderr }: ProcessResult): string => clip(stderr.trim(), MAX_SAID_CHARS);
