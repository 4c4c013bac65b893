// The canaries: what an attack would find on the host if it got there. A file, a folder, a listener of each kind, a
// process, a variable, a socket that looks like an engine's, and two downstream servers that keep a mark of each call. All
// but the servers are where the engine runs: that is the host of an attack.

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { type AddressInfo, createServer, type ListenOptions, type Server } from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readText } from '../../src/base/files/read-text.js';
import { engineUnderTest } from '../support/engine-under-test.js';
import type { ServerEntry } from '../support/start-bridge.js';
import { eventually } from '../support/time.js';

const MARKING_SERVER = fileURLToPath(new URL('../fixtures/marking-server.mjs', import.meta.url));

/** Names of the two servers; runs are given the first and not the second. */
export const OPEN_SERVER = 'open';
export const SHUT_SERVER = 'shut';

export class World implements AsyncDisposable {
  /** A word that stands nowhere but in the canaries. */
  readonly token = `canary-${randomBytes(6).toString('hex')}`;
  readonly folder: string;
  readonly socket: string;
  /** What runs see at /data; others may write there, so that only the mount keeps them from it. */
  readonly data: string;
  /** What the probes are told: everything that an attacker could know. */
  facts: Readonly<Record<string, string | number>> = {};
  readonly #servers: Server[] = [];
  readonly #udp: Socket;
  readonly #process: ChildProcess;
  readonly #marks: Readonly<Record<string, string>>;

  private constructor() {
    // Not in the suite's own folder, which is closed to others: a control must be able to get here.
    const place = engineUnderTest.shared ?? tmpdir();
    // The account of an engine elsewhere keeps that to itself, and its containers have other ids.
    if (place === engineUnderTest.shared) chmodSync(place, 0o755);
    this.folder = mkdtempSync(join(place, 'mcp-sandbox-bridge-test-world-'));
    chmodSync(this.folder, 0o777);
    writeFileSync(join(this.folder, 'canary.txt'), this.token, { mode: 0o644 });
    this.socket = join(this.folder, 'engine.sock');
    this.data = mkdtempSync(join(place, 'mcp-sandbox-bridge-test-data-'));
    this.#fillData();
    this.#udp = createSocket('udp4');
    const [program = '', ...args] = [
      ...engineUnderTest.inside,
      'bash',
      '-c',
      `exec -a ${this.token} sleep 600`,
    ];
    this.#process = spawn(program, args, { stdio: 'ignore', detached: true });
    this.#marks = {
      [OPEN_SERVER]: join(this.folder, `marks-${OPEN_SERVER}`),
      [SHUT_SERVER]: join(this.folder, `marks-${SHUT_SERVER}`),
    };
  }

  static async open(): Promise<World> {
    const world = new World();
    const address = addresses();
    const abstract = `\0${world.token}`;
    world.facts = {
      token: world.token,
      folder: world.folder,
      uid: engineUnderTest.uid,
      pid: await pidOf(world.token),
      port: await world.#listen({ host: '127.0.0.1', port: 0 }),
      address: address.v4,
      addressPort: await world.#listen({ host: '0.0.0.0', port: 0 }),
      linkLocal: address.linkLocal,
      port6: address.v6 ? await world.#listen({ host: '::', port: 0, ipv6Only: true }) : 0,
      udpPort: await world.#answerDatagrams(),
    };
    await world.#listen({ path: abstract });
    await world.#listen({ path: world.socket });
    chmodSync(world.socket, 0o777);
    return world;
  }

  /** What the bridge's own environment holds and no run may see. */
  get environment(): Record<string, string> {
    return { WALLS_TOKEN: this.token, HTTPS_PROXY: `http://${this.token}:1`, SSH_AUTH_SOCK: this.socket };
  }

  /** The setting by which runs see a folder of this machine, where the engine is on it. */
  get dataSetting(): Record<string, string> {
    return engineUnderTest.kind === 'local' ? { MCP_BRIDGE_DATA: this.data } : {};
  }

  get downstream(): Record<string, ServerEntry> {
    const server = (file: string): ServerEntry => ({
      command: process.execPath,
      args: [MARKING_SERVER, file],
    });
    return Object.fromEntries(Object.entries(this.#marks).map(([name, file]) => [name, server(file)]));
  }

  /** The texts with which a server's tool `mark` has been called. */
  marks(server: string): readonly string[] {
    const file = this.#marks[server] ?? '';
    return existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : [];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // The whole group: inside another namespace it is no child of ours.
    if (this.#process.pid !== undefined) process.kill(-this.#process.pid, 'SIGKILL');
    this.#udp.close();
    for (const server of this.#servers) server.close();
    for (const folder of [this.folder, this.data]) rmSync(folder, { recursive: true, force: true });
    await Promise.resolve();
  }

  /** Files that all may write, links that lead out, a program with a setuid bit, and where root runs the tests a device. */
  #fillData(): void {
    writeFileSync(join(this.data, 'in.txt'), 'data');
    symlinkSync(join(this.folder, 'canary.txt'), join(this.data, 'absolute'));
    symlinkSync(`../${basename(this.folder)}/canary.txt`, join(this.data, 'relative'));
    writeFileSync(join(this.data, 'tool'), '#!/bin/sh\nexit 0\n');
    chmodSync(join(this.data, 'in.txt'), 0o666);
    chmodSync(join(this.data, 'tool'), 0o4755);
    chmodSync(this.data, 0o777);
    if (process.getuid?.() !== 0) return;
    execFileSync('mknod', [join(this.data, 'device'), 'c', '1', '5']);
    chmodSync(join(this.data, 'device'), 0o666);
  }

  /** A listener that greets with the token; its port, or 0 for a path. */
  async #listen(where: ListenOptions): Promise<number> {
    const server = createServer((socket) => {
      socket.on('error', () => {});
      socket.end(this.token);
    });
    this.#servers.push(server);
    server.listen(where);
    await once(server, 'listening');
    const address = server.address();
    return typeof address === 'object' ? ((address as AddressInfo | null)?.port ?? 0) : 0;
  }

  async #answerDatagrams(): Promise<number> {
    this.#udp.on('message', (_, from) => this.#udp.send(this.token, from.port, from.address));
    this.#udp.bind(0, '0.0.0.0');
    await once(this.#udp, 'listening');
    return this.#udp.address().port;
  }
}

/** Of the canary's process, as it is numbered where the engine runs. */
async function pidOf(token: string): Promise<number> {
  let found: number | undefined;
  const look = () => {
    for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
      if (!(readText(`/proc/${pid}/cmdline`) ?? '').startsWith(`${token}\0`)) continue;
      found = Number(/^NSpid:.*\t(\d+)$/m.exec(readText(`/proc/${pid}/status`) ?? '')?.[1]);
    }
    return found !== undefined;
  };
  if (!(await eventually(look)) || found === undefined) throw new Error('the canary does not run');
  return found;
}

/** Addresses of the host besides the loopback; '' where there is none. */
function addresses(): { readonly v4: string; readonly v6: boolean; readonly linkLocal: string } {
  const found = Object.entries(networkInterfaces()).flatMap(([name, list]) =>
    (list ?? []).map((one) => ({ name, ...one })),
  );
  const local = found.find(({ family, address }) => family === 'IPv6' && address.startsWith('fe80'));
  return {
    v4: found.find(({ family, internal }) => family === 'IPv4' && !internal)?.address ?? '',
    v6: found.some(({ family }) => family === 'IPv6'),
    linkLocal: local === undefined ? '' : `${local.address}%${local.name}`,
  };
}
