// What a run that has not begun is waiting for, in words: the choice of an engine and an image and a pull, which are
// shared by all who wait, and the servers that it opens itself. Only listens to events, and starts nothing.

import type { BridgeEvent } from '../base/events.js';
import { clip, harmless } from '../base/text.js';

/** An engine's line about a pull, which may hold digests and bars. */
const MAX_LINE_CHARS = 120;

export class SetUp {
  #step: string | undefined;
  readonly #opening = new Set<string>();

  /** An observer. */
  readonly observe = (event: BridgeEvent): void => {
    switch (event.type) {
      case 'setup.step':
        this.#step = event.step;
        return;
      case 'image.progress':
        this.#step = `${event.image}: ${clip(harmless(event.message).trim(), MAX_LINE_CHARS)}`;
        return;
      case 'sandbox.started':
        this.#step = undefined;
        return;
      case 'downstream.connecting':
        this.#opening.add(event.server);
        return;
      case 'downstream.ready':
      case 'downstream.failed':
      case 'downstream.closed':
        this.#opening.delete(event.server);
        return;
    }
  };

  /** One line for a run that has asked for `servers`. */
  waitsFor(servers: readonly string[]): string {
    const opening = servers.filter((server) => this.#opening.has(server));
    const parts = [
      ...(this.#step === undefined ? [] : [this.#step]),
      ...(opening.length === 0 ? [] : [`starting ${opening.join(', ')}`]),
    ];
    return `Setting up: ${parts.join('; ') || 'starting a sandbox'}.`;
  }
}
