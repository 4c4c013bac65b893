// Remote servers for tests: real processes on free ports of this machine, that a test can end and start again at the
// same port.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { RemoteSpec } from '../../src/hosts/downstream-spec.js';

const HOSTILE = fileURLToPath(new URL('../fixtures/hostile-server.mjs', import.meta.url));
const EVERYTHING = path.join(
  path.dirname(
    createRequire(import.meta.url).resolve('@modelcontextprotocol/server-everything/package.json'),
  ),
  'dist/index.js',
);

export function remote(name: string, url: string, more: Partial<RemoteSpec> = {}): RemoteSpec {
  return {
    name,
    transport: 'http',
    url,
    headers: {},
    headersHelper: undefined,
    oauth: false,
    description: '',
    callTimeoutMs: undefined,
    startTimeoutMs: undefined,
    toolFilter: { only: undefined, except: [] },
    source: { host: 'test', scope: 'explicit', file: '/dev/null', pointer: '' },
    ...more,
  };
}

/** Starts a server at `port`, or at any when that is 0. */
type Launch = (port: number) => Promise<{ readonly child: ChildProcess; readonly port: number }>;

/** A server at a port that it keeps. */
export class RemoteServer {
  #child: ChildProcess | undefined;
  port = 0;
  readonly #launch: Launch;

  constructor(launch: Launch) {
    this.#launch = launch;
  }

  async start(): Promise<this> {
    const { child, port } = await this.#launch(this.port);
    this.#child = child;
    this.port = port;
    return this;
  }

  /** Ends it as a crash would. */
  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }

  async restart(): Promise<void> {
    await this.kill();
    await this.start();
  }

  url(file = 'mcp'): string {
    return `http://127.0.0.1:${this.port}/${file}`;
  }
}

/** The hostile server with the given modes; one of them is `http`, `http-json` or `sse`. */
export const hostileWeb = (...modes: readonly string[]): RemoteServer =>
  new RemoteServer(async (port) => {
    const child = spawn(process.execPath, [HOSTILE, ...modes, `port=${port}`], {
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
    return { child, port: Number(JSON.parse(line).port) };
  });

/** The reference server. */
export const everythingWeb = (mode: 'streamableHttp' | 'sse'): RemoteServer =>
  new RemoteServer(async (wanted) => {
    const port = wanted || (await freePort());
    const env = { PATH: process.env['PATH'] ?? '', PORT: String(port) };
    const child = spawn(process.execPath, [EVERYTHING, mode], { env, stdio: ['ignore', 'ignore', 'pipe'] });
    for await (const line of createInterface(child.stderr)) if (line.includes(`${port}`)) break;
    child.stderr.resume();
    return { child, port };
  });

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}

/** How many connections this process has to a port of this machine. */
export function socketsTo(port: number): number {
  const known = process as unknown as { _getActiveHandles(): { readonly remotePort?: number }[] };
  return known._getActiveHandles().filter(({ remotePort }) => remotePort === port).length;
}
