// Pages that are open in browsers, as streams of server-sent events.

import type { ServerResponse } from 'node:http';

/** Open tabs of one person; a browser has six connections to one address at most. */
const MAX_STREAMS = 24;
/** A browser that has gone is noticed by this. */
const ALIVE_EVERY_MS = 20_000;

/** Pages that are open somewhere, told that something has changed. They ask for what it is themselves. */
export class LiveStreams implements Disposable {
  readonly #streams = new Set<ServerResponse>();
  readonly #timer: NodeJS.Timeout;

  constructor() {
    this.#timer = setInterval(() => this.#send(':\n\n'), ALIVE_EVERY_MS);
    this.#timer.unref();
  }

  /** False where there are too many already. */
  add(response: ServerResponse, headers: Readonly<Record<string, string>>): boolean {
    if (this.#streams.size >= MAX_STREAMS) return false;
    response.writeHead(200, { ...headers, 'content-type': 'text/event-stream' });
    response.write('retry: 3000\n\n');
    this.#streams.add(response);
    response.once('close', () => this.#streams.delete(response));
    return true;
  }

  get size(): number {
    return this.#streams.size;
  }

  /** Tells every page `data`, a text without line breaks. */
  tell(data: string): void {
    this.#send(`data: ${data}\n\n`);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    for (const stream of this.#streams) stream.end();
    this.#streams.clear();
  }

  #send(text: string): void {
    for (const stream of this.#streams) stream.write(text);
  }
}
