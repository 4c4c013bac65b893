// The bridge's end of the page: a socket on which it tells what runs, and nothing where nobody listens. It never holds a run up,
// and never keeps the process alive.

import { chmodSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { messageOf } from '../../base/errors.js';
import type { BridgeEvent, Observer } from '../../base/log/events.js';
import type { Redact } from '../../base/secrets/redact.js';
import { MB_BYTES } from '../../base/text/sizes.js';
import type { Settings } from '../../settings/environment/settings.js';
import { lineOf, readLines } from '../told/lines.js';
import { newSocket } from '../told/place.js';
import { asked, type BridgeFacts, type Told } from '../told/told.js';
import { RecordedRequests, RememberedRuns } from './remembered-runs.js';

/** Facts change at their own pace, and counting them costs a little. */
const FACTS_EVERY_MS = 2_000;
/** A page that does not read is let go of; it comes back by itself. */
const MAX_WAITING_BYTES = 64 * 1024 * 1024;

export class Feed implements Disposable {
  readonly #runs: RememberedRuns;
  readonly #requests: RecordedRequests;
  readonly #facts: () => BridgeFacts;
  readonly #factsEveryMs: number;
  readonly #server: Server;
  readonly #pages = new Set<Socket>();
  #timer: NodeJS.Timeout | undefined;
  /** Facts that all pages were told last; undefined where one of them was told others. */
  #toldFacts: { readonly figures: string; readonly others: string } | undefined;

  /** Listens in the folder of the state directory; where it cannot, that is told to `observer`, and nobody sees the bridge. */
  constructor({
    settings: { record, stateDir },
    facts,
    observer,
    factsEveryMs = FACTS_EVERY_MS,
  }: {
    readonly settings: Pick<Settings, 'record' | 'stateDir'>;
    /** PageRequest only while a page is open. */
    readonly facts: () => BridgeFacts;
    readonly observer: Observer;
    /** How often changes of facts are looked for; a test looks more often. */
    readonly factsEveryMs?: number;
  }) {
    this.#facts = facts;
    this.#factsEveryMs = factsEveryMs;
    this.#runs = new RememberedRuns(record, (message) => this.#tell(message));
    this.#requests = new RecordedRequests(record);
    this.#server = createServer((socket) => this.#accept(socket));
    const complain = (message: string) => observer({ type: 'watch.trouble', message });
    this.#server.on('error', (thrown) => complain(messageOf(thrown)));
    try {
      const place = newSocket(stateDir);
      if ('trouble' in place) {
        complain(place.trouble);
        return;
      }
      this.#server.listen(place.path, () => chmodSync(place.path, 0o600));
      this.#server.unref();
    } catch (thrown) {
      complain(messageOf(thrown));
    }
  }

  /** `redact` knows the secrets of the bridge that the event is of. */
  observe(event: BridgeEvent, redact: Redact): void {
    this.#runs.observe(event, redact);
    this.#requests.observe(event, redact);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
    if (this.#server.listening) this.#server.close();
    for (const page of this.#pages) page.destroy();
  }

  #accept(socket: Socket): void {
    socket.unref();
    socket.on('error', () => {});
    this.#pages.add(socket);
    socket.once('close', () => {
      this.#pages.delete(socket);
      if (this.#pages.size > 0) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
    });
    const first = [{ is: 'facts', facts: this.#facts() } as const, ...this.#runs.all()];
    socket.write(first.map(lineOf).join(''));
    this.#toldFacts = undefined;
    readLines(socket, (value) => {
      const { data } = asked.safeParse(value);
      if (data === undefined) return;
      const { ask, run } = data;
      const answer: Told =
        ask === 'recorded'
          ? { is: ask, run, recorded: this.#runs.recorded(run) }
          : { is: ask, run, repeatable: this.#requests.of(run) };
      socket.write(lineOf(answer));
    });
    this.#timer ??= setInterval(() => this.#tellFacts(), this.#factsEveryMs);
    this.#timer.unref();
  }

  /** Tells what has changed since the last time; documentation of tools is most of it, and hardly ever does. */
  #tellFacts(): void {
    const facts = this.#facts();
    const { memoryBytes, sandboxes, ...others } = facts;
    const now = {
      figures: JSON.stringify([Math.round(memoryBytes / MB_BYTES), sandboxes]),
      others: JSON.stringify(others),
    };
    const { figures } = this.#toldFacts ?? {};
    if (now.others !== this.#toldFacts?.others) this.#tell({ is: 'facts', facts });
    else if (now.figures !== figures) this.#tell({ is: 'figures', figures: { memoryBytes, sandboxes } });
    this.#toldFacts = now;
  }

  #tell(message: Told): void {
    if (this.#pages.size === 0) return;
    const line = lineOf(message);
    for (const page of this.#pages) {
      if (page.writableLength > MAX_WAITING_BYTES) page.destroy();
      else page.write(line);
    }
  }
}
