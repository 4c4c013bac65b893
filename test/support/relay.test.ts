// A relay passes everything on, and can be cut, held up and let go on.

import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { buffer, text } from 'node:stream/consumers';
import { afterEach, expect, it } from 'vitest';
import { Relay } from './relay.js';

const stack: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of stack.splice(0).reverse()) await close();
});

/** A relay before a service that sends back what it gets; the service's own end of each connection is noted. */
async function echoBehindRelay(): Promise<{ relay: Relay; ended: Socket[]; dial: () => Socket }> {
  const ended: Socket[] = [];
  const service = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => {});
    socket.once('close', () => ended.push(socket));
    socket.pipe(socket);
  });
  service.listen({ host: '127.0.0.1', port: 0 });
  await once(service, 'listening');
  stack.push(() => new Promise((resolve) => service.close(resolve)));
  const { port } = service.address() as { port: number };
  const relay = await Relay.open({ host: '127.0.0.1', port });
  stack.push(() => relay[Symbol.asyncDispose]());
  const dial = () => {
    const socket = connect({ ...relay.address, allowHalfOpen: true });
    socket.on('error', () => {});
    return socket;
  };
  return { relay, ended, dial };
}

/** Whatever it is closed by. */
const closed = (socket: Socket) => new Promise((resolve) => socket.once('close', resolve));

it('what is sent comes back whole, and half-closed connections stay open for the answer', async () => {
  const { relay, dial } = await echoBehindRelay();
  const sent = Buffer.alloc(3_000_000, 'abcdefg');
  const socket = dial();
  socket.end(sent);
  expect((await buffer(socket)).equals(sent)).toBe(true);
  expect(relay).toMatchObject({ connections: 1, answered: sent.length });
});

it('a cut ends what is open on both sides and what is dialled later, until it is resumed', async () => {
  const { relay, ended, dial } = await echoBehindRelay();
  const first = dial();
  first.write('hello');
  expect(String((await once(first, 'data'))[0])).toBe('hello');
  relay.cut();
  await closed(first);
  const second = dial();
  second.write('anybody?');
  await closed(second);
  expect(ended.length).toBe(1);
  relay.resume();
  const third = dial();
  third.end('again');
  expect(await text(third)).toBe('again');
});

it('what is held up neither passes nor ends, and passes later, on old connections and new ones', async () => {
  const { relay, dial } = await echoBehindRelay();
  const before = dial();
  before.write('1');
  await once(before, 'data');
  relay.stall();
  const late = dial();
  before.end('2');
  late.end('3');
  // A connection of its own that is not held up has gone there and back by the time that these would have.
  const other = await echoBehindRelay();
  const quick = other.dial();
  quick.end('quick');
  expect(await text(quick)).toBe('quick');
  expect([relay.answered, before.destroyed, late.destroyed]).toEqual([1, false, false]);
  relay.resume();
  expect(await Promise.all([text(before), text(late)])).toEqual(['2', '3']);
});
