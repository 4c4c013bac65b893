// One line from a server's stdout, or one body or event over HTTP -> one JSON-RPC message, read with tolerance: the SDK would
// leave a request hanging until its timeout when the answer breaks a rule that nobody needs. What cannot be handed on fails the
// one request that it answers, never the connection. Keeps each answer's own text so that it can be relayed unchanged.

import type { JSONRPCMessage, RequestId } from '@modelcontextprotocol/client';
import { BridgeError } from '../../base/errors.js';
import { endOfValue, excessOf, itemsOf, RawJson, sliceAt } from '../../base/json/json-text.js';
import { isObject, type JsonObject } from '../../base/json/records.js';
import { MB_BYTES } from '../../base/text/sizes.js';
import { clipHarmlessLine } from '../../base/text/text.js';
import { type Envelope, envelopeOf } from '../../wire/envelope.js';
import { MAX_VALUES } from '../../wire/frames.js';

/** As much as a frame to the guest may carry: a longer answer could not be handed on anyway. */
export const MAX_MESSAGE_BYTES = 64 * MB_BYTES;
/** Far above any sane answer, and far below the some thousand levels at which recursive code overflows the stack. */
const MAX_ANSWER_DEPTH = 512;
const ANSWER_LIMITS = { maxDepth: MAX_ANSWER_DEPTH, maxValues: MAX_VALUES };
const INTERNAL_ERROR = -32603;

const lines = new WeakMap<object, string>();

/** The characters that the server wrote as this result; undefined for an object that did not come through `readMessage`. */
export function rawResultOf(result: object): RawJson | undefined {
  const line = lines.get(result);
  const text = line === undefined ? undefined : sliceAt(line, ['result']);
  return text === undefined ? undefined : new RawJson(text);
}

