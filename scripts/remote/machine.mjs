// What stands for another machine: a mount and a pid namespace in which none of our files and processes are to be seen,
// with one account and a store of its own. It shares the network with this machine, and one folder. Needs root. When it is
// closed, or when whoever opened it is gone, nothing of it is left but that folder, which close() removes.

import { spawn } from 'node:child_process';
import { chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { MARK } from '../suite/processes.mjs';

const FURNISH = fileURLToPath(new URL('furnish.sh', import.meta.url));
/** Above what useradd hands out, and below the ids that the bridge gives containers of a root engine. */
const UID = 64_901;
const FIRST_SUB_ID = 1_700_000_000;
const READY_WITHIN_MS = 10_000;
const ENDS_WITHIN_MS = 10_000;
const KEPT_CHARS = 20_000;
const CGROUPS = '/sys/fs/cgroup';
/** What a process inside has for an environment: nothing of ours but the mark by which a test run knows its processes. */
const environment = (name) => [
  ...['env', '-i', `USER=${name}`, 'LANG=C.UTF-8', `XDG_RUNTIME_DIR=/run/user/${UID}`],
  `HOME=${name === 'root' ? '/root' : '/home/engine'}`,
  'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  ...(process.env[MARK] ? [`${MARK}=${process.env[MARK]}`] : []),
];
const AS_ENGINE = ['setpriv', `--reuid=${UID}`, `--regid=${UID}`, '--init-groups'];

/** Ends with what it printed, both streams in one; never rejects. `input` is a stream that is passed on to it. */
export function finish(child, input) {
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (text) => {
      output = (output + text).slice(-KEPT_CHARS);
    });
  if (input !== undefined) input.pipe(child.stdin).on('error', () => {});
  return new Promise((resolve) => {
    child.once('error', (error) => resolve({ exitCode: 127, output: error.message }));
    child.once('close', (code) => resolve({ exitCode: code ?? 137, output }));
  });
}

