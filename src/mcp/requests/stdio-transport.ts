// The agent's side of the conversation: JSON lines on our stdin and stdout. Unlike the SDK's own transport it notices
// the end of stdin, takes lines of any size in linear time, writes RawJson verbatim and waits for a slow reader. The
// last gate before a client: whatever leaves here is well-formed, and neither too long nor too deep for one to parse.

import type { Readable, Writable } from 'node:stream';
import {
  isJSONRPCErrorResponse,
  isJSONRPCResultResponse,
  type JSONRPCMessage,
  RELATED_TASK_META_KEY,
  type RequestId,
  type Transport,
} from '@modelcontextprotocol/server';
import { excessOf, parseJson, RawJson, stringify, wellFormedJson } from '../../base/json/json-text.js';
import { isObject, type JsonObject } from '../../base/json/records.js';
import { describeValue } from '../../base/text/echo.js';
import { MB_BYTES } from '../../base/text/sizes.js';
import { readingPurse } from '../../servers/connection/unasked.js';
import { type Envelope, EnvelopeReader, envelopeOf } from '../../wire/envelope.js';
import { MAX_DEPTH, MAX_FRAME_BYTES, MAX_VALUES } from '../../wire/frames.js';
import { LineSplitter } from '../../wire/lines.js';

// JSON-RPC 2.0, section 5.1.
const PARSE_ERROR = -32_700;
const INTERNAL_ERROR = -32_603;
const MESSAGE_LIMITS = { maxDepth: MAX_DEPTH, maxValues: MAX_VALUES };
/** A kept file of MAX_FILE_BYTES in base64 fits, and clients are known to end servers over 8 MiB. */
export const MAX_SENT_CHARS = 7 * 1024 * 1024;
/** Clients written with pydantic refuse more than 200 levels. */
const SENT_LIMITS = { maxDepth: 160, maxValues: MAX_VALUES };
/**
 * Bytes of answers that the agent has not read. Above this, no message is taken from the agent, and progress is not
 * reported.
 */
const MAX_UNREAD_BYTES = 16 * MB_BYTES;

export class AgentTransport implements Transport {
  onmessage?: (message: JSONRPCMessage) => void;
  onclose?: () => void;
  onerror?: (error: Error) => void;
  /** Resolves when the agent has gone, or the transport was closed. */
  readonly closed: Promise<void>;
  readonly #input: Readable;
  readonly #output: Writable;
  readonly #beforeEnd: () => Promise<void>;
  /** Other windows may have the same process: no agent has it read more than this, and what it asks costs it no bytes. */
  readonly #purse = readingPurse();
  #resting: NodeJS.Timeout | undefined;
  readonly #skipped = new EnvelopeReader();
  readonly #lines = new LineSplitter(MAX_FRAME_BYTES, (piece) => this.#skipped.push(piece));
  #closed = false;
  #onClosed: () => void = () => {};
  #draining: Promise<void> | undefined;

  /** At the end of the input the transport closes when `beforeEnd` has resolved: earlier requests may still be answered. */
  constructor(input: Readable, output: Writable, beforeEnd: () => Promise<void> = async () => {}) {
    this.#input = input;
    this.#output = output;
    this.#beforeEnd = beforeEnd;
    this.closed = new Promise((resolve) => {
      this.#onClosed = resolve;
    });
  }

  async start(): Promise<void> {
    this.#input.on('data', (chunk: Buffer) => this.#receive(chunk));
    for (const event of ['end', 'close', 'error'] as const) this.#input.once(event, () => void this.#end());
    // The agent is gone: EPIPE is how a pipe says so.
    this.#output.on('error', () => void this.close());
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#closed) return;
    const isBehind = this.#output.writableLength > MAX_UNREAD_BYTES;
    if (isBehind && !('id' in message)) return;
    await this.#write(lineOf(message));
  }

