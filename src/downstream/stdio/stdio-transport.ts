// The link to a process of our own. The SDK's stdio transport reads in quadratic time (40 MB take 7 s),
// closes the connection at 10 MB, misses a crash while a grandchild holds stdout, and leaves orphans; this one does
// not. Lines that are no messages are kept as last words and otherwise ignored.

import { setTimeout as sleep } from 'node:timers/promises';
import type { JSONRPCMessage, RequestId } from '@modelcontextprotocol/client';
import type { Redact } from '../../base/redact.js';
import { MB_BYTES } from '../../base/sizes.js';
import { EnvelopeReader } from '../../protocol/envelope.js';
import { stringify } from '../../protocol/json-text.js';
import { LineSplitter } from '../../protocol/lines.js';
import { MAX_MESSAGE_BYTES, readMessage, readOversized } from '../inbound.js';
import { CLOSED_BY_BRIDGE, type Link, type Problem } from '../link.js';
import { LastWords } from './last-words.js';
import { type ProcessCommand, type ProcessExit, ProcessTree } from './process-tree.js';
import { startProblem } from './start-problem.js';

/** Requests that a server does not read; each may be as long as a frame, and the code may give up on them and go on. */
const MAX_UNREAD_BYTES = 64 * MB_BYTES;
/** What a server wrote just before it exited may still be in the pipe; a grandchild that keeps it open is not waited for. */
const DRAIN_MS = 100;
/** A server whose input is closed is made to end within this. */
const ENDS_WITHIN_MS = 1_000;

export class StdioTransport implements Link {
  onclose: Link['onclose'];
  onmessage: Link['onmessage'];

  readonly #command: ProcessCommand;
  readonly #lastWords: LastWords;
  readonly #skipped = new EnvelopeReader();
  readonly #lines = new LineSplitter(MAX_MESSAGE_BYTES, (piece) => this.#skipped.push(piece));
  /** Ids of requests that still want an answer; later ones would only make the SDK print them whole. */
  readonly #waiting = new Set<RequestId>();
  #tree: ProcessTree | undefined;
  #ending: string | undefined;
  /** Whether the bridge ended the server before it ended by itself. */
  #isEndedHere = false;
  /** Resolves when it is known how the server has ended. */
  readonly #ended: Promise<void>;
  #onEnded: () => void = () => {};

  /** `lastWords` go through `redact` before they are shown. */
  constructor(command: ProcessCommand, redact: Redact) {
    this.#command = command;
    this.#lastWords = new LastWords(redact);
    this.#ended = new Promise((resolve) => {
      this.#onEnded = resolve;
    });
  }

  /** Why the connection is over, as the end of a sentence about the server; undefined while it lasts. */
  get ending(): string | undefined {
    return this.#ending;
  }

  /** What the server last wrote outside the protocol; empty when it was silent. */
  get lastWords(): string {
    return this.#lastWords.toString();
  }

  async explain(thrown: unknown, timedOutMs: number | undefined): Promise<Problem> {
    // A broken pipe says only that it is ending; how it ended says more.
    const exit = Object(thrown).code === 'EPIPE' ? await this.#exitWithin(ENDS_WITHIN_MS) : undefined;
    return startProblem(this.#command, {
      thrown,
      timedOutMs,
      ending: exit ?? (this.#isEndedHere ? undefined : this.#ending),
      lastWords: this.lastWords,
    });
  }

  /** How the server's process ended, as the end of a sentence; undefined when it lives on for so long. */
  async #exitWithin(timeoutMs: number): Promise<string | undefined> {
    const late = sleep(timeoutMs, undefined, { ref: false });
    const exit = await Promise.race([this.#tree?.exited, late]);
    return exit === undefined ? undefined : howEnded(exit);
  }

  /** Rejects with Node's own error when the program cannot be started. */
  async start(): Promise<void> {
    const tree = new ProcessTree(this.#command);
    if (!tree.hasStreams) return tree.started;
    this.#tree = tree;
    tree.stdout.on('data', (chunk: Buffer) => this.#read(chunk));
    tree.stderr.setEncoding('utf8').on('data', (text: string) => this.#lastWords.add(text));
    for (const stream of [tree.stdout, tree.stderr]) stream.on('error', () => {});
    // One that closed its stdout will never answer.
    tree.stdout.once('end', () => void tree.end());
    // A server that closed its stdin takes no more requests: mostly it is about to exit, and else it is made to.
    tree.stdin.on('error', () => void tree.end());
    void tree.exited.then(async ({ code, signal }) => {
      await drained(tree);
      await this.#finish(howEnded({ code, signal }), tree.end());
    });
    await tree.started;
  }

  /**
   * Resolves when the message is in the pipe; rejects when it cannot get there any more, and then it is known how the server has ended: a
   * broken pipe is seen before that, and whoever greets a server decides by it.
   */
  send(message: JSONRPCMessage): Promise<void> {
    if (this.#tree === undefined || this.#ending !== undefined) {
      return Promise.reject(new Error('The server is gone.'));
    }
    const { stdin } = this.#tree;
    if (stdin.writableLength > MAX_UNREAD_BYTES) {
      return Promise.reject(new Error(`it has ${stdin.writableLength} bytes of requests unread`));
    }
    this.#note(message);
    return new Promise((resolve, reject) => {
      stdin.write(`${stringify(message)}\n`, (error) => {
        if (error) void this.#ended.then(() => reject(error));
        else resolve();
      });
    });
  }

  abandon(id: RequestId): void {
    this.#waiting.delete(id);
  }

  /** Resolves when the server's process group is gone, after at most half a second or so. */
  async close(): Promise<void> {
    if (this.#tree === undefined) return;
    this.#isEndedHere = this.#isEndedHere || this.#ending === undefined;
    await this.#finish(CLOSED_BY_BRIDGE, this.#tree.end());
  }

  /** The first reason is the reason; `onclose` runs once, before anything is waited for. */
  async #finish(reason: string, gone: Promise<void>): Promise<void> {
    if (this.#ending === undefined) {
      this.#ending = reason;
      this.#onEnded();
      this.onclose?.();
    }
    await gone;
  }

  #note(message: JSONRPCMessage): void {
    if (!('method' in message)) return;
    if ('id' in message) this.#waiting.add(message.id);
    else if (message.method === 'notifications/cancelled')
      this.abandon(message.params?.['requestId'] as RequestId);
  }

  #read(chunk: Buffer): void {
    for (const line of this.#lines.push(chunk)) {
      if ('text' in line) this.#deliver(readMessage(line.text), line.text);
      else this.#deliver(readOversized(line.oversized, this.#skipped.take()), line.head);
    }
  }

  #deliver(message: JSONRPCMessage | undefined, line: string): void {
    if (this.#ending !== undefined) return;
    if (message === undefined) {
      if (line.trim() !== '') this.#lastWords.addLine(`stdout: ${line}`);
      return;
    }
    if ('method' in message || (message.id !== undefined && this.#waiting.delete(message.id)))
      this.onmessage?.(message);
  }
}

const howEnded = ({ code, signal }: ProcessExit): string =>
  signal === undefined ? `exited with code ${code}` : `was ended by ${signal}`;

async function drained(tree: ProcessTree): Promise<void> {
  if (tree.stdout.readableEnded) return;
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, DRAIN_MS);
    tree.stdout.once('close', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
