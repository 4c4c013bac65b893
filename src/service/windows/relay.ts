// A window: carries the bytes between its agent and the shared bridge, and nothing else. Where the bridge ends it has another
// one, and whoever waits is told; it keeps what the next bridge has to know of the conversation.

import type { Readable, Writable } from 'node:stream';
import { AgentConversation, type Said } from './conversation.js';
import { framesOf, messageFrame, messageIn, readFrames, type SharedFrame } from './frames.js';
import type { BridgeMessage } from './greeting.js';
import type { Joined, Meeting } from './meet.js';

/** Bytes that the agent has not read; above this the bridge is not read either. */
const MAX_UNREAD_BYTES = 1024 * 1024;

/** Resolves when the agent has gone and what it said has been passed on. */
export async function relay(options: ConstructorParameters<typeof Relay>[0]): Promise<void> {
  await new Relay(options).ended;
}

class Relay {
  readonly ended: Promise<void>;
  readonly #options;
  readonly #conversation = new AgentConversation();
  /** Undefined between two bridges. */
  #bridge: Joined | undefined;
  #meeting: Promise<void> | undefined;
  /** Lines that the next bridge is told first. */
  #again: readonly Said[] = [];
  /** Lines whose last byte is not yet in the socket of the bridge. */
  readonly #unsent = new Set<Said>();
  /** Requests that wait for the next bridge, in their order. */
  readonly #held: Said[] = [];
  /** The bridge wants to end: what is under way ends there, what is new goes to the next. */
  #isLeaving = false;
  #end: () => void = () => {};

  constructor(options: {
    readonly input: Readable;
    readonly output: Writable;
    readonly log: Writable;
    /** The bridge that was met when this window began. */
    readonly joined: Joined;
    /** Meets one again. Never rejects. */
    readonly meetAgain: () => Promise<Meeting>;
  }) {
    this.#options = options;
    const { input, output, joined } = options;
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
    this.#useBridge(joined);
    input.on('data', (chunk: Buffer) => this.#onHeard(chunk));
    for (const event of ['end', 'close', 'error'] as const) input.once(event, () => this.#agentGone());
    output.on('error', () => this.#agentGone());
    options.log.on('error', () => {});
  }

  #onHeard(chunk: Buffer): void {
    for (const said of this.#conversation.hear(chunk)) {
      if ('refusal' in said) this.#options.output.write(`${said.refusal}\n`);
      else if (this.#mustWait(said)) this.#hold(said);
      else this.#send(said);
    }
  }

  /** Where the bridge leaves, answers to its questions and cancellations still go there. */
  #mustWait({ id, method }: Said): boolean {
    if (this.#bridge === undefined) return true;
    return this.#isLeaving && id !== undefined && method !== undefined;
  }

  #hold(said: Said): void {
    this.#held.push(said);
    // Nobody waits for anything else, and a host that only tidies up needs no bridge for that.
    const isRequest = said.id !== undefined && said.method !== undefined;
    if (isRequest && this.#bridge === undefined) this.#meet();
  }

  #send(said: Said): void {
    if (this.#conversation.passesOn(said)) this.#write(said);
  }

  #write(said: Said): void {
    const { socket } = this.#bridge ?? {};
    if (socket === undefined) return;
    this.#unsent.add(said);
    const isSent = (error?: Error | null) => {
      if (!error) this.#unsent.delete(said);
    };
    const pieces = framesOf('talk', Buffer.from(`${said.text}\n`));
    for (const piece of pieces.slice(0, -1)) socket.write(piece);
    socket.write(pieces.at(-1) ?? '', isSent);
    if (!socket.writableNeedDrain) return;
    this.#options.input.pause();
    socket.once('drain', () => this.#options.input.resume());
  }

  #useBridge(bridge: Joined): void {
    const { socket } = bridge;
    this.#bridge = bridge;
    this.#isLeaving = false;
    readFrames(socket, bridge, (frame) => this.#take(frame));
    socket.once('close', () => this.#bridgeGone(bridge));
    socket.resume();
    // Nothing more comes from one that has ended before anybody listened.
    if (socket.destroyed) this.#bridgeGone(bridge);
  }

  #take({ type, payload }: SharedFrame): void {
    if (type === 'talk') this.#onTold(payload);
    else if (type === 'log') this.#options.log.write(payload);
    else if ((messageIn(payload) as BridgeMessage | undefined)?.is === 'leaving') this.#letItLeave();
  }

  #onTold(payload: Buffer): void {
    const { output } = this.#options;
    for (const line of this.#conversation.tell(payload)) output.write(line);
    const { socket } = this.#bridge ?? {};
    if (socket === undefined || output.writableLength <= MAX_UNREAD_BYTES) return;
    socket.pause();
    output.once('drain', () => socket.resume());
  }

  /** Tells the bridge that no request comes any more. */
  #letItLeave(): void {
    this.#isLeaving = true;
    this.#bridge?.socket.write(messageFrame({ is: 'held' }));
  }

  #bridgeGone(bridge: Joined): void {
    if (this.#bridge !== bridge) return;
    this.#bridge = undefined;
    this.#isLeaving = false;
    this.#options.input.resume();
    const { answers, again } = this.#conversation.cut(this.#unsent);
    this.#unsent.clear();
    for (const line of answers) this.#options.output.write(`${line}\n`);
    this.#again = again;
    // A greeting alone can wait until the agent wants something; who listens wants it now.
    if (this.#held.length > 0 || this.#conversation.waits) this.#meet();
  }

  #meet(): void {
    this.#meeting ??= this.#options.meetAgain().then((meeting) => {
      this.#meeting = undefined;
      if (meeting.is === 'joined') this.#goOn(meeting);
      else this.#giveUp(meeting.why);
    });
  }

  #goOn(bridge: Joined): void {
    this.#useBridge(bridge);
    for (const said of this.#again) this.#write(said);
    this.#again = [];
    for (const said of this.#held.splice(0)) this.#send(said);
  }

  /** Refuses the requests that wait. An agent that asks again has another bridge tried. */
  #giveUp(why: string): void {
    for (const said of this.#held.splice(0)) this.#conversation.passesOn(said);
    const sentence = `E_SHUTDOWN: The shared bridge has ended, and there is no other: ${why}. Try again, or restart the host.`;
    for (const line of this.#conversation.refuse(sentence)) this.#options.output.write(`${line}\n`);
    this.#again = this.#conversation.cut().again;
  }

  #agentGone(): void {
    this.#bridge?.socket.end();
    this.#bridge = undefined;
    this.#end();
  }
}
