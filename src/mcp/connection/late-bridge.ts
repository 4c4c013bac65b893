// A bridge of which only that is there which an agent is told when it connects: the rest is loaded and made when it is first
// called, or ahead of that a moment after the tools were listed. Hosts start bridges often, and most are never called.

import { setFlagsFromString } from 'node:v8';
import { BridgeError, messageOf } from '../../base/errors.js';
import { loadedOnce } from '../../base/replaced-part.js';
import { Redactor } from '../../base/secrets/redact.js';
import type { AgentCapabilities } from '../../servers/asking/agent-capabilities.js';
import type { Settings } from '../../settings/environment/settings.js';
import type { Bridge, BridgeOptions, LearnedListener } from '../../tenant/bridge.js';
import { Configured } from '../../tenant/configured.js';
import { compileSchemas } from '../../wire/schema-making.js';
import { Jobs } from '../calls/jobs.js';

/**
 * Has V8 remember from a function's first call on what that call has met. Usually it waits for a hundred or so: a start runs most
 * functions once. An agent makes so few calls that each of them would be run like the first.
 */
const LEARN_AT_ONCE = '--no-lazy-feedback-allocation';

/** Loads the handlers that answer out of a whole bridge. */
export const loadAnswers = loadedOnce(() => import('../resources/resources.js'));

export class LateBridge implements AsyncDisposable {
  readonly settings: Settings;
  /** Servers that a run can use. */
  readonly servers: Configured;
  /** Calls of its agent. */
  readonly jobs: Jobs;
  readonly #options: BridgeOptions;
  readonly #onMade: (bridge: Bridge) => void;
  readonly #learnedListeners = new Set<LearnedListener>();
  #made: Bridge | undefined;
  #isBegun = false;
  #isClosing = false;

  /** Throws E_SETTINGS where the policy cannot be used. */
  constructor(
    options: Pick<
      BridgeOptions,
      'settings' | 'discovery' | 'observer' | 'redactor' | 'setUpSoftTimeoutMs' | 'inbox'
    > & {
      /** Called once, when the bridge is whole. */
      readonly onMade?: (bridge: Bridge) => void;
    },
  ) {
    const { settings, discovery: context, observer, redactor = new Redactor() } = options;
    this.settings = settings;
    this.jobs = new Jobs(settings.keepSeconds);
    this.#options = { ...options, redactor };
    this.#onMade = options.onMade ?? (() => {});
    this.servers = new Configured({ settings, context, observer });
  }

  /** Folder of all that is kept of the user. */
  get stateDir(): string {
    return this.settings.stateDir;
  }

  /** Where snippets lie. */
  get snippets(): { readonly folder: string | undefined } {
    return { folder: this.settings.snippetsDir };
  }

  /** All of it, made once. Rejects with E_REPLACED where the program's files were replaced since it began. */
  makeWhole(): Promise<Bridge> {
    this.#isBegun = true;
    return this.#make();
  }

  /** Bridge where it is made already; undefined before. */
  get made(): Bridge | undefined {
    return this.#made;
  }

  /** Calls `listener` whenever more is known of the image or of prompts, until the returned function is called. */
  onLearned(listener: LearnedListener): () => void {
    this.#learnedListeners.add(listener);
    return () => void this.#learnedListeners.delete(listener);
  }

  /** Makes the bridge and warms it up. Trouble is logged, since it belongs to no call. */
  warmUp(agent: AgentCapabilities): void {
    this.#doAhead((bridge) => bridge.warmUp(agent));
  }

  /** Makes the bridge and has it sweep once. Trouble is logged, since it belongs to no call. */
  sweepOnce(): void {
    this.#doAhead((bridge) => bridge.sweepOnce());
  }

  /** Resolves when what is being loaded is there, or is known not to come, and what waited for it has gone on. */
  async waitUntilSettled(): Promise<void> {
    if (!this.#isBegun) return;
    await Promise.allSettled([this.#make(), loadAnswers()]);
    await new Promise((resolve) => setImmediate(resolve));
  }

  /** Ends all that was begun; resolves when it is gone. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosing = true;
    const bridge = this.#isBegun ? await this.#make().catch(() => undefined) : undefined;
    const ended = bridge?.[Symbol.asyncDispose]();
    this.jobs[Symbol.dispose]();
    await ended;
  }

  #doAhead(work: (bridge: Bridge) => void): void {
    if (this.#isClosing) return;
    this.makeWhole()
      .then(work)
      .catch((thrown: unknown) => {
        if (this.#isClosing) return;
        this.#options.observer({ type: 'bridge.fault', where: 'warm-up', message: messageOf(thrown) });
      });
  }

  readonly #make = loadedOnce(async () => {
    compileSchemas();
    setFlagsFromString(LEARN_AT_ONCE);
    const { Bridge } = await import('../../tenant/bridge.js');
    if (this.#isClosing) throw new BridgeError('E_SHUTDOWN', 'The bridge is closing.', { fault: 'bridge' });
    const bridge = new Bridge({ ...this.#options, configured: this.servers });
    bridge.onLearned((of) => {
      for (const listener of this.#learnedListeners) listener(of);
    });
    this.#made = bridge;
    this.#onMade(bridge);
    return bridge;
  });
}

/** The bridge itself, made where it is not yet. */
export const wholeBridge = async (bridge: Bridge | LateBridge): Promise<Bridge> =>
  bridge instanceof LateBridge ? await bridge.makeWhole() : bridge;
