// Where the attacks are tried: the built bridge as `serve --http`, two principals with tokens, and servers with a state. A
// bridge for each set of settings, started when it is first needed.

import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { TokenFile, type TokenRecord } from '../../../src/service/access/token-file.js';
import { principalStateDir } from '../../../src/settings/files/state-dir.js';
import { answerOf, HttpAgent, type Place, textOf } from '../../support/http-agent.js';
import { bridgeEnv, MAIN, type ServerEntry, tempHome } from '../../support/start-bridge.js';
import { HANGS_MS, nodeStarts, pause } from '../../support/time.js';
import { makeUsed } from '../../support/used-state.js';

export const KEEPING_SERVER = fileURLToPath(new URL('../../fixtures/keeping-server.mjs', import.meta.url));
/** What one bridge does for one request is done by then: Node could start many times. */
export const SOON_MS = Math.max(2_000, nodeStarts(30));
const keeping = (env: Readonly<Record<string, string>> = {}): ServerEntry => ({
  command: process.execPath,
  args: [KEEPING_SERVER],
  env,
});
const SERVERS = { desk: keeping(), vault: keeping({ VAULT_SECRET: 'of-the-vault' }) };

/** A principal, with a client of its own. */
export type Party = {
  readonly name: string;
  readonly agent: HttpAgent;
  /** As the bridge knows it. */
  readonly id: string;
};

type Line = Readonly<Record<string, unknown>>;
type Settings = Readonly<Record<string, string>>;

export type WorldOptions = {
  readonly settings?: Settings;
  readonly servers?: Readonly<Record<string, ServerEntry>>;
  /** Default: a port of 127.0.0.1. */
  readonly listen?: (home: string) => string;
};

export class World implements AsyncDisposable {
  readonly home: string;
  readonly stateDir: string;
  readonly place: Place;
  readonly ann: Party;
  readonly eve: Party;
  readonly #bridge: ChildProcess;
  readonly #log: () => string;
  #marks = 0;

  private constructor(
    fields: Pick<World, 'home' | 'stateDir' | 'place' | 'ann' | 'eve'>,
    bridge: ChildProcess,
    log: () => string,
  ) {
    this.home = fields.home;
    this.stateDir = fields.stateDir;
    this.place = fields.place;
    this.ann = fields.ann;
    this.eve = fields.eve;
    this.#bridge = bridge;
    this.#log = log;
  }