/** Polls until `holds` is true; throws with `what` when it never is. */
export async function waitUntil(what, holds, withinMs = READY_WITHIN_MS) {
  const end = performance.now() + withinMs;
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`${what()} (waited ${withinMs / 1000} s)`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

/** Why there can be no such machine here, in a sentence; undefined where there can. */
export function whyNoMachine(programs) {
  if (process.platform !== 'linux') return 'it is made of namespaces of Linux';
  if (process.getuid?.() !== 0) return 'only root can make the namespaces that stand for another machine';
  const folders = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'];
  const missing = programs.filter((name) => !folders.some((folder) => existsSync(join(folder, name))));
  if (missing.length > 0) return `there is no ${missing.join(', ')}; run scripts/setup --with remote`;
  return undefined;
}

/** One program that goes on running inside, until it is told to end. */
class Service {
  #child;
  #output = '';
  /** Resolves with its exit code. */
  exited;

  constructor(child) {
    this.#child = child;
    this.exited = new Promise((resolve) => child.once('exit', (code) => resolve(code ?? 137)));
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text) => {
        this.#output = (this.#output + text).slice(-KEPT_CHARS);
      });
  }

  /** The end of what it printed. */
  get output() {
    return this.#output;
  }

  get isRunning() {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Signals it and what it has not given a session of its own, and waits for its end. */
  async end(signal = 'SIGKILL') {
    const timer = setTimeout(() => this.#signal('SIGKILL'), ENDS_WITHIN_MS);
    try {
      this.#signal(signal);
      await waitUntil(
        () => `it does not end: ${this.#output}`,
        () => !this.#signal(0),
        2 * ENDS_WITHIN_MS,
      );
    } finally {
      clearTimeout(timer);
    }
    await this.exited;
  }

  /** Whether there was anything left of its group. */
  #signal(signal) {
    try {
      return process.kill(-this.#child.pid, signal);
    } catch {
      return false;
    }
  }
}

export class RemoteMachine {
  /** Of the account that engines run under. */
  static uid = UID;
  /** The one folder that is seen from both sides, by the same path; what it holds is removed with it. */
  shared;
  #holder;
  #ended;

  constructor(shared, holder) {
    this.shared = shared;
    this.#holder = holder;
    this.#ended = finish(holder);
  }

  /** `storeMb` is all the room that an engine has for images and containers; it is memory. */
  static async open({ storeMb = 2048 } = {}) {
    const shared = mkdtempSync('/run/mcp-sandbox-bridge-remote-');
    // Its own, so that the account can make sockets there; ours to see into.
    chownSync(shared, UID, UID);
    const holder = spawn(
      'unshare',
      [
        ...['--mount', '--pid', '--fork', '--kill-child', '--mount-proc', '--propagation=private'],
        ...['bash', FURNISH, shared, String(UID), String(FIRST_SUB_ID), String(storeMb)],
      ],
      { stdio: ['pipe', 'pipe', 'pipe'], detached: true },
    );
    const machine = new RemoteMachine(shared, holder);
    let said = '';
    holder.stdout.on('data', (text) => {
      said += text;
    });
    try {
      await waitUntil(
        () => 'the machine was not furnished',
        () => {
          if (holder.exitCode !== null) throw new Error('the machine could not be furnished');
          return said.includes('ready');
        },
      );
    } catch (thrown) {
      const { output } = await machine.close();
      throw new Error(`${thrown.message}: ${output.trim()}`);
    }
    return machine;
  }

  /** Runs a program inside to its end, as the engine's account unless `asRoot`. Never rejects. */
  run(argv, /** @type {{ asRoot?: boolean, input?: string }} */ { asRoot = false, input } = {}) {
    return finish(this.#spawn(argv, asRoot, input === undefined ? 'ignore' : 'pipe'), input);
  }

  /** Starts a program inside that goes on running. */
  serve(argv, { asRoot = false } = {}) {
    return new Service(this.#spawn(argv, asRoot, 'ignore'));
  }

  /** Ends all of it. Returns what the holder of its namespaces had to say. */
  async close() {
    this.#holder.stdin.end();
    const ended = await this.#ended;
    rmSync(this.shared, { recursive: true, force: true });
    return ended;
  }

  /** A folder of the shared one, of the engine's account. */
  folder(name) {
    const folder = join(this.shared, name);
    mkdirSync(folder, { recursive: true });
    chownSync(folder, UID, UID);
    return folder;
  }

  /** What stands before a command that is to be run inside, as root and with the environment that it is given. */
  argvInside() {
    const { pid } = this.#holder;
    return [
      'nsenter',
      `--mount=/proc/${pid}/ns/mnt`,
      `--pid=/proc/${pid}/ns/pid_for_children`,
      '--wd=/',
      '--',
    ];
  }

  #spawn(argv, asRoot, stdin) {
    const [program, ...inside] = this.argvInside();
    const as = [...(asRoot ? [] : AS_ENGINE), ...environment(asRoot ? 'root' : 'engine')];
    // A group of its own, by which it is ended; nothing inside is a child of ours.
    return spawn(program, [...inside, ...as, ...argv], {
      stdio: [stdin, 'pipe', 'pipe'],
      detached: true,
    });
  }
}

/** Removes the control groups below `name` in every hierarchy, which outlive the processes that an engine put there. */
export async function removeCgroups(name) {
  const hierarchies = existsSync(join(CGROUPS, 'cgroup.procs'))
    ? [CGROUPS]
    : readdirSync(CGROUPS).map((each) => join(CGROUPS, each));
  for (const hierarchy of hierarchies) {
    const folder = join(hierarchy, name);
    // A killed process is in its group for a moment longer.
    await waitUntil(
      () => `${folder} cannot be removed`,
      () => !existsSync(folder) || isRemoved(folder),
    );
  }
}

function isRemoved(folder) {
  try {
    for (const each of readdirSync(folder, { withFileTypes: true }))
      if (each.isDirectory() && !isRemoved(join(folder, each.name))) return false;
    rmdirSync(folder);
    return true;
  } catch {
    return false;
  }
}
