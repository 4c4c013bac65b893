// Notices that something in a folder has changed: by the system's word where it gives one, and by looking every few seconds
// where it does not, as on network file systems. Keeps no process alive.

import { type FSWatcher, watch } from 'node:fs';

/** How often it is looked at in any case. */
export const LOOK_EVERY_MS = 2_000;

export class FolderWatch implements Disposable {
  readonly #timer: NodeJS.Timeout;
  #watcher: FSWatcher | undefined;

  /** Calls `look` after each change and every `everyMs`; changes that follow each other at once are one. A test gives its own `watched`. */
  constructor(folder: string, look: () => void, everyMs = LOOK_EVERY_MS, watched: typeof watch = watch) {
    let isDue = false;
    const soon = () => {
      if (isDue) return;
      isDue = true;
      setImmediate(() => {
        isDue = false;
        if (this.#watcher !== undefined) look();
      });
    };
    this.#timer = setInterval(look, everyMs);
    this.#timer.unref();
    try {
      this.#watcher = watched(folder, { persistent: false }, soon);
      // Such as a folder that goes away: then there is the timer.
      this.#watcher.on('error', () => this.#unwatch());
    } catch {
      // Too many are watched on this machine already, or this file system has no word for it.
    }
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    this.#unwatch();
  }

  #unwatch(): void {
    this.#watcher?.close();
    this.#watcher = undefined;
  }
}
