// The agent's side of the conversation: JSON lines on our stdin and stdout. Unlike the SDK's own transport it notices
// the end of stdin, takes lines of any size in linear time, writes RawJson verbatim and waits for a slow reader.
// Nothing else in the process may write to stdout.

import type { Readable, Writable } from 'node:stream';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { MAX_DEPTH, MAX_FRAME_BYTES } from '../protocol/frames.js';
import { parseJson, stringify } from '../protocol/json-text.js';
import { LineSplitter } from '../protocol/lines.js';

// JSON-RPC 2.0, section 5.1.
const PARSE_ERROR = -32_700;

export class AgentTransport implements Transport {
  onmessage?: (message: JSONRPCMessage) => void;
  onclose?: () => void;
  onerror?: (error: Error) => void;
  readonly #input: Readable;
  readonly #output: Writable;
  readonly #lines = new LineSplitter(MAX_FRAME_BYTES);
  #closed = false;

  constructor(input: Readable, output: Writable) {
    this.#input = input;
    this.#output = output;
  }

  async start(): Promise<void> {
    this.#input.on('data', (chunk: Buffer) => this.#receive(chunk));
    for (const event of ['end', 'close', 'error'] as const) this.#input.once(event, () => void this.close());
    // The agent is gone: EPIPE is how a pipe says so.
    this.#output.on('error', () => void this.close());
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#closed) return;
    if (this.#output.write(`${stringify(message)}\n`)) return;
    await new Promise<void>((resolve) => {
      this.#output.once('drain', resolve);
      this.#output.once('close', resolve);
    });
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#input.pause();
    this.onclose?.();
  }

  #receive(chunk: Buffer): void {
    for (const line of this.#lines.push(chunk)) {
      if (this.#closed) return;
      const text = 'text' in line ? line.text.trim() : '';
      if ('oversized' in line)
        this.#refuse(`a message of ${line.oversized} bytes exceeds ${MAX_FRAME_BYTES}`);
      else if (text !== '') this.#handOn(text);
    }
  }

  #handOn(text: string): void {
    let message: unknown;
    try {
      message = parseJson(text, MAX_DEPTH);
    } catch (thrown) {
      return this.#refuse((thrown as Error).message);
    }
    if (typeof message !== 'object' || message === null || Array.isArray(message)) {
      return this.#refuse('a message must be one JSON object');
    }
    this.onmessage?.(message as JSONRPCMessage);
  }

  #refuse(reason: string): void {
    this.onerror?.(new Error(reason));
    this.#output.write(
      `${JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: PARSE_ERROR, message: reason } })}\n`,
    );
  }
}
