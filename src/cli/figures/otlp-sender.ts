// Bodies for a collector, sent one after the other, each a few times where the collector is busy or away. What it does not
// take is lost, and told once until something is taken again; nothing waits without an end, and no run waits for it.

import http from 'node:http';
import https from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../../base/errors.js';
import { clipHarmlessLine } from '../../base/text/text.js';
import type { OtlpTarget } from '../../settings/environment/otel-export.js';

/** Statuses after which OTLP has the same sent again. */
const AGAIN: ReadonlySet<number> = new Set([429, 502, 503, 504]);
const ATTEMPTS = 4;
const FIRST_PAUSE_MS = 1_000;
const MAX_ANSWER_CHARS = 300;

export class OtlpSender {
  readonly #target: OtlpTarget;
  readonly #onTrouble: (message: string) => void;
  readonly #closing = new AbortController();
  #isWell = true;
  #last: Promise<void> = Promise.resolve();

  /** `onTrouble` hears, as a sentence, why the collector takes nothing: once until it does again. */
  constructor(target: OtlpTarget, onTrouble: (message: string) => void) {
    this.#target = target;
    this.#onTrouble = onTrouble;
  }

  /** Resolves when the body was taken or given up; never rejects. */
  send(body: string): Promise<void> {
    this.#last = this.#last.then(() => this.#sendNow(body));
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
  { url, headers, timeoutMs }: OtlpTarget,
  body: string,
): Promise<{ readonly status: number; readonly text: string }> {
  return new Promise((resolve, reject) => {
    const { request } = url.protocol === 'https:' ? https : http;
    const sent = request(url, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) },
      signal: AbortSignal.timeout(timeoutMs),
    });
    sent.once('error', reject);
    // A collector that hangs must not keep the process.
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
