// Listeners on the host that nobody may reach from a sandbox: on every address of this machine, and on an abstract
// unix socket, which only a network namespace hides. They count who came. Linux has abstract sockets; elsewhere there
// is none.

import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { networkInterfaces } from 'node:os';

export type Canaries = AsyncDisposable & {
  /** `host:port`, IPv4. */
  readonly addresses: readonly string[];
  /** Without the leading NUL; undefined where there are none. */
  readonly abstractName: string | undefined;
  /** Connections so far. */
  readonly visitors: () => { readonly tcp: number; readonly abstract: number };
};

export async function openCanaries(): Promise<Canaries> {
  const count = { tcp: 0, abstract: 0 };
  const tcp = createServer((socket) => {
    count.tcp += 1;
    socket.destroy();
  });
  tcp.listen(0, '0.0.0.0');
  await once(tcp, 'listening');
  const bound = tcp.address();
  const port = typeof bound === 'object' && bound !== null ? bound.port : 0;
  const servers: Server[] = [tcp];
  let abstractName: string | undefined;
  if (process.platform === 'linux') {
    abstractName = `mcp-sandbox-bridge-${randomBytes(6).toString('hex')}`;
    const abstract = createServer((socket) => {
      count.abstract += 1;
      socket.destroy();
    });
    abstract.listen(`\0${abstractName}`);
    await once(abstract, 'listening');
    servers.push(abstract);
  }
  return {
    addresses: ownAddresses().map((address) => `${address}:${port}`),
    abstractName,
    visitors: () => ({ ...count }),
    [Symbol.asyncDispose]: async () => {
      await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
    },
  };
}

function ownAddresses(): string[] {
  const all = Object.values(networkInterfaces()).flatMap((of) => of ?? []);
  return [
    ...new Set(['127.0.0.1', ...all.filter(({ family }) => family === 'IPv4').map((one) => one.address)]),
  ];
}
