// Requests of 2026-07-28 over HTTP: each carries all that it needs, so there is no session, and the end of its connection ends
// its command. The SDK checks headers and form, and streams every answer, since a silent connection would be taken for dead.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { type NodeIncomingMessageLike, toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, PROTOCOL_VERSION_META_KEY } from '@modelcontextprotocol/server';
import { executeServer } from './exec-server.js';
import type { Execute } from './execute.js';

/** Versions are dates; before this one there are sessions. */
const MODERN_SINCE = '2026-07-28';

export class ModernRequests {
  readonly #handler: ReturnType<typeof createMcpHandler>;

  /** `keepAliveMs`: how long a stream may be silent. */
  constructor(execute: Execute, keepAliveMs: number) {
    const options = { legacy: 'reject', responseMode: 'sse', keepAliveMs } as const;
    this.#handler = createMcpHandler(() => executeServer(execute), options);
  }

  /** Whether header or body claim to be of this revision; what is wrong with the claim is answered here. */
  claims({ headers }: IncomingMessage, body: unknown): boolean {
    const version = headers['mcp-protocol-version'];
    if (typeof version === 'string' && version >= MODERN_SINCE) return true;
    const meta = memberOf(memberOf(body, 'params'), '_meta');
    return memberOf(meta, PROTOCOL_VERSION_META_KEY) !== undefined;
  }

  /** `body` is what was read of `request`. */
  async answer(request: IncomingMessage, response: ServerResponse, body: unknown): Promise<void> {
    const handler = this.#handler;
    // The adapter writes a body that was read as text again; the handler wants it as it is, so the adapter gets an empty one.
    const answering = toNodeHandler({ fetch: (web) => handler.fetch(web, { parsedBody: body }) });
    await answering(request as NodeIncomingMessageLike, response, {});
  }

  close(): Promise<void> {
    return this.#handler.close();
  }
}

const memberOf = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null
    ? (value as Readonly<Record<string, unknown>>)[name]
    : undefined;
