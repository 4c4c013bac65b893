// What a window says to a bridge that is gone already, before it has heard of that.

import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { expect, it, onTestFinished } from 'vitest';
import { FrameReader } from '../../../src/service/windows/frames.js';
import { relay } from '../../../src/service/windows/relay.js';
import { until } from '../../support/time.js';

/** A bridge that answers nothing, on a socket; `window` is the end of whoever has met it. */
async function bridge() {
  const folder = mkdtempSync(join(tmpdir(), 'relay-'));
  const server: Server = createServer();
  await once(server.listen(join(folder, 's')), 'listening');
  const window = connect(join(folder, 's'));
  const [socket] = (await once(server, 'connection')) as [Socket];
  if (window.connecting) await once(window, 'connect');
  // As of any connection that has said its first message.
  window.on('error', () => {});
  let said = '';
  const reader = new FrameReader();
  socket.on('data', (chunk: Buffer) => {
    for (const { payload } of reader.push(chunk)) said += payload.toString();
  });
  onTestFinished(() => {
    for (const each of [socket, window]) each.destroy();
    server.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const joined = {
    is: 'joined',
    pid: 1,
    version: '1',
    socket: window,
    reader: new FrameReader(),
    rest: [],
  } as const;
  return { socket, joined, said: () => said };
}

const call = (id: number, name: string) =>
  `${JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: { name } })}\n`;

it('what is said to a bridge that has ended unheard goes to the next, and only what it may have read is lost', async () => {
  const [first, next] = [await bridge(), await bridge()];
  const [input, output, log] = [new PassThrough(), new PassThrough(), new PassThrough()];
  let told = '';
  output.on('data', (chunk: Buffer) => {
    told += chunk.toString();
  });
  const over = relay({ input, output, log, joined: first.joined, meetAgain: async () => next.joined });
  input.write(call(1, 'read'));
  await until(() => first.said().includes('read'));
  first.socket.destroy();
  // Before anything is heard of the socket again.
  input.write(call(2, 'unheard'));
  await until(() => next.said() !== '' || told.includes('"id":2'));
  expect(next.said()).toBe(call(2, 'unheard'));
  expect(told).toContain('"id":1');
  expect(told).not.toContain('"id":2');
  input.end();
  await over;
});
