// An engine driven through its command line, podman or docker by its dialect. Every command is an argv; what the
// engine prints is parsed here and nowhere above. Holds the run directory with the pid and id files of live containers.

import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { BridgeError, messageOf } from '../../base/errors.js';
import type { Observer } from '../../base/log/events.js';
import {
  INSTANCE_LABEL,
  isAlive,
  type Owner,
  ownerFrom,
  ownerLabelNames,
  ownerLabels,
  thisOwner,
} from '../../base/process/owner.js';
import { type ProcessResult, run } from '../../base/process/process.js';
import { clip } from '../../base/text/text.js';
import { unlessAborted } from '../../base/waiting/unless-aborted.js';
import type {
  Container,
  ContainerFacts,
  Engine,
  EngineFacts,
  EngineName,
  NetworkMode,
  SandboxSpec,
  Unreachable,
  Volume,
} from '../engine.js';
import {
  type Derivation,
  derivedName,
  makeDerivedImage,
  pruneDerivedImages,
} from '../images/derived-image.js';
import { saysGoneAlready, saysNoSuchVolume, saysVolumeIsThere } from '../machine/client-words.js';
import { isBeingStarted, killFirstProcess, runsHere } from '../machine/first-process.js';
import { demandNetworkMode } from '../machine/network-modes.js';
import { isGvisor, type OciRuntime } from '../machine/oci-runtime.js';
import { connectionEnv, type EngineClient, engineNameOf, isElsewhere } from '../machine/place.js';
import { runArgv } from './argv.js';
import { CliContainer } from './cli-container.js';
import { CliImages } from './cli-images.js';
import {
  dialects,
  type EngineDialect,
  type LaunchChoice,
  type LaunchFacts,
  rootGroupOf,
} from './dialects.js';
import { INFO_TIMEOUT_MS } from './engine-status.js';

const QUERY_TIMEOUT_MS = 15_000;
/**
 * How long an engine elsewhere may take to show that it is there at all, which takes most a tenth of a second. One that has
 * always been slower gets this many times its quickest answer, since a busy machine is not a lost one, and at most so much.
 */
const ASK = { timeoutMs: 10_000, timesQuickest: 10, mostMs: 30_000 };
const REMOVE_TIMEOUT_MS = 30_000;
/** Timeout over a connection that may be held up: somebody waits, and what is not removed by then is removed later. */
const REMOVE_ELSEWHERE_TIMEOUT_MS = 10_000;
/** Between tries to remove what could not be removed, doubled each time. */
const FIRST_RETRY_MS = 2_000;
const LAST_RETRY_MS = 60_000;
const OWNER_FILE = 'owner.json';
/** A directory without a readable owner is being made for a moment, or was when its bridge was killed. */
const OWNED_WITHIN_MS = 60_000;

type CliEngineOptions = {
  readonly binary: string;
  readonly ociRuntime: OciRuntime | undefined;
  readonly facts: Pick<EngineFacts, 'mode' | 'ids' | 'architecture'>;
  /** MCP_BRIDGE_ENGINE_URL. */
  readonly url: string | undefined;
  /** Unique to this bridge process; the value of its containers' label. */
  readonly instance: string;
  readonly stateDir: string;
  readonly observer: Observer;
};

/** A removal that somebody else has done, or is doing, is as good. */
const isTrouble = ({ exitCode, stderr }: ProcessResult): boolean =>
  exitCode !== 0 && !saysGoneAlready(stderr);

/** How long an engine whose quickest answer took `quickestMs` is asked whether it is there; Infinity for none. */
export const askTimeoutMs = (quickestMs: number): number =>
  Number.isFinite(quickestMs)
    ? Math.min(Math.max(ASK.timeoutMs, ASK.timesQuickest * quickestMs), ASK.mostMs)
    : ASK.timeoutMs;

const runDirOf = ({ stateDir, instance }: Pick<CliEngineOptions, 'stateDir' | 'instance'>): string =>
  join(stateDir, 'run', instance);

