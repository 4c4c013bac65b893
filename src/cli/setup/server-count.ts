// Servers that are started once beside the other steps of `setup`, so that it is known how many tools they have and how much
// of the model's context these take. What they list is kept, as `servers refresh` keeps it.

import { Bridge } from '../../tenant/bridge.js';
import type { Refreshed } from '../../tenant/refresh.js';
import type { Prepared } from '../serving/prepare.js';

/** Runs from its making on; disposing of it ends the servers that are still being asked. */
export class ServerCount implements AsyncDisposable {
  readonly names: readonly string[];
  readonly #stop = new AbortController();
  readonly #outcomes: Promise<readonly Refreshed[]>;

  /** `names` are those of servers that discovery finds ready. */
  constructor(names: readonly string[], prepared: Prepared, signal: AbortSignal) {
    this.names = names;
    this.#outcomes = ask(names, prepared, AbortSignal.any([signal, this.#stop.signal]));
    // A failure is told to whoever waits for the outcomes.
    this.#outcomes.catch(() => {});
  }

  /** One for each server, when all have answered or failed. Throws E_CANCELLED. */
  outcomes(): Promise<readonly Refreshed[]> {
    return this.#outcomes;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#outcomes.catch(() => {});
  }
}

async function ask(
  names: readonly string[],
  { settings, discovery, observer, redactor }: Prepared,
  signal: AbortSignal,
): Promise<readonly Refreshed[]> {
  await using bridge = new Bridge({ settings, discovery, observer, redactor });
  const { ready } = bridge.servers.discovery;
  return await bridge.servers.refresh(
    ready.filter(({ name }) => names.includes(name)),
    false,
    signal,
  );
}
