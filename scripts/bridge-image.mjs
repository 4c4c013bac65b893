// Makes the image of the bridge itself (Containerfile) without a registry: the base from Debian packages of this machine's
// own mirrors, the bridge from the build. With --try a client calls it, through a podman service that ends again. Exits with
// 1 when something failed, 2 for a wrong option, 3 when this machine lacks something.

import { spawn } from 'node:child_process';
import { chmodSync, chownSync, copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import pc from 'picocolors';
import { command } from './host/command.mjs';
import { unpackDebian } from './host/debian-root.mjs';
import { firstCall } from './install/first-call.mjs';
import { packedPackage } from './install/packed-package.mjs';
import { takeOptions } from './options.mjs';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const BASE = 'localhost/mcp-sandbox-bridge-base:trixie';
/** Of the user in the image. */
const ID = 1000;

const { name, version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
const options = takeOptions({
  command: 'npm run image:bridge --',
  about: 'Makes the image of the bridge itself from Debian packages, as root; about a minute.',
  options: {
    base: { value: 'IMAGE', says: 'a Debian 13 that is there, instead of one made from packages' },
    tag: { value: 'NAME', says: 'what the image is called', default: `localhost/${name}:${version}` },
    try: { says: 'have a client call run_python through it, against a podman service of this machine' },
  },
});
const say = (text) => console.error(pc.dim(text));

const programs = options.base === undefined ? ['podman', 'mmdebstrap'] : ['podman'];
const missing = programs.filter(
  (one) => !process.env.PATH.split(delimiter).some((folder) => existsSync(join(folder, one))),
);
if (process.getuid?.() !== 0 || missing.length > 0) {
  console.error(
    `This needs root on Debian, with ${programs.join(' and ')}: \`apt-get install ${programs.join(' ')}\`.`,
  );
  process.exit(3);
}

const scratch = mkdtempSync(join(tmpdir(), 'bridge-image-'));
// apt fetches as a user of its own, and the user in the image looks for the socket.
chmodSync(scratch, 0o755);
try {
  await build(options.base ?? (await base()), options.tag);
  const [size] = JSON.parse(
    await command(['podman', 'image', 'inspect', '--format', '[{{.Size}}]', options.tag]),
  );
  console.log(`${options.tag}: ${Math.round(size / 1e6)} MB`);
  if (options.try) await tryImage(options.tag);
} catch (thrown) {
  console.error(thrown.message);
  process.exitCode = 1;
} finally {
  rmSync(scratch, { recursive: true, force: true });
}

/** A Debian 13 as an image of this machine, made once. */
async function base() {
  const isThere = await command(['podman', 'image', 'exists', BASE]).then(
    () => true,
    () => false,
  );
  if (isThere) return BASE;
  say('making the base from Debian packages');
  const root = join(scratch, 'root');
  await unpackDebian({ suite: 'trixie', variant: 'minbase', packages: [], scratch, root });
  const archive = join(scratch, 'base.tar');
  await command(['tar', '--create', '--numeric-owner', '--directory', root, '--file', archive, '.']);
  await command(['podman', 'import', '--quiet', archive, BASE]);
  return BASE;
}

async function build(from, tag) {
  say('making the image');
  const context = mkdtempSync(join(scratch, 'context-'));
  packedPackage(context);
  copyFileSync(join(ROOT, 'Containerfile'), join(context, 'Containerfile'));
  // This machine's network: a container's own may not reach the mirrors that this machine reaches.
  await command(['podman', 'build', '--network=host', `--build-arg=BASE=${from}`, `--tag=${tag}`, context]);
}

async function tryImage(tag) {
  say('trying it: a podman service, and a client that calls run_python through the image');
  const socket = join(scratch, 'podman.sock');
  const service = spawn('podman', ['system', 'service', '--time=0', `unix://${socket}`], { stdio: 'ignore' });
  try {
    for (let tries = 0; !existsSync(socket); tries += 1) {
      if (tries === 100) throw new Error('podman system service did not start');
      await setTimeout(100);
    }
    chownSync(socket, ID, ID);
    const limits = ['--ulimit=nofile=1024:1024', '--ulimit=nproc=4096:4096', '--network=none'];
    const argv = [
      'podman',
      'run',
      '--rm',
      '--interactive',
      ...limits,
      `--volume=${socket}:/run/podman/podman.sock`,
      tag,
    ];
    const { text, seconds } = await firstCall(argv);
    if (!text.includes('42')) throw new Error(`the call through the image failed: ${text}`);
    console.log(`a first call through it: ${seconds.toFixed(1)} s`);
  } finally {
    service.kill();
  }
}
