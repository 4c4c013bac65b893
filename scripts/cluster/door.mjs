// Takes connections of a socket that it was handed, and leads them to an address of the network that it runs in. Arguments: a
// host and a port.

import { connect } from 'node:net';

const [host = '', port = ''] = process.argv.slice(2);

process.once('message', (_word, /** @type {import('node:net').Server} */ server) => {
  server.on('connection', (near) => {
    const far = connect({ host, port: Number(port) });
    // A short frame behind another one would wait for its receipt here, which may take 40 ms.
    for (const side of [near, far]) side.setNoDelay();
    for (const [from, to] of /** @type {const} */ ([
      [near, far],
      [far, near],
    ])) {
      from.pipe(to);
      from.on('error', () => to.destroy());
    }
  });
  process.send?.('open');
});
