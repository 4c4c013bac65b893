// A machine for newcomers: an unpacked Debian as the root of namespaces of its own, and commands in it as its one ordinary
// user. It has this machine's kernel and network. Needs root; everything in it ends with it.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { command } from '../host/command.mjs';
import { NEWCOMER } from './suites.mjs';

const ENTER = join(dirname(fileURLToPath(import.meta.url)), 'enter.sh');
const PATH = `${NEWCOMER.home}/.local/bin:/opt/node/bin:/usr/local/bin:/usr/bin:/bin`;

/**
 * Starts a machine on the folder `root`. `home` is made, and becomes the user's home; `node` is a folder with bin/node.
 * Returns { argv, run, end }: `argv(words, env)` is what to start here to run a command there, with its streams;
 * `run(words, options)` is what it wrote to stdout, and throws where it fails.
 */
export async function startMachine(root, home, node) {
  mkdirSync(home);
  chownSync(home, NEWCOMER.id, NEWCOMER.id);
  const namespaces = ['--mount', '--pid', '--ipc'];
  const child = spawn('unshare', [...namespaces, '--fork', '--kill-child', ENTER, root, home, node], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = once(child, 'close');
  // Before anybody takes its folders away.
  const kill = () => child.kill('SIGKILL');
  process.prependOnceListener('exit', kill);
  const end = async () => {
    process.off('exit', kill);
    kill();
    await ended;
  };
  let stderr = '';
  child.stderr.on('data', (bytes) => {
    stderr += bytes;
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const { value } = await lines.next();
  if (value !== 'ready') {
    await end();
    throw new Error(`the machine did not start: ${stderr.trim()}`);
  }
  const [first] = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').split(' ');
  const { id, name } = NEWCOMER;
  const argv = (words, env = {}) => [
    ...['nsenter', '--target', first, ...namespaces, '--'],
    ...['/usr/bin/setpriv', '--reuid', String(id), '--regid', String(id), '--init-groups', '--reset-env'],
    ...['/usr/bin/env', `--chdir=${NEWCOMER.home}`, '-i'],
    ...[`HOME=${NEWCOMER.home}`, `USER=${name}`, `LOGNAME=${name}`, 'LANG=C.UTF-8', `PATH=${PATH}`],
    `XDG_RUNTIME_DIR=/run/user/${id}`,
    ...Object.entries(env).map(([key, text]) => `${key}=${text}`),
    ...words,
  ];
  /** @type {(words: readonly string[], options?: { env?: Record<string, string>, accepted?: readonly number[] }) => Promise<string>} */
  const run = async (words, { env, accepted } = {}) => {
    const all = argv(words, env);
    try {
      return await command(all, { accepted });
    } catch (thrown) {
      // What it was on that machine, without the way there.
      throw new Error(thrown.message.replace(all.join(' '), words.join(' ')), { cause: thrown });
    }
  };
  return { argv, run, end };
}
