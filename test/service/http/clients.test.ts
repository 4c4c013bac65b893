// Real clients of both lines of the SDK against the front: over TCP, over a unix socket, in both eras.

import http from 'node:http';
import { join } from 'node:path';
import {
  Client as ModernClient,
  StreamableHTTPClientTransport as ModernTransport,
} from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema, LoggingMessageNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { ownFolder, type Stub, stubFront } from '../../support/http-front.js';
import { PATIENTLY } from '../../support/time.js';

const opened: AsyncDisposable[] = [];
afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each[Symbol.asyncDispose]();
});

const BEARER = (name: string) => ({ requestInit: { headers: { authorization: `Bearer ${name}` } } });
type Text = { readonly content: ReadonlyArray<{ readonly type: string; readonly text?: string }> };
const text = (result: unknown) => (result as Text).content[0]?.text;

async function oldClient({ url }: Pick<Stub, 'url'>, name = 'ann'): Promise<Client> {
  const client = new Client({ name: 'old', version: '1' }, { capabilities: { elicitation: {} } });
  await client.connect(new StreamableHTTPClientTransport(url, BEARER(name)) as never);
  opened.push({ [Symbol.asyncDispose]: () => client.close() });
  return client;
}

type Mode = 'legacy' | 'auto' | { readonly pin: string };
async function newClient({ url }: Pick<Stub, 'url'>, mode: Mode, name = 'ann'): Promise<ModernClient> {
  const client = new ModernClient(
    { name: 'new', version: '1' },
    { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode } },
  );
  await client.connect(new ModernTransport(url, BEARER(name)));
  opened.push({ [Symbol.asyncDispose]: () => client.close() });
  return client;
}

describe('a client of the first line of the SDK', () => {
  it('has a session, with progress, log lines and questions in it', async () => {
    const stub = await stubFront(opened);
    const client = await oldClient(stub);
    client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept', content: { city: 'Ulm' } }));
    const lines: unknown[] = [];
    client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => {
      lines.push(params.data);
    });
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain('slow');
    const steps: number[] = [];
    const result = await client.callTool({ name: 'progress' }, undefined, {
      onprogress: ({ progress }) => steps.push(progress),
    });
    expect(text(result)).toBe('three steps');
    expect(steps).toEqual([1, 2, 3]);
    await client.setLoggingLevel('info');
    await client.callTool({ name: 'log' });
    expect(lines).toEqual(['a line']);
    expect(JSON.parse(text(await client.callTool({ name: 'ask' })) ?? '')).toEqual({
      action: 'accept',
      content: { city: 'Ulm' },
    });
    expect((await stub.front.figures()).sessions).toBe(1);
  });

  it('ends its session with DELETE, and its calls with a notification', async () => {
    const stub = await stubFront(opened);
    const client = await oldClient(stub);
    const stop = new AbortController();
    const calling = client.callTool({ name: 'slow' }, undefined, { signal: stop.signal });
    await vi.waitFor(() => expect(stub.slow.begun).toBe(1), PATIENTLY);
    stop.abort();
    await expect(calling).rejects.toThrow();
    await vi.waitFor(() => expect(stub.slow.cancelled).toBe(1), PATIENTLY);
    await (client.transport as unknown as StreamableHTTPClientTransport).terminateSession();
    expect((await stub.front.figures()).sessions).toBe(0);
  });

  it('takes an answer of twenty megabytes', async () => {
    const client = await oldClient(await stubFront(opened));
    const result = await client.callTool({ name: 'large', arguments: { bytes: 20_000_000 } });
    expect(text(result)).toHaveLength(20_000_000);
  });
});

describe.each<Mode>(['legacy', 'auto', { pin: '2026-07-28' }])(
  'a client of the second line, mode %j',
  (mode) => {
    it('lists, calls, hears of progress and is asked', async () => {
      const stub = await stubFront(opened);
      const client = await newClient(stub, mode);
      client.setRequestHandler('elicitation/create', () => ({ action: 'accept', content: { city: 'Ulm' } }));
      expect((await client.listTools()).tools).toHaveLength(7);
      const steps: number[] = [];
      const result = await client.callTool(
        { name: 'progress' },
        { onprogress: ({ progress }) => steps.push(progress) },
      );
      expect(text(result)).toBe('three steps');
      expect(steps).toEqual([1, 2, 3]);
      expect(text(await client.callTool({ name: 'ask' }))).toContain('Ulm');
      expect((await stub.front.figures()).sessions).toBe(mode === 'legacy' ? 1 : 0);
    });

    it('ends a call that it takes back', async () => {
      const stub = await stubFront(opened);
      const client = await newClient(stub, mode);
      const stop = new AbortController();
      const calling = client.callTool({ name: 'slow' }, { signal: stop.signal });
      await vi.waitFor(() => expect(stub.slow.begun).toBe(1), PATIENTLY);
      stop.abort();
      await expect(calling).rejects.toThrow();
      await vi.waitFor(() => expect(stub.slow.cancelled).toBe(1), PATIENTLY);
    });
  },
);

it('clients of the 2025 revisions are served without sessions where there are none', async () => {
  const stub = await stubFront(opened, { env: { MCP_BRIDGE_HTTP_SESSIONS: '0' } });
  const client = await oldClient(stub);
  expect(text(await client.callTool({ name: 'whoami' }))).toBe('ann');
  expect((await stub.front.figures()).sessions).toBe(0);
});

it('a request of a 2025 revision that names no session is served without one', async () => {
  const { url } = await stubFront(opened);
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      authorization: 'Bearer ann',
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'whoami' } }),
  });
  expect(response.status).toBe(200);
  expect(response.headers.get('mcp-session-id')).toBeNull();
  expect(await response.text()).toContain('"text":"ann"');
});

it('a unix socket serves its owner without a token', async () => {
  const path = join(ownFolder(opened), 'bridge.sock');
  const stub = await stubFront(opened, { address: `unix:${path}`, parts: { hasCredentials: false } });
  const agent = new http.Agent({ keepAlive: true });
  opened.push({ [Symbol.asyncDispose]: async () => agent.destroy() });
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'whoami' } });
  const answer = await new Promise<string>((resolve, reject) => {
    const request = http.request(
      {
        socketPath: path,
        agent,
        path: '/mcp',
        method: 'POST',
        headers: {
          host: 'localhost',
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
        },
      },
      (response) => {
        let got = '';
        response.on('data', (chunk: Buffer) => {
          got += chunk.toString();
        });
        response.on('end', () => resolve(got));
      },
    );
    request.on('error', reject);
    request.end(body);
  });
  expect(answer).toContain('local user');
  expect(stub.front.address).toBe(`unix:${path}`);
});
