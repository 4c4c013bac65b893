// Engines that run elsewhere, as their clients see them: podman's service over a unix socket or over ssh, and dockerd over
// tcp with TLS. Each has a machine of its own (machine.mjs). The engine can be killed and started again with the same
// store, its disk can be filled, and it is reached by an address, so that something may stand in between.

import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { release, tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../free-port.mjs';
import { finish, RemoteMachine, removeCgroups, waitUntil, whyNoMachine } from './machine.mjs';

const LABEL = 'mcp-sandbox-bridge';
const HOST = '127.0.0.1';

/** Each kind: the client's program, what it is started with, and what a machine needs for it. */
const KINDS = {
  'podman-unix': { binary: 'podman', needs: ['podman', 'newuidmap'], make: podmanOverUnix },
  'podman-ssh': {
    binary: 'podman',
    needs: ['podman', 'newuidmap', 'sshd', 'ssh-keygen'],
    make: podmanOverSsh,
  },
  'docker-tls': {
    binary: 'docker',
    needs: ['docker', 'dockerd', 'containerd', 'openssl'],
    make: dockerOverTls,
  },
};

export const REMOTE_KINDS = Object.keys(KINDS);

/** Why an engine of this kind cannot be had here, in a sentence; undefined where it can. */
export function whyNoRemoteEngine(kind) {
  const why = whyNoMachine([...KINDS[kind].needs, 'unshare', 'nsenter', 'setpriv']);
  const [major = 0, minor = 0] = release().split('.').map(Number);
  // The store is in memory, and only since then can a user's overlay keep its marks there.
  if (why === undefined && KINDS[kind].binary === 'podman' && major * 1000 + minor < 6006)
    return `the kernel is ${release()}, and 6.6 is the first with what the store needs`;
  return why;
}

/** Starts an engine of one of REMOTE_KINDS, without an image. `storeMb` is all the room that it has. */
export async function openRemoteEngine(kind, /** @type {{ storeMb?: number }} */ { storeMb } = {}) {
  const why = whyNoRemoteEngine(kind);
  if (why !== undefined) throw new Error(`no ${kind} engine: ${why}`);
  const keys = mkdtempSync(join(tmpdir(), 'remote-engine-keys-'));
  let machine;
  try {
    machine = await RemoteMachine.open({ storeMb });
    const engine = new RemoteEngine(kind, machine, keys, await KINDS[kind].make(machine, keys));
    await engine.start();
    return engine;
  } catch (thrown) {
    await machine?.close();
    rmSync(keys, { recursive: true, force: true });
    throw thrown;
  }
}

class RemoteEngine {
  kind;
  /** Of the client. */
  binary;
  machine;
  /** Of the account that it runs under. */
  uid;
  /** Where it listens: `{ path }` or `{ host, port }`. */
  address;
  #keys;
  #way;
  #services = [];

  constructor(kind, machine, keys, way) {
    this.kind = kind;
    this.binary = KINDS[kind].binary;
    this.machine = machine;
    this.uid = way.services.some(({ asRoot }) => asRoot) ? 0 : RemoteMachine.uid;
    this.address = way.address;
    this.#keys = keys;
    this.#way = way;
  }

  /** What a bridge, or anything else of ours that starts the client, has in its environment; by `address` it is reached. */
  environment(address = this.address) {
    return {
      MCP_BRIDGE_RUNTIME: this.binary,
      MCP_BRIDGE_ENGINE_URL: this.#way.url(address),
      ...this.#way.environment,
    };
  }

  /** The argument vector of the client, to which a command is added. */
  client(address = this.address) {
    return [this.binary, ...this.#way.flags(this.#way.url(address))];
  }

  /** Runs one command of the client. Never rejects. */
  command(args, /** @type {{ input?: string | import('node:stream').Readable }} */ { input } = {}) {
    const [program, ...flags] = this.client();
    /** @type {import('node:child_process').StdioOptions} */
    const stdio = [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'];
    const env = { ...process.env, ...this.#way.environment };
    return finish(spawn(program, [...flags, ...args], { stdio, env }), input);
  }

  /** Gives it an image of this machine's podman, by a stream. */
  async load(image) {
    const save = spawn('podman', ['save', image], { stdio: ['ignore', 'pipe', 'pipe'] });
    const saved = finish({ stdout: undefined, stderr: save.stderr, once: save.once.bind(save) });
    const loaded = await this.command(['load'], { input: save.stdout });
    const { exitCode, output } = await saved;
    if (exitCode !== 0) throw new Error(`podman save ${image}: ${output}`);
    if (loaded.exitCode !== 0) throw new Error(`${this.kind} load ${image}: ${loaded.output}`);
  }

  /** Names of the bridge's containers there, in any state. */
  async containers() {
    const { exitCode, output } = await this.command([
      'ps',
      '--all',
      `--filter=label=${LABEL}`,
      '--format={{.Names}}',
    ]);
    if (exitCode !== 0) throw new Error(`${this.kind} ps: ${output}`);
    return output.split('\n').filter(Boolean);
  }

  /** Starts what is not running, with the store that is there, and waits until it answers. */
  async start() {
    this.#services = this.#way.services.map(({ argv, asRoot }) => this.machine.serve(argv, { asRoot }));
    await waitUntil(
      () => `${this.kind} does not answer: ${this.#output()}`,
      async () => {
        const ended = this.#services.find((service) => !service.isRunning);
        if (ended !== undefined) throw new Error(`${this.kind} has ended: ${ended.output}`);
        return (await this.command(['version'])).exitCode === 0;
      },
      20_000,
    );
  }

  /** Ends the engine and not its containers. */
  async kill(signal = 'SIGKILL') {
    for (const service of this.#services) await service.end(signal);
  }

  /** Takes all the room that its store has left. */
  async fillDisk() {
    await this.machine.run(['dd', 'if=/dev/zero', 'of=/home/engine/filler', 'bs=1M'], { asRoot: true });
  }

  /** Gives the room back. */
  async emptyDisk() {
    await this.machine.run(['rm', '-f', '/home/engine/filler'], { asRoot: true });
  }

  async close() {
    await this.machine.close();
    if (this.#way.cgroup !== undefined) await removeCgroups(this.#way.cgroup);
    rmSync(this.#keys, { recursive: true, force: true });
  }

  #output() {
    return this.#services.map(({ output }) => output.trim()).join('\n');
  }
}

async function podmanService(machine) {
  const socket = join(machine.folder('engine'), 'podman.sock');
  // Else podman takes vfs, which copies the whole image for every container.
  await requireSuccess(
    machine.run([
      'sh',
      '-c',
      'mkdir -p ~/.config/containers && printf "[storage]\\ndriver = \\"overlay\\"\\n" >~/.config/containers/storage.conf',
    ]),
  );
  return {
    socket,
    service: { argv: ['podman', '--log-level=warn', 'system', 'service', '--time=0', `unix://${socket}`] },
  };
}

// podman 4 warns of each host whose key it cannot keep, among what it prints.
const podmanFlags = (url) => ['--remote', '--log-level=error', `--url=${url}`];

async function podmanOverUnix(machine) {
  const { socket, service } = await podmanService(machine);
  return {
    address: { path: socket },
    url: ({ path }) => `unix://${path}`,
    flags: podmanFlags,
    environment: {},
    services: [service],
  };
}

async function podmanOverSsh(machine, keys) {
  const { socket, service } = await podmanService(machine);
  const port = await freePort();
  const sshd = machine.folder('sshd');
  const key = (path) =>
    requireSuccess(runWithoutMachine(['ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-C', '', '-f', path]));
  await key(join(keys, 'id'));
  const hostKey = join(sshd, 'host');
  await requireSuccess(machine.run(['ssh-keygen', '-q', '-t', 'ed25519', '-N', '', '-C', '', '-f', hostKey]));
  writeFileSync(join(sshd, 'authorized'), readFileSync(join(keys, 'id.pub')));
  // It runs as the engine's account, so that nobody else can be logged in.
  const options = {
    ListenAddress: HOST,
    Port: port,
    HostKey: hostKey,
    AuthorizedKeysFile: join(sshd, 'authorized'),
    PidFile: 'none',
    StrictModes: 'no',
    UsePAM: 'no',
    PasswordAuthentication: 'no',
    KbdInteractiveAuthentication: 'no',
    AllowStreamLocalForwarding: 'yes',
    MaxStartups: '100',
  };
  const flags = Object.entries(options).map(([name, value]) => `-o${name}=${value}`);
  return {
    address: { host: HOST, port },
    url: ({ host, port }) => `ssh://engine@${host}:${port}${socket}`,
    flags: podmanFlags,
    environment: { CONTAINER_SSHKEY: join(keys, 'id') },
    services: [service, { argv: ['/usr/sbin/sshd', '-D', '-e', '-f', '/dev/null', ...flags] }],
  };
}

async function dockerOverTls(machine, keys) {
  const port = await freePort();
  const folder = machine.folder('dockerd');
  await makeCertificates(keys, folder);
  const name = machine.shared.split('/').at(-1);
  const cert = (file) => join(folder, file);
  const argv = [
    // A killed one leaves its file, and its pid may by then be that of another.
    ...['sh', '-c', 'rm -f /run/docker.pid; exec dockerd "$@"', 'sh'],
    '--log-level=warn',
    `--host=tcp://${HOST}:${port}`,
    ...['--tlsverify', `--tlscacert=${cert('ca.pem')}`, `--tlscert=${cert('cert.pem')}`],
    `--tlskey=${cert('key.pem')}`,
    '--userns-remap=engine',
    ...['--data-root=/home/engine/docker', '--exec-root=/run/docker', '--pidfile=/run/docker.pid'],
    // No network of this machine is to be changed: sandboxes have none, unless the operator opens one.
    ...['--iptables=false', '--ip6tables=false', '--ip-forward=false', '--ip-masq=false', '--bridge=none'],
    `--cgroup-parent=/${name}`,
  ];
  return {
    address: { host: HOST, port },
    url: ({ host, port }) => `tcp://${host}:${port}`,
    flags: (url) => ['--host', url],
    environment: { DOCKER_TLS_VERIFY: '1', DOCKER_CERT_PATH: keys },
    services: [{ argv, asRoot: true }],
    cgroup: name,
  };
}

/** A root certificate, and one of the server and of the client: in `client` what the client wants to find there. */
async function makeCertificates(client, server) {
  const openssl = (...args) => requireSuccess(runWithoutMachine(['openssl', ...args]));
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  const authority = join(client, 'authority');
  mkdirSync(authority);
  const ca = join(client, 'ca.pem');
  const caKey = join(authority, 'key.pem');
  await openssl(
    'req',
    '-x509',
    ...newKey,
    '-keyout',
    caKey,
    '-out',
    ca,
    '-days',
    '2',
    '-subj',
    '/CN=authority',
  );
  for (const [folder, name, extensions] of [
    [server, 'engine', `subjectAltName=IP:${HOST}\nextendedKeyUsage=serverAuth`],
    [client, 'client', 'extendedKeyUsage=clientAuth'],
  ]) {
    const request = join(authority, `${name}.csr`);
    const wanted = join(authority, `${name}.ext`);
    writeFileSync(wanted, extensions);
    await openssl(
      'req',
      ...newKey,
      '-keyout',
      join(folder, 'key.pem'),
      '-out',
      request,
      '-subj',
      `/CN=${name}`,
    );
    await openssl(
      ...['x509', '-req', '-in', request, '-CA', ca, '-CAkey', caKey, '-CAcreateserial', '-days', '2'],
      ...['-extfile', wanted, '-out', join(folder, 'cert.pem')],
    );
  }
  writeFileSync(join(server, 'ca.pem'), readFileSync(ca));
}

const runWithoutMachine = (argv) =>
  finish(spawn(argv[0], argv.slice(1), { stdio: ['ignore', 'pipe', 'pipe'] }));

async function requireSuccess(finished) {
  const { exitCode, output } = await finished;
  if (exitCode !== 0) throw new Error(output.trim() || `it ended with ${exitCode}`);
}
