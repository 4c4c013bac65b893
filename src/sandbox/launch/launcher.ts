// Greeted sandboxes on demand: starts them on the set-up of the engine, keeps account of those that live, and ends them behind
// the caller's back. Makes the pad on first need, and makes it anew when what was remembered no longer starts.

import { randomBytes } from 'node:crypto';
import { setImmediate as afterThisTurn } from 'node:timers/promises';
import { asBridgeError, BridgeError } from '../../base/errors.js';
import type { Observer } from '../../base/log/events.js';
import { LinkedSignal } from '../../base/waiting/linked-signal.js';
import { unlessAborted } from '../../base/waiting/unless-aborted.js';
import { forgetChoice, runtimeOf, triedText } from '../../engine/detect.js';
import type { Engine, EngineMachine, MachineLease, SandboxSpec, Volume } from '../../engine/engine.js';
import { machineOf } from '../../engine/engines.js';
import { chooseImage, type ImageChoice } from '../../engine/images/image-choice.js';
import { enforcementText } from '../../engine/machine/enforcement.js';
import { removeRunDir } from '../../engine/machine/first-process.js';
import { describeRuntime } from '../../engine/machine/oci-runtime.js';
import type { Settings } from '../../settings/environment/settings.js';
import type { HostFacts } from '../../settings/files/host-facts.js';
import { Sandbox } from '../conversation/sandbox.js';
import { carry, type HostFiles } from '../spec/harness-files.js';
import { namesWithNetwork, pythonProfile, type SandboxProfile } from '../spec/profile.js';
import { ImageStudy } from './image-study.js';
import { lastProbe, probeKey } from './last-probe.js';
import {
  demandAsShared,
  engineSelectionOf,
  engineToSweepWith,
  isChosenBefore,
  type LaunchContext,
  type LaunchSetUp,
  START_TIMEOUT_MS,
  setUpEngine,
  specOn,
  startOptionsOn,
} from './launch-set-up.js';
import { DataCopies, demandSameData, isSameData, openData } from './open-data.js';
import { PythonFallback } from './python-fallback.js';

/** Errors that another engine, or the same one tried anew, would not fix. */
const NO_ENGINES_DOING: ReadonlySet<string> = new Set(['E_IMAGE_MISSING', 'E_NETWORK', 'E_DATA']);

export class Launcher implements AsyncDisposable {
  readonly #context: LaunchContext;
  readonly #machine: EngineMachine | undefined;
  /**
   * Every sandbox that was given away and not yet retired, with its lease of the engine's machine, where there is one, and the
   * stamp of what it was started from.
   */
  readonly #live = new Map<Sandbox, { readonly lease: MachineLease | undefined; readonly stamp: string }>();
  /** Under way; a container that is being made is not gone before its start has failed. */
  readonly #starting = new Set<Promise<unknown>>();
  readonly #ending = new Set<Promise<void>>();
  readonly #closing = new AbortController();
  /** Images chosen for kinds other than run_python's. */
  readonly #images = new WeakMap<LaunchSetUp, Map<string, Promise<ImageChoice>>>();
  readonly #fallback: PythonFallback;
  readonly #study: ImageStudy;
  /** Volumes created so far: name -> engine that removes it at the end, or undefined where it is kept. */
  readonly #volumes = new Map<string, Engine | undefined>();
  readonly #copies: DataCopies;
  #pad: Promise<LaunchSetUp> | undefined;
  /** The latest one that an earlier process has chosen, until a sandbox has started on it: it may be wrong by now. */
  #unproven: Promise<LaunchSetUp> | undefined;
  #ready: LaunchSetUp | undefined;
  #count = 0;
  #toldSetup = '';

