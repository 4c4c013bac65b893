// A large body whose call would be refused is refused before it is read, and its sender reads that answer. The control of each is
// the same body while there is room, or a small one. What is read is parsed in turn with the requests of others.

import net from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { BridgeError } from '../../../src/base/errors.js';
import { OF_ONE_PROCESS, Scheduler, UNLIMITED } from '../../../src/base/waiting/scheduler.js';
import { type Stub, stubFront } from '../../support/http-front.js';
import { NEVER, until } from '../../support/time.js';

const BODY_BYTES = 5_000_000;
const callOf = (args: object) =>
  JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'whoami', arguments: args },
  });
const SMALL = callOf({});
const LARGE = callOf({ filling: 'x'.repeat(BODY_BYTES) });

const opened: AsyncDisposable[] = [];
let stub: Stub;
/** How many calls of anybody have room. */
let room: number;
/** How many others were on their way each time that somebody asked. */
let asked: number[];
beforeEach(async () => {
  room = 0;
  asked = [];
  stub = await stubFront(opened, {
    parts: {
      refusalAhead: (_principal, coming) => {
        asked.push(coming);
        if (coming < room) return undefined;
        return new BridgeError('E_BUSY', 'Nothing has run: 2 runs wait already.', {
          fault: 'agent',
          remedy: 'Make the same call again in 7 s.',
          retryAfterSeconds: 7,
        });
      },
    },
  });
});
afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each[Symbol.asyncDispose]();
});

const head = (...lines: readonly string[]) =>
  [
    'POST /mcp HTTP/1.1',
    'Host: localhost',
    'Authorization: Bearer ann',
    'Content-Type: application/json',
    'Accept: application/json, text/event-stream',
    ...lines,
    '\r\n',
  ].join('\r\n');
const sized = (body: string) => `${head(`Content-Length: ${Buffer.byteLength(body)}`)}${body}`;
const chunked = (body: string) => {
  const pieces = body.match(/.{1,65536}/g) ?? [];
  const written = pieces.map((piece) => `${piece.length.toString(16)}\r\n${piece}\r\n`);
  return `${head('Transfer-Encoding: chunked')}${written.join('')}0\r\n\r\n`;
};

/** A connection whose client reads nothing before all of its requests are sent, as many programs do. */
class Connection {
  readonly #socket = net.connect(Number(stub.url.port), '127.0.0.1');
  /** All that has come. */
  got = '';
  isClosed = false;
  /** Code of the error by which it was lost. */
  lost: string | undefined;

  constructor() {
    this.#socket.on('error', ({ code }: NodeJS.ErrnoException) => {
      this.lost = code;
    });
    this.#socket.on('close', () => {
      this.isClosed = true;
    });
    this.#socket.pause();
    opened.push({ [Symbol.asyncDispose]: async () => void this.#socket.destroy() });
  }

  async send(text: string): Promise<this> {
    await new Promise((resolve) => this.#socket.write(text, resolve));
    if (this.#socket.listenerCount('data') === 0)
      this.#socket.on('data', (piece: Buffer) => {
        this.got += piece.toString();
      });
    this.#socket.resume();
    return this;
  }

  /** The first so many answers, when they are there. */
  async answers(count: number): Promise<readonly { status: number; text: string }[]> {
    const found = () => this.got.split(/(?=HTTP\/1\.1 )/).filter((answer) => /\r\n\r\n.*\S/s.test(answer));
    await until(() => found().length >= count || this.lost !== undefined);
    return found().map((text) => ({ status: Number(text.slice(9, 12)), text }));
  }
}

const statuses = (answers: readonly { status: number }[]) => answers.map(({ status }) => status);