/** Removes the run directory of a bridge that starts nothing any more, whether or not an engine was ever chosen. */
export function removeRunDir(of: Pick<CliEngineOptions, 'stateDir' | 'instance'>): void {
  rmSync(runDirOf(of), { recursive: true, force: true });
}

function ownerOf(runDir: string): Owner | undefined {
  try {
    const owner = JSON.parse(readFileSync(join(runDir, OWNER_FILE), 'utf8')) as Omit<Owner, 'machine'>;
    // Earlier versions did not say the machine.
    return { machine: '', ...owner };
  } catch {
    return undefined;
  }
}

export class CliEngine implements Engine {
  readonly name: EngineName;
  readonly images: CliImages;
  readonly volumes: Volumes;
  readonly #dialect: EngineDialect;
  readonly #options: CliEngineOptions;
  readonly #owner: Owner = thisOwner();
  readonly #runDir: string;
  readonly client: EngineClient;
  /** Names of containers that could not be removed when their time came. */
  readonly #unremoved = new Set<string>();
  /** Names of images by what they are made of; anybody may remove one at any time. */
  readonly #derived = new Map<string, Promise<string>>();
  #networkMode: NetworkMode | undefined;
  /** Time of the quickest command that this engine has answered. */
  #quickestMs = Number.POSITIVE_INFINITY;

