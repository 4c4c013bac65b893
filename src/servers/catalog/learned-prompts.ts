// Prompts of live servers, read behind their start and whenever a server says that they have changed; no call waits for that. A
// server that said in its greeting that it has none is asked nothing. Trouble costs what would have been learned.

import { setTimeout as sleep } from 'node:timers/promises';
import { Deadline } from '../../base/waiting/deadline.js';
import type { Downstream } from '../server/downstream.js';
import { listPrompts } from '../server/resources.js';
import { ListPace } from '../server/tool-list.js';
import { sweepCatalog } from './catalog-file.js';
import { keepPrompts, promptsFolder, type ServerPrompt, usablePrompts } from './kept-prompts.js';

/** A server that does not list them by then keeps those that it had. */
const READ_WITHIN_MS = 30_000;

export class LearnedPrompts {
  readonly #stateDir: string;
  readonly #onChanged: () => void;
  #swept = false;

  /** `onChanged` is called when a server lists other prompts than those that are kept. */
  constructor(stateDir: string, onChanged: () => void = () => {}) {
    this.#stateDir = stateDir;
    this.#onChanged = onChanged;
  }

  /**
   * Asks a live server for its prompts and keeps them; `isTold` where it has just said that they have changed. Resolves when
   * they are kept, or cannot be had; never rejects.
   */
  async learn(server: Downstream, isTold = false): Promise<void> {
    try {
      const listed = server.has('prompts') ? await readerOf(server).read(isTold) : [];
      const isChanged = keepPrompts(this.#stateDir, server.spec, listed);
      if (listed.length > 0 && !this.#swept) {
        this.#swept = true;
        sweepCatalog(promptsFolder(this.#stateDir), Date.now());
      }
      if (isChanged) this.#onChanged();
    } catch {
      // It has ended meanwhile, or cannot say; whoever asks it for a prompt is told why.
    }
  }
}

/** Reads the list of one live server, once for all windows that share it, and no faster than the server can take. */
class PromptReader {
  readonly #server: Downstream;
  readonly #pace = new ListPace();
  #listed: readonly ServerPrompt[] | undefined;
  #reading: Promise<readonly ServerPrompt[]> | undefined;
  #isWanted = false;

  constructor(server: Downstream) {
    this.#server = server;
  }

  read(isTold: boolean): Promise<readonly ServerPrompt[]> {
    if (isTold) this.#pace.noteTold();
    else if (this.#listed !== undefined) return Promise.resolve(this.#listed);
    this.#isWanted ||= isTold;
    this.#reading ??= this.#readWhileWanted().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #readWhileWanted(): Promise<readonly ServerPrompt[]> {
    do {
      await sleep(this.#pace.waitMs, undefined, { ref: false });
      this.#isWanted = false;
      const startedAt = performance.now();
      using deadline = new Deadline(new AbortController().signal);
      deadline.start(READ_WITHIN_MS);
      const before = JSON.stringify(this.#listed);
      const { items } = await listPrompts(this.#server, deadline.signal);
      this.#listed = usablePrompts(items);
      this.#pace.read(JSON.stringify(this.#listed) !== before, performance.now() - startedAt);
    } while (this.#isWanted);
    return this.#listed;
  }
}

/** Readers by the end of their server, which all views of one server share. */
const readers = new WeakMap<Downstream['closed'], PromptReader>();

function readerOf(server: Downstream): PromptReader {
  const reader = readers.get(server.closed) ?? new PromptReader(server);
  readers.set(server.closed, reader);
  return reader;
}