const MAX_QUOTED_CHARS = 300;
/** More messages in one array are none. */
const MAX_BATCH = 10_000;
/** How many beginnings of messages are looked at in a line that holds something else as well. */
const MAX_LOOKS = 32;
/** How a message begins that stands behind something else. */
const BEGINS = /\{\s*"(?:jsonrpc|id|result|error|method|params)"\s*:/g;

/** The messages that `text` is: one, or those of an array, which revision 2025-03-26 allows; none for noise. */
export function readMessages(text: string): readonly JSONRPCMessage[] {
  const items = itemsOf(withoutMark(text), MAX_BATCH) ?? [text];
  return items.map(readMessage).filter((message) => message !== undefined);
}

/** Whether all of `line` is one value, as it should be, or at least the beginning of one. */
export function isOneValue(line: string): boolean {
  const json = withoutMark(line).trim();
  return (json.startsWith('{') || json.startsWith('[')) && endOfValue(json, 0) === json.length;
}

/**
 * The messages in a line that holds something else as well: text of a log that was written without a line break before or
 * behind them, or another message. Only what is whole, and says that it is JSON-RPC, is one.
 */
export function messagesAmong(line: string): readonly JSONRPCMessage[] {
  const found: JSONRPCMessage[] = [];
  let from = 0;
  for (let look = 0; look < MAX_LOOKS; look++) {
    BEGINS.lastIndex = from;
    const start = BEGINS.exec(line)?.index;
    if (start === undefined) break;
    const end = endOfValue(line, start);
    const text = line.slice(start, end);
    const message = isJsonRpc(text) ? readMessage(text) : undefined;
    if (message !== undefined) found.push(message);
    from = message === undefined ? start + 1 : end;
  }
  return found;
}

function isJsonRpc(json: string): boolean {
  if (!json.endsWith('}') || excessOf(json, ANSWER_LIMITS) !== undefined) return false;
  try {
    return Object(JSON.parse(json)).jsonrpc === '2.0';
  } catch {
    return false;
  }
}

/** Programs of Windows begin what they write with a byte order mark. */
const withoutMark = (json: string): string => (json.startsWith('\ufeff') ? json.slice(1) : json);

/** Our request that a line answers which cannot be read, as far as it can be guessed; undefined for other noise. */
export function answeredIn(line: string): RequestId | undefined {
  if (!line.includes('"jsonrpc"') || !/"(?:result|error)"\s*:/.test(line)) return undefined;
  return asId(/"id"\s*:\s*"?(\d{1,15})/.exec(line)?.[1]);
}

/** The error for an answer that came, and could not be read. */
export const garbledError = (line: string): BridgeError =>
  new BridgeError(
    'E_TOOL_FAILED',
    `The server sent an answer that cannot be read: ${clipHarmlessLine(line, MAX_QUOTED_CHARS)}.`,
    {
      fault: 'downstream',
      remedy: 'Look at what it has done before you repeat it.',
    },
  );

/** The message on `line`, or undefined for a line that is no message (noise). */
export function readMessage(text: string): JSONRPCMessage | undefined {
  const line = withoutMark(text);
  const excess = excessOf(line, ANSWER_LIMITS);
  if (excess !== undefined) {
    const id = answeredBy(envelopeOf(line));
    return id === undefined ? undefined : failure(id, tooMuch(`an answer that ${excess}`));
  }
  let message: unknown;
  try {
    message = JSON.parse(line);
  } catch {
    const id = answeredBy(envelopeOf(line));
    return id === undefined ? undefined : failure(id, notJson());
  }
  if (!isObject(message)) return undefined;
  if (typeof message['method'] === 'string') return message as JSONRPCMessage;
  return readAnswer(message, line);
}

function readAnswer(message: JsonObject, line: string): JSONRPCMessage | undefined {
  const id = asId(message['id']);
  if (id === undefined) return undefined;
  const { result, error } = message;
  if (error !== undefined && error !== null) {
    const { code, message: text, data } = isObject(error) ? error : ({ message: error } as JsonObject);
    return {
      jsonrpc: '2.0',
      id,
      error: {
        code: Number.isInteger(code) ? Number(code) : INTERNAL_ERROR,
        message: typeof text === 'string' ? text : JSON.stringify(error),
        data,
      },
    };
  }
  if (!isObject(result)) {
    const message = 'The server sent an answer that holds no result object.';
    return failure(id, new BridgeError('E_TOOL_FAILED', message, { fault: 'downstream' }));
  }
  const answer = { jsonrpc: '2.0' as const, id, result };
  // The one member that the SDK looks at in a greeting as well; the answer's own text still has it.
  if (!isObject(result['_meta'])) delete result['_meta'];
  lines.set(result, line);
  return answer;
}

/** Fails the request whose answer was too long to keep; undefined where it was no answer. */
export function readOversized(bytes: number, envelope: Envelope): JSONRPCMessage | undefined {
  const id = answeredBy(envelope);
  return id === undefined ? undefined : failure(id, tooLarge(bytes));
}

/** The error for an answer of at least so many bytes. */
export function tooLarge(bytes: number): BridgeError {
  return tooMuch(`an answer of ${bytes} bytes, more than the bridge accepts`);
}

/** Our request that it answers; undefined where it is no answer. Only what cannot be parsed is looked at like this. */
function answeredBy({ id, hasMethod, isAnswer }: Envelope): RequestId | undefined {
  return hasMethod || !isAnswer || id === undefined ? undefined : asId(JSON.parse(id));
}

/** Our requests have numbers, but for a few of the SDK's; a server that answers with the number as text is understood. */
export function asId(id: unknown): RequestId | undefined {
  if (typeof id === 'string' && !/^\d+$/.test(id)) return id;
  const number = typeof id === 'number' || typeof id === 'string' ? Number(id) : Number.NaN;
  return Number.isSafeInteger(number) ? number : undefined;
}

function tooMuch(what: string): BridgeError {
  const remedy = 'Ask it for less at a time.';
  return new BridgeError('E_FRAME_TOO_LARGE', `The server sent ${what}.`, { fault: 'downstream', remedy });
}

const notJson = (): BridgeError =>
  new BridgeError('E_TOOL_FAILED', 'The server sent an answer that is not JSON.', {
    fault: 'downstream',
    remedy: 'NaN and Infinity, for example, are not JSON; ask it for less or for something else.',
  });

/** The error itself travels as the data of a JSON-RPC error: no server can forge an instance. */
export function failure(id: RequestId, error: BridgeError): JSONRPCMessage {
  return { jsonrpc: '2.0', id, error: { code: INTERNAL_ERROR, message: error.message, data: error } };
}
