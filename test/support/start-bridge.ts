// A real bridge as a child process and a real MCP client on its stdio: how every front-door test comes in.

import { existsSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import type { CallToolResult, ClientCapabilities, Progress } from '@modelcontextprotocol/sdk/types.js';
import { argvOf, shellWord } from '../../src/base/process/own-command.js';

import { engineUnderTest } from './engine-under-test.js';
import { HANGS_MS } from './time.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
export const MAIN = join(ROOT, 'dist/cli/main.js');

/** Name that the bridge of the tests gives itself in sentences: it is started as out of a checkout. */
export const OWN = argvOf(MAIN).map(shellWord).join(' ');
export const HOSTILE_SERVER = join(ROOT, 'test/fixtures/hostile-server.mjs');

const STORAGE_CONF = join(homedir(), '.config/containers/storage.conf');

export type ProgramEntry = {
  readonly command: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
};
export type RemoteEntry = {
  readonly type: 'http' | 'sse';
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
};
export type ServerEntry = ProgramEntry | RemoteEntry;

/** The command of an npm package's only bin, run by this Node. */
export function npmServer(name: string, ...args: readonly string[]): ProgramEntry {
  const require = createRequire(import.meta.url);
  const manifest = join(ROOT, 'node_modules', name, 'package.json');
  const { bin } = require(manifest) as { bin: Record<string, string> };
  const [script = ''] = Object.values(bin);
  return { command: process.execPath, args: [join(dirname(manifest), script), ...args] };
}

export const hostileServer = (...args: readonly string[]): ServerEntry => ({
  command: process.execPath,
  args: [HOSTILE_SERVER, ...args],
});

export type Payload = {
  readonly status: string;
  readonly summary: string;
  readonly exitCode?: number;
  readonly stdout?: readonly string[];
  readonly stderr?: readonly string[];
  readonly result?: unknown;
  readonly error?: string;
  readonly errorType?: string;
  readonly traceback?: readonly string[];
  readonly remedy?: string;
  readonly droppedCharacters?: number;
};

export type RunOptions = {
  readonly servers?: readonly string[];
  readonly timeout?: number;
  readonly signal?: AbortSignal;
  readonly onprogress?: (progress: Progress) => void;
};

export type TestBridge = AsyncDisposable & {
  readonly client: Client;
  readonly pid: number;
  readonly home: string;
  readonly stateDir: string;
  readonly stderr: () => string;
  /** Calls run_python and returns the whole result. */
  readonly call: (args: Record<string, unknown>, options?: RunOptions) => Promise<CallToolResult>;
  /** Calls run_python and returns its payload. */
  readonly run: (code: string, options?: RunOptions) => Promise<Payload>;
};

/** A home folder of its own; removed with everything else of the suite by the global teardown. */
export function tempHome(): string {
  const base = process.env['TEST_ROOT'] ?? tmpdir();
  mkdirSync(base, { recursive: true });
  return mkdtempSync(join(base, 'home-'));
}

/** The environment of a bridge under test: our own, less everything that could lead it to the developer's set-up. */
export function bridgeEnv(
  home: string,
  extra: Readonly<Record<string, string>> = {},
): Record<string, string> {
  const kept = Object.entries(process.env).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && !/^(MCP_|CLAUDE)/.test(entry[0]),
  );
  return {
    ...Object.fromEntries(kept),
    HOME: home,
    // The engine keeps its images under the real home; only the bridge's own places are moved.
    XDG_DATA_HOME: process.env['XDG_DATA_HOME'] ?? join(homedir(), '.local/share'),
    ...(existsSync(STORAGE_CONF) ? { CONTAINERS_STORAGE_CONF: STORAGE_CONF } : {}),
    MCP_BRIDGE_STATE_DIR: process.env['TEST_STATE_DIR'] ?? join(home, 'state'),
    // Bridges share what they found of an engine where such variables are equal: each home begins with nothing.
    PODMAN_HOME_OF_TEST: home,
    ...engineUnderTest.environment,
    // However slow the machine is; tests of long runs say otherwise.
    MCP_BRIDGE_PATIENCE: '0',
    ...extra,
  };
}

export async function startBridge(
  servers: Readonly<Record<string, ServerEntry>>,
  options: {
    readonly env?: Readonly<Record<string, string>>;
    readonly clientName?: string;
    /** Capabilities that the client offers; `prepare` sets up what answers for them. */
    readonly capabilities?: ClientCapabilities;
    readonly prepare?: (client: Client) => void;
  } = {},
): Promise<TestBridge> {
  const home = tempHome();
  const config = join(home, 'servers.json');
  writeFileSync(config, JSON.stringify({ mcpServers: servers }), { mode: 0o600 });
  const env = bridgeEnv(home, { MCP_SERVERS_CONFIG: config, ...options.env });
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [MAIN],
    env,
    cwd: home,
    stderr: 'pipe',
  });
  const { clientName = 'front-door', capabilities = {}, prepare = () => {} } = options;
  const client = new Client({ name: clientName, version: '1.0.0' }, { capabilities });
  prepare(client);
  let stderr = '';
  transport.stderr?.on('data', (chunk: Buffer) => {
    stderr = (stderr + chunk.toString()).slice(-1_000_000);
  });
  await client.connect(transport);
  const call: TestBridge['call'] = async (args, { signal, onprogress } = {}) =>
    (await client.callTool({ name: 'run_python', arguments: args }, undefined, {
      timeout: HANGS_MS,
      ...(signal === undefined ? {} : { signal }),
      ...(onprogress === undefined ? {} : { onprogress }),
    })) as CallToolResult;
  return {
    client,
    pid: transport.pid ?? -1,
    home,
    stateDir: env['MCP_BRIDGE_STATE_DIR'] ?? '',
    stderr: () => stderr,
    call,
    run: async (code, runOptions = {}) => {
      const { servers: wanted, timeout } = runOptions;
      const args = {
        code,
        ...(wanted === undefined ? {} : { servers: wanted }),
        ...(timeout === undefined ? {} : { timeout }),
      };
      return (await call(args, runOptions)).structuredContent as Payload;
    },
    [Symbol.asyncDispose]: () => client.close(),
  };
}