  /** Resolves when the agent can be sent more. */
  async #write(line: string): Promise<void> {
    if (this.#output.write(`${line}\n`)) return;
    if (this.#output.writableLength > MAX_UNREAD_BYTES) this.#input.pause();
    await this.#caughtUp();
    if (!this.#closed && this.#resting === undefined) this.#input.resume();
  }

  /** Resolves when the agent has read everything; one listener for all who wait. */
  #caughtUp(): Promise<void> {
    this.#draining ??= new Promise<void>((resolve) => {
      const done = () => {
        this.#draining = undefined;
        for (const event of ['drain', 'close'] as const) this.#output.off(event, done);
        resolve();
      };
      for (const event of ['drain', 'close'] as const) this.#output.on(event, done);
    });
    return this.#draining;
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    clearTimeout(this.#resting);
    this.#input.pause();
    this.onclose?.();
    this.#onClosed();
  }

  async #end(): Promise<void> {
    await this.#beforeEnd();
    await this.close();
  }

  #receive(chunk: Buffer): void {
    for (const line of this.#lines.push(chunk)) {
      if (this.#closed) return;
      const text = 'text' in line ? line.text.trim() : '';
      if ('oversized' in line) {
        const reason = `a message of ${line.oversized} bytes exceeds ${MAX_FRAME_BYTES}`;
        this.#purse.spend(1, line.oversized);
        this.#refuse(reason, this.#skipped.take());
      } else if (text !== '') this.#handOn(text);
    }
    this.#rest();
  }

  /** Stops reading for a while: a client that says more than anybody can mean has to wait until its messages are read. */
  #rest(): void {
    const { restMs } = this.#purse;
    if (restMs === 0 || this.#closed) return;
    this.#input.pause();
    this.#resting = setTimeout(() => {
      this.#resting = undefined;
      if (this.#output.writableLength <= MAX_UNREAD_BYTES) this.#input.resume();
    }, Math.ceil(restMs));
  }

  #handOn(text: string): void {
    let message: unknown;
    try {
      message = parseJson(text, MESSAGE_LIMITS);
    } catch (thrown) {
      this.#purse.spend(1, text.length);
      return this.#refuse((thrown as Error).message, envelopeOf(text));
    }
    // Revision 2025-03-26 has batches. Each request in one is answered by itself, which its clients take.
    const batch: readonly unknown[] = Array.isArray(message) ? message : [];
    const isAsked = batch.length > 0 || Object.hasOwn(Object(message), 'id');
    this.#purse.spend(Math.max(1, batch.length), isAsked ? 0 : text.length);
    if (batch.length > 0) for (const one of batch) this.#handOnOne(one);
    else this.#handOnOne(message);
  }

  #handOnOne(message: unknown): void {
    if (this.#closed) return;
    if (typeof message !== 'object' || message === null || Array.isArray(message)) {
      return this.#refuse('a message must be one JSON object', envelopeOf(''));
    }
    const read = readMessage(message);
    if ('code' in read) this.#answerBad(read);
    else this.onmessage?.(read);
  }

  /** JSON that is no message of JSON-RPC, or none that MCP knows the form of. */
  #answerBad({ code, reason, id }: BadMessage): void {
    this.onerror?.(new Error(reason));
    // A notification is not answered, whatever is wrong with it.
    if (id === undefined) return;
    void this.#write(errorLine(id, code, reason));
  }

  /** Tells the side that waits for the message that it has failed: the agent for its request, us for the client's answer. */
  #refuse(reason: string, { id, hasMethod, isAnswer }: Envelope): void {
    this.onerror?.(new Error(reason));
    if (isAnswer && !hasMethod && id !== undefined) {
      const error = { code: PARSE_ERROR, message: `The client sent ${reason}.` };
      return this.onmessage?.({ jsonrpc: '2.0', id: JSON.parse(id), error });
    }
    // In its own characters: clients compare, and not all ids are numbers that JavaScript can hold.
    const refused = hasMethod && id !== undefined ? new RawJson(id) : null;
    void this.#write(errorLine(refused, PARSE_ERROR, reason));
  }
}

/** The message as one line that any client can parse; an answer that none could becomes an error. */
function lineOf(message: JSONRPCMessage): string {
  const line = wellFormedJson(stringify(message));
  const excess =
    line.length > MAX_SENT_CHARS
      ? `has ${line.length} characters, more than the ${MAX_SENT_CHARS} that clients are known to take`
      : excessOf(line, SENT_LIMITS);
  if (excess === undefined || !('id' in message)) return line;
  return errorLine(message.id, INTERNAL_ERROR, `The answer ${excess}.`);
}

