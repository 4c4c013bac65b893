// Where the peers are installed and run: their folder, the two servers that all of them get, and ways to install, to start and to
// talk to them. Their packages lie in .cache/peers, never in package.json; no script of a package runs at its installation.

import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { run } from '../agents/install.mjs';
import { HOST_PYTHON } from '../bench/host-python.mjs';
import { npmServer, ROOT } from '../bench/stage.mjs';
import { logText } from './jobs.mjs';

/** @typedef {import('./jobs.mjs').Job} Job */

/**
 * What a peer is once it runs. A job gives the text that a model would read, and is left out if the peer cannot do it.
 *
 * @typedef {object} Running
 * @property {{ readonly [job in Job]?: () => Promise<string> }} jobs
 * @property {number} [definitionChars]  of what a model reads before its first call: tools and instructions
 * @property {() => Promise<void>} close
 */

/**
 * @typedef {object} Peer
 * @property {string} name  for --only
 * @property {string} title
 * @property {string} version  what is run, and how
 * @property {string} walls  around the code
 * @property {string} lacks  what it cannot do of what the bridge does, beginning with a verb
 * @property {(place: Place) => Promise<void>} install  throws why it cannot be had here
 * @property {(place: Place) => Promise<void>} [remove]  what it put elsewhere than into its folder
 * @property {(place: Place) => Promise<Running>} open  ends when its first job can be asked for
 */

export const HERE = join(ROOT, 'scripts/peers');
const CACHE = join(ROOT, '.cache/peers');
const INSTALL_TIMEOUT_MS = 15 * 60_000;
const READY_WITHIN_MS = 120_000;
const CLOSE_WITHIN_MS = 20_000;
const KEPT_CHARS = 2_000;
const CONTAINERS_CONF = '[containers]\ndefault_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]\n';

/** Names with their versions, for a reader. @param {Readonly<Record<string, string>>} packages */
export const listed = (packages) =>
  Object.entries(packages)
    .map((pair) => pair.join(' '))
    .join(', ');

export class Place {
  /**
   * @param {import('../bench/stage.mjs').Stage} stage
   * @param {import('../bench/bare.mjs').Bare} bare
   * @param {string | undefined} pythonBridge  a checkout of the Python bridge
   */
  constructor(stage, bare, pythonBridge) {
    this.stage = stage;
    this.bare = bare;
    this.pythonBridge = pythonBridge;
    const folder = join(stage.stateDir, 'peers');
    mkdirSync(folder, { recursive: true });
    this.logFile = join(folder, 'service.log');
    writeFileSync(this.logFile, logText());
    /** The servers that every peer gets, as hosts configure them. */
    this.servers = {
      everything: npmServer('server-everything'),
      filesystem: npmServer('server-filesystem', folder),
    };
  }

  /** For a peer that starts containers by itself: podman asks for more files and processes than some machines allow. */
  engineEnvironment() {
    const file = join(this.stage.stateDir, 'peers', 'containers.conf');
    writeFileSync(file, CONTAINERS_CONF);
    return { ...process.env, CONTAINERS_CONF: file };
  }

  /** The folder of a peer's packages. @param {string} name */
  folder(name) {
    const folder = join(CACHE, name);
    mkdirSync(folder, { recursive: true });
    return folder;
  }

  /**
   * Installs packages of npm, of the versions that are named.
   *
   * @param {string} name
   * @param {Readonly<Record<string, string>>} packages
   */
  async installFromNpm(name, packages) {
    const folder = this.folder(name);
    const wanted = Object.entries(packages);
    if (wanted.every(([one, version]) => installedVersion(folder, one) === version)) return;
    const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock'];
    const named = wanted.map((pair) => pair.join('@'));
    await run('npm', ['install', '--prefix', folder, ...options, ...named], { timeout: INSTALL_TIMEOUT_MS });
  }

  /**
   * Installs packages of PyPI into an environment of their own.
   *
   * @param {string} name
   * @param {readonly string[]} packages  each with its version, as pip reads them
   * @returns {Promise<void>}
   */
  async installFromPypi(name, packages) {
    const folder = this.folder(name);
    const note = join(folder, 'installed.txt');
    const wanted = packages.join('\n');
    if (existsSync(note) && readFileSync(note, 'utf8') === wanted) return;
    if (HOST_PYTHON === undefined) throw new Error('the host has no python3');
    rmSync(join(folder, 'venv'), { recursive: true, force: true });
    const options = { timeout: INSTALL_TIMEOUT_MS };
    await run(HOST_PYTHON.path, ['-m', 'venv', join(folder, 'venv')], options);
    await run(this.python(name), ['-m', 'pip', 'install', '--quiet', ...packages], options);
    writeFileSync(note, wanted);
  }

