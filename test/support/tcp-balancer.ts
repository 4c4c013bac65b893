// One address in front of several instances: a connection goes to the next one that says it is ready, and to the one after it
// where it is refused. What proxies do that look at /readyz.

import net from 'node:net';
import { pause } from './time.js';

const LOOK_MS = 50;

export class TcpBalancer implements AsyncDisposable {
  readonly #ports: number[] = [];
  readonly #ready = new Set<number>();
  readonly #sockets = new Set<net.Socket>();
  readonly #looking: NodeJS.Timeout;
  readonly #server = net.createServer((client) => void this.#serve(client));
  #next = 0;

  constructor() {
    this.#looking = setInterval(() => void this.#look(), LOOK_MS);
  }

  /** Resolves with the address of /mcp. */
  async listen(): Promise<URL> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return new URL(`http://127.0.0.1:${(this.#server.address() as net.AddressInfo).port}/mcp`);
  }

  /** Resolves when the instance is ready. */
  async add(port: number): Promise<void> {
    this.#ports.push(port);
    while (!this.#ready.has(port)) await pause(LOOK_MS);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#looking);
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #look(): Promise<void> {
    for (const port of this.#ports) {
      const answer = await fetch(`http://127.0.0.1:${port}/readyz`, {
        headers: { connection: 'close' },
      }).catch(() => undefined);
      if (answer?.ok === true) this.#ready.add(port);
      else this.#ready.delete(port);
    }
  }

  async #serve(client: net.Socket): Promise<void> {
    this.#watch(client);
    const ready = this.#ports.filter((port) => this.#ready.has(port));
    const first = this.#next++;
    for (let at = 0; at < ready.length; at++) {
      const instance = net.connect(ready[(first + at) % ready.length] ?? 0, '127.0.0.1');
      this.#watch(instance);
      const isOpen = await new Promise((resolve) => {
        instance.once('connect', () => resolve(true)).once('error', () => resolve(false));
      });
      if (isOpen === false) continue;
      client.on('close', () => instance.destroy());
      instance.on('close', () => client.destroy());
      client.pipe(instance).pipe(client);
      return;
    }
    client.destroy();
  }

  #watch(socket: net.Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => {}).on('close', () => this.#sockets.delete(socket));
  }
}
