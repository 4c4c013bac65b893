// An engine that runs elsewhere, for as long as a command runs, or until Ctrl-C; --help says how. The command finds in its
// environment what a bridge needs to use it.

import { spawn } from 'node:child_process';
import { leaveWrong, takeOptions } from './options.mjs';
import { openRemoteEngine, REMOTE_KINDS, whyNoRemoteEngine } from './remote/engines.mjs';

const at = process.argv.indexOf('--');
const command = at < 0 ? [] : process.argv.splice(at).slice(1);
const {
  engine: kind,
  image: images = [],
  store,
} = takeOptions({
  command: 'node scripts/remote-engine.mjs',
  about:
    'Starts, as root, an engine that shares neither files nor processes with this machine. With `-- COMMAND...` after the\noptions it goes on for as long as that runs, else until its input ends; what a bridge needs is in the environment.',
  options: {
    engine: { value: 'KIND', says: `one of ${REMOTE_KINDS.join(', ')}`, default: REMOTE_KINDS[0] },
    image: { value: 'IMAGE', says: "of this machine's podman, to be given to it", multiple: true },
    store: { value: 'MB', kind: 'count', says: 'room for its images and containers', default: 2048 },
  },
});
if (!REMOTE_KINDS.includes(kind)) leaveWrong(`--engine: there is no '${kind}'.`);
const why = whyNoRemoteEngine(kind);
if (why !== undefined) leaveWrong(`--engine: there can be no ${kind} here: ${why}.`);

const engine = await openRemoteEngine(kind, { storeMb: store });
// Its end is ours: what has been started is ended first.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {});
try {
  for (const image of images) await engine.load(image);
  process.exitCode = await (command.length === 0 ? untilTold() : exitCodeOf(command));
} finally {
  await engine.close();
}

/** Says what to set, and waits for the end of stdin or a signal. */
async function untilTold() {
  for (const [name, value] of Object.entries(engine.environment())) console.log(`export ${name}='${value}'`);
  console.log(`# ${engine.client().join(' ')}`);
  await new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, resolve);
    process.stdin.once('end', resolve).resume();
  });
  process.stdin.destroy();
  return 0;
}

function exitCodeOf(/** @type {string[]} */ [program, ...args]) {
  const child = spawn(program, args, {
    stdio: 'inherit',
    env: { ...process.env, ...engine.environment() },
  });
  return new Promise((resolve) => {
    child.once('error', (error) => {
      console.error(error.message);
      resolve(127);
    });
    child.once('exit', (code) => resolve(code ?? 137));
  });
}
