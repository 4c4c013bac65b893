// How many calls one server has under way, of all runs together: further ones wait here, outside of the server and of
// their own time limits. A call that is abandoned leaves the queue, and whoever waits least goes first.

import PQueue from 'p-queue';

export class ServerSemaphores {
  readonly #queues = new Map<string, PQueue>();
  /** Calls of a run at a server, waiting or under way. */
  readonly #counts = new Map<string, number>();

  /** Runs `work` when fewer than `max` calls of `server` are under way; rejects when `signal` ends the wait. */
  async enter<T>(
    { server, run, max }: { readonly server: string; readonly run: string; readonly max: number },
    work: () => Promise<T>,
    signal: AbortSignal,
  ): Promise<T> {
    const queue = this.#queueOf(server);
    queue.concurrency = max;
    const key = JSON.stringify([run, server]);
    const before = this.#counts.get(key) ?? 0;
    this.#counts.set(key, before + 1);
    try {
      // A run with a hundred calls ahead lets another run's first one pass.
      return await queue.add(work, { signal, priority: -before });
    } finally {
      const left = (this.#counts.get(key) ?? 1) - 1;
      if (left === 0) this.#counts.delete(key);
      else this.#counts.set(key, left);
    }
  }

  #queueOf(server: string): PQueue {
    let queue = this.#queues.get(server);
    if (queue === undefined) {
      queue = new PQueue();
      this.#queues.set(server, queue);
    }
    return queue;
  }
}
