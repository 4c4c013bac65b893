// The link to a process of our own. The SDK's stdio transport reads in quadratic time (40 MB take 7 s),
// closes the connection at 10 MB, misses a crash while a grandchild holds stdout, and leaves orphans; this one does
// not. Lines that are no messages are kept as last words and otherwise ignored.

import type { JSONRPCMessage, RequestId } from '@modelcontextprotocol/client';
import type { Redact } from '../../base/redact.js';
import { MB_BYTES } from '../../base/sizes.js';
import { within } from '../../base/within.js';
import { EnvelopeReader } from '../../protocol/envelope.js';
import { stringify } from '../../protocol/json-text.js';
import { LineSplitter } from '../../protocol/lines.js';
import { MAX_MESSAGE_BYTES, readMessage, readOversized } from '../inbound.js';
import { CLOSED_BY_BRIDGE, type Link, type Problem } from '../link.js';
import { LastWords } from './last-words.js';
import { type ProcessCalls, type ProcessCommand, type ProcessExit, ProcessTree } from './process-tree.js';
import { startProblem } from './start-problem.js';

/** Requests that a server does not read; each may be as long as a frame, and the code may give up on them and go on. */
const MAX_UNREAD_BYTES = 64 * MB_BYTES;
/** A server that closes its input or its output is mostly about to exit; one that does not within this is made to. */
const EXITS_WITHIN_MS = 1_000;

export class StdioTransport implements Link {
  onclose: Link['onclose'];
  onmessage: Link['onmessage'];

  readonly #command: ProcessCommand;
  readonly #calls: ProcessCalls | undefined;
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
  constructor(command: ProcessCommand, redact: Redact, calls?: ProcessCalls) {
    this.#command = command;
    this.#calls = calls;
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
    return startProblem(this.#command, {
      thrown,
      timedOutMs,
      ending: this.#isEndedHere ? undefined : this.#ending,
      lastWords: this.lastWords,
    });
  }

  /** Rejects with Node's own error when the program cannot be started. */
  async start(): Promise<void> {
    const tree = new ProcessTree(this.#command, undefined, this.#calls);
    if (!tree.hasStreams) return tree.started;
    this.#tree = tree;
    tree.stdout.on('data', (chunk: Buffer) => this.#read(chunk));
    tree.stderr.setEncoding('utf8').on('data', (text: string) => this.#lastWords.add(text));
    for (const stream of [tree.stdout, tree.stderr]) stream.on('error', () => {});
    // One that closed its stdout will never answer, and one that closed its stdin takes no more requests.
    tree.stdout.once('end', () => void letExit(tree));
    tree.stdin.on('error', () => void letExit(tree));
    void tree.heard.then((exit) => this.#finish(howEnded(exit), tree.end()));
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

/** How it exits by itself says more than the signal that it would be ended by. */
async function letExit(tree: ProcessTree): Promise<void> {
  tree.stdin.end();
  await within(EXITS_WITHIN_MS, tree.exited);
  await tree.end();
}
