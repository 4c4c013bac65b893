// Whether sandboxes can be started here, as far as anybody knows: starts that went well or failed say so, and where none
// has lately, the engine is asked when somebody wants to know. Whoever asks is answered at once, with what is known.

import { asBridgeError, messageOf } from '../base/errors.js';
import type { BridgeEvent, Observer } from '../base/log/events.js';
import type { Launcher, Launchers } from '../sandbox/launch/launcher.js';
import { commandProfile, kindAhead, type SandboxProfile } from '../sandbox/spec/profile.js';
import type { Settings } from '../settings/environment/settings.js';

/** How long what is known of an engine counts without another sign. Asking costs one command of the engine. */
const WELL_FOR_MS = 30_000;
/** How soon an engine that failed is asked again: a probe asks us every few seconds. */
const ASK_AGAIN_MS = 5_000;
/** Limit for an engine's answer: one that hangs is as good as gone. */
const ASK_WITHIN_MS = 60_000;

export class EngineHealth implements Disposable {
  readonly #parts;
  readonly #now: () => number;
  readonly #closing = new AbortController();
  #state: 'unknown' | 'well' | 'failed' = 'unknown';
  /** Whether a start or an answer has failed since one went well: then only a start shows that all is well again. */
  #isStartDoubted = false;
  #knownAt = Number.NEGATIVE_INFINITY;
  #isAsking = false;
  /** Whether anybody ever wanted to know. Where nobody does, nothing is asked and nothing told. */
  #isWatched = false;

  constructor(parts: {
    /** Throws what stands in the way of a start, as far as the engine can tell without one. */
    readonly check: (signal: AbortSignal) => Promise<void>;
    /** Starts a sandbox and ends it again. Throws why it cannot. */
    readonly trial: (signal: AbortSignal) => Promise<void>;
    /** Is told when the engine has failed, and when it is back. */
    readonly observer: Observer;
    /** Milliseconds of any steady clock. */
    readonly now?: () => number;
  }) {
    this.#parts = parts;
    this.#now = parts.now ?? (() => performance.now());
  }

  /** Answers at once; what is not known yet is not well. Has the engine asked where nothing is known that is new enough. */
  get isWell(): boolean {
    this.#isWatched = true;
    const lastsMs = this.#state === 'well' ? WELL_FOR_MS : ASK_AGAIN_MS;
    if (this.#now() - this.#knownAt >= lastsMs) this.#ask();
    return this.#state === 'well';
  }

  /** An observer of what happens to sandboxes. */
  readonly observe = (event: BridgeEvent): void => {
    if (event.type !== 'sandbox.started') return;
    this.#isStartDoubted = false;
    this.#learn('well');
  };

  /** A start has failed. An engine that cannot be used shows at once; anything else may be of one image, and is looked into. */
  startFailed(thrown: unknown): void {
    const { code } = asBridgeError(thrown);
    if (code === 'E_CANCELLED' || code === 'E_SHUTDOWN' || this.#closing.signal.aborted) return;
    this.#isStartDoubted = true;
    if (code === 'E_ENGINE_MISSING' || code === 'E_ENGINE_BROKEN') this.#learn('failed', messageOf(thrown));
    else if (this.#state === 'well' && this.#isWatched) this.#ask();
  }

  [Symbol.dispose](): void {
    this.#closing.abort('shutdown');
  }

  #ask(): void {
    if (this.#isAsking || this.#closing.signal.aborted) return;
    this.#isAsking = true;
    const { check, trial } = this.#parts;
    // The first answer may take as long as the set-up does, with an image to pull.
    const limit = this.#state === 'unknown' ? [] : [AbortSignal.timeout(ASK_WITHIN_MS)];
    const signal = AbortSignal.any([this.#closing.signal, ...limit]);
    const asked = this.#isStartDoubted ? trial(signal) : check(signal);
    asked
      .then(
        () => {
          this.#isStartDoubted = false;
          this.#learn('well');
        },
        (thrown: unknown) => {
          // Knowledge of the engine may be out of date, which a start mends.
          this.#isStartDoubted = true;
          this.#learn('failed', messageOf(thrown));
        },
      )
      .finally(() => {
        this.#isAsking = false;
      });
  }

  #learn(state: 'well' | 'failed', why = ''): void {
    if (this.#closing.signal.aborted) return;
    const before = this.#state;
    this.#state = state;
    this.#knownAt = this.#now();
    if (!this.#isWatched) return;
    if (state === 'failed' && before !== 'failed')
      this.#parts.observer({ type: 'engine.health', isWell: false, message: why });
    if (state === 'well' && before === 'failed')
      this.#parts.observer({ type: 'engine.health', isWell: true, message: '' });
  }
}

/** Health of the engine that `launcher` and `launchers` start sandboxes on. */
export function engineHealth(
  settings: Settings,
  { launcher, launchers }: { readonly launcher: Launcher; readonly launchers: Launchers },
  observer: Observer,
): EngineHealth {
  return new EngineHealth({
    check: (signal) => launcher.check(signal),
    trial: async (signal) => {
      launchers.retire(await launchers.start(triedKind(settings), signal));
    },
    observer,
  });
}

/** Profile of the sandbox that the first call is likely to start; without a volume, which would be made for nobody. */
function triedKind(settings: Settings): SandboxProfile {
  const isForCommands = settings.tools.every((name) => name === 'execute');
  return isForCommands ? { ...commandProfile(settings, ''), volumes: [] } : kindAhead(settings);
}