describe('where a further call would be refused', () => {
  it('a large body is refused before any of it has come, with what it has, what is allowed and when to come back', async () => {
    const connection = await new Connection().send(head(`Content-Length: ${BODY_BYTES}`));
    const [answer] = await connection.answers(1);
    expect(answer?.status).toBe(429);
    expect(answer?.text).toMatch(/^retry-after: 7\r$/m);
    expect(answer?.text).toContain(
      'Your request of 4.8 MB was not read. Nothing has run: 2 runs wait already. Make the same call again in 7 s. Requests of at most 64 KB are still read.',
    );
    await until(() => stub.events.some(({ type }) => type === 'http.request'));
    expect(stub.events).toContainEqual(
      expect.objectContaining({ type: 'http.request', status: 429, principal: 'token:ann' }),
    );
  });

  it.each([
    ['says its size', sized],
    ['comes in chunks', chunked],
  ])(
    'a sender of one that %s reads the answer after all is sent, and goes on in the connection',
    async (_how, written) => {
      const connection = await new Connection().send(written(LARGE) + sized(SMALL));
      const answers = await connection.answers(2);
      expect(statuses(answers)).toEqual([429, 200]);
      expect(connection.lost).toBeUndefined();
    },
  );

  it.each([
    ['says its size', sized],
    ['comes in chunks', chunked],
  ])('a large body that %s is taken while there is room, as the control', async (_how, written) => {
    room = 1;
    const connection = await new Connection().send(written(LARGE));
    expect(statuses(await connection.answers(1))).toEqual([200]);
  });

  it('a client that asks before it sends is told so, and its connection closed, since it may send nothing', async () => {
    const asks = head(`Content-Length: ${LARGE.length}`, 'Expect: 100-continue');
    const connection = await new Connection().send(asks);
    expect(statuses(await connection.answers(1))).toEqual([429]);
    await until(() => connection.isClosed);
    room = 1;
    const other = await new Connection().send(asks);
    await until(() => other.got === 'HTTP/1.1 100 Continue\r\n\r\n');
    other.got = '';
    await other.send(LARGE);
    expect(statuses(await other.answers(1))).toEqual([200]);
  });

  it('small bodies are read, in chunks too', async () => {
    for (const written of [sized, chunked]) {
      const connection = await new Connection().send(written(SMALL));
      expect(statuses(await connection.answers(1))).toEqual([200]);
    }
  });
});

it('bodies that are thrown away are read at a pace, and what is served beside them is not', async () => {
  const flood = await Promise.all(
    Array.from({ length: 4 }, () => new Connection().send(head(`Content-Length: ${BODY_BYTES}`))),
  );
  for (const connection of flood) await connection.answers(1);
  const beganAt = performance.now();
  const isOver = flood.map((connection) => connection.send('x'.repeat(BODY_BYTES) + sized(SMALL)));
  const other = await new Connection().send(sized(SMALL));
  expect(statuses(await other.answers(1))).toEqual([200]);
  for (const connection of await Promise.all(isOver))
    expect(statuses(await connection.answers(2))).toEqual([429, 200]);
  // 20 MB at 8 KB in a millisecond: a slow machine takes longer, and none less.
  expect(performance.now() - beganAt).toBeGreaterThan(1_200);
});

it('bodies that come in count as calls until they are parsed, and no longer', async () => {
  room = 2;
  const [first] = [new Connection(), new Connection()].map((each) =>
    each.send(sized(LARGE).slice(0, 100_000)),
  );
  await until(() => asked.length === 2);
  expect(asked).toEqual([0, 1]);
  const third = await new Connection().send(head(`Content-Length: ${BODY_BYTES}`));
  expect(statuses(await third.answers(1))).toEqual([429]);
  const ended = await (await first)?.send(sized(LARGE).slice(100_000));
  expect(statuses((await ended?.answers(1)) ?? [])).toEqual([200]);
  const next = await new Connection().send(sized(LARGE));
  expect(statuses(await next.answers(1))).toEqual([200]);
});

it('a request that is refused unread counts as one, so that nobody sends them without end', async () => {
  stub = await stubFront(opened, {
    env: { MCP_BRIDGE_HTTP_RATE: '3' },
    parts: {
      refusalAhead: () => new BridgeError('E_BUSY', 'Nothing has run.', { fault: 'agent' }),
    },
  });
  for (let at = 0; at < 3; at++)
    await (await new Connection().send(head('Content-Length: 70000'))).answers(1);
  const [answer] = await (await new Connection().send(sized(SMALL))).answers(1);
  expect(answer?.text).toContain('You have sent too many requests');
});

it('large bodies are parsed one at a time, and a request of another principal comes between two of them', async () => {
  // A turn lasts until its request is answered here, since a test cannot tell when the process is idle.
  const turns = new Scheduler({ atOnce: 1, rests: OF_ONE_PROCESS.rests });
  const place = (owner: string) => turns.place({ owner, limits: UNLIMITED, memoryBytes: 0 }, NEVER).turn;
  const order: string[] = [];
  stub = await stubFront(opened, {
    parts: {
      turn: async (owner) => {
        const turn = await place(owner);
        order.push(owner);
        return turn;
      },
    },
  });
  const first = await place('somebody');
  const floods = Array.from({ length: 6 }, () => new Connection().send(sized(LARGE)));
  await until(() => turns.waiting === 6);
  const other = new Connection().send(sized(SMALL).replace('Bearer ann', 'Bearer ben'));
  await until(() => turns.waiting === 7);
  if ('end' in first) first.end();
  for (const connection of [...floods, other])
    expect(statuses(await (await connection).answers(1))).toEqual([200]);
  expect(order.indexOf('token:ben')).toBeLessThanOrEqual(1);
});
