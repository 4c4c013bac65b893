// An image with files of ours on top of another one, for engines that cannot mount what lies here: made without a network
// from a context that the client sends, named for its content, and removed when it is old. Relies on the engine's commands.

import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BridgeError } from '../../base/errors.js';
import { INSTANCE_LABEL } from '../../base/process/owner.js';
import { type ProcessResult, tailOf } from '../../base/process/process.js';
import { unlessAborted } from '../../base/waiting/unless-aborted.js';
import type { Derivation, DerivedImages, EngineImages } from '../engine.js';

/** One command of the engine; a non-zero exit is a result, not an error. */
export type RunEngineCommand = (
  args: readonly string[],
  timeoutMs: number,
  signal: AbortSignal,
) => Promise<ProcessResult>;

const BUILD_TIMEOUT_MS = 300_000;
const QUERY_TIMEOUT_MS = 30_000;
const REMOVE_TIMEOUT_MS = 30_000;
const REPOSITORY = `localhost/${INSTANCE_LABEL}/derived`;
/** The label whose value is when the image was made, in seconds. */
const MADE_LABEL = `${INSTANCE_LABEL}.derived`;
/** Another bridge, of another version perhaps, may use what is younger; what it lacks later, it makes again. */
const OLD_SECONDS = 7 * 24 * 60 * 60;

/**
 * Name of the file that says how the image is made. podman's service takes a file of that name in its own working directory
 * for the one of the context (seen with 4.3), so the name is one that no other file has.
 */
export const CONTAINERFILE = 'Containerfile.mcp-sandbox-bridge';

export const derivedName = (key: string): string => `${REPOSITORY}:${key}`;

/** A value in a Containerfile: quotes and backslashes are escaped, and `$`, which would name a variable. */
const quoteValue = (value: string): string => `"${value.replaceAll(/["\\$]/g, '\\$&')}"`;

/** The text of a Containerfile of an image on top of another one. Throws where a value cannot stand in one line. */
function containerfile({
  base,
  folders,
  labels,
  env = {},
}: Pick<Derivation, 'base' | 'folders'> & {
  readonly image: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Variables of its containers. */
  readonly env?: Readonly<Record<string, string>>;
}): string {
  const lines = [
    `FROM ${base}`,
    ...Object.keys(folders).map((target) => `COPY ${nameOf(target)} ${target}`),
    ...Object.entries(env).map(([name, value]) => `ENV ${name}=${quoteValue(value)}`),
    ...Object.entries(labels).map(([name, value]) => `LABEL ${name}=${quoteValue(value)}`),
  ];
  if (lines.some((line) => /[\r\n]/.test(line)))
    throw new BridgeError('E_INTERNAL', 'a line break in a line of a Containerfile', { fault: 'bridge' });
  return `${lines.join('\n')}\n`;
}

const nameOf = (target: string): string => target.slice(1).replaceAll('/', '-');

/**
 * Makes the image and returns its name. `scratch` is a folder of ours; nothing is left there. `buildArgs` are the engine's
 * words for building the context of a folder. Throws E_IMAGE_BUILD with the engine's own.
 */
export function makeDerivedImage(
  {
    key,
    labels,
    ...derivation
  }: Omit<Derivation, 'seccompFile'> & {
    readonly labels: Readonly<Record<string, string>>;
  },
  scratch: string,
  buildArgs: (image: string, contextDir: string) => readonly string[],
  command: RunEngineCommand,
  signal: AbortSignal,
): Promise<string> {
  const made = { [MADE_LABEL]: String(Math.floor(Date.now() / 1000)) };
  const parts = { ...derivation, image: derivedName(key), labels: { ...labels, ...made } };
  return makeImageOnTop(parts, scratch, buildArgs, command, signal);
}

