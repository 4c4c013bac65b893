// UTCP's code-mode as a library: JavaScript in an isolate of V8, in the process that holds the servers.

import { join } from 'node:path';
import { javascriptPrograms } from './jobs.mjs';
import { HERE, listed } from './place.mjs';

/** isolated-vm needs a newer Node than the bridge; npm has Node's programs as packages. */
const NODE_FROM = 22;
const NODE = { package: `node-${process.platform}-${process.arch}`, version: '24.21.0' };
const PACKAGES = {
  '@utcp/code-mode': '1.2.12',
  '@utcp/mcp': '1.1.3',
  '@utcp/sdk': '1.1.2',
  'isolated-vm': '6.2.0',
};

const isOldNode = Number(process.versions.node.split('.')[0]) < NODE_FROM;

/** @type {import('./place.mjs').Peer} */
export const utcp = {
  name: 'utcp',
  title: 'UTCP code-mode',
  version: `${listed(PACKAGES)}; as a library`,
  walls: "an isolate of V8, inside the process that holds the servers' secrets",
  lacks: 'run Python; make calls at once: each waits for the one before',
  install: (place) =>
    place.installFromNpm('utcp', { ...PACKAGES, ...(isOldNode ? { [NODE.package]: NODE.version } : {}) }),
  open: async (place) => {
    const folder = place.folder('utcp');
    const node = isOldNode ? join(folder, 'node_modules', NODE.package, 'bin/node') : process.execPath;
    const servers = JSON.stringify(place.servers);
    const { ask, definitionChars, close } = await place.openLines(node, [
      join(HERE, 'utcp-lines.mjs'),
      folder,
      servers,
    ]);
    const programs = javascriptPrograms(
      (server, tool, name, value) => `peers.${server}_${tool}({ ${name}: ${value} })`,
      place.logFile,
    );
    return {
      jobs: {
        hello: () => ask(programs.hello),
        sequence: () => ask(programs.sequence),
        gathered: () => ask(programs.gathered),
        filtered: () => ask(programs.filtered),
      },
      definitionChars,
      close,
    };
  },
};