  constructor(options: CliEngineOptions) {
    this.#options = options;
    this.name = engineNameOf(options.binary);
    this.#dialect = dialects[this.name];
    this.#runDir = runDirOf(options);
    this.client = { binary: options.binary, env: connectionEnv(this.name, options.url) };
    const command: CliEngine['command'] = (...args) => this.command(...args);
    this.images = new CliImages(this.client, options.facts, command);
    this.volumes = new Volumes({
      binary: this.binary,
      dialect: this.#dialect,
      facts: { mode: options.facts.mode, ociRuntime: options.ociRuntime },
      labels: Object.entries(ownerLabels(options.instance, this.#owner)).map((pair) => pair.join('=')),
      command,
      tellTrouble: (message) => this.#tellTrouble(message),
    });
  }

  get binary(): string {
    return this.client.binary;
  }

  /** Whether neither processes nor files of its containers are this machine's. */
  get isElsewhere(): boolean {
    return isElsewhere(this.#options.facts.mode);
  }

  /** How containers are launched, and why so. */
  get launch(): LaunchChoice {
    return this.#dialect.launch(this.#options.facts.mode);
  }

  /** The carrier of the traffic of containers that have a network; asked once. Throws E_NETWORK where nothing can carry it. */
  async networkMode(signal: AbortSignal): Promise<NetworkMode> {
    if (this.#networkMode === undefined) {
      const { stdout } = await this.command(this.#dialect.infoArgs, INFO_TIMEOUT_MS, signal);
      this.#networkMode = demandNetworkMode(this.#dialect.networkMode(stdout, this.#options.facts.mode));
    }
    return this.#networkMode;
  }

  /**
   * Makes the image where it is not there, and returns its name; once for all who ask at the same time, and until a start
   * of it fails. Throws E_IMAGE_BUILD.
   */
  derive(derivation: Derivation, signal: AbortSignal): Promise<string> {
    const making = this.#derived.get(derivation.key) ?? this.#derive(derivation);
    this.#derived.set(derivation.key, making);
    making.catch(() => this.#derived.delete(derivation.key));
    return unlessAborted(making, signal);
  }

  /** Goes on when one of those who wait for it gives up. */
  async #derive(derivation: Derivation): Promise<string> {
    const { signal } = new AbortController();
    const name = derivedName(derivation.key);
    if ((await this.images.imageId(name, signal)) !== undefined) return name;
    this.#makeRunDir();
    const command: CliEngine['command'] = (...args) => this.command(...args);
    const made = await makeDerivedImage(derivation, this.#runDir, this.#dialect.buildArgs, command, signal);
    // Nobody waits for it.
    pruneDerivedImages([made], command, signal).catch(() => {});
    return made;
  }

  /** A start failed: what was derived may be gone. */
  forgetDerived(): void {
    this.#derived.clear();
  }

  /** The image of `key`, which nobody will start from again. Never rejects. */
  async removeDerived(key: string): Promise<void> {
    this.#derived.delete(key);
    const args = ['rmi', derivedName(key)];
    await this.command(args, REMOVE_TIMEOUT_MS, new AbortController().signal).catch(() => {});
  }

  start(spec: SandboxSpec): Container {
    this.#makeRunDir();
    const cidFile = join(this.#runDir, `${spec.name}.cid`);
    const pidFile = join(this.#runDir, `${spec.name}.pid`);
    const { ociRuntime, facts, instance } = this.#options;
    const labelled = { ...spec, labels: { ...spec.labels, ...ownerLabels(instance, this.#owner) } };
    return new CliContainer({
      binary: this.binary,
      argv: runArgv(labelled, this.#dialect, { ...facts, ociRuntime, cidFile, pidFile }),
      env: this.client.env,
      launch: this.launch.launch,
      name: spec.name,
      runDir: this.#runDir,
      cidFile,
      pidFile: this.#dialect.writesPidFile && !this.isElsewhere ? pidFile : undefined,
      remove: (id) => this.#remove([id]),
      removeCommand: [this.binary, ...this.#dialect.removeArgs([spec.name])],
    });
  }

  /**
   * Host pid of the first process of the container `name`, asked of the engine; undefined where that is another
   * machine's. A pid is only believed when the process of that number here runs `command`.
   */
  async pidOf(name: string, command: string, signal: AbortSignal): Promise<number | undefined> {
    if (this.isElsewhere) return undefined;
    const { exitCode, stdout } = await this.command(
      ['container', 'inspect', '--format', '{{.State.Pid}}', name],
      QUERY_TIMEOUT_MS,
      signal,
    );
    const pid = Number(stdout.trim());
    return exitCode === 0 && pid > 1 && runsHere(pid, command) ? pid : undefined;
  }

  /** Ends the container `name`, which its own bridge then removes; with what the engine says where it cannot. */
  async kill(name: string, signal: AbortSignal): Promise<string | undefined> {
    const { exitCode, stderr } = await this.command(['kill', name], QUERY_TIMEOUT_MS, signal);
    return exitCode === 0 ? undefined : clip(stderr.trim(), 300);
  }

  /** Why an engine that runs elsewhere does not answer; undefined where it does. Never rejects. */
  async whyUnreachable(): Promise<Unreachable | undefined> {
    const { mode } = this.#options.facts;
    // podman 4 warns of each host whose key it cannot keep, which is not why it does not answer.
    const args = [...this.#dialect.globalFlags({ mode, ociRuntime: undefined }), 'version'];
    try {
      const { exitCode, stderr } = await this.command(
        args,
        askTimeoutMs(this.#quickestMs),
        new AbortController().signal,
      );
      return exitCode === 0 ? undefined : { why: clip(stderr.trim(), 300), isSilent: false };
    } catch (thrown) {
      return { why: messageOf(thrown), isSilent: true };
    }
  }

  /** Version text of the OCI runtime where the engine runs elsewhere; undefined where the engine keeps the text to itself. */
  async runtimeVersion(signal: AbortSignal): Promise<string | undefined> {
    const { runtimeVersionArgs } = this.#dialect;
    if (runtimeVersionArgs === undefined) return undefined;
    const { exitCode, stdout } = await this.command(runtimeVersionArgs, QUERY_TIMEOUT_MS, signal);
    return exitCode === 0 ? stdout : undefined;
  }

  /** Facts that the engine reports of the container `name`; undefined where there is none, or nothing that can be read. */
  async factsOf(name: string, signal: AbortSignal): Promise<ContainerFacts | undefined> {
    const { factsFormat, parseFacts } = this.#dialect;
    const args = ['container', 'inspect', '--format', factsFormat, name];
    const { exitCode, stdout } = await this.command(args, QUERY_TIMEOUT_MS, signal);
    try {
      return exitCode === 0 ? parseFacts(stdout) : undefined;
    } catch {
      return undefined;
    }
  }

  async sweep(signal: AbortSignal): Promise<number> {
    const dead = await this.#dead(this.#dialect.listArgs(INSTANCE_LABEL, ownerLabelNames), signal);
    if (dead.length > 0) await this.#remove(dead);
    const volumes = this.#dialect.listVolumesArgs(INSTANCE_LABEL, ownerLabelNames);
    await this.volumes.remove(await this.#dead(volumes, signal));
    this.#sweepRunDirs();
    return dead.length;
  }

  /** Ids or names that `args` list and whose owner is gone. */
  async #dead(args: readonly string[], signal: AbortSignal): Promise<readonly string[]> {
    const listed = await this.command(args, QUERY_TIMEOUT_MS, signal);
    if (listed.exitCode !== 0)
      throw new BridgeError('E_ENGINE_BROKEN', clip(listed.stderr.trim(), 300), { fault: 'engine' });
    return listed.stdout
      .split('\n')
      .filter((line) => line.includes('\t'))
      .map((line) => line.split('\t'))
      .filter(([, ...labels]) => !isAlive(ownerFrom(labels)))
      .flatMap(([id]) => (id === undefined || id === '' ? [] : [id]));
  }

  /** One command of the engine; a non-zero exit is a result, not an error. */
  async command(args: readonly string[], timeoutMs: number, signal: AbortSignal): Promise<ProcessResult> {
    const argv = [this.binary, ...args] as const;
    const result = await run(argv, { timeoutMs, env: this.client.env }, signal);
    if (result.exitCode === 0) this.#quickestMs = Math.min(this.#quickestMs, result.durationMs);
    this.#options.observer({
      type: 'engine.command',
      argv,
      durationMs: result.durationMs,
      exitCode: result.exitCode,
    });
    return result;
  }

  /** Throws E_STATE, as a full disk does. */
  #makeRunDir(): void {
    try {
      mkdirSync(this.#runDir, { recursive: true, mode: 0o700 });
      writeFileSync(join(this.#runDir, OWNER_FILE), JSON.stringify(this.#owner));
    } catch (cause) {
      throw new BridgeError('E_STATE', `${this.#runDir} cannot be written: ${messageOf(cause)}.`, {
        fault: 'operator',
        remedy: 'Make room, or set MCP_BRIDGE_STATE_DIR to a directory that you own.',
        cause,
      });
    }
  }

  #tellTrouble(message: string): void {
    this.#options.observer({ type: 'engine.trouble', message });
  }

  async #remove(ids: readonly string[]): Promise<void> {
    const trouble = await this.#troubleRemoving(ids);
    if (trouble === undefined) return;
    this.#tellTrouble(`could not remove ${ids.join(', ')}: ${trouble}`);
    if (this.isElsewhere) this.#removeLater(ids);
  }

  /** Undefined when they are gone. */
  async #troubleRemoving(ids: readonly string[]): Promise<string | undefined> {
    try {
      let result = await this.#removeOnce(ids);
      // podman 4.3 only notices at the first try that a container whose monitor was killed has ended.
      if (isTrouble(result) && !this.isElsewhere) result = await this.#removeOnce(ids);
      return isTrouble(result) ? clip(result.stderr.trim(), 300) : undefined;
    } catch (thrown) {
      return messageOf(thrown);
    }
  }

  /** The way to the engine was cut, or its machine sleeps: they are removed when it is back, or by the next start's sweep. */
  #removeLater(ids: readonly string[]): void {
    const isWaiting = this.#unremoved.size > 0;
    for (const id of ids) this.#unremoved.add(id);
    if (!isWaiting) this.#retryAfter(FIRST_RETRY_MS);
  }

  #retryAfter(pauseMs: number): void {
    setTimeout(() => void this.#retryRemoval(pauseMs), pauseMs).unref();
  }

  async #retryRemoval(pauseMs: number): Promise<void> {
    const ids = [...this.#unremoved];
    if ((await this.#troubleRemoving(ids)) !== undefined)
      return this.#retryAfter(Math.min(2 * pauseMs, LAST_RETRY_MS));
    for (const id of ids) this.#unremoved.delete(id);
    if (this.#unremoved.size > 0) this.#retryAfter(FIRST_RETRY_MS);
  }

  #removeOnce(ids: readonly string[]): Promise<ProcessResult> {
    const timeoutMs = this.isElsewhere ? REMOVE_ELSEWHERE_TIMEOUT_MS : REMOVE_TIMEOUT_MS;
    return this.command(this.#dialect.removeArgs(ids), timeoutMs, new AbortController().signal);
  }

  #sweepRunDirs(): void {
    const parent = join(this.#options.stateDir, 'run');
    if (!existsSync(parent)) return;
    for (const instance of readdirSync(parent)) {
      const dir = join(parent, instance);
      try {
        const owner = ownerOf(dir);
        if (owner === undefined ? Date.now() - statSync(dir).mtimeMs < OWNED_WITHIN_MS : isAlive(owner))
          continue;
        // A container that was being made when its bridge died is known to nobody else. One that still is must not be
        // killed (see CliContainer.kill); it ends by itself, since its input has ended, and the next start looks again.
        const pidFiles = readdirSync(dir).filter((file) => file.endsWith('.pid'));
        if (pidFiles.some((file) => isBeingStarted(join(dir, file)))) continue;
        for (const file of pidFiles) killFirstProcess(join(dir, file));
        rmSync(dir, { recursive: true, force: true });
      } catch {
        // Gone in this moment, or not ours: leave it.
      }
    }
  }
}

type VolumeParts = {
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

/** A container is removed well within the sum of these pauses. */
const TRIES = 6;
const PAUSE_MS = 100;
const MAX_SAID_CHARS = 300;

/**
 * Volumes: made where they are not there, opened to gVisor, and removed with what is in them. Relies on the engine's commands
 * alone; whose a volume is stands in its labels (owner.ts), so that a sweep finds it.
 */
class Volumes {
  readonly #parts: VolumeParts;

  constructor(parts: VolumeParts) {
    this.#parts = parts;
  }

  /** Makes the volume where it is not there. Throws E_ENGINE_BROKEN. */
  async make({ name, isKept }: Volume, signal: AbortSignal): Promise<void> {
    const { dialect, labels, facts, command } = this.#parts;
    const args = dialect.makeVolumeArgs(name, isKept ? [] : labels);
    const made = await command(args, QUERY_TIMEOUT_MS, signal);
    if (made.exitCode !== 0 && !saysVolumeIsThere(made.stderr))
      throw this.#broken(`volume create ${name}`, made);
    const group = rootGroupOf(facts.mode);
    if (group === undefined || facts.ociRuntime === undefined || !isGvisor(facts.ociRuntime.name)) return;
    // Its folder is private to root, and gVisor comes as the container's own (isGvisor): who may pass, and nobody else.
    const place = ['volume', 'inspect', '--format', '{{.Mountpoint}}', name];
    const found = await command(place, QUERY_TIMEOUT_MS, signal);
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
      for (let tries = 1; isVolumeLeft(result) && tries < TRIES; tries++) {
        await sleep(PAUSE_MS);
        result = await this.#removeOnce(names);
      }
      if (isVolumeLeft(result))
        this.#parts.tellTrouble(`could not remove ${names.join(', ')}: ${said(result)}`);
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

/** A volume that is gone already is removed. */
const isVolumeLeft = ({ exitCode, stderr }: ProcessResult): boolean =>
  exitCode !== 0 && !saysNoSuchVolume(stderr);

const said = ({ stderr }: ProcessResult): string => clip(stderr.trim(), MAX_SAID_CHARS);
