// The monitor of a qemu machine: commands as JSON lines over a unix socket (QMP). Knows no command itself.

import { once } from 'node:events';
import { createConnection } from 'node:net';
import { createInterface } from 'node:readline';

/**
 * A function that has the monitor at the socket `file` execute a command by its name, and resolves with what the command
 * returns. It rejects when the machine refuses the command or has ended. The connection keeps no process alive.
 */
export async function connectMonitor(file) {
  const socket = createConnection(file);
  await once(socket, 'connect');
  socket.unref();
  const waiting = [];
  createInterface({ input: socket }).on('line', (text) => {
    const message = JSON.parse(text);
    if ('return' in message) waiting.shift()?.resolve(message.return);
    if ('error' in message) waiting.shift()?.reject(new Error(message.error.desc));
  });
  socket.on('error', () => {});
  socket.on('close', () => {
    for (const { reject } of waiting.splice(0)) reject(new Error('the machine has ended'));
  });
  const execute = (command) =>
    new Promise((resolve, reject) => {
      if (socket.destroyed) return reject(new Error('the machine has ended'));
      waiting.push({ resolve, reject });
      socket.write(`${JSON.stringify({ execute: command })}\n`);
    });
  // The monitor takes no other command before this one.
  await execute('qmp_capabilities');
  return execute;
}
