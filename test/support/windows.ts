// Windows of one user: real bridges as a host starts them, with a client each, that share what they may. All of a `Desk` have
// one home and one runtime folder, which no other test has.

import { execFile, execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import type { CallToolResult, ClientCapabilities, Progress } from '@modelcontextprotocol/sdk/types.js';
import type { SharedStatus } from '../../src/service/windows/greeting.js';
import { bridgeEnv, MAIN, type ServerEntry, tempHome } from './start-bridge.js';
import { HANGS_MS } from './time.js';
import { makeUsed } from './used-state.js';

export type WindowOptions = {
  /** Where the host starts it; default: the desk's own folder. */
  readonly folder?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly name?: string;
  readonly capabilities?: ClientCapabilities;
  readonly prepare?: (client: Client) => void;
  /** The command line that is started; default: the built one. */
  readonly main?: string;
  /** With --shared off: a bridge of its own. */
  readonly shared?: 'on' | 'auto' | 'off';
};

const run = promisify(execFile);

export class Desk implements AsyncDisposable {
  readonly home = tempHome();
  readonly folder = join(this.home, 'project');
  readonly runtime = join(this.home, 'runtime');
  readonly #config = join(this.home, 'servers.json');
  readonly #env: Readonly<Record<string, string>>;
  readonly #windows: TestWindow[] = [];
  #owner: number | undefined;

  /** `servers` are those that every window finds. */
  constructor(servers: Readonly<Record<string, ServerEntry>>, env: Readonly<Record<string, string>> = {}) {
    for (const folder of [this.folder, this.runtime]) mkdirSync(folder, { mode: 0o700 });
    chmodSync(this.runtime, 0o700);
    writeFileSync(this.#config, JSON.stringify({ mcpServers: servers }), { mode: 0o600 });
    this.#env = env;
    makeUsed(join(this.home, 'state'));
  }

  env(extra: Readonly<Record<string, string>> = {}): Record<string, string> {
    return bridgeEnv(this.home, {
      MCP_SERVERS_CONFIG: this.#config,
      MCP_BRIDGE_STATE_DIR: join(this.home, 'state'),
      MCP_BRIDGE_WARM: '0',
      MCP_BRIDGE_SHARED: 'on',
      XDG_RUNTIME_DIR: this.runtime,
      ...this.#env,
      ...extra,
    });
  }

  async open(options: WindowOptions = {}): Promise<TestWindow> {
    const window = await TestWindow.open(this, options);
    this.#windows.push(window);
    return window;
  }

  /** Output of `command` of the command line. */
  async say(...command: readonly string[]): Promise<string> {
    const { stdout } = await run(process.execPath, [MAIN, ...command], {
      env: this.env(),
      cwd: this.folder,
      ...(this.#owner === undefined ? {} : { uid: this.#owner, gid: this.#owner }),
    });
    return stdout;
  }

  /** Whose windows these are, where they are another user's. */
  get owner(): number | undefined {
    return this.#owner;
  }

  /** Gives the home to another user, whom only root can be. */
  giveTo(uid: number): void {
    // Homes of tests lie in a folder for their user alone.
    chmodSync(dirname(this.home), 0o711);
    execFileSync('chown', ['--recursive', `${uid}:${uid}`, this.home]);
    this.#owner = uid;
  }

  async status(): Promise<readonly SharedStatus[]> {
    return (JSON.parse(await this.say('status', '--json')) as { bridges: readonly SharedStatus[] }).bridges;
  }

  /** The process of the only shared bridge. Throws where there is another number of them. */
  async pid(): Promise<number> {
    const bridges = await this.status();
    if (bridges.length !== 1) throw new Error(`${bridges.length} shared bridges`);
    return bridges[0]?.pid ?? -1;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#windows.map((window) => window[Symbol.asyncDispose]()));
    if (existsSync(this.runtime)) await this.say('stop', '--now');
  }
}

/** Words before a command that another user runs. */
const asUser = (uid: number | undefined): readonly string[] =>
  uid === undefined ? [] : ['setpriv', `--reuid=${uid}`, `--regid=${uid}`, '--clear-groups'];

export class TestWindow implements AsyncDisposable {
  readonly client: Client;
  /** Pid of the process that the host has started. */
  readonly pid: number;
  readonly stderr: () => string;

  private constructor(client: Client, pid: number, stderr: () => string) {
    this.client = client;
    this.pid = pid;
    this.stderr = stderr;
  }

  static async open(desk: Desk, options: WindowOptions): Promise<TestWindow> {
    const { folder = desk.folder, env = {}, name = 'window', main = MAIN, shared } = options;
    const [command = '', ...args] = [...asUser(desk.owner), process.execPath, main];
    const transport = new StdioClientTransport({
      command,
      args,
      env: desk.env({ ...env, ...(shared === undefined ? {} : { MCP_BRIDGE_SHARED: shared }) }),
      cwd: folder,
      stderr: 'pipe',
    });
    const client = new Client({ name, version: '1.0.0' }, { capabilities: options.capabilities ?? {} });
    options.prepare?.(client);
    let stderr = '';
    transport.stderr?.on('data', (chunk: Buffer) => {
      stderr += chunk.toString();
    });
    await client.connect(transport);
    return new TestWindow(client, transport.pid ?? -1, () => stderr);
  }

  /** Calls `execute`: the answer as it is. */
  async call(
    command: string,
    args: readonly string[] = [],
    options: { readonly signal?: AbortSignal; readonly onprogress?: (progress: Progress) => void } = {},
  ): Promise<CallToolResult> {
    const params = { name: 'execute', arguments: { command, args: [...args] } };
    return (await this.client.callTool(params, undefined, {
      timeout: HANGS_MS,
      ...options,
    })) as CallToolResult;
  }

  /** Calls `execute` of a run that goes on. */
  async goOn(asked: Readonly<Record<string, unknown>>): Promise<CallToolResult> {
    const params = { name: 'execute', arguments: asked };
    return (await this.client.callTool(params, undefined, { timeout: HANGS_MS })) as CallToolResult;
  }

  /** The text of its answer, or of its error. */
  async execute(command: string, ...args: readonly string[]): Promise<string> {
    return textOf(await this.call(command, args));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.client.close();
  }
}

export const textOf = ({ content }: CallToolResult): string =>
  content.map((part) => (part.type === 'text' ? part.text : `(${part.type})`)).join('\n');
