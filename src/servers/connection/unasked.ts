// Limits for what one server may make the bridge do unasked. Two budgets, each counted in messages and in bytes. One is for
// what is handed on: notifications, and requests of the server's own. Beyond this budget the newest message of each sort waits
// for its turn, so that no change and no last progress is missed, and the rest is left out. The other budget is for all that is
// read, whatever it is: beyond it the link rests, so that the server has to wait until it can write more. Answers that somebody
// waits for cost nothing.

import type { JSONRPCMessage, RequestId } from '@modelcontextprotocol/client';
import { KB_BYTES, MB_BYTES } from '../../base/text/sizes.js';
import { Bucket } from '../../base/waiting/bucket.js';

/** Far more than a server says that reports each step. To hand a message on costs some ten times what reading it costs. */
const HANDED_ON = {
  burst: { messages: 2_000, bytes: 8 * MB_BYTES },
  perSecond: { messages: 100, bytes: MB_BYTES },
};
/** An answer waits behind what is in the pipe, some 200 KB: for a second or so, of the shortest messages. */
const READ = {
  burst: { messages: 20_000, bytes: 64 * MB_BYTES },
  perSecond: { messages: 5_000, bytes: 4 * MB_BYTES },
};
/** How many messages wait for their turn, and how long each may be. */
const MAX_WAITING = 100;
const MAX_WAITING_BYTES = 64 * KB_BYTES;
const PROGRESS = 'notifications/progress';
const TOOLS_CHANGED = 'notifications/tools/list_changed';
/** Members that tell what a notification is about: a later one about the same stands for it. */
const ABOUT = ['progressToken', 'requestId', 'elicitationId', 'uri'];

/** A budget that is being spent. */
export class Purse {
  readonly #messages: Bucket;
  readonly #bytes: Bucket;

  constructor({ burst, perSecond }: typeof READ, now?: () => number) {
    this.#messages = new Bucket({ burst: burst.messages, perSecond: perSecond.messages }, now);
    this.#bytes = new Bucket({ burst: burst.bytes, perSecond: perSecond.bytes }, now);
  }

  /** Spends one message of so many bytes, where there is anything left. */
  take(bytes: number): boolean {
    if (this.#messages.left < 1 || this.#bytes.left <= 0) return false;
    this.spend(1, bytes);
    return true;
  }

  /** Spends also what is not there. */
  spend(messages: number, bytes: number): void {
    this.#messages.spend(messages);
    this.#bytes.spend(bytes);
  }

  /** How long until it is overdrawn no more. */
  get restMs(): number {
    return Math.max(this.#messages.msUntil(0), this.#bytes.msUntil(0));
  }

  /** How long until one more message can be taken. */
  get waitMs(): number {
    return Math.max(this.#messages.msUntil(1), this.#bytes.msUntil(1));
  }
}

/** The purse for everything that is read of one stream, whatever it is. */
export const readingPurse = (): Purse => new Purse(READ);

/** Hands on the notifications and requests of one server, as far as its budget allows. */
export class Unasked {
  // Apart, so that none of them keeps the others away: a question is not lost in a flood of log lines.
  readonly #purses = {
    progress: new Purse(HANDED_ON),
    request: new Purse(HANDED_ON),
    other: new Purse(HANDED_ON),
  };
  readonly #onLeftOut: () => void;
  readonly #waiting = new Map<
    string,
    {
      readonly message: JSONRPCMessage;
      readonly bytes: number;
      readonly purse: Purse;
      readonly handOn: (message: JSONRPCMessage) => void;
    }
  >();
  #timer: NodeJS.Timeout | undefined;

  constructor(onLeftOut: () => void) {
    this.#onLeftOut = onLeftOut;
  }

  /** Hands the message on, now or later, or leaves it out. */
  hear(message: JSONRPCMessage, bytes: number, handOn: (message: JSONRPCMessage) => void): void {
    if ('id' in message) {
      if (this.#purses.request.take(bytes)) handOn(message);
      else this.#onLeftOut();
      return;
    }
    const sort = sortOf(message);
    const purse = sort.startsWith(PROGRESS) ? this.#purses.progress : this.#purses.other;
    const isWaiting = this.#waiting.has(sort);
    // None overtakes an earlier one of its sort.
    if (!isWaiting && purse.take(bytes)) return handOn(message);
    const isChange = sort === TOOLS_CHANGED;
    const fits = bytes <= MAX_WAITING_BYTES;
    // No change is left out; there cannot be many as long as this.
    if (isChange && !fits) return handOn(message);
    const mayWait = fits && (isChange || isWaiting || this.#waiting.size < MAX_WAITING);
    if (isWaiting || !mayWait) this.#onLeftOut();
    if (!mayWait) return;
    this.#waiting.set(sort, { message, bytes, purse, handOn });
    this.#release();
  }

  /** The answer to this request comes next: what it has last said of its progress is handed on before. */
  flushProgress(id: RequestId): void {
    const sort = `${PROGRESS} ${id}`;
    const last = this.#waiting.get(sort);
    this.#waiting.delete(sort);
    last?.handOn(last.message);
  }

  /** Nothing that waits is handed on any more. */
  close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#waiting.clear();
  }

  #release(): void {
    if (this.#timer !== undefined) return;
    let soonestMs = Number.POSITIVE_INFINITY;
    for (const [sort, { message, bytes, purse, handOn }] of this.#waiting) {
      if (purse.take(bytes)) {
        this.#waiting.delete(sort);
        handOn(message);
      } else soonestMs = Math.min(soonestMs, purse.waitMs);
    }
    if (this.#waiting.size === 0) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#release();
    }, Math.ceil(soonestMs)).unref();
  }
}

/** The subject of the message: of messages about the same subject, the newest says all. */
function sortOf(message: JSONRPCMessage): string {
  if (!('method' in message)) return '';
  if (message.method === TOOLS_CHANGED) return TOOLS_CHANGED;
  const params = Object(message.params);
  const about = ABOUT.map((member) => params[member]).find(
    (value) => typeof value === 'string' || typeof value === 'number',
  );
  return about === undefined ? message.method : `${message.method} ${about}`;
}

// How much of what a server says is left out, told in numbers: soon after it has begun, and then once in a while.

/** Until the first is told, and then from one time to the next. */
const TOLD_AFTER_MS = { first: 1_000, next: 60_000 };

export class LeftOut {
  readonly #tell: (count: number) => void;
  #count = 0;
  #timer: NodeJS.Timeout | undefined;
  #afterMs = TOLD_AFTER_MS.first;

  /** `tell` gets how many there were since it was last called. */
  constructor(tell: (count: number) => void) {
    this.#tell = tell;
  }

  /** With 0, something is to be told, though nothing is left out. */
  add(count: number): void {
    this.#count += count;
    this.#timer ??= setTimeout(() => this.flush(), this.#afterMs).unref();
  }

  /** Tells what is not told yet; for the end as well. */
  flush(): void {
    if (this.#timer === undefined) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#afterMs = TOLD_AFTER_MS.next;
    const count = this.#count;
    this.#count = 0;
    this.#tell(count);
  }
}