/** As makeDerivedImage, under a name of the caller's own; no prune removes it. */
export async function makeImageOnTop(
  parts: Parameters<typeof containerfile>[0],
  scratch: string,
  buildArgs: (image: string, contextDir: string) => readonly string[],
  command: RunEngineCommand,
  signal: AbortSignal,
): Promise<string> {
  mkdirSync(scratch, { recursive: true, mode: 0o700 });
  const context = mkdtempSync(join(scratch, 'context-'));
  try {
    for (const [target, dir] of Object.entries(parts.folders))
      cpSync(dir, join(context, nameOf(target)), { recursive: true });
    writeFileSync(join(context, CONTAINERFILE), containerfile(parts));
    const result = await command(buildArgs(parts.image, context), BUILD_TIMEOUT_MS, signal);
    if (result.exitCode === 0) return parts.image;
    throw new BridgeError(
      'E_IMAGE_BUILD',
      `The engine could not put files on top of ${parts.base}: ${tailOf(result)}`,
      { fault: 'engine', remedy: 'Make room where the engine runs, and fix what it reports.' },
    );
  } finally {
    rmSync(context, { recursive: true, force: true });
  }
}

/** Removes those that are old, but for `kept`. What a container still uses stays; trouble is nobody's business. */
export async function pruneDerivedImages(
  kept: readonly string[],
  command: RunEngineCommand,
  signal: AbortSignal,
): Promise<void> {
  const listed = await command(
    ['images', `--filter=label=${MADE_LABEL}`, '--format={{.Repository}}:{{.Tag}}'],
    QUERY_TIMEOUT_MS,
    signal,
  );
  const names = listed.stdout
    .split('\n')
    .filter((name) => name.startsWith(REPOSITORY) && !kept.includes(name));
  if (listed.exitCode !== 0 || names.length === 0) return;
  const format = `{{index .Config.Labels "${MADE_LABEL}"}}`;
  const inspected = await command(
    ['image', 'inspect', '--format', format, ...names],
    QUERY_TIMEOUT_MS,
    signal,
  );
  const made = inspected.stdout.trim().split('\n').map(Number);
  if (inspected.exitCode !== 0 || made.length !== names.length) return;
  const before = Date.now() / 1000 - OLD_SECONDS;
  const old = names.filter((_, at) => (made[at] ?? Number.POSITIVE_INFINITY) < before);
  if (old.length > 0) await command(['rmi', ...old], QUERY_TIMEOUT_MS, signal);
}

/** Each is made once for all who ask at the same time, and until a start of it fails; anybody may remove one at any time. */
export class CliDerivedImages implements DerivedImages {
  readonly #parts;
  /** Names by what they are made of. */
  readonly #made = new Map<string, Promise<string>>();

  constructor(parts: {
    readonly images: Pick<EngineImages, 'imageId'>;
    readonly command: RunEngineCommand;
    /** Makes a folder of ours, and returns its path. */
    readonly scratch: () => string;
    /** Words of the engine for building the context of a folder. */
    readonly buildArgs: (image: string, contextDir: string) => readonly string[];
    /** Labels by which the engine finds the seccomp profile of that path in an image; none where its client sends the profile. */
    readonly profileLabels: (seccompFile: string) => Readonly<Record<string, string>>;
  }) {
    this.#parts = parts;
  }

  make(derivation: Derivation, signal: AbortSignal): Promise<string> {
    const making = this.#made.get(derivation.key) ?? this.#make(derivation);
    this.#made.set(derivation.key, making);
    making.catch(() => this.#made.delete(derivation.key));
    return unlessAborted(making, signal);
  }

  forget(): void {
    this.#made.clear();
  }

  async remove(key: string): Promise<void> {
    this.#made.delete(key);
    const { signal } = new AbortController();
    await this.#parts.command(['rmi', derivedName(key)], REMOVE_TIMEOUT_MS, signal).catch(() => {});
  }

  /** Goes on when one of those who wait for it gives up. */
  async #make({ seccompFile, ...derivation }: Derivation): Promise<string> {
    const { images, command, scratch, buildArgs, profileLabels } = this.#parts;
    const { signal } = new AbortController();
    const name = derivedName(derivation.key);
    if ((await images.imageId(name, signal)) !== undefined) return name;
    const labelled = { ...derivation, labels: profileLabels(seccompFile) };
    const made = await makeDerivedImage(labelled, scratch(), buildArgs, command, signal);
    // Nobody waits for it.
    pruneDerivedImages([made], command, signal).catch(() => {});
    return made;
  }
}