const errorLine = (id: RequestId | RawJson | null | undefined, code: number, message: string): string =>
  wellFormedJson(stringify({ jsonrpc: '2.0', id, error: { code, message } }));

// A message of an agent, by the rules of JSON-RPC and of MCP for all messages: the SDK drops without a word what breaks them,
// and its client would wait for ever.

// JSON-RPC 2.0, section 5.1.
const INVALID_REQUEST = -32_600;
const INVALID_PARAMS = -32_602;

/** `id` is whose answer the error is: null where that cannot be known, undefined where nobody waits for one. */
type BadMessage = {
  readonly code: number;
  readonly reason: string;
  readonly id: RequestId | null | undefined;
};

/** The message without members that JSON-RPC does not know, or what is wrong with it. */
function readMessage(message: object): JSONRPCMessage | BadMessage {
  const { jsonrpc, id, method, params, result, error } = message as JsonObject;
  if (method === undefined && (result !== undefined || error !== undefined)) {
    const answer = { jsonrpc, id, ...(error === undefined ? { result } : { error }) };
    if (isJSONRPCResultResponse(answer) || isJSONRPCErrorResponse(answer)) return answer;
    return badMessage(INVALID_REQUEST, 'an answer needs an id, and a result or an error', undefined);
  }
  const wrong = wrongMember(message as JsonObject);
  if (wrong !== undefined) return wrong;
  const reason = wrongParams(params);
  if (reason !== undefined)
    return badMessage(INVALID_PARAMS, reason, 'id' in message ? (id as RequestId) : undefined);
  const read = {
    jsonrpc,
    ...('id' in message ? { id } : {}),
    method,
    ...(params === undefined ? {} : { params }),
  };
  return read as JSONRPCMessage;
}

/** First fault of a message besides its parameters. */
function wrongMember({ jsonrpc, method, ...message }: JsonObject): BadMessage | undefined {
  const isNotification = !('id' in message);
  const id = isNotification ? undefined : idOf(message['id']);
  if (id === null)
    return badMessage(
      INVALID_REQUEST,
      `id: got ${describeValue(message['id'])}, expected a text or a whole number.`,
      null,
    );
  const answered = isNotification && method !== undefined ? undefined : (id ?? null);
  if (jsonrpc !== '2.0')
    return badMessage(INVALID_REQUEST, `jsonrpc: got ${describeValue(jsonrpc)}, expected "2.0".`, answered);
  if (typeof method !== 'string')
    return badMessage(
      INVALID_REQUEST,
      `method: got ${describeValue(method)}, expected the name of a method.`,
      answered,
    );
  return undefined;
}

const idOf = (id: unknown): RequestId | null =>
  typeof id === 'string' || (typeof id === 'number' && Number.isSafeInteger(id)) ? id : null;

/**
 * First fault of the parameters of a request or notification, by the rules that the SDK has for those of all methods. It checks
 * each message by its schemas itself; here they would cost each message as much once more.
 */
function wrongParams(params: unknown): string | undefined {
  if (params === undefined) return undefined;
  if (!isObject(params)) return `params: got ${describeValue(params)}, expected an object.`;
  const { _meta: meta } = params;
  if (meta === undefined) return undefined;
  if (!isObject(meta)) return `_meta: got ${describeValue(meta)}, expected an object.`;
  const { progressToken: token, [RELATED_TASK_META_KEY]: task } = meta;
  if (token !== undefined && typeof token !== 'string' && !Number.isInteger(token))
    return `progressToken: got ${describeValue(token)}, expected a text or a whole number.`;
  const isToken = token === undefined || idOf(token) !== null;
  const isTask = task === undefined || (isObject(task) && typeof task['taskId'] === 'string');
  return isToken && isTask ? undefined : `_meta: got ${describeValue(meta)}, expected what MCP says of it.`;
}

const badMessage = (code: number, reason: string, id: BadMessage['id']): BadMessage => ({ code, reason, id });
