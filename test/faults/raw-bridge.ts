// The bridge behind a client that is allowed to be rude: it writes lines by hand, cancels twice, stops reading, hangs
// up in the middle of a line, and sees every message and the exit code. Well-behaved tests use support/start-bridge.

import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { bridgeEnv, MAIN, type Payload, type ServerEntry, tempHome } from '../support/start-bridge.js';
import { HANGS_MS } from '../support/time.js';

export type Message = {
  readonly id?: number | null;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly result?: { readonly structuredContent?: Payload } & Readonly<Record<string, unknown>>;
  readonly error?: { readonly code: number; readonly message: string };
};

export type Ended = { readonly code: number | null; readonly signal: string | null };

export type RawOptions = {
  readonly servers?: Readonly<Record<string, ServerEntry>>;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Shell commands to run before the bridge takes the shell's place, such as `ulimit -n 64`. */
  readonly before?: string;
  /** False to leave the greeting to the test. */
  readonly greet?: boolean;
};

export type CallOptions = {
  readonly servers?: readonly string[];
  readonly timeout?: number;
  readonly progress?: boolean;
  readonly session?: string;
  readonly require_session?: boolean;
};

const PROTOCOL = '2025-06-18';

export class RawBridge implements AsyncDisposable {
  readonly home: string;
  readonly stateDir: string;
  readonly child: ChildProcessByStdio<Writable, Readable, Readable>;
  /** Every message so far, in order. */
  readonly received: Message[] = [];
  readonly exited: Promise<Ended>;
  #stderr = '';
  #lastId = 0;
  readonly #waiting = new Map<number, (message: Message) => void>();

  constructor({ servers = {}, env = {}, before }: RawOptions) {
    this.home = tempHome();
    mkdirSync(this.home, { recursive: true });
    const config = join(this.home, 'servers.json');
    writeFileSync(config, JSON.stringify({ mcpServers: servers }), { mode: 0o600 });
    const all: Readonly<Record<string, string | undefined>> = {
      ...bridgeEnv(this.home),
      MCP_SERVERS_CONFIG: config,
      MCP_BRIDGE_WARM: '0',
      ...env,
    };
    this.stateDir = all['MCP_BRIDGE_STATE_DIR'] ?? '';
    const argv = [process.execPath, MAIN];
    const [program = '', ...args] =
      before === undefined ? argv : ['/bin/sh', '-c', `${before}; exec "$@"`, 'sh', ...argv];
    this.child = spawn(program, args, { cwd: this.home, env: all, stdio: ['pipe', 'pipe', 'pipe'] });
    this.exited = new Promise((resolve) => {
      this.child.once('exit', (code, signal) => resolve({ code, signal }));
    });
    for (const stream of [this.child.stdin, this.child.stdout, this.child.stderr]) {
      stream.on('error', () => {});
    }
    this.child.stderr.on('data', (chunk: Buffer) => {
      this.#stderr = (this.#stderr + chunk.toString()).slice(-50_000);
    });
    // Each call that waits listens for its end.
    this.child.stdout.setMaxListeners(0);
    let rest = '';
    this.child.stdout.setEncoding('utf8').on('data', (text: string) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) this.#receive(JSON.parse(line) as Message);
    });
  }

  static async open(options: RawOptions = {}): Promise<RawBridge> {
    const bridge = new RawBridge(options);
    if (options.greet === false) return bridge;
    const clientInfo = { name: 'rude', version: '1.0.0' };
    const id = bridge.request('initialize', { protocolVersion: PROTOCOL, capabilities: {}, clientInfo });
    await bridge.answer(id);
    bridge.send({ method: 'notifications/initialized' });
    return bridge;
  }

  get pid(): number {
    return this.child.pid ?? -1;
  }

  get stderr(): string {
    return this.#stderr;
  }

  send(message: object): void {
    this.child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  }

  request(method: string, params: object = {}): number {
    const id = ++this.#lastId;
    this.send({ id, method, params });
    return id;
  }

  /** Asks for a run; the id is what `answer` and `cancel` take. */
  call(code: string, { progress, ...args }: CallOptions = {}): number {
    const id = this.#lastId + 1;
    const meta = progress === true ? { _meta: { progressToken: id } } : {};
    return this.request('tools/call', { name: 'run_python', arguments: { code, ...args }, ...meta });
  }

  cancel(id: number): void {
    this.send({ method: 'notifications/cancelled', params: { requestId: id, reason: 'changed my mind' } });
  }

  /** The answer to `id`; rejects when the bridge ends without one. */
  answer(id: number): Promise<Message> {
    const there = this.received.find((message) => message.id === id);
    if (there !== undefined) return Promise.resolve(there);
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, resolve);
      // What it wrote before it ended may still be in the pipe.
      this.child.stdout.once('close', () =>
        reject(new Error(`the bridge ended without an answer to ${id}: ${this.#stderr.slice(-2_000)}`)),
      );
    });
  }

  async run(code: string, options: CallOptions = {}): Promise<Payload> {
    const { result, error } = await this.answer(this.call(code, options));
    if (result?.structuredContent === undefined) throw new Error(`no payload: ${error?.message}`);
    return result.structuredContent;
  }

  /** Hangs up, and does not wait for ever. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.child.stdin.end();
    this.child.stdout.resume();
    const timer = setTimeout(() => this.child.kill('SIGKILL'), HANGS_MS);
    await this.exited;
    clearTimeout(timer);
    this.child.stdin.destroy();
  }

  #receive(message: Message): void {
    this.received.push(message);
    if (typeof message.id !== 'number') return;
    this.#waiting.get(message.id)?.(message);
    this.#waiting.delete(message.id);
  }
}
