// From settings to greeted sandboxes: chooses engine, OCI runtime and image once, remembers the choice across
// processes, and looks again when what was remembered no longer starts. Nothing is examined before the first need.

import { randomBytes } from 'node:crypto';
import { asBridgeError, BridgeError } from '../base/errors.js';
import type { Observer } from '../base/events.js';
import type { HostFacts } from '../config/host-facts.js';
import type { Settings } from '../config/settings.js';
import { CliEngine, engineNameOf } from '../engine/cli-engine.js';
import {
  chooseEngine,
  chooseOciRuntime,
  type EngineChoice,
  type EngineWishes,
  forgetChoice,
  rememberChoice,
  rememberedChoice,
} from '../engine/detect.js';
import { chooseImage, type ImageChoice } from '../engine/image-choice.js';
import { needsMachine, PodmanMachine } from '../engine/podman-machine.js';
import { prepareHarness } from './harness-files.js';
import { Sandbox } from './sandbox.js';
import { sandboxSpec } from './spec.js';

/** A start takes about 0.2 s, and up to a minute when the store copies the image for a new id mapping. */
const START_TIMEOUT_MS = 60_000;

/** Everything that was decided before the first sandbox, with reasons. */
export type LaunchPad = {
  readonly engine: CliEngine;
  readonly choice: EngineChoice;
  readonly image: ImageChoice;
  readonly harnessDir: string;
};

export class Launcher implements AsyncDisposable {
  /** Label value of every container of this process. */
  readonly instance = randomBytes(6).toString('hex');
  readonly #settings: Settings;
  readonly #observer: Observer;
  readonly #machine: PodmanMachine | undefined;
  /** Every sandbox that was given away and not yet retired, with its hold on the podman machine. */
  readonly #live = new Map<Sandbox, Disposable | undefined>();
  readonly #ending = new Set<Promise<void>>();
  readonly #closing = new AbortController();
  #pad: Promise<LaunchPad> | undefined;
  #count = 0;

  constructor(settings: Settings, host: Pick<HostFacts, 'home' | 'platform'>, observer: Observer) {
    this.#settings = settings;
    this.#observer = observer;
    this.#machine = machineFor(settings, host, observer);
  }

  /** A fresh, greeted sandbox. Throws what stands in the way, with its remedy. */
  async start(signal: AbortSignal): Promise<Sandbox> {
    const lease = await this.#leaseMachine(signal);
    try {
      const sandbox = await this.#startAnywhere(signal);
      this.#live.set(sandbox, lease);
      return sandbox;
    } catch (thrown) {
      lease?.[Symbol.dispose]();
      throw thrown;
    }
  }

  /** On what was remembered, or, where that no longer starts, on what is found now. */
  async #startAnywhere(signal: AbortSignal): Promise<Sandbox> {
    const remembered = this.#pad === undefined && rememberedChoice(this.#wishes) !== undefined;
    try {
      return await this.#startOn(await this.pad(), signal);
    } catch (thrown) {
      const error = asBridgeError(thrown);
      if (!remembered || error.code !== 'E_SANDBOX_START' || signal.aborted) throw error;
      // What an earlier process found may have changed since: an upgrade, a removed image.
      forgetChoice(this.#wishes);
      this.#pad = undefined;
      return this.#startOn(await this.pad(), signal);
    }
  }

