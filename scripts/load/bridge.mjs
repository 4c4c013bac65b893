// The bridge under load: `serve --http` at one port with a token for each principal, started again at the same port when it
// was killed, measured while it serves, and looked after for what it leaves.

import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { secondsUsed } from '../bench/processes.mjs';
import { freePort } from '../free-port.mjs';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const MAIN = join(ROOT, 'dist/cli/main.js');
const KEEPING_SERVER = join(ROOT, 'test/fixtures/keeping-server.mjs');
const TELLS_MEMORY = new URL('tells-memory.mjs', import.meta.url).href;
const LABEL = 'mcp-sandbox-bridge';
const START_MS = 60_000;
const END_MS = 60_000;
const WEIGHED_WITHIN_MS = 60_000;
/** Of its log, for whoever has to look why something failed. */
const LOG_CHARS = 200_000;

export class BridgeUnderLoad {
  port = 0;
  /** By the name of the principal. */
  tokens = new Map();
  /** How often it ended though nobody had ended it. */
  crashes = 0;
  /** How often it has become ready. */
  starts = 0;
  #env;
  #isWeighed = false;
  #home;
  #scratch;
  #child;
  #mark;
  #log = '';
  #isWanted = false;
  /** Containers that were there before; undefined where none are looked for. */
  #before;

