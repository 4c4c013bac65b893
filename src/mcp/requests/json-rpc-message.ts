// A message of an agent, by the rules of JSON-RPC and of MCP for all messages: the SDK drops without a word what breaks them,
// and its client would wait for ever.

import {
  isJSONRPCErrorResponse,
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  type JSONRPCMessage,
  type RequestId,
} from '@modelcontextprotocol/server';
import { described } from './complaint.js';

// JSON-RPC 2.0, section 5.1.
const INVALID_REQUEST = -32_600;
const INVALID_PARAMS = -32_602;

/** `id` is whose answer the error is: null where that cannot be known, undefined where nobody waits for one. */
export type BadMessage = {
  readonly code: number;
  readonly reason: string;
  readonly id: RequestId | null | undefined;
};

type Members = Readonly<Record<string, unknown>>;

/** The message without members that JSON-RPC does not know, or what is wrong with it. */
export function readMessage(message: object): JSONRPCMessage | BadMessage {
  const { jsonrpc, id, method, params, result, error } = message as Members;
  if (method === undefined && (result !== undefined || error !== undefined)) {
    const answer = { jsonrpc, id, ...(error === undefined ? { result } : { error }) };
    if (isJSONRPCResultResponse(answer) || isJSONRPCErrorResponse(answer)) return answer;
    return bad(INVALID_REQUEST, 'an answer needs an id, and a result or an error', undefined);
  }
  const wrong = wrongMember(message as Members);
  if (wrong !== undefined) return wrong;
  const read = {
    jsonrpc,
    ...('id' in message ? { id } : {}),
    method,
    ...(params === undefined ? {} : { params }),
  };
  if (isJSONRPCRequest(read) || isJSONRPCNotification(read)) return read;
  return bad(INVALID_PARAMS, wrongParams(params), 'id' in message ? (id as RequestId) : undefined);
}

/** What is wrong besides the parameters. */
function wrongMember({ jsonrpc, method, ...message }: Members): BadMessage | undefined {
  const isNotification = !('id' in message);
  const id = isNotification ? undefined : idOf(message['id']);
  if (id === null)
    return bad(
      INVALID_REQUEST,
      `id: got ${described(message['id'])}, expected a text or a whole number.`,
      null,
    );
  const answered = isNotification && method !== undefined ? undefined : (id ?? null);
  if (jsonrpc !== '2.0')
    return bad(INVALID_REQUEST, `jsonrpc: got ${described(jsonrpc)}, expected "2.0".`, answered);
  if (typeof method !== 'string')
    return bad(INVALID_REQUEST, `method: got ${described(method)}, expected the name of a method.`, answered);
  return undefined;
}

const idOf = (id: unknown): RequestId | null =>
  typeof id === 'string' || (typeof id === 'number' && Number.isSafeInteger(id)) ? id : null;

function wrongParams(params: unknown): string {
  if (typeof params !== 'object' || params === null || Array.isArray(params))
    return `params: got ${described(params)}, expected an object.`;
  const { _meta: meta } = params as Members;
  if (typeof meta !== 'object' || meta === null || Array.isArray(meta))
    return `_meta: got ${described(meta)}, expected an object.`;
  const { progressToken } = meta as Members;
  if (progressToken !== undefined && typeof progressToken !== 'string' && !Number.isInteger(progressToken))
    return `progressToken: got ${described(progressToken)}, expected a text or a whole number.`;
  return `_meta: got ${described(meta)}, expected what MCP says of it.`;
}

const bad = (code: number, reason: string, id: BadMessage['id']): BadMessage => ({ code, reason, id });
