// The images of an engine, by its command line. They are there before an OCI runtime is chosen and without a bridge, so this
// needs no more than the program and its environment; whoever watches the engine's commands hands in how they are run.

import { BridgeError } from '../../base/errors.js';
import { ownCommand } from '../../base/process/own-command.js';
import { run } from '../../base/process/process.js';
import { clip } from '../../base/text/text.js';
import { VERSION } from '../../base/version.js';
import type { BuildWish, BuiltImage, EngineFacts, EngineImages } from '../engine.js';
import type { RunEngineCommand } from '../images/derived-image.js';
import { buildImage, inspectImage } from '../images/image.js';
import type { PullTraces } from '../images/pull-traces.js';
import { foreignArchitecture } from '../images/recipe.js';
import { buildWithWheels } from '../images/wheels.js';
import { saysNoSuchImage, whyNotPulled } from '../machine/client-words.js';
import { type CliName, cliNameOf, type EngineClient } from '../machine/place.js';
import { dialectOf } from './dialects.js';

const QUERY_TIMEOUT_MS = 15_000;
const LOOK_TIMEOUT_MS = 30_000;
const PULL_TIMEOUT_MS = 600_000;

export class CliImages implements EngineImages {
  readonly name: CliName;
  readonly #client: EngineClient;
  readonly #facts: Pick<EngineFacts, 'mode' | 'architecture'>;
  readonly #command: RunEngineCommand;

  constructor(
    client: EngineClient,
    facts: Pick<EngineFacts, 'mode' | 'architecture'>,
    command?: RunEngineCommand,
  ) {
    this.name = cliNameOf(client.binary);
    this.#client = client;
    this.#facts = facts;
    const { binary, env } = client;
    this.#command =
      command ?? ((args, timeoutMs, signal) => run([binary, ...args], { timeoutMs, env }, signal));
  }

  async imageId(image: string, signal: AbortSignal): Promise<string | undefined> {
    const result = await this.#command(
      ['image', 'inspect', '--format', '{{.Id}}', image],
      QUERY_TIMEOUT_MS,
      signal,
    );
    if (result.exitCode === 0) return result.stdout.trim();
    // An engine that cannot say is not one that says no: the remedy is another.
    if (result.stderr.trim() === '' || saysNoSuchImage(result.stderr)) return undefined;
    throw new BridgeError('E_ENGINE_BROKEN', `${this.name}: ${clip(result.stderr.trim(), 300)}`, {
      fault: 'engine',
      remedy: `Run \`${this.#client.binary} image inspect ${image}\` and fix what it reports.`,
    });
  }

  inspect(
    image: string,
    signal: AbortSignal,
  ): Promise<{ readonly id: string; readonly sizeBytes: number } | undefined> {
    return inspectImage(this.#client, image, signal);
  }

  async labels(image: string, signal: AbortSignal): Promise<string | undefined> {
    const args = ['image', 'inspect', '--format', '{{json .Config.Labels}}', image];
    const { exitCode, stdout } = await this.#command(args, LOOK_TIMEOUT_MS, signal);
    return exitCode === 0 ? stdout : undefined;
  }

  async names(signal: AbortSignal): Promise<readonly string[]> {
    const args = ['images', '--format', '{{.Repository}}:{{.Tag}}'];
    return (await this.#command(args, LOOK_TIMEOUT_MS, signal)).stdout.split('\n');
  }

  async pull(
    image: string,
    onProgress: (line: string) => void,
    signal: AbortSignal,
    traces?: PullTraces,
  ): Promise<void> {
    const { binary, env } = this.#client;
    const own = dialectOf(this.name, this.#facts.mode).pullsItself ? traces : undefined;
    const result = await run(
      [binary, 'pull', image],
      {
        timeoutMs: PULL_TIMEOUT_MS,
        onLine: onProgress,
        env: { ...env, ...(own?.folder === undefined ? {} : { TMPDIR: own.folder }) },
        onStarted: (pid) => own?.onStarted(pid),
      },
      signal,
    );
    if (result.exitCode === 0) return;
    throw new BridgeError(
      'E_IMAGE_MISSING',
      `${image} could not be pulled: ${clip(whyNotPulled(result.stderr), 300)}`,
      {
        fault: 'operator',
        remedy: `Run \`${ownCommand('image', 'build')}\`, which needs no registry, or set MCP_BRIDGE_IMAGE to a local image.`,
      },
    );
  }

  build(wish: BuildWish, signal: AbortSignal): Promise<BuiltImage> {
    const architecture = foreignArchitecture(this.#facts.architecture);
    const buildPlain: CliImages['build'] = (plain, ended) =>
      buildImage({ ...plain, client: this.#client, architecture, version: VERSION }, ended);
    const { pip } = wish;
    if (pip === undefined) return buildPlain(wish, signal);
    const { buildArgs, removeArgs, globalFlags } = dialectOf(this.name, this.#facts.mode);
    const parts = { client: this.#client, images: this, buildArgs, removeArgs, globalFlags, buildPlain };
    const processor = architecture ?? process.arch;
    return buildWithWheels({ ...wish, pip }, { ...parts, processor, version: VERSION }, signal);
  }

  async remove(image: string, signal: AbortSignal): Promise<void> {
    const { exitCode, stderr } = await this.#command(['rmi', image], LOOK_TIMEOUT_MS, signal);
    if (exitCode === 0) return;
    throw new BridgeError('E_ENGINE_BROKEN', `${this.name}: ${clip(stderr.trim(), 300)}.`, {
      fault: 'engine',
      remedy: `Remove the containers that use it, then run \`${this.removalOf(image)}\`.`,
    });
  }

  removalOf(image: string): string {
    return `${this.#client.binary} rmi ${image}`;
  }
}
