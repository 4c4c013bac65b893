// A way from this machine's loopback to an address in the cluster's network, such as that of a Service: by the network of a node.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { inNetwork, NODES } from './place.mjs';

const DOOR = fileURLToPath(new URL('door.mjs', import.meta.url));

/** Resolves with the port of the loopback that leads to `host` and `port` there, until it is closed. */
export async function openWay(/** @type {string} */ host, /** @type {number} */ port) {
  const [node] = NODES;
  if (node === undefined) throw new Error('the cluster has no node');
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const here = /** @type {import('node:net').AddressInfo} */ (server.address()).port;
  const [program = '', ...args] = [...inNetwork(node.netns), process.execPath, DOOR, host, String(port)];
  const child = spawn(program, args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  child.send('door', server);
  await once(child, 'message');
  server.close();
  return {
    port: here,
    close: async () => {
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    },
  };
}
