// JSON for an address of the operator's, sent one body after the other, each a few times where the other end is busy or away.
// A body that is not taken is lost, and told once until one is taken again; nothing waits without an end, and no run waits for it.

import http from 'node:http';
import https from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../errors.js';
import { clipHarmlessLine } from '../text/text.js';

/** Statuses after which the same is sent again, as OTLP and others have it. */
const AGAIN: ReadonlySet<number> = new Set([429, 502, 503, 504]);
const ATTEMPTS = 4;
const FIRST_PAUSE_MS = 1_000;
const MAX_ANSWER_CHARS = 300;
/** Bodies that wait; more are lost. */
const MAX_WAITING = 100;

/** Headers may depend on the body, and on the time of each attempt. */
type SendTarget = {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>> | ((body: string) => Readonly<Record<string, string>>);
  readonly timeoutMs: number;
};

export class PatientSender {
  readonly #target: SendTarget;
  readonly #onTrouble: (message: string) => void;
  readonly #closing = new AbortController();
  #isWell = true;
  #waiting = 0;
  #last: Promise<void> = Promise.resolve();

  /** `onTrouble` hears, as a sentence, why the other end takes nothing: once until it does again. */
  constructor(target: SendTarget, onTrouble: (message: string) => void) {
    this.#target = target;
    this.#onTrouble = onTrouble;
  }

  /** Resolves when the body was taken or given up; never rejects. */
  send(body: string): Promise<void> {
    if (this.#waiting === MAX_WAITING) return Promise.resolve();
    this.#waiting++;
    this.#last = this.#last
      .then(() => this.#sendNow(body))
      .finally(() => {
        this.#waiting--;
      });
    return this.#last;
  }

  /** From now on nothing is tried again. */
  hurry(): void {
    this.#closing.abort();
  }

  async #sendNow(body: string): Promise<void> {
    let why = '';
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      if (attempt > 0 && !(await this.#pause(FIRST_PAUSE_MS * 2 ** (attempt - 1)))) break;
      try {
        const { status, text } = await post(this.#target, body);
        if (status >= 200 && status < 300) {
          this.#isWell = true;
          return;
        }
        why = `it answers ${status} ${clipHarmlessLine(text, MAX_ANSWER_CHARS)}`.trimEnd();
        if (!AGAIN.has(status)) break;
      } catch (thrown) {
        why = clipHarmlessLine(messageOf(thrown), MAX_ANSWER_CHARS);
      }
    }
    if (this.#isWell) this.#onTrouble(`${this.#target.url.origin} takes nothing: ${why}.`);
    this.#isWell = false;
  }

  /** Whether there is still time afterwards. */
  async #pause(ms: number): Promise<boolean> {
    const { signal } = this.#closing;
    await sleep(ms, undefined, { signal, ref: false }).catch(() => {});
    return !signal.aborted;
  }
}

function post(
  { url, headers: wanted, timeoutMs }: SendTarget,
  body: string,
): Promise<{ readonly status: number; readonly text: string }> {
  return new Promise((resolve, reject) => {
    const headers = typeof wanted === 'function' ? wanted(body) : wanted;
    const { request } = url.protocol === 'https:' ? https : http;
    const sent = request(url, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) },
      signal: AbortSignal.timeout(timeoutMs),
    });
    sent.once('error', reject);
    // Another end that hangs must not keep the process.
    sent.once('socket', (socket) => socket.unref());
    sent.once('response', (answer) => {
      let text = '';
      answer.setEncoding('utf8');
      answer.on('data', (piece: string) => {
        if (text.length < MAX_ANSWER_CHARS) text += piece;
      });
      answer.once('error', reject);
      answer.once('end', () => resolve({ status: answer.statusCode ?? 0, text }));
    });
    sent.end(body);
  });
}
