// What a server writes to its stdout, line by line, as messages and as everything else: one message is a line, but servers
// lay it out over several, write log text before it without a line break, or forget the break behind it.

import type { JSONRPCMessage, RequestId } from '@modelcontextprotocol/client';
import { isOneValue, MAX_MESSAGE_BYTES, messagesAmong, readMessages } from '../connection/inbound.js';

/** `isNoise`: the line is for the server's last words as well. */
export type Spoken = { readonly messages: readonly JSONRPCMessage[]; readonly isNoise: boolean };

/** Requests whose ids are remembered. */
const MAX_REMEMBERED = 1_000;
/** What only servers say; a log quotes what the server has heard as well. */
const OF_SERVERS =
  /^(?:ping$|elicitation\/|roots\/|sampling\/|notifications\/(?:message|progress|tools|resources|prompts|elicitation|tasks|cancelled))/;

export class SpokenLines {
  /** Lines of a value that is laid out over several, from the bracket with which it began. */
  #laidOut: string[] = [];
  #chars = 0;
  #depth = 0;
  /** Ids of the server's requests: those that stood among noise, and all others. */
  readonly #quoted = new Set<RequestId>();
  readonly #asked = new Set<RequestId>();

  read(line: string): Spoken {
    if (line.trim() === '') return { messages: [], isNoise: false };
    const laidOut = this.#addToLaidOut(line);
    if (laidOut !== undefined) {
      const messages = readMessages(laidOut);
      return { messages: this.#heard(messages, this.#asked, this.#quoted), isNoise: messages.length === 0 };
    }
    const among = isOneValue(line) ? [] : messagesAmong(line).filter(isOfServer);
    if (among.length > 0) return { messages: this.#heard(among, this.#quoted, this.#asked), isNoise: true };
    const messages = readMessages(line);
    if (messages.length > 0) this.#laidOut = [];
    else if (this.#laidOut.length === 0 && /^\s*[[{]\s*$/.test(line)) this.#begin(line);
    return { messages: this.#heard(messages, this.#asked, this.#quoted), isNoise: messages.length === 0 };
  }

  #begin(line: string): void {
    this.#laidOut = [line];
    this.#chars = line.length;
    this.#depth = 1;
  }

  /** All of a value that this line completes; undefined where it completes none. */
  #addToLaidOut(line: string): string | undefined {
    if (this.#laidOut.length === 0) return undefined;
    this.#chars += line.length + 1;
    this.#depth += openedIn(line);
    this.#laidOut.push(line);
    if (this.#depth > 0 && this.#chars <= MAX_MESSAGE_BYTES) return undefined;
    const text = this.#depth === 0 ? this.#laidOut.join('\n') : '';
    this.#laidOut = [];
    return text === '' || readMessages(text).length === 0 ? undefined : text;
  }

  /** A log may quote a question right before or behind the question itself: the second of the two is left out. */
  #heard(
    messages: readonly JSONRPCMessage[],
    own: Set<RequestId>,
    other: ReadonlySet<RequestId>,
  ): readonly JSONRPCMessage[] {
    return messages.filter((message) => {
      if (!('method' in message && 'id' in message)) return true;
      own.add(message.id);
      const [oldest] = own;
      if (own.size > MAX_REMEMBERED && oldest !== undefined) own.delete(oldest);
      return !other.has(message.id);
    });
  }
}

const isOfServer = (message: JSONRPCMessage): boolean =>
  !('method' in message) || OF_SERVERS.test(message.method);

/** By how much the depth of brackets changes in a line of laid out JSON, of which no string goes on in the next line. */
function openedIn(line: string): number {
  let opened = 0;
  let isInString = false;
  for (let at = 0; at < line.length; at++) {
    const char = line[at];
    if (isInString && char === '\\') at++;
    else if (char === '"') isInString = !isInString;
    else if (!isInString && (char === '[' || char === '{')) opened++;
    else if (!isInString && (char === ']' || char === '}')) opened--;
  }
  return opened;
}