  /** The interpreter of that environment. @param {string} name */
  python(name) {
    return join(this.folder(name), 'venv/bin/python');
  }

  /**
   * A real client of an MCP server, which has listed its tools.
   *
   * @param {{ command: string, args: readonly string[], env?: NodeJS.ProcessEnv, cwd?: string }} program
   */
  async openClient(program) {
    /** @type {{ value: any, close: () => Promise<void> }} */
    const { value: client, close } = await held((work) => this.stage.withPlainClient(program, work));
    const { tools } = await client.listTools();
    const definitionChars = JSON.stringify(tools).length + (client.getInstructions() ?? '').length;
    /**
     * The text of an answer, as a model reads it.
     *
     * @param {string} name
     * @param {object} args
     */
    const call = async (name, args) => {
      const { content, isError } = await client.callTool({ name, arguments: args }, undefined, {
        timeout: READY_WITHIN_MS,
      });
      const text = content.map((/** @type {{ text?: string }} */ block) => block.text ?? '').join('\n');
      if (isError) throw new Error(text.slice(-KEPT_CHARS));
      return text;
    };
    return { call, definitionChars, close };
  }

  /**
   * A program of ours around a peer's library: it says a line with its `definitionChars` when it is ready, and answers each line
   * `{ id, code }` with a line `{ id, text }` or `{ id, error }`.
   *
   * @param {string} command
   * @param {readonly string[]} args
   * @param {NodeJS.ProcessEnv} [env]
   */
  async openLines(command, args, env = process.env) {
    const child = spawn(command, args, { env, stdio: ['pipe', 'pipe', 'pipe'] });
    let words = '';
    child.stderr.on('data', (chunk) => {
      words = (words + chunk).slice(-KEPT_CHARS);
    });
    /** @type {Map<number, { resolve: (answer: any) => void, reject: (error: Error) => void }>} */
    const waiting = new Map();
    /** @param {number} id @returns {Promise<any>} */
    const answerTo = (id) => new Promise((resolve, reject) => waiting.set(id, { resolve, reject }));
    const ready = answerTo(0);
    /** @param {Error} error */
    const fail = (error) => {
      for (const { reject } of waiting.values()) reject(error);
      waiting.clear();
    };
    const ended = new Promise((resolve) => child.once('close', resolve));
    child.once('error', fail);
    child.once('close', (code) => fail(new Error(`it ended with ${code}: ${words.trim()}`)));
    createInterface({ input: child.stdout }).on('line', (line) => {
      const answer = parsed(line);
      const asked = waiting.get(answer?.id);
      waiting.delete(answer?.id);
      if (answer?.error === undefined) asked?.resolve(answer);
      else asked?.reject(new Error(answer.error));
    });
    let count = 0;
    /** @param {string} code @returns {Promise<string>} */
    const ask = async (code) => {
      if (child.exitCode !== null) throw new Error(`it has ended: ${words.trim()}`);
      const id = ++count;
      const answer = answerTo(id);
      child.stdin.write(`${JSON.stringify({ id, code })}\n`);
      return (await answer).text;
    };
    const close = async () => {
      child.stdin.end();
      const kill = setTimeout(() => child.kill('SIGKILL'), CLOSE_WITHIN_MS);
      await ended;
      clearTimeout(kill);
    };
    const { definitionChars } = await ready;
    return { ask, definitionChars, close };
  }
}

/**
 * What a function lends to `work`, kept until it is closed.
 *
 * @template T
 * @param {(work: (value: T) => Promise<void>) => Promise<void>} lend
 * @returns {Promise<{ value: T, close: () => Promise<void> }>}
 */
function held(lend) {
  return new Promise((resolve, reject) => {
    const lent = lend(
      (value) =>
        new Promise((end) => {
          const close = async () => {
            end();
            await lent;
          };
          resolve({ value, close });
        }),
    );
    lent.catch(reject);
  });
}

/** Undefined where a line is none of ours: libraries print. @param {string} line */
function parsed(line) {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

/** @param {string} folder @param {string} name */
function installedVersion(folder, name) {
  try {
    return JSON.parse(readFileSync(join(folder, 'node_modules', name, 'package.json'), 'utf8')).version;
  } catch {
    return undefined;
  }
}
