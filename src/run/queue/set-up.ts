// Words on what a run that has not begun is waiting for: the choice of an engine and an image and a pull, which are shared by
// all who wait, and the servers that the run opens itself. Only listens to events, and starts nothing.

import type { BridgeEvent } from '../../base/log/events.js';
import { inMegabytes } from '../../base/text/sizes.js';
import { clip, makeHarmless } from '../../base/text/text.js';

/** An engine's line about a pull, which may hold digests and bars. */
const MAX_LINE_CHARS = 120;
/** How long things take, as measured on machines with two cores and lines of 10 to 1,000 Mbit/s. */
const USUALLY = {
  pull: 'A pull usually takes ten seconds to three minutes.',
  build: 'A build usually takes one to three minutes.',
  start: 'This usually takes some seconds; the first start with a new image may take a minute.',
} as const;

/** How far the engine, its image and the first sandbox are; the same for all bridges that share them. */
export class EngineSetUp {
  #step: string | undefined;
  #phase: keyof typeof USUALLY = 'start';
  /** When the phase began, by performance.now(). */
  #since: number | undefined;
  /** Lines that the phase has said so far. */
  #lines = 0;
  #receivedBytes = 0;
  /** Images of our own that are being built. */
  readonly #building = new Set<string>();

  /** An observer. */
  readonly observe = (event: BridgeEvent): void => {
    switch (event.type) {
      case 'setup.step':
        this.#enter('start');
        this.#step = event.step;
        return;
      case 'image.building':
        this.#building.add(event.image);
        this.#enter('build');
        this.#step = `building ${event.image}, since ${event.instead} cannot be pulled`;
        return;
      case 'image.progress':
        this.#enter(this.#building.has(event.image) ? 'build' : 'pull');
        this.#step = `${event.image}: ${clip(makeHarmless(event.message).trim(), MAX_LINE_CHARS)}`;
        this.#lines++;
        return;
      case 'image.received':
        this.#receivedBytes = event.bytes;
        return;
      case 'sandbox.started':
        this.#step = undefined;
        this.#since = undefined;
        return;
    }
  };

  /** The step that is under way; undefined where none is. */
  get step(): string | undefined {
    return this.#step;
  }

  /** How far that is, in brackets; empty where nothing is known. */
  get measured(): string {
    const seconds =
      this.#since === undefined ? undefined : Math.round((performance.now() - this.#since) / 1000);
    const parts = [
      ...(this.#receivedBytes > 0 && this.#phase === 'pull'
        ? [`${inMegabytes(this.#receivedBytes)} so far`]
        : []),
      ...(this.#lines > 0 && this.#phase !== 'start' ? [`step ${this.#lines}`] : []),
      ...(seconds === undefined ? [] : [`for ${seconds} s`]),
    ];
    return parts.length === 0 ? '' : ` (${parts.join(', ')})`;
  }

  /** How long it usually takes, as a sentence. */
  get usually(): string {
    return USUALLY[this.#phase];
  }

  #enter(phase: keyof typeof USUALLY): void {
    if (this.#phase === phase && this.#since !== undefined) return;
    this.#phase = phase;
    this.#since = performance.now();
    this.#lines = 0;
    this.#receivedBytes = 0;
  }
}

/** Set-up that the runs of one bridge wait for: the engine's set-up and the bridge's own servers. */
export class SetUp {
  readonly #engine: EngineSetUp;
  readonly #opening = new Set<string>();

  constructor(engine = new EngineSetUp()) {
    this.#engine = engine;
  }

  /** An observer. */
  readonly observe = (event: BridgeEvent): void => {
    this.#engine.observe(event);
    if (event.type === 'downstream.connecting') this.#opening.add(event.server);
    const isOver = ['downstream.ready', 'downstream.failed', 'downstream.closed'].includes(event.type);
    if (isOver && 'server' in event) this.#opening.delete(event.server);
  };

  /** One line for a run that has asked for `servers`. */
  waitsFor(servers: readonly string[]): string {
    return `Setting up: ${this.#currentStep(servers) || 'starting a sandbox'}.`;
  }

  /** One line for a run that waits no longer: the set-up with how far it is, and how long it usually takes. */
  goingOn(servers: readonly string[]): string {
    const { measured, usually } = this.#engine;
    return `Now: ${this.#currentStep(servers) || 'starting a sandbox'}${measured}. ${usually}`;
  }

  #currentStep(servers: readonly string[]): string {
    const { step } = this.#engine;
    const opening = servers.filter((server) => this.#opening.has(server));
    return [
      ...(step === undefined ? [] : [step]),
      ...(opening.length === 0 ? [] : [`starting ${opening.join(', ')}`]),
    ].join('; ');
  }
}
