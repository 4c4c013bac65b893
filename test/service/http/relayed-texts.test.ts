// What a server or a run has written as JSON leaves over HTTP character by character, in the bytes that a client reads.

import { afterEach, describe, expect, it } from 'vitest';
import { RawJson } from '../../../src/base/json/json-text.js';
import { AgentServer } from '../../../src/mcp/requests/agent-server.js';
import { RelayedTexts } from '../../../src/mcp/requests/relayed-texts.js';
import { type Stub, stubFront } from '../../support/http-front.js';

const opened: AsyncDisposable[] = [];
afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each[Symbol.asyncDispose]();
});

const NUMBERS = '{"id": 12345678901234567890, "price": 1.0, "big": 1e400, "list": [0.10, -0]}';
const RESULT = {
  content: [{ type: 'text', text: 'it \ud800 is' }],
  structuredContent: { status: 'ok', result: new RawJson(NUMBERS), more: [new RawJson('1.00'), 'a\nb'] },
};

/** A front whose only tool answers with the result. */
const front = (): Promise<Stub> =>
  stubFront(opened, {
    parts: {
      serverFor: (_principal, { era, clientProtocol }) => {
        const server = new AgentServer({
          era,
          capabilities: { tools: {} },
          instructions: '',
          clientProtocol,
        });
        server.answer('tools/call', () => RESULT);
        return server;
      },
    },
  });

const HEADERS = {
  authorization: 'Bearer ann',
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
};
const MODERN = {
  headers: { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'a' },
  params: {
    name: 'a',
    _meta: {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'c', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    },
  },
};

async function post({ url }: Stub, method: string, params: object, headers: object = {}) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 7, method, params });
  const response = await fetch(url, { method: 'POST', headers: { ...HEADERS, ...headers }, body });
  return { response, text: await response.text() };
}

/** What must be in the bytes, whatever stands around it. */
function expectWhole(text: string) {
  expect(text).toContain(`"result":${NUMBERS},"more":[1.00,"a\\nb"]`);
  expect(text).toContain('it \\ufffd is');
  expect(text).not.toContain('\\ud800');
}

describe('a result with numbers that JavaScript would change', () => {
  it('is whole for a client of 2026-07-28', async () => {
    const { response, text } = await post(await front(), 'tools/call', MODERN.params, MODERN.headers);
    expect(response.status).toBe(200);
    expectWhole(text);
  });

  it('is whole for a client of 2025 without a session, and in one', async () => {
    const stub = await front();
    expectWhole(
      (await post(stub, 'tools/call', { name: 'a' }, { 'mcp-protocol-version': '2025-11-25' })).text,
    );
    const greeting = {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'c', version: '1' },
    };
    const { response } = await post(stub, 'initialize', greeting);
    const session = { 'mcp-session-id': response.headers.get('mcp-session-id') ?? '' };
    expect(session['mcp-session-id']).not.toBe('');
    expectWhole((await post(stub, 'tools/call', { name: 'a' }, session)).text);
  });
});

describe('marks', () => {
  it('cost nothing where there is nothing to relay', () => {
    const texts = new RelayedTexts();
    const plain = { content: [{ type: 'text', text: 'a' }] };
    expect(texts.mark(plain)).toBe(plain);
    const piece = Buffer.from('data: {"a":"b"}\n\n');
    expect(texts.placeTexts(piece)).toBe(piece);
  });

  it('are those of their own request, and keep a text on one line', () => {
    const [one, other] = [new RelayedTexts(), new RelayedTexts()];
    const written = Buffer.from(JSON.stringify(one.mark({ a: new RawJson('{\n"b": 1.0}') })));
    expect(Buffer.from(one.placeTexts(written)).toString()).toBe('{"a":{ "b": 1.0}}');
    expect(Buffer.from(other.placeTexts(written)).toString()).not.toContain('1.0');
  });
});
