// llm-sandbox as a library: one session with podman's service, which runs each call in the same container; and its bubblewrap.

import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../agents/install.mjs';
import { pause } from '../bench/stage.mjs';
import { HERE } from './place.mjs';

const PACKAGES = ['llm-sandbox[podman]==0.3.46'];
/** Its images come from a registry; ours lacks only the name `python`. */
const IMAGE = 'localhost/mcp-sandbox-bridge-peers/llm-sandbox:1';
/**
 * podman mounts a network of its own in the mount namespace in which processor time is counted. Outside of that its file is no
 * network, and no `podman ps` of the machine works as long as the container is there.
 */
const ALONE = { network_mode: 'none' };
const SERVICE_WITHIN_MS = 30_000;
const POLL_MS = 50;

/** @type {import('./place.mjs').Peer} */
export const llmSandbox = {
  name: 'llm-sandbox',
  title: 'llm-sandbox, podman',
  version: `${PACKAGES.join(', ')}; one session, in our image`,
  walls: "one container for all calls of a session, with the engine's defaults, but no network",
  lacks: 'call tools from the code; keep runs apart, unless each has a session of its own',
  install: async (place) => {
    await place.installFromPypi('llm-sandbox', PACKAGES);
    const { engine, choice } = place.bare;
    if (engine.name !== 'podman')
      throw new Error(`it is measured with podman, and the engine is ${engine.name}`);
    const folder = place.folder('llm-sandbox');
    writeFileSync(join(folder, 'Containerfile'), `FROM ${choice.image}\nADD python.tar /usr/local/\n`);
    rmSync(join(folder, 'bin'), { recursive: true, force: true });
    mkdirSync(join(folder, 'bin'));
    await run('ln', ['-s', '/usr/bin/python3', join(folder, 'bin/python')], {});
    await run('tar', ['-cf', join(folder, 'python.tar'), '-C', folder, 'bin'], {});
    await run(choice.binary, ['build', '--quiet', '--network', 'none', '--tag', IMAGE, folder], {});
  },
  remove: async ({ bare }) => {
    await run(bare.choice.binary, ['rmi', IMAGE], {});
  },
  open: async (place) => {
    const socket = join(place.stage.stateDir, 'peers', 'podman.sock');
    const closeService = await openService(place, socket);
    try {
      const lines = await openSession(
        place,
        { backend: 'podman', image: IMAGE, runtime_configs: ALONE },
        socket,
      );
      const close = async () => {
        await lines.close();
        await closeService();
      };
      return { ...lines, close };
    } catch (thrown) {
      await closeService();
      throw thrown;
    }
  },
};

/** @type {import('./place.mjs').Peer} */
export const llmSandboxBubblewrap = {
  name: 'llm-sandbox-bwrap',
  title: 'llm-sandbox, bubblewrap',
  version: `${PACKAGES.join(', ')}; one session`,
  walls: 'namespaces and a seccomp filter; files stay from call to call',
  lacks: 'call tools from the code; limit memory of all processes together',
  install: async (place) => {
    await place.installFromPypi('llm-sandbox', PACKAGES);
    await run('bwrap', ['--version'], {}).catch(() => {
      throw new Error('there is no bwrap: `apt-get install bubblewrap`');
    });
  },
  open: (place) => openSession(place, { backend: 'bubblewrap' }),
};

/**
 * @param {import('./place.mjs').Place} place
 * @param {object} options  of the session
 * @param {string} [socket]  of podman's service
 */
async function openSession(place, options, socket) {
  const env = { ...process.env, ...(socket === undefined ? {} : { CONTAINER_HOST: `unix://${socket}` }) };
  const args = [join(HERE, 'llm_sandbox_lines.py'), JSON.stringify(options)];
  const { ask, close } = await place.openLines(place.python('llm-sandbox'), args, env);
  return { jobs: { hello: () => ask('print("hello")') }, close };
}

/** podman's service, until it is closed. @param {import('./place.mjs').Place} place @param {string} socket */
async function openService(place, socket) {
  const child = spawn(place.bare.choice.binary, ['system', 'service', '--time', '0', `unix://${socket}`], {
    env: place.engineEnvironment(),
    stdio: 'ignore',
  });
  process.once('exit', () => child.kill());
  const ended = new Promise((resolve) => child.once('close', resolve));
  const close = async () => {
    child.kill();
    await ended;
  };
  const until = performance.now() + SERVICE_WITHIN_MS;
  while (!existsSync(socket)) {
    if (performance.now() > until || child.exitCode !== null) {
      await close();
      throw new Error('`podman system service` does not open its socket');
    }
    await pause(POLL_MS);
  }
  return close;
}
