// Where everything is measured: a home folder of its own, the built bridge behind a real MCP client, and plain MCP
// clients to compare with. What is opened here is closed here. Measures live in the other files.

import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';

export const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
export const MAIN = join(ROOT, 'dist/cli/main.js');

const STORAGE_CONF = join(homedir(), '.config/containers/storage.conf');
/** The SDK's client closes above 10 MB unless told otherwise, which is just what is to be measured. */
const MAX_MESSAGE_BYTES = 64 * 1024 * 1024;
const REQUEST_TIMEOUT_MS = 120_000;
/** Settings of the user that say which container is measured; all others would change what is measured. */
const KEPT_SETTINGS = /^MCP_BRIDGE_(?:RUNTIME|OCI_RUNTIME|IMAGE|LAUNCH)$/;

export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Calls `work` and gives what it gave with how long it took, in milliseconds. */
export async function timeWork(work) {
  const startedAt = performance.now();
  const value = await work();
  return { value, ms: performance.now() - startedAt };
}

/** The server that echoes and makes results of any size; it is written without any SDK and costs little itself. */
export const echoServer = {
  command: process.execPath,
  args: [join(ROOT, 'test/fixtures/hostile-server.mjs')],
};

/** A server from npm, run by this Node. */
export function npmServer(name, ...args) {
  const folder = join(ROOT, 'node_modules/@modelcontextprotocol', name);
  const { bin } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  return { command: process.execPath, args: [join(folder, Object.values(bin)[0]), ...args] };
}

export class Stage {
  #root = mkdtempSync(join(tmpdir(), 'mcp-sandbox-bridge-bench-'));
  #homes = 0;

  constructor({ quick }) {
    this.quick = quick;
    this.stateDir = join(this.#root, 'state');
    mkdirSync(this.stateDir);
  }

  /** How often to repeat: `full` times, or `quick` times in a quick run. */
  times(full, quick) {
    return this.quick ? quick : full;
  }

  /** A new home folder whose configuration names `servers`. */
  home(servers = {}) {
    const home = join(this.#root, `home-${++this.#homes}`);
    const folder = join(home, '.config/mcp/servers');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'bench.json'), JSON.stringify({ mcpServers: servers }), { mode: 0o600 });
    return home;
  }

  /** Environment of a bridge at home in `home`; the engine still finds its images, which lie below the real one. */
  environment(home, extra = {}) {
    const kept = Object.entries(process.env).filter(
      ([name]) => KEPT_SETTINGS.test(name) || !/^(?:MCP_|XDG_CONFIG_|CLAUDE)/.test(name),
    );
    return {
      ...Object.fromEntries(kept),
      HOME: home,
      XDG_DATA_HOME: process.env.XDG_DATA_HOME ?? join(homedir(), '.local/share'),
      ...(existsSync(STORAGE_CONF) ? { CONTAINERS_STORAGE_CONF: STORAGE_CONF } : {}),
      MCP_BRIDGE_STATE_DIR: this.stateDir,
      MCP_BRIDGE_LOG_LEVEL: 'error',
      ...extra,
    };
  }

  /** Has `work` use a client of the program; the program is gone afterwards. */
  async withClient({ command, args, env, cwd }, work) {
    const transport = new StdioClientTransport({
      command,
      args,
      env,
      cwd,
      stderr: 'pipe',
      maxBufferSize: MAX_MESSAGE_BYTES,
    });
    let words = '';
    transport.stderr.on('data', (chunk) => {
      words = (words + chunk).slice(-2000);
    });
    const client = new Client({ name: 'bench', version: '1.0.0' });
    try {
      await client.connect(transport);
      return await work(client, transport.pid);
    } catch (thrown) {
      throw new Error(`${thrown.message}${words === '' ? '' : ` (it said: ${words.trim()})`}`, {
        cause: thrown,
      });
    } finally {
      await client.close();
    }
  }

  /** Has `work` use a plain client of the server `entry`, with nothing of ours between. */
  withPlainClient(entry, work) {
    return this.withClient({ cwd: this.#root, env: { PATH: process.env.PATH }, ...entry }, work);
  }

  /** Has `work` use a bridge that has listed its tools and made one call, so that nothing is done for the first time. */
  withBridge({ servers = {}, env = {} }, work) {
    const home = this.home(servers);
    const program = { command: process.execPath, args: [MAIN], env: this.environment(home, env), cwd: home };
    return this.withClient(program, async (client, pid) => {
      const bridge = {
        client,
        pid,
        run: (code, more = {}) =>
          payloadOf(client, 'run_python', { code, servers: Object.keys(servers), ...more }),
        execute: (language, code) => payloadOf(client, 'execute_code', { language, entrypoint_code: code }),
      };
      await client.listTools();
      await bridge.run('print(1)');
      return work(bridge);
    });
  }

  close() {
    // A rootless podman that still cleans up after the last container makes its own folders in the home that it was given.
    rmSync(this.#root, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }
}

/** The payload of one call, which must succeed. */
async function payloadOf(client, name, args) {
  const { structuredContent: payload } = await client.callTool({ name, arguments: args }, undefined, {
    timeout: REQUEST_TIMEOUT_MS,
  });
  // A cluster may need longer for the first sandbox than a call waits for it.
  if (payload.errorType === 'E_SETTING_UP') return payloadOf(client, name, args);
  if (payload.status === 'success') return payload;
  throw new Error(`${name}: ${payload.summary} ${payload.error ?? ''} ${payload.stderr?.join('\n') ?? ''}`);
}