  constructor(
    settings: Settings,
    host: Pick<HostFacts, 'platform'>,
    observer: Observer,
    /** How long the clock of a run may stand still, as things are when its sandbox starts. */
    freezeSeconds: () => number = () => 0,
    /** Has every sandbox retired that only waits. */
    letGo: () => void = () => {},
  ) {
    this.#context = { settings, observer, freezeSeconds, instance: randomBytes(6).toString('hex') };
    this.#fallback = new PythonFallback(this.#context, this.#closing.signal);
    this.#copies = new DataCopies(this.#closing.signal);
    this.#study = new ImageStudy(this.#context, this.#closing.signal, (before, now) => {
      if (this.#ready !== before) return;
      this.#ready = now;
      this.#pad = Promise.resolve(now);
    });
    this.#machine = machineOf(
      settings.runtime,
      { url: settings.engineUrl, platform: host.platform },
      {
        idleMs: settings.machineIdleSeconds * 1000,
        letGo,
        onProgress: (message) => observer({ type: 'image.progress', image: 'podman machine', message }),
      },
    );
  }

  /** A fresh, greeted sandbox. Throws what stands in the way, with its remedy. */
  async start(kind: SandboxProfile, signal: AbortSignal): Promise<Sandbox> {
    const lease = await this.#leaseMachine(signal);
    try {
      const [sandbox, pad] = await this.#track(this.#startAnywhere(kind, signal));
      this.#live.set(sandbox, { lease, stamp: pad.stamp });
      if (this.#isOwn(kind)) void this.#track(this.#study.study(pad, sandbox.python));
      return sandbox;
    } catch (thrown) {
      lease?.[Symbol.dispose]();
      throw thrown;
    }
  }

  /** The decisions, made on first use and shared; a failure is not kept. */
  pad(): Promise<LaunchSetUp> {
    if (this.#ready !== undefined && this.#ready.stamp !== this.#ready.engine.imageStamp()) this.#forgetPad();
    if (this.#pad === undefined) {
      const isChosen = isChosenBefore(this.#context);
      const pad = this.#makePad(this.#closing.signal);
      if (isChosen) this.#unproven = pad;
      pad.then(
        (ready) => {
          if (this.#pad === pad) this.#ready = ready;
          this.#tellWalls(ready);
        },
        () => {
          if (this.#pad === pad) this.#forgetPad();
        },
      );
      this.#pad = pad;
    }
    return this.#pad;
  }

  /**
   * Has ready what sandboxes of run_python can be started from (MCP_BRIDGE_LAUNCH), and tells why they cannot; undefined where they
   * can, and where the operator wants none. Throws what stands in the way of any start.
   */
  async prepare(signal: AbortSignal): Promise<string | undefined> {
    const { settings, instance } = this.#context;
    if (settings.launch === 'engine') return undefined;
    const pad = await unlessAborted(this.pad(), signal);
    const { engine } = pad;
    if (engine.prepare === undefined) return 'only podman on this machine has templates';
    const kind = pythonProfile(settings);
    const data = openData(kind, engine, settings, instance);
    const spec = specOn(pad, this.#context, String(++this.#count), kind, undefined, data);
    return await unlessAborted(engine.prepare(spec), signal);
  }

  /** Throws what prevents a start, as far as the engine can tell ahead of it, by a command that looks for the image. */
  async check(signal: AbortSignal): Promise<void> {
    const { engine, image } = await unlessAborted(this.pad(), signal);
    if ((await engine.images.imageId(image.image, signal)) !== undefined) return;
    // The image was removed, and where the store cannot be watched nobody has noticed.
    this.#forgetPad();
    await unlessAborted(this.pad(), signal);
  }

  /** False when images, or its data folders, have changed since it was started; costs a look at a file and at each folder. */
  isCurrent(sandbox: Sandbox): boolean {
    const isOfImages =
      this.#ready !== undefined && this.#live.get(sandbox)?.stamp === this.#ready.engine.imageStamp();
    return isOfImages && isSameData(sandbox.spec.data);
  }

  /** Whether `sandbox` only waits, which is no use of the machine that it is in. */
  onWaits(sandbox: Sandbox, waits: boolean): void {
    const lease = this.#live.get(sandbox)?.lease;
    if (waits) lease?.rest();
    else lease?.resume();
  }

  /** Ends `sandbox` behind the caller's back; shutdown waits for it. */
  retire(sandbox: Sandbox): void {
    const lease = this.#live.get(sandbox)?.lease;
    this.#live.delete(sandbox);
    // The answer goes first: whoever waits for that need not wait for the removal to be begun.
    const ending = afterThisTurn()
      .then(() => sandbox[Symbol.asyncDispose]())
      .then(() => this.#copies.release(sandbox.spec.data))
      .catch((thrown: unknown) =>
        this.#context.observer({ type: 'engine.trouble', message: asBridgeError(thrown).message }),
      )
      .finally(() => {
        lease?.[Symbol.dispose]();
        this.#ending.delete(ending);
      });
    this.#ending.add(ending);
  }

  /** Ends the container `name` of another bridge; with what the engine says where it cannot. Needs an engine, but no image. */
  async killByName(name: string, signal: AbortSignal): Promise<string | undefined> {
    return await (await engineToSweepWith(this.#context, signal)).kill(name, signal);
  }

  /** Removes what dead bridges left behind; returns how many containers. Needs an engine, but no image. */
  async sweep(signal: AbortSignal): Promise<number> {
    const removed = await (await engineToSweepWith(this.#context, signal)).sweep(signal);
    if (removed > 0) this.#context.observer({ type: 'engine.swept', removed });
    return removed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    for (const sandbox of this.#live.keys()) {
      sandbox.kill();
      this.retire(sandbox);
    }
    const engine = this.#ready?.engine;
    if (engine !== undefined) this.#endEngine(engine);
    await Promise.allSettled(this.#starting);
    await Promise.all(this.#ending);
    const pad = await this.#pad?.catch(() => undefined);
    if (pad !== undefined && pad.engine !== engine) this.#endEngine(pad.engine);
    await Promise.all(this.#ending);
    await this.#copies[Symbol.asyncDispose]();
    await Promise.all([...this.#volumes].map(([name, engine]) => engine?.volumes.remove([name])));
    removeRunDir({ stateDir: this.#context.settings.stateDir, instance: this.#context.instance });
    await this.#machine?.[Symbol.asyncDispose]();
  }

  #track<T>(starting: Promise<T>): Promise<T> {
    this.#starting.add(starting);
    return starting.finally(() => this.#starting.delete(starting));
  }

  /** On what an earlier process found, or, where that no longer starts (an upgrade, a removed image), on what is found now. */
  async #startAnywhere(kind: SandboxProfile, signal: AbortSignal): Promise<[Sandbox, LaunchSetUp]> {
    const startedAt = performance.now();
    const setUp = this.#padFor(kind, signal);
    const used = this.#pad;
    try {
      const started = await this.#startOn(await setUp, kind, signal);
      if (this.#unproven === used) this.#unproven = undefined;
      return started;
    } catch (thrown) {
      // Trying again is for what fails at once, not for what hangs; and no engine has an image that nobody has built.
      const hung = performance.now() - startedAt > START_TIMEOUT_MS / 2;
      const isEnding = signal.aborted || this.#closing.signal.aborted;
      const isAnothers = NO_ENGINES_DOING.has(asBridgeError(thrown).code);
      // Elsewhere the way there may be cut, and then what the engine says of itself is the better word.
      const engine = this.#ready?.engine;
      const mayBeCut = this.#machine !== undefined || engine?.whyUnreachable !== undefined;
      const mayBeStale = this.#unproven === used || mayBeCut;
      engine?.derived?.forget();
      if (!mayBeStale || hung || isAnothers || isEnding) throw thrown;
      // Another start that has failed on it may have a new one made already.
      if (this.#pad === used || this.#pad === undefined) {
        forgetChoice(engineSelectionOf(this.#context.settings));
        this.#forgetPad();
      }
      await this.#machine?.lookAgain(signal);
      return this.#startOn(await this.#padFor(kind, signal), kind, signal);
    }
  }

  /** Where its image is missing, says what a kind of another image wants it for. */
  async #padFor(kind: SandboxProfile, signal: AbortSignal): Promise<LaunchSetUp> {
    try {
      return await unlessAborted(this.pad(), signal);
    } catch (thrown) {
      const { code, message, fault, remedy } = asBridgeError(thrown);
      if (code !== 'E_IMAGE_MISSING' || this.#isOwn(kind)) throw thrown;
      throw new BridgeError(
        code,
        `${message} Every language needs it: the sandbox is checked with it, and images without Python get its Python.`,
        { fault, cause: thrown, ...(remedy === undefined ? {} : { remedy }) },
      );
    }
  }

  /** Whether it has the image of run_python. */
  #isOwn(kind: SandboxProfile): boolean {
    return imageKeyOf(kind) === imageKeyOf(pythonProfile(this.#context.settings));
  }

  /** One line for the log, and another when the engine has changed in our life: what stands, why, and how it was seen. */
  #tellWalls({ choice, image, engine: { traits } }: LaunchSetUp): void {
    const { settings, observer } = this.#context;
    const { binary, version, mode, cgroups, tried, enforcement } = choice;
    const runtime = describeRuntime(runtimeOf(choice));
    const open = namesWithNetwork(settings);
    const network = open.length === 0 ? '' : `, network open for ${open.join(', ')}`;
    const setup = `${binary} ${version} with ${runtime}, ${mode}, cgroup ${cgroups}, seccomp ${traits.ownFilter ?? settings.seccomp}${network}`;
    if (this.#toldSetup === setup) return;
    this.#toldSetup = setup;
    observer({
      type: 'walls.known',
      setup,
      reason: triedText(tried),
      limits: enforcementText(enforcement),
      probe: lastProbe(settings.stateDir, probeKey(choice, image.id, settings)),
    });
  }

  /** Has what an engine keeps for later starts ended behind the caller's back. */
  #endEngine(engine: Engine): void {
    const ending = Promise.resolve(engine[Symbol.asyncDispose]()).finally(() => this.#ending.delete(ending));
    this.#ending.add(ending);
  }

  #forgetPad(): void {
    const engine = this.#ready?.engine;
    if (engine !== undefined) this.#endEngine(engine);
    this.#pad = undefined;
    this.#ready = undefined;
  }

  async #startOn(
    pad: LaunchSetUp,
    kind: SandboxProfile,
    signal: AbortSignal,
  ): Promise<[Sandbox, LaunchSetUp]> {
    using link = new LinkedSignal(signal, this.#closing.signal);
    const image = await this.#imageOf(kind, pad, link.signal);
    const networkMode = kind.network === 'outbound' ? await pad.engine.networkMode(link.signal) : undefined;
    await Promise.all(kind.volumes.map((volume) => this.#makeVolume(volume, pad, link.signal)));
    const { observer } = this.#context;
    const options = startOptionsOn(pad, observer);
    const startWith = async (files: HostFiles): Promise<Sandbox> => {
      const data = openData(kind, pad.engine, this.#context.settings, this.#context.instance);
      const carried = await carry(pad.engine, { image, files }, link.signal);
      observer({ type: 'setup.step', step: 'starting a container' });
      const spec = specOn(
        { ...pad, ...carried },
        this.#context,
        String(++this.#count),
        kind,
        networkMode,
        data,
      );
      const sandbox = await this.#startWithCopies(pad.engine, spec, options, link.signal);
      try {
        demandSameData(spec.data, sandbox.pid);
        demandAsShared(pad, sandbox, this.#context);
      } catch (thrown) {
        await sandbox[Symbol.asyncDispose]();
        throw thrown;
      }
      return sandbox;
    };
    try {
      return [await this.#fallback.start({ pad, image, kind }, startWith, link.signal), pad];
    } catch (thrown) {
      const { networkAdvice } = pad.engine.traits;
      if (networkMode === undefined || networkAdvice === undefined) throw thrown;
      throw withoutNetwork(kind, networkAdvice, asBridgeError(thrown));
    }
  }

  /** With the copies of the user's folders that it mounts, which are released when it ends. */
  async #startWithCopies(
    engine: Engine,
    spec: SandboxSpec,
    options: ReturnType<typeof startOptionsOn>,
    signal: AbortSignal,
  ): Promise<Sandbox> {
    if (spec.data.some(({ volume }) => volume !== undefined))
      this.#context.observer({ type: 'setup.step', step: 'copying the data folders to the engine' });
    await this.#copies.use(spec.data, engine, spec.image, signal);
    try {
      return await startOrGiveUp(engine, spec, options, signal);
    } catch (thrown) {
      this.#copies.release(spec.data);
      throw thrown;
    }
  }

  /** Asked of the engine once for each pad: what changes its images changes the pad. */
  #imageOf(kind: SandboxProfile, pad: LaunchSetUp, signal: AbortSignal): Promise<ImageChoice> {
    const { observer } = this.#context;
    if (this.#isOwn(kind)) return Promise.resolve(pad.image);
    const key = imageKeyOf(kind);
    const chosen = this.#images.get(pad) ?? new Map<string, Promise<ImageChoice>>();
    this.#images.set(pad, chosen);
    const known = chosen.get(key);
    if (known !== undefined) return unlessAborted(known, signal);
    observer({ type: 'setup.step', step: `looking for the image ${kind.image}` });
    const choosing = chooseImage(kind, pad.engine.images, observer, this.#closing.signal);
    chosen.set(key, choosing);
    // The image may be built or pulled at any time.
    choosing.catch(() => chosen.delete(key));
    return unlessAborted(choosing, signal);
  }

  async #makeVolume(volume: Volume, { engine }: LaunchSetUp, signal: AbortSignal): Promise<void> {
    if (this.#volumes.has(volume.name)) return;
    await engine.volumes.make(volume, signal);
    this.#volumes.set(volume.name, volume.isKept ? undefined : engine);
  }

  async #makePad(signal: AbortSignal): Promise<LaunchSetUp> {
    using _lease = await this.#leaseMachine(signal);
    return await setUpEngine(this.#context, signal);
  }

  /** Undefined where no machine is needed, or its engine is not there and another one may be. */
  async #leaseMachine(signal: AbortSignal): Promise<MachineLease | undefined> {
    try {
      return await this.#machine?.use(signal);
    } catch (thrown) {
      const mayBeAnother = this.#context.settings.runtime === undefined;
      if (mayBeAnother && asBridgeError(thrown).code === 'E_ENGINE_MISSING') return undefined;
      throw thrown;
    }
  }
}

/** By the engine's client where it does not start in the way that the engine prefers, as long as that shows at once. */
async function startOrGiveUp(
  engine: Engine,
  spec: SandboxSpec,
  options: ReturnType<typeof startOptionsOn>,
  signal: AbortSignal,
): Promise<Sandbox> {
  const startedAt = performance.now();
  try {
    return await Sandbox.start(engine, spec, options, signal);
  } catch (thrown) {
    if (signal.aborted || engine.giveUp?.(spec) !== true) throw thrown;
    if (performance.now() - startedAt > options.timeoutMs / 2) throw thrown;
    return await Sandbox.start(engine, { ...spec, name: `${spec.name}-again` }, options, signal);
  }
}

/** Adds the next step to `cause`: an OCI runtime's own words, where it has no network to give, name none. */
function withoutNetwork({ ociRuntime }: SandboxProfile, advice: string, cause: BridgeError): BridgeError {
  if (cause.code !== 'E_SANDBOX_START') return cause;
  const otherwise =
    ociRuntime === undefined
      ? 'Or unset MCP_BRIDGE_NETWORK, so that code runs without a network.'
      : 'Or set MCP_BRIDGE_EXECUTE_NETWORK=off, or MCP_BRIDGE_EXECUTE_OCI_RUNTIME=auto to run commands like all other code.';
  return new BridgeError(cause.code, `With a network: ${cause.message}`, {
    fault: 'operator',
    remedy: `${advice} ${otherwise}`,
    cause,
  });
}

/** Key that is equal for kinds that ask for the same image. */
const imageKeyOf = ({ image, imageSource, profile }: SandboxProfile): string =>
  JSON.stringify([imageSource, profile, image]);

/**
 * The launchers of a bridge: one for everything, and one for each other OCI runtime that a kind insists on. What insists on a
 * runtime never starts under another one: where that does not start, the caller is told why, and what would change it.
 */
export class Launchers implements AsyncDisposable {
  readonly #settings: Settings;
  readonly #main: Launcher;
  readonly #open: (settings: Settings) => Launcher;
  readonly #others = new Map<string, Launcher>();
  readonly #owners = new WeakMap<Sandbox, Launcher>();

  /** `main` launches what asks for no OCI runtime, or for its own; whoever made it ends it. */
  constructor(settings: Settings, main: Launcher, open: (settings: Settings) => Launcher) {
    this.#settings = settings;
    this.#main = main;
    this.#open = open;
  }

  /** As a launcher does. Throws E_OCI_RUNTIME where the one that is insisted on starts nothing. */
  async start(kind: SandboxProfile, signal: AbortSignal): Promise<Sandbox> {
    const launcher = this.#of(kind);
    try {
      const sandbox = await launcher.start(kind, signal);
      this.#owners.set(sandbox, launcher);
      return sandbox;
    } catch (thrown) {
      if (launcher === this.#main || asBridgeError(thrown).code !== 'E_OCI_RUNTIME') throw thrown;
      throw runtimeError(kind.ociRuntime ?? '', asBridgeError(thrown));
    }
  }

  retire(sandbox: Sandbox): void {
    this.#owners.get(sandbox)?.retire(sandbox);
  }

  onWaits(sandbox: Sandbox, waits: boolean): void {
    this.#owners.get(sandbox)?.onWaits(sandbox, waits);
  }

  isCurrent(sandbox: Sandbox): boolean {
    return this.#owners.get(sandbox)?.isCurrent(sandbox) === true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#others.values()].map((launcher) => launcher[Symbol.asyncDispose]()));
  }

  #of({ ociRuntime }: SandboxProfile): Launcher {
    if (ociRuntime === undefined || ociRuntime === this.#settings.ociRuntime) return this.#main;
    const known = this.#others.get(ociRuntime);
    if (known !== undefined) return known;
    const launcher = this.#open({ ...this.#settings, ociRuntime });
    this.#others.set(ociRuntime, launcher);
    return launcher;
  }
}

const runtimeError = (ociRuntime: string, cause: BridgeError): BridgeError =>
  new BridgeError(
    'E_OCI_RUNTIME',
    `Commands run under ${ociRuntime} only, which starts no container here. ${cause.message}`,
    {
      fault: 'operator',
      remedy:
        'Install it (gVisor, Debian: apt-get install runsc), hand commands to a server (MCP_BRIDGE_EXECUTE_SERVER), or set MCP_BRIDGE_EXECUTE_OCI_RUNTIME=auto to run them like all other code.',
      cause,
    },
  );
