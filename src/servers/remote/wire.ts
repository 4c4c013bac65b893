// One session with a remote server over one kind of transport. A session that is over is not mended: the link makes a
// new wire.

import type { IncomingMessage } from 'node:http';
import type { JSONRPCMessage, RequestId } from '@modelcontextprotocol/client';
import { readMessages, readOversized } from '../connection/inbound.js';
import type { EventReader, ServerEvent } from './event-reader.js';
import type { RemoteFailure } from './remote-failure.js';

export type Outgoing = {
  readonly text: string;
  /** Id of a request; undefined for a message that gets no answer. */
  readonly id: RequestId | undefined;
  /** Taken twice it does what it does once. */
  readonly mayRepeat: boolean;
  /** Headers of a message of the modern era, which knows no sessions: they show what the message is. */
  readonly modern?: Readonly<Record<string, string>> | undefined;
};

export type WireEvents = {
  readonly onMessage: Take;
  /** After each piece of a stream; where it gives a promise, no more is read until that resolves, which it always does. */
  readonly onRead: (reader: EventReader) => Promise<void> | undefined;
  /** The session is over, and the requests that it has taken will not be answered. */
  readonly onBroken: (failure: RemoteFailure) => void;
};

/** `bytes` is about how long the message was. */
export type Take = (message: JSONRPCMessage, bytes: number) => void;

/** Hands on what of a body is messages. */
export function takeAll(text: string, take: Take): void {
  const messages = readMessages(text);
  for (const message of messages) take(message, text.length / messages.length);
}

/** Hands on the messages of a stream of events until it ends; `onOther` gets events that are no messages. Rejects as the stream does. */
export async function readStream(
  answer: IncomingMessage,
  reader: EventReader,
  {
    take,
    onRead,
    onOther = () => {},
  }: Pick<WireEvents, 'onRead'> & {
    readonly take: Take;
    readonly onOther?: (event: ServerEvent) => void;
  },
): Promise<void> {
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    for (const event of reader.push(chunk)) {
      if ('oversized' in event) {
        const message = readOversized(event.oversized, event.envelope);
        if (message !== undefined) take(message, event.oversized);
      } else if (event.type === 'message') takeAll(event.data, take);
      else onOther(event);
    }
    await onRead(reader);
  }
}

export interface Wire {
  /** Makes ready for the first message. Throws RemoteFailure. */
  open(signal: AbortSignal): Promise<void>;
  /**
   * Resolves when the server has taken the message. Throws RemoteFailure when it has not, or when a request will have no
   * answer; `untaken` says that it was certainly not acted upon.
   */
  send(message: Outgoing, signal: AbortSignal): Promise<void>;
  /** After the greeting: hears what the server says by itself, as long as the session lasts. */
  listen(): void;
  /** Stops hearing; with `isLast` it also tells the server that the session is over. Never rejects. */
  end(isLast: boolean): Promise<void>;
}