  /**
   * `principals` are names. Without containers every call is handed to a server, and no engine is used. `files` are JSON in its home,
   * by their names, among them the principals' rules in `principals.json`; with `isWeighed` it tells what it holds.
   */
  static async open({ principals, withContainers, files = {}, isWeighed = false }) {
    const bridge = new BridgeUnderLoad();
    bridge.#isWeighed = isWeighed;
    const home = mkdtempSync(join(tmpdir(), 'load-'));
    for (const [name, content] of Object.entries(files))
      writeFileSync(join(home, name), JSON.stringify(content), { mode: 0o600 });
    bridge.#home = home;
    bridge.#scratch = join(home, 'tmp');
    mkdirSync(bridge.#scratch);
    bridge.#mark = `load-${process.pid}-${Date.now()}`;
    bridge.#env = environment(home, bridge.#scratch, bridge.#mark, withContainers);
    const rules = join(home, 'principals.json');
    if (existsSync(rules)) bridge.#env.MCP_BRIDGE_PRINCIPALS = rules;
    for (const name of principals)
      bridge.tokens.set(name, bridge.#command('token', 'create', name, '--servers', 'desk').trim());
    bridge.port = await freePort();
    await bridge.start();
    return bridge;
  }

  get pid() {
    return this.#child?.pid;
  }

  get log() {
    return this.#log;
  }

  /** Starts it; resolves when it takes requests. It is started again whenever it ends, until `stop`. */
  async start() {
    this.#isWanted = true;
    const weighed = this.#isWeighed ? ['--expose-gc', `--import=${TELLS_MEMORY}`] : [];
    const child = spawn(process.execPath, [...weighed, MAIN, 'serve', '--http', `127.0.0.1:${this.port}`], {
      env: this.#env,
      cwd: this.#home,
      stdio: /** @type {import('node:child_process').StdioOptions} */ ([
        'ignore',
        'ignore',
        'pipe',
        ...(this.#isWeighed ? ['ipc'] : []),
      ]),
    });
    this.#child = child;
    child.stderr.setEncoding('utf8').on('data', (piece) => {
      this.#log = (this.#log + piece).slice(-LOG_CHARS);
    });
    child.once('exit', (_code, signal) => {
      if (!this.#isWanted) return;
      if (signal !== 'SIGKILL') this.crashes++;
      void this.start().catch(() => {});
    });
    const end = performance.now() + START_MS;
    while (performance.now() < end) {
      if (await isReady(this.port)) return void this.starts++;
      if (child.exitCode !== null) break;
      await pause(50);
    }
    throw new Error(`The bridge does not become ready:\n${this.#log.slice(-4_000)}`);
  }

  /** As a machine without memory ends it. */
  kill() {
    this.#child.kill('SIGKILL');
  }

  /** Ends it as its operator does; whether it went by itself, in time. */
  async stop() {
    this.#isWanted = false;
    const child = this.#child;
    if (child.exitCode !== null || child.signalCode !== null) return true;
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    const late = setTimeout(() => child.kill('SIGKILL'), END_MS);
    const [, signal] = await ended;
    clearTimeout(late);
    return signal === null;
  }

  /** Resident memory in bytes, and open descriptors; undefined while it is not there. */
  sample() {
    try {
      const status = readFileSync(`/proc/${this.pid}/status`, 'utf8');
      const kilobytes = Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1]);
      return { bytes: kilobytes * 1024, descriptors: readdirSync(`/proc/${this.pid}/fd`).length };
    } catch {
      return undefined;
    }
  }

  /** Bytes of its objects and of their buffers, garbage left out; where `isWeighed`. */
  async heldBytes() {
    this.#child.send('how much');
    const [bytes] = await once(this.#child, 'message', { signal: AbortSignal.timeout(WEIGHED_WITHIN_MS) });
    return bytes;
  }

  /** Processor seconds that its process has used. */
  processorSeconds() {
    return secondsUsed(this.pid);
  }

  /** What is left of it, by name, when it has ended. */
  leftovers() {
    const processes = processesWith(this.#mark).map((line) => `process: ${line}`);
    const folders = readdirSync(this.#scratch).map((name) => `temporary: ${name}`);
    const containers = this.#containers().map((name) => `container: ${name}`);
    return [...processes, ...folders, ...containers];
  }

  /** After some time, since an engine removes containers behind its client's back. */
  async leftoversAfter(withinMs) {
    const end = performance.now() + withinMs;
    while (this.leftovers().length > 0 && performance.now() < end) await pause(250);
    return this.leftovers();
  }

  /** Its state, log and tokens go with it. */
  remove() {
    rmSync(this.#home, { recursive: true, force: true });
  }

  /** Containers that are there now and were not before the first start. */
  #containers() {
    if (this.#before === undefined) return [];
    return ourContainers().filter((name) => !this.#before.has(name));
  }

  /** From now on containers are looked for: needs an engine. */
  watchContainers() {
    this.#before = new Set(ourContainers());
  }

  #command(...args) {
    /** @type {import('node:child_process').StdioOptions} */
    const stdio = ['ignore', 'pipe', 'ignore'];
    return execFileSync(process.execPath, [MAIN, ...args], {
      env: this.#env,
      cwd: this.#home,
      encoding: 'utf8',
      stdio,
    });
  }
}

function environment(home, scratch, mark, withContainers) {
  const kept = Object.entries(process.env).filter(([name]) => !/^(MCP_|CLAUDE)/.test(name));
  const config = join(home, 'servers.json');
  // The mark is nowhere but in the command line, where what is left can be found by it.
  const desk = { command: process.execPath, args: [KEEPING_SERVER, mark] };
  writeFileSync(config, JSON.stringify({ mcpServers: { desk } }), { mode: 0o600 });
  return {
    ...Object.fromEntries(kept),
    HOME: home,
    // The engine keeps its images under the real home.
    XDG_DATA_HOME: process.env.XDG_DATA_HOME ?? join(homedir(), '.local/share'),
    TMPDIR: scratch,
    MCP_SERVERS_CONFIG: config,
    MCP_BRIDGE_STATE_DIR: join(home, 'state'),
    MCP_BRIDGE_LOG_LEVEL: 'warn',
    MCP_BRIDGE_HTTP_RATE: '100000',
    // Each call is waited for, however long it stands in the queue.
    MCP_BRIDGE_PATIENCE: '0',
    ...(withContainers
      ? { MCP_BRIDGE_TOOLS: 'run_python,execute', MCP_BRIDGE_EXECUTE_SERVER: 'desk' }
      : { MCP_BRIDGE_TOOLS: 'execute', MCP_BRIDGE_EXECUTE_SERVER: 'desk', MCP_BRIDGE_WARM: '0' }),
  };
}

async function isReady(port) {
  try {
    const response = await fetch(`http://127.0.0.1:${port}/healthz`);
    await response.text();
    return response.ok;
  } catch {
    return false;
  }
}

function ourContainers() {
  const engine = process.env.MCP_BRIDGE_ENGINE ?? 'podman';
  const args = ['ps', '--all', `--filter=label=${LABEL}`, '--format={{.Names}}'];
  return execFileSync(engine, args, { encoding: 'utf8' }).split('\n').filter(Boolean);
}

/** Command lines of living processes that contain `mark`, but for our own. */
function processesWith(mark) {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
      } catch {
        return '';
      }
    })
    .filter((line) => line.includes(mark));
}

export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
