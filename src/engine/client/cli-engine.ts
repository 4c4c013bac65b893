// An engine driven through its command line, podman or docker by its dialect. Every command is an argv; what the
// engine prints is parsed here and nowhere above. Holds the run directory with the pid and id files of live containers.

import { chmodSync, chownSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { asBridgeError, BridgeError, messageOf } from '../../base/errors.js';
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
import type {
  Container,
  ContainerFacts,
  DataMount,
  Engine,
  EngineOptions,
  EngineTraits,
  NetworkMode,
  OciRuntime,
  SandboxSpec,
  Unreachable,
  Volume,
} from '../engine.js';
import { CliDerivedImages, type RunEngineCommand } from '../images/derived-image.js';
import { killBundle, sweepBundles } from '../machine/bundles.js';
import {
  isExpectedWarning,
  saysGoneAlready,
  saysNoSuchVolume,
  saysNotAnswering,
  saysVolumeIsThere,
} from '../machine/client-words.js';
import { makeRunDir, runDirOf, runsHere, sweepRunDirs } from '../machine/first-process.js';
import { demandNetworkMode } from '../machine/network-modes.js';
import { hostTasks, isGvisor, OLD_GVISOR } from '../machine/oci-runtime.js';
import { type CliName, cliNameOf, connectionEnv, type EngineClient, isElsewhere } from '../machine/place.js';
import { runArgv } from './argv.js';
import { CliContainer } from './cli-container.js';
import { CliImages } from './cli-images.js';
import { dialectOf, type EngineDialect, INFO_TIMEOUT_MS, rootGroupOf } from './dialects.js';

const QUERY_TIMEOUT_MS = 15_000;
/**
 * How long an engine elsewhere may take to show that it is there at all, which takes most a tenth of a second. One that has
 * always been slower gets this many times its quickest answer, since a busy machine is not a lost one, and at most so much.
 */
const ASK = { timeoutMs: 10_000, timesQuickest: 10, mostMs: 30_000 };
/**
 * Consequences of where containers run, besides what their client is told. `isHere`: processes and files are this machine's.
 * Removal of containers: elsewhere the connection may be held up, and somebody waits, so a container that is not removed in
 * time is removed later; here, podman 4.3 only notices at the first try that a container whose monitor was killed has ended.
 */
const PLACES = {
  here: { isHere: true, timeoutMs: 30_000, triesAtOnce: 2, triesLater: false },
  elsewhere: { isHere: false, timeoutMs: 10_000, triesAtOnce: 1, triesLater: true },
} as const;
/** Fields of a container that are podman's alone, by tabs. */
const INSPECT_FORMAT = '{{.ID}}\t{{.OCIConfigPath}}\t{{.GraphDriver.Data.MergedDir}}';
const REMOVE_VOLUMES_TIMEOUT_MS = 30_000;
/** Some gigabytes over a slow network. */
const COPY_TIMEOUT_MS = 30 * 60_000;
const VERSION_TIMEOUT_MS = 5_000;
/** Between tries to remove what could not be removed, doubled each time. */
const FIRST_RETRY_MS = 2_000;
const LAST_RETRY_MS = 60_000;

/** A removal that somebody else has done, or is doing, is as good. */
const isTrouble = ({ exitCode, stderr }: ProcessResult): boolean =>
  exitCode !== 0 && !saysGoneAlready(stderr);

/** How long an engine whose quickest answer took `quickestMs` is asked whether it is there; Infinity for none. */
export const askTimeoutMs = (quickestMs: number): number =>
  Number.isFinite(quickestMs)
    ? Math.min(Math.max(ASK.timeoutMs, ASK.timesQuickest * quickestMs), ASK.mostMs)
    : ASK.timeoutMs;

/** Another way to start containers than by `run` of the engine's client, for as many as it can be. */
export interface OtherLaunch extends AsyncDisposable {
  /** Undefined for a container that the client is to start. */
  start(spec: SandboxSpec): Container | undefined;
  /** As Engine.prepare. */
  prepare(spec: SandboxSpec): Promise<string | undefined>;
  /** As Engine.giveUp. */
  giveUp(spec: SandboxSpec): boolean;
}

/** All that another way to start containers has of an engine. */
export type OtherLaunchParts = {
  readonly runtime: OciRuntime;
  readonly isRootless: boolean;
  /** Makes the run directory where it is not there, and gives its path. */
  readonly runDir: () => string;
  readonly startByClient: (spec: SandboxSpec) => Container;
  /** Id of a container that runs, where its OCI configuration is, and its root. Throws where the engine does not know it. */
  readonly inspect: (
    name: string,
  ) => Promise<{ readonly id: string; readonly configPath: string; readonly root: string }>;
  readonly imageStamp: () => string;
  readonly tellTrouble: (message: string) => void;
  /** Tells why the client starts containers. */
  readonly tellByClient: (why: string) => void;
};

export class CliEngine implements Engine {
  readonly name: CliName;
  readonly traits: EngineTraits;
  readonly images: CliImages;
  readonly volumes: Volumes;
  readonly derived: CliDerivedImages | undefined;
  readonly launch: Engine['launch'];
  readonly says = { isExpected: isExpectedWarning, isUnreachable: saysNotAnswering };
  readonly whyUnreachable: Engine['whyUnreachable'];
  readonly factsOf: Engine['factsOf'];
  readonly prepare: Engine['prepare'];
  readonly giveUp: Engine['giveUp'];
  readonly #otherLaunch: OtherLaunch | undefined;
  readonly #dialect: EngineDialect;
  readonly #place: (typeof PLACES)['here' | 'elsewhere'];
  readonly #options: EngineOptions;
  readonly #owner: Owner = thisOwner();
  readonly #runDir: string;
  readonly #client: EngineClient;
  /** Names of containers that could not be removed when their time came. */
  readonly #unremoved = new Set<string>();
  #networkMode: NetworkMode | undefined;
  /** Time of the quickest command that this engine has answered. */
  #quickestMs = Number.POSITIVE_INFINITY;

  /** `openOther` gives the other launch, where the operator wishes for it and the engine is here. */
  constructor(options: EngineOptions, openOther?: (parts: OtherLaunchParts) => OtherLaunch) {
    const { binary, facts, ociRuntime } = options;
    this.#options = options;
    this.name = cliNameOf(binary);
    this.#dialect = dialectOf(this.name, facts.mode);
    this.launch = this.#dialect.launch;
    this.#place = PLACES[isElsewhere(facts.mode) ? 'elsewhere' : 'here'];
    this.traits = traitsOf(this.#dialect, this.#place.isHere, options);
    this.#runDir = runDirOf(options);
    this.#client = { binary, env: connectionEnv(this.name, options.url) };
    const command: RunEngineCommand = (...args) => this.command(...args);
    this.images = new CliImages(this.#client, facts, command);
    this.volumes = new Volumes({
      binary,
      dialect: this.#dialect,
      rootGroup: isGvisor(ociRuntime?.name ?? '') ? rootGroupOf(facts.mode) : undefined,
      labels: Object.entries(ownerLabels(options.instance, this.#owner)).map((pair) => pair.join('=')),
      command,
      tellTrouble: (message) => this.#tellTrouble(message),
    });
    if (this.#place.isHere) {
      if (ociRuntime === undefined || (options.launch ?? 'engine') === 'engine') return;
      const other = openOther?.(this.#otherParts(ociRuntime));
      this.#otherLaunch = other;
      this.prepare = other && ((spec) => other.prepare(spec));
      this.giveUp = other && ((spec) => other.giveUp(spec));
      return;
    }
    const { images } = this;
    const { buildArgs, profileLabels } = this.#dialect;
    const scratch = (): string => this.#makeRunDir();
    this.derived = new CliDerivedImages({ images, command, scratch, buildArgs, profileLabels });
    this.whyUnreachable = () => this.#whyUnreachable();
    this.factsOf = (name, signal) => this.#factsOf(name, signal);
  }

  /** The carrier of the traffic of containers that have a network; asked once. Throws E_NETWORK where nothing can carry it. */
  async networkMode(signal: AbortSignal): Promise<NetworkMode> {
    if (this.#networkMode === undefined) {
      const { stdout } = await this.command(this.#dialect.infoArgs, INFO_TIMEOUT_MS, signal);
      this.#networkMode = demandNetworkMode(this.#dialect.networkMode(stdout, this.#options.facts.mode));
    }
    return this.#networkMode;
  }

  start(spec: SandboxSpec): Container {
    return this.#otherLaunch?.start(spec) ?? this.#startByClient(spec);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#otherLaunch?.[Symbol.asyncDispose]();
  }

  #otherParts(runtime: OciRuntime): OtherLaunchParts {
    return {
      runtime,
      isRootless: this.#options.facts.ids === 'rootless',
      runDir: () => this.#makeRunDir(),
      startByClient: (spec) => this.#startByClient(spec),
      inspect: async (name) => {
        const args = ['container', 'inspect', `--format=${INSPECT_FORMAT}`, name];
        const result = await this.command(args, QUERY_TIMEOUT_MS, new AbortController().signal);
        const [id = '', configPath = '', root = ''] = result.stdout.trim().split('\t');
        if (result.exitCode === 0 && configPath !== '') return { id, configPath, root };
        throw new BridgeError('E_ENGINE_BROKEN', stderrExcerpt(result), { fault: 'engine' });
      },
      imageStamp: () => this.imageStamp(),
      tellTrouble: (message) => this.#tellTrouble(message),
      tellByClient: (why) => this.#options.observer({ type: 'engine.byClient', why }),
    };
  }

  #startByClient(spec: SandboxSpec): Container {
    this.#makeRunDir();
    const cidFile = join(this.#runDir, `${spec.name}.cid`);
    const pidFile = join(this.#runDir, `${spec.name}.pid`);
    const { ociRuntime, facts, instance } = this.#options;
    const labelled = { ...spec, labels: { ...spec.labels, ...ownerLabels(instance, this.#owner) } };
    return new CliContainer({
      binary: this.#client.binary,
      argv: runArgv(labelled, this.#dialect, { ...facts, ociRuntime, cidFile, pidFile }),
      env: this.#client.env,
      launch: this.launch.launch,
      name: spec.name,
      runDir: this.#runDir,
      cidFile,
      pidFile: this.#dialect.writesPidFile ? pidFile : undefined,
      remove: (id) => this.#remove([id]),
      removeCommand: [this.#client.binary, ...this.#dialect.removeArgs([spec.name])],
    });
  }

  hostTasks(pids: number): number {
    return hostTasks(pids, this.#options.ociRuntime?.name);
  }

  /** Changes with the file that a podman store of this machine writes then; there is none of docker's, or in a machine. */
  imageStamp(): string {
    // A file of that path on this machine would be another store's.
    if (!this.#place.isHere) return '';
    const { storageRoot, storageDriver } = this.#options.facts;
    const file = join(storageRoot, `${storageDriver}-images`, 'images.json');
    const stat = statSync(file, { throwIfNoEntry: false });
    return stat === undefined ? '' : `${stat.mtimeMs} ${stat.size} ${stat.ino}`;
  }

  async pidOf(name: string, command: string, signal: AbortSignal): Promise<number | undefined> {
    if (!this.#place.isHere) return undefined;
    const { exitCode, stdout } = await this.command(
      ['container', 'inspect', '--format', '{{.State.Pid}}', name],
      QUERY_TIMEOUT_MS,
      signal,
    );
    const pid = Number(stdout.trim());
    return exitCode === 0 && pid > 1 && runsHere(pid, command) ? pid : undefined;
  }

  async kill(name: string, signal: AbortSignal): Promise<string | undefined> {
    if (this.#place.isHere && killBundle(this.#options.stateDir, name)) return undefined;
    const { exitCode, stderr } = await this.command(['kill', name], QUERY_TIMEOUT_MS, signal);
    return exitCode === 0 ? undefined : clip(stderr.trim(), 300);
  }

  /** Undefined where it does answer. */
  async #whyUnreachable(): Promise<Unreachable | undefined> {
    // podman 4 warns of each host whose key it cannot keep, which is not why it does not answer.
    const args = [...this.#dialect.globalFlags(undefined), 'version'];
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

  /** A program of that name on this machine is not the one that runs containers elsewhere. */
  async runtimeVersion(signal: AbortSignal): Promise<string | undefined> {
    const { ociRuntime } = this.#options;
    const { runtimeVersionArgs } = this.#dialect;
    if (this.#place.isHere) return ociRuntime && versionOf(ociRuntime.name, signal);
    if (runtimeVersionArgs === undefined) return undefined;
    const { exitCode, stdout } = await this.command(runtimeVersionArgs, QUERY_TIMEOUT_MS, signal);
    return exitCode === 0 ? stdout : undefined;
  }

  /** Undefined also where nothing can be read of what the engine prints. */
  async #factsOf(name: string, signal: AbortSignal): Promise<ContainerFacts | undefined> {
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
    const dead = await this.#listDead(this.#dialect.listArgs(INSTANCE_LABEL, ownerLabelNames), signal);
    if (dead.length > 0) await this.#remove(dead);
    const volumes = this.#dialect.listVolumesArgs(INSTANCE_LABEL, ownerLabelNames);
    await this.volumes.remove(await this.#listDead(volumes, signal));
    const { stateDir } = this.#options;
    const bundles = this.#place.isHere ? await sweepBundles(stateDir, this.#enter, this.#client.env) : 0;
    sweepRunDirs(stateDir);
    return dead.length + bundles;
  }

  /** Words that lead to where the engine's own OCI runtime works. */
  get #enter(): readonly string[] {
    return this.#options.facts.ids === 'rootless' ? [this.#client.binary, 'unshare'] : [];
  }

  /** Ids or names that `args` list and whose owner is gone. */
  async #listDead(args: readonly string[], signal: AbortSignal): Promise<readonly string[]> {
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
    const { binary, env } = this.#client;
    const argv = [binary, ...args] as const;
    const result = await run(argv, { timeoutMs, env }, signal);
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
  #makeRunDir(): string {
    makeRunDir(this.#runDir, this.#owner);
    return this.#runDir;
  }

  #tellTrouble(message: string): void {
    this.#options.observer({ type: 'engine.trouble', message });
  }

  async #remove(ids: readonly string[]): Promise<void> {
    const trouble = await this.#troubleRemoving(ids);
    if (trouble === undefined) return;
    this.#tellTrouble(`could not remove ${ids.join(', ')}: ${trouble}`);
    if (this.#place.triesLater) this.#removeLater(ids);
  }

  /** Undefined when they are gone. */
  async #troubleRemoving(ids: readonly string[]): Promise<string | undefined> {
    try {
      let result = await this.#removeOnce(ids);
      for (let tries = 1; isTrouble(result) && tries < this.#place.triesAtOnce; tries++)
        result = await this.#removeOnce(ids);
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
    const { timeoutMs } = this.#place;
    return this.command(this.#dialect.removeArgs(ids), timeoutMs, new AbortController().signal);
  }
}

function traitsOf(
  dialect: EngineDialect,
  isHere: boolean,
  { facts: { mode, ids }, ociRuntime }: EngineOptions,
): EngineTraits {
  const isOwn = isGvisor(ociRuntime?.name ?? '');
  return {
    ...dialect.traits,
    ownKernel: isOwn ? 'gVisor' : undefined,
    ownFilter: undefined,
    opensPrivateFolders: !(isOwn && mode === 'userns-mapped'),
    ownerBy: isHere ? dialect.ownerBy(ids, ociRuntime) : undefined,
    reachesLocalhost: !isHere,
    networkAdvice: isOwn ? OLD_GVISOR : undefined,
  };
}

/** The runtime's own words about its version, as a program of this machine; undefined where the program cannot be run. */
async function versionOf(ociRuntime: string, signal: AbortSignal): Promise<string | undefined> {
  try {
    const options = { timeoutMs: VERSION_TIMEOUT_MS };
    const { stdout, exitCode } = await run([ociRuntime, '--version'], options, signal);
    return exitCode === 0 ? stdout : undefined;
  } catch (thrown) {
    if (asBridgeError(thrown).code === 'E_PROCESS') return undefined;
    throw thrown;
  }
}

/** A container is removed well within the sum of these pauses. */
const TRIES = 6;
const PAUSE_MS = 100;
const MAX_SAID_CHARS = 300;

/**
 * Volumes: made where they are not there, opened to gVisor, and removed with what is in them. Relies on the engine's commands
 * alone; whose a volume is stands in its labels (owner.ts), so that a sweep finds it.
 */
class Volumes {
  readonly #parts;

  constructor(parts: {
    readonly binary: string;
    readonly dialect: EngineDialect;
    /** The group of this machine that has to pass to a volume's folder; undefined where none has to. */
    readonly rootGroup: number | undefined;
    /** Labels for volumes that belong to one bridge and go with it, as `name=value`. */
    readonly labels: readonly string[];
    readonly command: RunEngineCommand;
    readonly tellTrouble: (message: string) => void;
  }) {
    this.#parts = parts;
  }

  async make({ name, isKept }: Volume, signal: AbortSignal): Promise<void> {
    const { dialect, labels, rootGroup, command } = this.#parts;
    const args = dialect.makeVolumeArgs(name, isKept ? [] : labels);
    const made = await command(args, QUERY_TIMEOUT_MS, signal);
    if (made.exitCode !== 0 && !saysVolumeIsThere(made.stderr))
      throw this.#brokenError(`volume create ${name}`, made);
    if (rootGroup === undefined) return;
    // The volume's folder is private to root, and gVisor comes as the container's own root (isGvisor): let only that one pass.
    const place = ['volume', 'inspect', '--format', '{{.Mountpoint}}', name];
    const found = await command(place, QUERY_TIMEOUT_MS, signal);
    if (found.exitCode !== 0) throw this.#brokenError(place.join(' '), found);
    const folder = dirname(found.stdout.trim());
    chownSync(folder, 0, rootGroup);
    chmodSync(folder, 0o710);
  }

  async copy({ source, target, volume = '' }: DataMount, image: string, signal: AbortSignal): Promise<void> {
    const { dialect, labels, command } = this.#parts;
    const made = await command(dialect.makeVolumeArgs(volume, labels), QUERY_TIMEOUT_MS, signal);
    if (made.exitCode !== 0 && saysVolumeIsThere(made.stderr)) return;
    if (made.exitCode !== 0) throw this.#brokenError(`volume create ${volume}`, made);
    try {
      await this.#fill(`${source}/.`, `${volume}:${target}`, image, signal);
    } catch (thrown) {
      await this.remove([volume]);
      throw thrown;
    }
  }

  /** Copies through a container that is made and never started, which every engine can do, also one that is far away. */
  async #fill(from: string, mount: string, image: string, signal: AbortSignal): Promise<void> {
    const { dialect, labels } = this.#parts;
    const demand = async (args: readonly string[], timeoutMs: number): Promise<string> => {
      const result = await this.#parts.command(args, timeoutMs, signal);
      if (result.exitCode === 0) return result.stdout;
      throw new BridgeError('E_DATA', `${from} could not be copied to the engine: ${stderrExcerpt(result)}`, {
        fault: 'operator',
        remedy: 'Make room where the engine keeps its volumes, or name a smaller folder in MCP_BRIDGE_DATA.',
      });
    };
    const flags = ['--pull=never', '--network=none', '--cap-drop=ALL', '--entrypoint=', `--volume=${mount}`];
    const created = await demand(
      ['create', ...flags, ...labels.map((label) => `--label=${label}`), image, 'true'],
      QUERY_TIMEOUT_MS,
    );
    const id = created.trim().split('\n').at(-1) ?? '';
    try {
      await demand(['cp', from, `${id}:${mount.slice(mount.indexOf(':') + 1)}`], COPY_TIMEOUT_MS);
    } finally {
      const { signal: patient } = new AbortController();
      await this.#parts.command(dialect.removeArgs([id]), REMOVE_VOLUMES_TIMEOUT_MS, patient);
    }
  }

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
        this.#parts.tellTrouble(`could not remove ${names.join(', ')}: ${stderrExcerpt(result)}`);
    } catch (thrown) {
      this.#parts.tellTrouble(messageOf(thrown));
    }
  }

  #removeOnce(names: readonly string[]): Promise<ProcessResult> {
    const args = ['volume', 'rm', '--force', ...names];
    return this.#parts.command(args, REMOVE_VOLUMES_TIMEOUT_MS, new AbortController().signal);
  }

  #brokenError(what: string, result: ProcessResult): BridgeError {
    const { binary } = this.#parts;
    return new BridgeError('E_ENGINE_BROKEN', `${binary} ${what}: ${stderrExcerpt(result)}`, {
      fault: 'engine',
      remedy: `Run \`${binary} ${what}\` and fix what it reports.`,
    });
  }
}

/** A volume that is gone already is removed. */
const isVolumeLeft = ({ exitCode, stderr }: ProcessResult): boolean =>
  exitCode !== 0 && !saysNoSuchVolume(stderr);

const stderrExcerpt = ({ stderr }: ProcessResult): string => clip(stderr.trim(), MAX_SAID_CHARS);
