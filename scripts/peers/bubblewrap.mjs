// bubblewrap around the host's Python: the system's files read-only, a private home, no network.

import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { promisify } from 'node:util';
import { HOST_PYTHON } from '../bench/host-python.mjs';

const FOLDERS = ['/usr', '/bin', '/lib', '/lib64', '/etc/alternatives'];
const SHARED = FOLDERS.filter((folder) => existsSync(folder)).flatMap((folder) => [
  '--ro-bind',
  folder,
  folder,
]);
const ALONE = ['--unshare-all', '--die-with-parent', '--new-session', '--clearenv', '--cap-drop', 'ALL'];
const OWN = ['--proc', '/proc', '--dev', '/dev', '--tmpfs', '/tmp', '--dir', '/work', '--chdir', '/work'];
const TIMEOUT_MS = 60_000;

const run = promisify(execFile);

/** @type {import('./place.mjs').Peer} */
export const bubblewrap = {
  name: 'bubblewrap',
  title: 'bubblewrap, host Python',
  version: "the system's package",
  walls: 'namespaces only: no limit of memory or processes, no seccomp filter',
  lacks: 'call tools from the code; limit memory and processes',
  install: async () => {
    if (HOST_PYTHON === undefined) throw new Error('the host has no python3');
    await run('bwrap', ['--version']).catch(() => {
      throw new Error('there is no bwrap: `apt-get install bubblewrap`');
    });
  },
  open: async () => ({
    jobs: {
      hello: async () => {
        const python = HOST_PYTHON?.path ?? 'python3';
        const args = [...SHARED, ...ALONE, ...OWN, python, '-c', 'print("hello")'];
        return (await run('bwrap', args, { timeout: TIMEOUT_MS })).stdout;
      },
    },
    close: async () => {},
  }),
};
