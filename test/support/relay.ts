// Something between a client and a service that can be cut, held up and let go on again: what a network does.

import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** Where something listens. */
export type Address = { readonly path: string } | { readonly host: string; readonly port: number };

type Pair = { readonly near: Socket; far: Socket | undefined };

export class Relay implements AsyncDisposable {
  readonly #target: Address;
  readonly #server: Server;
  readonly #pairs = new Set<Pair>();
  #state: 'open' | 'cut' | 'stalled' = 'open';
  /** How many connections there have been. */
  connections = 0;
  /** How many bytes have come back from the service. */
  answered = 0;

  private constructor(target: Address) {
    this.#target = target;
    this.#server = createServer({ allowHalfOpen: true }, (near) => this.#take(near));
  }

  /** Listens at `path`, or at a free port of the loopback where there is none, for what is to reach `target`. */
  static async open(target: Address, path?: string): Promise<Relay> {
    const relay = new Relay(target);
    relay.#server.listen(path === undefined ? { host: '127.0.0.1', port: 0 } : { path });
    await once(relay.#server, 'listening');
    return relay;
  }

  get address(): Address {
    const address = this.#server.address() as AddressInfo | string;
    return typeof address === 'string' ? { path: address } : { host: '127.0.0.1', port: address.port };
  }

  /** How many connections are open now. */
  get open(): number {
    return this.#pairs.size;
  }

  /** Ends every connection at once, and each new one as soon as it is made. */
  cut(): void {
    this.#state = 'cut';
    for (const { near, far } of this.#pairs) for (const socket of [near, far]) reset(socket);
  }

  /** Nothing gets through any more and nothing ends, as when a cable is pulled. */
  stall(): void {
    this.#state = 'stalled';
    for (const { near, far } of this.#pairs) for (const socket of [near, far]) socket?.pause();
  }

  /** Lets through what comes, and what was held up. */
  resume(): void {
    this.#state = 'open';
    for (const pair of this.#pairs) {
      if (pair.far === undefined) this.#join(pair);
      for (const socket of [pair.near, pair.far]) socket?.resume();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #take(near: Socket): void {
    this.connections++;
    near.on('error', () => near.destroy());
    if (this.#state === 'cut') return reset(near);
    const pair: Pair = { near, far: undefined };
    this.#pairs.add(pair);
    near.once('close', () => {
      pair.far?.destroy();
      this.#pairs.delete(pair);
    });
    if (this.#state === 'open') this.#join(pair);
  }

  #join(pair: Pair): void {
    const { near } = pair;
    const far = connect({ ...this.#target, allowHalfOpen: true });
    pair.far = far;
    far.on('error', () => far.destroy());
    far.once('close', () => near.destroy());
    far.on('data', (bytes: Buffer) => {
      this.answered += bytes.length;
      this.#pass(bytes, far, near);
    });
    near.on('data', (bytes: Buffer) => this.#pass(bytes, near, far));
    far.once('end', () => near.end());
    near.once('end', () => far.end());
  }

  #pass(bytes: Buffer, from: Socket, to: Socket): void {
    if (to.write(bytes)) return;
    from.pause();
    to.once('drain', () => {
      if (this.#state !== 'stalled') from.resume();
    });
  }
}

/** Over tcp the other end is told of a break, and not of an orderly end; a unix socket knows the one kind only. */
function reset(socket: Socket | undefined): void {
  if (socket?.remoteAddress === undefined) socket?.destroy();
  else socket.resetAndDestroy();
}
