// One session of a host program without a person: a home folder that it has never seen, the bridge registered by its own
// `install`, the stand-in as its model, and its end watched. Fails with what the host said when it does not work.

import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { MAIN, npmServer, pause } from '../bench/stage.mjs';
import { run } from './install.mjs';
import { bridgesAt, containersOf, waitUntilGone } from './leftovers.mjs';
import { StandIn } from './model.mjs';
import { atTerminal } from './terminal.mjs';

const COMMAND_TIMEOUT_MS = 60_000;
const SESSION_TIMEOUT_MS = 180_000;
/** Until a container runs the endless code; more than a cold start takes. */
const UNDER_WAY_WITHIN_MS = 30_000;
/** A host that was told to end should have; hosts themselves wait for half a second. */
const GONE_WITHIN_MS = 10_000;
const SAID_CHARS = 2_000_000;
const WORDS_CHARS = 1_000;

/** What the bridge needs of our environment to find the engine's images below the real home. */
const HANDED_ON =
  /^(?:MCP_BRIDGE_(?:RUNTIME|OCI_RUNTIME|IMAGE|STATE_DIR)|XDG_DATA_HOME|CONTAINERS_STORAGE_CONF)$/;

export class Session {
  /** `servers` stand in a file that belongs to no host. */
  constructor(
    id,
    host,
    argv,
    stage,
    engine,
    /** @type {Record<string, object>} */ servers = { everything: npmServer('server-everything') },
  ) {
    this.id = id;
    this.host = host;
    this.argv = argv;
    this.stage = stage;
    this.engine = engine;
    this.home = stage.home(servers);
    this.project = join(this.home, 'project');
    mkdirSync(this.project);
    /** @type {[string, string][]} */
    this.handedOn = Object.entries(stage.environment(this.home)).filter(([name]) => HANDED_ON.test(name));
  }

  /**
   * { listed, standIn, said, end, prepared, concluded }: registers, lists, and has the stand-in make `calls`, which is without a
   * screen unless `answers` says what a person presses there (terminal.mjs).
   * `prepare` and `conclude` are given { home, host, ours, theirs, typed, url, env } before and after that: `ours` and `theirs` run
   * a command of ours and of the host's, and `typed` one of the host's at a terminal, with `more` for its environment.
   */
  async play(
    calls,
    /** @type {Record<string, any>} */
    { interruptWith, prepare = this.#register, conclude, before, withinMs, answers } = {},
  ) {
    const { host, home, project } = this;
    const standIn = new StandIn(
      host.dialect,
      calls.map((call) => (typeof call === 'function' ? call : { ...call, ...host.adds })),
      host.toolName,
    );
    if (before !== undefined) standIn.before = before;
    const url = await standIn.open();
    try {
      const place = { home, project, url };
      host.furnish?.(place);
      const env = this.#environment(url, host.env(place));
      const typed = (args, /** @type {{ more?: object, asks?: string }} */ { more, asks } = {}) =>
        atTerminal([...this.argv, ...args], {
          env: { ...env, ...more },
          cwd: project,
          answers: asks === undefined ? [] : [[asks, 'y\n']],
        });
      const hands = {
        ...place,
        host,
        ours: this.#ownEntry(env),
        theirs: (args) => this.#command(args, env),
        typed,
        env,
      };
      const prepared = await prepare.call(this, hands);
      const list = stripVTControlCharacters(await this.#command(host.list, env));
      const listed = host.listed.exec(list)?.[1] ?? 'not listed';
      const { said, bridges } =
        answers === undefined
          ? await this.#talk(host.session(place), env, standIn, { interruptWith, withinMs })
          : await this.#talkAtScreen(host.screen(place), env, standIn, answers);
      const end = await waitUntilGone(home, bridges, this.engine, GONE_WITHIN_MS);
      const concluded = await conclude?.(hands);
      return { listed, standIn, said, end: { ...end, bridges: bridges.length }, prepared, concluded };
    } finally {
      standIn.close();
    }
  }

  #register({ ours }) {
    return ours('install');
  }

  /** Runs a command of ours for this host, and gives what it prints as JSON. */
  #ownEntry(env) {
    const state = Object.fromEntries(this.handedOn);
    const variables = this.handedOn.flatMap(([name, value]) => ['--env', `${name}=${value}`]);
    return async (verb, ...args) => {
      const words = [verb, this.id, ...(verb === 'install' ? variables : []), ...args, '--json'];
      const options = { env: { ...env, ...state }, cwd: this.project, timeout: COMMAND_TIMEOUT_MS };
      const done = JSON.parse(await run(process.execPath, [MAIN, ...words], options));
      return Array.isArray(done) ? done[0] : done;
    };
  }

