// Members that each message of the protocol of 2026-07-28 carries in its `_meta`, and the headers in which HTTP shows the
// message.

import { isObject, type JsonObject } from '../../base/json/records.js';
import { PACKAGE_NAME, VERSION } from '../../base/version.js';

export const MODERN_VERSION = '2026-07-28';
/** Versions of the earlier era, whose connections open with `initialize`. */
export const WITH_INITIALIZE: ReadonlySet<string> = new Set([
  '2024-10-07',
  '2024-11-05',
  '2025-03-26',
  '2025-06-18',
  '2025-11-25',
]);

const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion';
export const LOG_LEVEL_KEY = 'io.modelcontextprotocol/logLevel';

export const CLIENT_INFO = { name: PACKAGE_NAME, version: VERSION };

/** The envelope of the one request that the SDK does not make. */
export function envelopeOf(clientCapabilities: object): Record<string, unknown> {
  return {
    [VERSION_KEY]: MODERN_VERSION,
    'io.modelcontextprotocol/clientInfo': CLIENT_INFO,
    'io.modelcontextprotocol/clientCapabilities': clientCapabilities,
  };
}

/** The protocol version that a message says it is of; undefined for one of the earlier era, where a session knows it. */
function versionIn(message: object): string | undefined {
  const { params } = message as { readonly params?: unknown };
  const meta = isObject(params) ? params['_meta'] : undefined;
  const version = isObject(meta) ? meta[VERSION_KEY] : undefined;
  return typeof version === 'string' ? version : undefined;
}

/** Which parameter `Mcp-Name` shows, by method (SEP-2243). */
const NAMED_BY: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
};

/** The headers by which gateways route a request without reading it; undefined for a message of the earlier era. */
export function modernHeaders(message: object): Readonly<Record<string, string>> | undefined {
  const version = versionIn(message);
  if (version === undefined) return undefined;
  const { method, params } = message as { readonly method: string; readonly params: JsonObject };
  const key = Object.hasOwn(NAMED_BY, method) ? NAMED_BY[method] : undefined;
  const name = key === undefined ? undefined : params[key];
  return {
    'mcp-protocol-version': version,
    'mcp-method': method,
    ...(typeof name === 'string' ? { 'mcp-name': headerValue(name) } : {}),
  };
}

const MARK = { start: '=?base64?', end: '?=' };
const PLAIN = /^[\t\x20-\x7e]+$/;

/** A text as the value of a header: as it is, or in base64 where a header could not carry it. */
export function headerValue(text: string): string {
  const looksMarked = text.startsWith(MARK.start) && text.endsWith(MARK.end);
  if (PLAIN.test(text) && text === text.trim() && !looksMarked) return text;
  return `${MARK.start}${Buffer.from(text).toString('base64')}${MARK.end}`;
}
