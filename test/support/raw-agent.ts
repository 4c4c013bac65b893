// An agent that writes its JSON by hand: for what no client made with an SDK would send. It starts the built bridge.

import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { MAIN } from './start-bridge.js';

export type Message = {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: Record<string, unknown>;
  readonly result?: Record<string, unknown>;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
};

export class RawAgent implements AsyncDisposable {
  readonly #bridge: ChildProcess;
  #log = '';
  readonly #waiting = new Map<unknown, (answer: Message) => void>();
  /** Whatever came that is no answer. */
  readonly heard: Message[] = [];
  #ids = 0;

  constructor(env: Readonly<Record<string, string>>, cwd: string) {
    this.#bridge = spawn(process.execPath, [MAIN], { env, cwd, stdio: ['pipe', 'pipe', 'pipe'] });
    this.#bridge.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#log += text;
    });
    createInterface({ input: this.#bridge.stdout as NodeJS.ReadableStream }).on('line', (line) => {
      const message = JSON.parse(line) as Message;
      const answered = message.method === undefined ? this.#waiting.get(message.id) : undefined;
      if (answered === undefined) this.heard.push(message);
      else answered(message);
    });
  }

  /** Everything that the bridge has logged. */
  get log(): string {
    return this.#log;
  }

  /** Ends the process that the host has started, as a host does that is in a hurry. */
  kill(): void {
    this.#bridge.kill('SIGKILL');
  }

  /** Sends a request of revision 2026-07-28; its id, and its answer. */
  request(
    method: string,
    params: Readonly<Record<string, unknown>>,
    { capabilities = {}, meta = {} }: { readonly capabilities?: object; readonly meta?: object } = {},
  ): { readonly id: number; readonly answer: Promise<Message> } {
    const id = ++this.#ids;
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': capabilities,
      ...meta,
    };
    const answer = new Promise<Message>((resolve) => this.#waiting.set(id, resolve));
    this.#write({ id, method, params: { ...params, _meta } });
    return { id, answer };
  }

  /** Answers what it was asked, with whatever id. */
  answer(id: unknown, result: object): void {
    this.#write({ id, result });
  }

  /** Writes what need not be a message at all. */
  writeText(text: string): void {
    this.#bridge.stdin?.write(text);
  }

  notify(method: string, params: object): void {
    this.#write({ method, params });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#bridge.exitCode !== null || this.#bridge.signalCode !== null) return;
    const ended = new Promise((resolve) => this.#bridge.once('exit', resolve));
    this.#bridge.stdin?.end();
    await ended;
  }

  #write(message: object): void {
    this.#bridge.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  }
}