  /** Its own home and nothing of the user's; the stand-in answers for the network. */
  #environment(url, own) {
    const { PATH, LANG = 'C.UTF-8' } = process.env;
    const proxy = { HTTP_PROXY: url, HTTPS_PROXY: url, NO_PROXY: '127.0.0.1,localhost' };
    const lower = Object.fromEntries(
      Object.entries(proxy).map(([name, value]) => [name.toLowerCase(), value]),
    );
    return { PATH, LANG, HOME: this.home, TERM: 'xterm-256color', NO_COLOR: '1', ...proxy, ...lower, ...own };
  }

  #command(args, env) {
    const [command, ...first] = this.argv;
    return run(command, [...first, ...args], { env, cwd: this.project, timeout: COMMAND_TIMEOUT_MS });
  }

  async #talk(args, env, standIn, { interruptWith, withinMs = SESSION_TIMEOUT_MS }) {
    const [command, ...first] = this.argv;
    // A process group of its own, as a terminal gives it: an interruption from the keyboard reaches every member.
    const options = {
      env,
      cwd: this.project,
      stdio: /** @type {import('node:child_process').StdioOptions} */ (['ignore', 'pipe', 'pipe']),
      detached: true,
    };
    const child = spawn(command, [...first, ...args], options);
    const exited = new Promise((resolve, reject) => {
      child.once('exit', (code, signal) => resolve(signal ?? code));
      child.once('error', reject);
    });
    let said = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk) => {
        said = (said + chunk).slice(-SAID_CHARS);
      });
    const clock = setTimeout(() => process.kill(-child.pid, 'SIGKILL'), withinMs);
    const bridges = new Set();
    let isTold = false;
    const interrupt = async () => {
      await this.underWay(bridges);
      // A host that has ended by itself meanwhile is judged by what it said.
      if (child.exitCode !== null || child.signalCode !== null) return;
      isTold = true;
      process.kill(interruptWith === 'SIGINT' ? -child.pid : child.pid, interruptWith);
    };
    standIn.onCall = () => {
      for (const pid of bridgesAt(this.home)) bridges.add(pid);
      if (interruptWith !== undefined) void interrupt();
    };
    standIn.onEnd = () => {
      isTold = true;
    };
    try {
      const how = await exited;
      if (!isTold)
        throw new Error(`The session ended with ${how}, and not by us: ${said.slice(-WORDS_CHARS)}`);
      return { said, bridges: [...bridges] };
    } finally {
      clearTimeout(clock);
    }
  }

  async #talkAtScreen(args, env, standIn, answers) {
    const bridges = new Set();
    standIn.onCall = () => {
      for (const pid of bridgesAt(this.home)) bridges.add(pid);
    };
    const place = { env, cwd: this.project, answers, withinMs: SESSION_TIMEOUT_MS };
    const { code, said } = await atTerminal([...this.argv, ...args], place);
    if (code !== 0) throw new Error(`The session ended with ${code}: ${said.slice(-WORDS_CHARS)}`);
    return { said, bridges: [...bridges] };
  }

  /** Resolves when a container of a bridge has been there for a moment: it runs the code, or is ready for some. */
  async underWay(bridges = new Set()) {
    const until = performance.now() + UNDER_WAY_WITHIN_MS;
    while (performance.now() < until) {
      for (const pid of bridgesAt(this.home)) bridges.add(pid);
      if ([...bridges].some((pid) => containersOf(pid, this.engine).length > 0)) break;
      await pause(100);
    }
    await pause(1_500);
  }
}