  static async open({ settings = {}, servers = SERVERS, listen }: WorldOptions = {}): Promise<World> {
    const home = tempHome();
    const stateDir = makeUsed(join(home, 'state'));
    const config = join(home, 'servers.json');
    writeFileSync(config, JSON.stringify({ mcpServers: servers }), { mode: 0o600 });
    const names = Object.keys(servers);
    const tokens = new TokenFile(stateDir);
    const ann = await issue(tokens, 'ann', names);
    const eve = await issue(
      tokens,
      'eve',
      names.filter((name) => name !== 'vault'),
    );
    const env = bridgeEnv(home, {
      MCP_SERVERS_CONFIG: config,
      MCP_BRIDGE_STATE_DIR: stateDir,
      MCP_BRIDGE_TOOLS: 'execute',
      MCP_BRIDGE_EXECUTE_SERVER: 'desk',
      MCP_BRIDGE_WARM: '0',
      MCP_BRIDGE_HTTP_RATE: '100000',
      // Attacks leave calls behind that hang, and nobody waits for those.
      MCP_BRIDGE_HTTP_DRAIN: '2',
      MCP_BRIDGE_LOG_LEVEL: 'info',
      // A client that knows tasks gets one at once.
      MCP_BRIDGE_TASK_AFTER: '0',
      ...settings,
    });
    const address = listen?.(home) ?? '127.0.0.1:0';
    const bridge = spawn(process.execPath, [MAIN, 'serve', '--http', address], {
      env,
      cwd: home,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let log = '';
    bridge.stderr?.setEncoding('utf8').on('data', (piece: string) => {
      log += piece;
    });
    const place = await listening(bridge, () => log, address);
    const party = ({ text, record }: Issued): Party => ({
      name: record.name,
      agent: new HttpAgent(place, text),
      id: idOf(record),
    });
    return new World({ home, stateDir, place, ann: party(ann), eve: party(eve) }, bridge, () => log);
  }

  /** The process id of the bridge. */
  get pid(): number {
    return this.#bridge.pid ?? -1;
  }

  /** What the bridge has logged, as lines of JSON. */
  log(): readonly Line[] {
    return jsonLines(this.#log());
  }

  /** The lines of the audit, once those of calls that have been answered are written. */
  audit(): readonly Line[] {
    const folder = join(this.stateDir, 'audit');
    if (!existsSync(folder)) return [];
    return readdirSync(folder).flatMap((name) => jsonLines(readFileSync(join(folder, name), 'utf8')));
  }

  /** A text that is nowhere else. */
  mark(): string {
    return `mark-${process.pid}-${++this.#marks}-${Math.random().toString(36).slice(2)}`;
  }

  /** The user of the bridge, who has the socket and shows no credential. */
  local(): Party {
    return { name: 'local user', agent: new HttpAgent(this.place, undefined), id: 'local' };
  }

  /** A further token, and its principal. */
  async issue(name: string, servers: readonly string[] = ['desk'], expiresAtMs?: number): Promise<Party> {
    const { text, record } = await issue(new TokenFile(this.stateDir), name, servers, expiresAtMs);
    return { name, agent: new HttpAgent(this.place, text), id: idOf(record) };
  }

  /** Somebody new, of whom nothing is open yet, and who attacks it: the same one where `by` is ann. */
  async newcomer(by: Party): Promise<{ readonly owner: Party; readonly attacker: Party }> {
    const owner = await this.issue(this.mark());
    return { owner, attacker: by === this.ann ? owner : by };
  }

  async revoke({ name }: Party): Promise<void> {
    const file = new TokenFile(this.stateDir);
    await file.change(
      (tokens) => tokens.filter((token) => token.name !== name),
      AbortSignal.timeout(HANGS_MS),
    );
  }

  /** The same token reaches these servers from now on. */
  async change({ name }: Party, servers: readonly string[]): Promise<void> {
    const file = new TokenFile(this.stateDir);
    const changed = (token: TokenRecord) => (token.name === name ? { ...token, servers } : token);
    await file.change((tokens) => tokens.map(changed), AbortSignal.timeout(HANGS_MS));
  }

  /** What is kept of its token. */
  hashOf({ name }: Party): string {
    return new TokenFile(this.stateDir).read().find((token) => token.name === name)?.hash ?? '';
  }

  /** Whether a line of the log fits, now or soon: an attack that is held waits for it in vain. */
  logged(fits: (text: string) => boolean, withinMs = SOON_MS): Promise<boolean> {
    return soon(() => this.log().some((line) => fits(JSON.stringify(line))), withinMs);
  }

  /** Whether a line of the audit fits, once it has one that `comes`. Throws where none comes. */
  async audited(fits: (line: Line) => boolean, comes: (line: Line) => boolean): Promise<boolean> {
    if (!(await soon(() => this.audit().some(comes), HANGS_MS)))
      throw new Error('the audit has no line of it');
    return this.audit().some(fits);
  }

  stateDirOf({ id }: Party): string {
    return principalStateDir(this.stateDir, { id });
  }

  /** Ends the bridge as its operator does; its exit code. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#bridge.exitCode !== null) return;
    const ended = new Promise((resolve) => this.#bridge.once('exit', resolve));
    const late = setTimeout(() => this.#bridge.kill('SIGKILL'), HANGS_MS);
    this.#bridge.kill('SIGTERM');
    await ended;
    clearTimeout(late);
  }
}

/** The worlds of one table, by their settings. */
export class Worlds implements AsyncDisposable {
  readonly #open = new Map<string, Promise<World>>();

  with(settings: Settings = {}): Promise<World> {
    const key = JSON.stringify(settings);
    const world = this.#open.get(key) ?? World.open({ settings });
    this.#open.set(key, world);
    return world;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const world of this.#open.values()) await (await world)[Symbol.asyncDispose]();
  }
}

/** Calls `execute` of the server that keeps; the text of its answer, or of the error. */
export async function execute(
  { agent }: Party,
  command: string,
  ...args: readonly string[]
): Promise<string> {
  return textOf(await answerOf(agent.modern('tools/call', executing(command, ...args))));
}

/** The parameters of a call of `execute`. */
export const executing = (command: string, ...args: readonly string[]) => ({
  name: 'execute',
  arguments: { command, args },
});

type Issued = { readonly text: string; readonly record: TokenRecord };

const issue = (
  tokens: TokenFile,
  name: string,
  servers: readonly string[],
  expiresAtMs?: number,
): Promise<Issued> =>
  tokens.add(name, { servers, scopes: [], expiresAtMs }, () => {}, AbortSignal.timeout(HANGS_MS));

const idOf = ({ name, id }: TokenRecord): string => `token:${name}#${id}`;

async function soon(condition: () => boolean, withinMs: number): Promise<boolean> {
  const end = performance.now() + withinMs;
  while (!condition() && performance.now() < end) await pause(50);
  return condition();
}

const jsonLines = (text: string): Line[] =>
  text
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Line);

/** Waits until the bridge listens. Throws with its log where it does not. */
async function listening(bridge: ChildProcess, log: () => string, address: string): Promise<Place> {
  const end = performance.now() + HANGS_MS;
  while (performance.now() < end && bridge.exitCode === null) {
    const port = /http:\/\/127\.0\.0\.1:(\d+)/.exec(log())?.[1];
    if (port !== undefined) return { port: Number(port) };
    if (address.startsWith('unix:') && log().includes('"http.listening"'))
      return { socketPath: address.slice(5) };
    await pause(20);
  }
  bridge.kill('SIGKILL');
  throw new Error(`serve --http ${address} does not listen:\n${log()}`);
}
