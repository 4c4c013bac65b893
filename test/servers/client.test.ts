// What the SDK's client does, that this floor relies on or works around.

import { getEventListeners } from 'node:events';
import { expect, it, onTestFinished } from 'vitest';
import { McpClient } from '../../src/servers/connection/client.js';
import { rawResultOf } from '../../src/servers/connection/inbound.js';
import { StdioTransport } from '../../src/servers/stdio/stdio-transport.js';
import { NEVER } from '../support/time.js';
import { hostile } from './hostile.js';

async function greet() {
  const { command, args } = hostile();
  const env = { PATH: process.env['PATH'] ?? '' };
  const link = new StdioTransport({ command, args, env, cwd: undefined }, (text) => text);
  onTestFinished(() => link.close());
  await link.start();
  const handlers = { capabilities: {}, onNotification: () => {}, onRequest: () => undefined };
  return McpClient.greet(link, handlers, NEVER);
}

it('no listener stays on the signal of a request that has ended, so pages and calls may share one', async () => {
  const client = await greet();
  const { signal } = new AbortController();
  await client.request('tools/list', {}, { signal });
  await client.request('tools/call', { name: 'fail', arguments: {} }, { signal });
  await client.request('tools/call', { name: 'rpc_error', arguments: {} }, { signal }).catch(() => {});
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

it('progress that comes right before the answer is told', async () => {
  const client = await greet();
  const heard: number[] = [];
  const options = {
    signal: NEVER,
    onprogress: ({ progress }: { progress: number }) => void heard.push(progress),
  };
  await client.request('tools/call', { name: 'report', arguments: { steps: 3 } }, options);
  expect(heard).toEqual([1, 2, 3]);
});

it('an answer leads to its own characters, whatever the SDK makes of it', async () => {
  const client = await greet();
  const result = await client.request(
    'tools/call',
    { name: 'echo_raw', arguments: { n: 1 } },
    { signal: NEVER },
  );
  expect(rawResultOf(result)?.text).toBe('{"content":[],"structuredContent":{"n":1}}');
});