  /** The decisions, made on first use and shared; a failure is not kept. */
  pad(): Promise<LaunchPad> {
    if (this.#pad === undefined) {
      const pad = this.#prepare(this.#closing.signal);
      pad.catch(() => {
        if (this.#pad === pad) this.#pad = undefined;
      });
      this.#pad = pad;
    }
    return this.#pad;
  }

  /** Ends `sandbox` behind the caller's back; shutdown waits for it. */
  retire(sandbox: Sandbox): void {
    const lease = this.#live.get(sandbox);
    this.#live.delete(sandbox);
    const ending = sandbox[Symbol.asyncDispose]()
      .catch((thrown: unknown) =>
        this.#observer({ type: 'engine.trouble', message: asBridgeError(thrown).message }),
      )
      .finally(() => {
        lease?.[Symbol.dispose]();
        this.#ending.delete(ending);
      });
    this.#ending.add(ending);
  }

  /** Removes what dead bridges left behind; returns how many containers. Needs an engine, but no image. */
  async sweep(signal: AbortSignal): Promise<number> {
    const choice = rememberedChoice(this.#wishes);
    const { binary, mode } = choice ?? (await this.#anyEngine(signal));
    const removed = await this.#engine({ binary, mode }, undefined).sweep(signal);
    if (removed > 0) this.#observer({ type: 'engine.swept', removed });
    return removed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    for (const sandbox of this.#live.keys()) {
      sandbox.kill();
      this.retire(sandbox);
    }
    await Promise.all(this.#ending);
    const pad = await this.#pad?.catch(() => undefined);
    pad?.engine.close();
    await this.#machine?.[Symbol.asyncDispose]();
  }

  #startOn(pad: LaunchPad, signal: AbortSignal): Promise<Sandbox> {
    const spec = this.#spec(pad, `${this.instance}-${++this.#count}`);
    return Sandbox.start(
      pad.engine,
      spec,
      { timeoutMs: START_TIMEOUT_MS, observer: this.#observer },
      AbortSignal.any([signal, this.#closing.signal]),
    );
  }

  /** Undefined where podman needs no machine, or is not there and docker may be. */
  async #leaseMachine(signal: AbortSignal): Promise<Disposable | undefined> {
    try {
      return await this.#machine?.use(signal);
    } catch (thrown) {
      if (this.#settings.runtime === undefined && asBridgeError(thrown).code === 'E_ENGINE_MISSING')
        return undefined;
      throw thrown;
    }
  }

  #spec({ image, harnessDir }: Pick<LaunchPad, 'image' | 'harnessDir'>, name: string) {
    const { containerUser, memoryBytes, pids, cpus, maxTimeoutSeconds } = this.#settings;
    return sandboxSpec({
      image: image.image,
      harnessDir,
      name: `mcp-sandbox-bridge-${name}`,
      user: containerUser,
      memoryBytes,
      pids,
      cpus,
      maxTimeoutSeconds,
    });
  }

  get #wishes(): EngineWishes {
    const { runtime, ociRuntime, allowRootful, stateDir } = this.#settings;
    return { runtime, ociRuntime, allowRootful, stateDir };
  }

  async #prepare(signal: AbortSignal): Promise<LaunchPad> {
    using _lease = await this.#leaseMachine(signal);
    const { stateDir } = this.#settings;
    const harnessDir = prepareHarness(stateDir);
    const remembered = rememberedChoice(this.#wishes);
    if (remembered !== undefined) {
      const engine = this.#engine(remembered, remembered.ociRuntime);
      return {
        engine,
        choice: remembered,
        image: await chooseImage(this.#settings, engine, this.#observer, signal),
        harnessDir,
      };
    }
    const { binary, status } = await chooseEngine(this.#wishes, signal);
    const image = await chooseImage(
      this.#settings,
      this.#engine({ binary, ...status }, undefined),
      this.#observer,
      signal,
    );
    const { name: ociRuntime, tried } = await chooseOciRuntime(
      status,
      this.#settings.ociRuntime,
      (candidate) =>
        this.#attempt({ engine: this.#engine({ binary, ...status }, candidate), image, harnessDir }, signal),
    );
    const { version, mode, storageDriver, cgroups } = status;
    const choice: EngineChoice = { binary, version, mode, storageDriver, cgroups, ociRuntime, tried };
    rememberChoice(this.#wishes, choice);
    const reason = tried.map((one) => `${one.name}: ${one.reason}`).join('; ');
    this.#observer({ type: 'engine.chosen', engine: `${binary} ${version}`, ociRuntime, mode, reason });
    return { engine: this.#engine(choice, ociRuntime), choice, image, harnessDir };
  }

  async #anyEngine(signal: AbortSignal): Promise<Pick<EngineChoice, 'binary' | 'mode'>> {
    const { binary, status } = await chooseEngine(this.#wishes, signal);
    return { binary, mode: status.mode };
  }

  #engine(facts: Pick<EngineChoice, 'binary' | 'mode'>, ociRuntime: string | undefined): CliEngine {
    return new CliEngine({
      binary: facts.binary,
      ociRuntime,
      facts,
      instance: this.instance,
      stateDir: this.#settings.stateDir,
      observer: this.#observer,
    });
  }

  /** Starts the real thing under an OCI runtime; undefined when it greets, else why not. */
  async #attempt(
    pad: Pick<LaunchPad, 'engine' | 'image' | 'harnessDir'>,
    signal: AbortSignal,
  ): Promise<string | undefined> {
    const spec = this.#spec(pad, `${this.instance}-try-${++this.#count}`);
    try {
      const options = { timeoutMs: START_TIMEOUT_MS, observer: this.#observer };
      await using _sandbox = await Sandbox.start(pad.engine, spec, options, signal);
      return undefined;
    } catch (thrown) {
      const error = asBridgeError(thrown);
      if (signal.aborted) throw new BridgeError('E_SHUTDOWN', 'The bridge is ending.', { fault: 'bridge' });
      return error.message.replace(/^The sandbox did not start: /, '');
    }
  }
}

function machineFor(
  { runtime, stateDir, machineIdleSeconds }: Settings,
  { home, platform }: Pick<HostFacts, 'home' | 'platform'>,
  observer: Observer,
): PodmanMachine | undefined {
  const binary = runtime ?? 'podman';
  if (!needsMachine(platform) || engineNameOf(binary) !== 'podman') return undefined;
  return new PodmanMachine({
    binary,
    idleMs: machineIdleSeconds * 1000,
    stateDir,
    home,
    platform,
    onProgress: (message) => observer({ type: 'image.progress', image: 'podman machine', message }),
  });
}
