// The bridge itself: a new container for each run, and the calls of one session.

import { MAIN } from '../bench/stage.mjs';
import { pythonPrograms } from './jobs.mjs';

/** @typedef {import('./place.mjs').Place} Place */

/** @type {import('./jobs.mjs').Dialect} */
const DIALECT = {
  call: (server, tool, name, value) => `mcp_${server}.${tool}(${name}=${value})`,
  give: (value) => `print(${value})`,
};

/** What the table compares the others with. @type {import('./place.mjs').Peer} */
export const ours = {
  name: 'ours',
  title: 'this',
  version: 'this checkout, built',
  walls: 'a container for each run: no network, read-only, limits, seccomp, user namespace',
  lacks: '',
  install: async () => {},
  open: (place) => openBridge(place),
};

/** @type {import('./place.mjs').Peer} */
export const ourSession = {
  ...ours,
  name: 'session',
  title: 'this, calls of a session',
  walls: 'the same container for all calls of the session',
  lacks: 'keep its calls apart: they share a container, as asked',
  open: (place) => openBridge(place, { session: 'peers' }),
};

/** @param {Place} place @param {{ readonly session?: string }} more */
async function openBridge(place, more = {}) {
  const { stage, servers, logFile } = place;
  const home = stage.home(servers);
  const program = { command: process.execPath, args: [MAIN], env: stage.environment(home), cwd: home };
  const { call, definitionChars, close } = await place.openClient(program);
  const programs = pythonPrograms(DIALECT, logFile);
  /** @param {string} code @param {readonly string[]} named */
  const run = (code, named) => call('run_python', { code, servers: named, ...more });
  // Servers of a session are those of its first call.
  const hello = () => run(programs.hello, more.session === undefined ? [] : Object.keys(servers));
  return {
    jobs: {
      hello,
      sequence: () => run(programs.sequence, ['everything']),
      gathered: () => run(programs.gathered, ['everything']),
      filtered: () => run(programs.filtered, ['filesystem']),
    },
    definitionChars,
    close,
  };
}
