// Throw-away containers in which an image is prepared: no capability, no privilege, an ordinary user, gone when their work is
// done. What they work on is copied in and out, which engines elsewhere can do as well. Their network is the caller's choice.

import { chmodSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { BridgeError } from '../../base/errors.js';
import { ownCommand } from '../../base/process/own-command.js';
import { ownerLabels, thisOwner } from '../../base/process/owner.js';
import { type ProcessResult, run, tailOf } from '../../base/process/process.js';
import type { OciRuntime } from '../engine.js';
import type { EngineClient } from '../machine/place.js';

/** Where a container has its script and what that works on. */
export const IN = '/workspace/in';
/** Where it leaves what it makes. */
const OUT = '/workspace/out';

const COPY_TIMEOUT_MS = 5 * 60_000;
const SHORT_TIMEOUT_MS = 60_000;

/** Exit codes from here on are the engine's own: it started no container. */
export const NOT_STARTED = 125;

/** A Python script in the folder that a container has at IN, with its arguments. */
type Script = {
  readonly flags: readonly string[];
  readonly image: string;
  readonly script: string;
  readonly words: readonly string[];
};

const noContainer = (message: string): BridgeError =>
  new BridgeError('E_IMAGE_BUILD', message, {
    fault: 'engine',
    remedy: `Run \`${ownCommand('doctor')}\`, and fix what the engine reports.`,
  });

/**
 * Lets everybody read what is below `folder`, and gives a sentence for each entry that is neither a file nor a folder. Set-id
 * bits go with the rest of the mode.
 */
export function makeReadable(folder: string): string[] {
  chmodSync(folder, 0o755);
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return makeReadable(path);
    if (!entry.isFile()) return [`${entry.name} is neither a file nor a folder`];
    chmodSync(path, 0o644);
    return [];
  });
}

/** Throw-away containers, each of which is gone when its user is done with it. */
export class ThrowAways {
  readonly #engine;
  /** To be tried in this order, until one has started a container. */
  #ociRuntimes: ReadonlyArray<OciRuntime | undefined>;

  /** `engine` is all that is asked of one here. */
  constructor(
    engine: {
      readonly client: EngineClient;
      readonly removeArgs: (ids: readonly string[]) => readonly string[];
      readonly globalFlags: (ociRuntime: OciRuntime | undefined) => readonly string[];
    },
    ociRuntimes: readonly OciRuntime[],
  ) {
    this.#engine = engine;
    this.#ociRuntimes = ociRuntimes.length === 0 ? [undefined] : ociRuntimes;
  }

  /** One command of the engine. */
  engine(args: readonly string[], timeoutMs: number, signal: AbortSignal): Promise<ProcessResult> {
    const { binary, env } = this.#engine.client;
    return run([binary, ...args], { timeoutMs, env }, signal);
  }

  /** `use` has the id of a container that is made and not started. */
  async with<T>(
    flags: readonly string[],
    imageAndWords: readonly string[],
    signal: AbortSignal,
    use: (id: string) => Promise<T>,
  ): Promise<T> {
    const id = await this.#make(flags, imageAndWords, signal);
    try {
      return await use(id);
    } finally {
      const { signal: patient } = new AbortController();
      await this.engine(this.#engine.removeArgs([id]), SHORT_TIMEOUT_MS, patient);
    }
  }

  /**
   * Makes a container, with the next OCI runtime where the engine makes none with this one, and gives its id. Throws the
   * engine's words about the first that it was asked for, since the later ones may not even be installed.
   */
  async #make(
    flags: readonly string[],
    imageAndWords: readonly string[],
    signal: AbortSignal,
  ): Promise<string> {
    const labels = Object.entries(ownerLabels('image-build', thisOwner())).map((pair) => pair.join('='));
    const args = [
      ...['create', '--pull=never', '--cap-drop=ALL', '--security-opt=no-new-privileges'],
      // A podman configuration may raise both above what this user may have.
      ...['--ulimit=nofile=1024:1024', '--ulimit=nproc=512:512'],
      ...['--user=65534:65534', '--workdir=/workspace', '--entrypoint='],
      ...labels.map((label) => `--label=${label}`),
      ...flags,
      ...imageAndWords,
    ];
    let first: ProcessResult | undefined;
    for (const [index, runtime] of this.#ociRuntimes.entries()) {
      const made = await this.engine(
        [...this.#engine.globalFlags(runtime), ...args],
        SHORT_TIMEOUT_MS,
        signal,
      );
      const id = made.stdout.trim().split('\n').at(-1) ?? '';
      if (made.exitCode === 0 && /^[0-9a-f]{12,64}$/.test(id)) {
        this.#ociRuntimes = this.#ociRuntimes.slice(index);
        return id;
      }
      first ??= made;
    }
    const words = first === undefined ? '' : tailOf(first);
    throw noContainer(`${basename(this.#engine.client.binary)} could not make a container: ${words}`);
  }

  /** Runs our script in a container that gets the folders `given` by their places there, and copies what it leaves to `out`. */
  async runScript(
    { flags, image, script, words }: Script,
    {
      given,
      out,
      timeoutMs,
      onLine,
    }: {
      readonly given: Readonly<Record<string, string>>;
      readonly out: string;
      readonly timeoutMs: number;
      readonly onLine: (line: string) => void;
    },
    signal: AbortSignal,
  ): Promise<ProcessResult> {
    for (const folder of Object.values(given)) makeReadable(folder);
    const command = [image, 'python3', '-I', `${IN}/${basename(script)}`, ...words];
    const { binary, env } = this.#engine.client;
    const said = await this.with(flags, command, signal, async (id) => {
      for (const [place, folder] of Object.entries(given))
        await this.copy(`${folder}/.`, `${id}:${place}`, signal);
      const ended = await run([binary, 'start', '--attach', id], { timeoutMs, env, onLine }, signal);
      if (ended.exitCode === 0) await this.copy(`${id}:${OUT}/.`, out, signal);
      return ended;
    });
    const [, ...others] = this.#ociRuntimes;
    if (said.exitCode < NOT_STARTED || others.length === 0) return said;
    this.#ociRuntimes = others;
    try {
      return await this.runScript({ flags, image, script, words }, { given, out, timeoutMs, onLine }, signal);
    } catch (thrown) {
      // The engine makes none with the next, which may not even be installed: then the first one's words are the reason.
      if (thrown instanceof BridgeError && thrown.code === 'E_IMAGE_BUILD') return said;
      throw thrown;
    }
  }

  /** Copies between this machine and a container; one of both is `id:path`. */
  async copy(from: string, to: string, signal: AbortSignal): Promise<void> {
    const { exitCode, ...said } = await this.engine(['cp', from, to], COPY_TIMEOUT_MS, signal);
    if (exitCode !== 0) throw noContainer(`${from} could not be copied: ${tailOf(said)}`);
  }
}
