// The process of a shared bridge, from its start by the first window to its end: it listens, lets windows in, and leaves when
// nobody uses it, when it is asked to, or when a newer one comes. Nothing is left running when it returns.

import { chmodSync, closeSync, rmSync, writeSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { messageOf } from '../../base/errors.js';
import { fanOut } from '../../base/log/events.js';
import { LossyWriter } from '../../base/log/lossy-writer.js';
import { descendantsBytes } from '../../base/process/process-stat.js';
import { VERSION } from '../../base/version.js';
import { SET_UP_SOFT_TIMEOUT_MS } from '../../run/queue/soft-timeout.js';
import { type FirstMessage, firstMessage, messageFrame } from '../../service/windows/frames.js';
import {
  type Build,
  buildOf,
  compareBuilds,
  greetingIn,
  type SharedStatus,
  type StartReport,
  type WindowGreeting,
  type WindowRefusal,
} from '../../service/windows/greeting.js';
import { OWN_VARIABLES, removeIfEmpty } from '../../service/windows/place.js';
import { BridgeEnd, type ServedWindow, Windows } from '../../service/windows/windows.js';
import type { Settings } from '../../settings/environment/settings.js';
import { hostFacts } from '../../settings/files/host-facts.js';
import { type StartedFigures, startFigures } from '../figures/start-figures.js';
import { LateFeed, processFacts } from '../serving/late-feed.js';
import { type Examined, examine, startAudit } from '../serving/prepare.js';
import { firstFault, nothingElseWrites } from '../serving/serving-process.js';
import { interruptSignal } from '../terminal/interrupt.js';

/** Limit for closing, as for `serve`, and for engines that are slow to remove containers. */
const CLOSE_WITHIN_MS = 10_000;
/** Where whoever started it reads that it listens, or why it does not. */
const REPORT_FD = 3;

/** Serves windows at `socket` until its end; the process ends with it. */
export async function sharedBridge(socket: string): Promise<void> {
  const prepared = examine('info', 'serves', startedHere());
  if (prepared.problems.length > 0) return report({ is: 'failed', why: 'its settings are wrong' });
  const door = new SharedListener(socket, prepared);
  // The console of this process would write to nobody.
  nothingElseWrites(door.everybody);
  const fault = firstFault((event) => door.tellAll(event));
  try {
    await door.listen();
  } catch (thrown) {
    await door.end('it cannot listen');
    return report({ is: 'failed', why: `it cannot listen at ${socket}: ${messageOf(thrown)}` });
  }
  // The process must not keep the first window's folder from being removed.
  process.chdir('/');
  const interrupted = interruptSignal({ isService: true });
  interrupted.addEventListener('abort', () => door.leave(String(interrupted.reason)));
  report({ is: 'listening' });
  const { reason, exitCode } = await Promise.race([
    door.left.then((why) => ({ reason: why, exitCode: 0 })),
    fault,
  ]);
  setTimeout(() => process.exit(1), CLOSE_WITHIN_MS).unref();
  await door.end(reason);
  process.exit(exitCode);
}

/** Nobody reads the standard error of this process. */
const NOWHERE = new LossyWriter({ waitingChars: 0, write: (_line, done) => done(true) });

const startedHere = () =>
  ({
    env: process.env,
    host: hostFacts(),
    stderr: NOWHERE,
    isTerminal: false,
    isInColour: false,
  }) as const;

function report(told: StartReport): void {
  try {
    writeSync(REPORT_FD, `${JSON.stringify(told)}\n`);
    closeSync(REPORT_FD);
  } catch {
    // The process that started the bridge has gone.
  }
}

// The door of a shared bridge: its socket, who is let in and who is not, and how windows are let go of when it leaves.

/** How long the bridge stays without a window and a session of the command line: longer than a host takes to start anew. */
const IDLE_MS = 60_000;
/** The process that started the bridge joins at once, or has gone. */
const FIRST_WITHIN_MS = 10_000;
/** A connection that does not greet is none of ours. */
const GREETS_WITHIN_MS = 5_000;
/** Time for last words on their way to windows. */
const SAID_WITHIN_MS = 500;

type Window = {
  readonly greeting: WindowGreeting;
  readonly number: number;
  readonly connection: BridgeEnd;
  readonly served: ServedWindow;
  readonly stderr: LossyWriter;
  readonly audit: ReturnType<typeof startAudit>;
  readonly sinceMs: number;
};

class SharedListener {
  /** Resolves with the reason when it is to end, and nobody needs it any more. */
  readonly left: Promise<string>;
  /** Writer for what nobody in particular is told: every window has it. */
  readonly everybody: LossyWriter;
  readonly #path: string;
  readonly #build: Build = buildOf(VERSION, process.argv[1]);
  readonly #settings: Settings;
  /** Figures of all windows together. */
  readonly #figures: StartedFigures;
  readonly #windows: Windows;
  readonly #server: Server = createServer((socket) => void this.#accept(socket));
  readonly #live = new Map<number, Window>();
  readonly #feed: LateFeed;
  /** Connections that asked the bridge to end, and wait for that end. */
  readonly #waiting = new Set<Socket>();
  readonly #startedAtMs = Date.now();
  #count = 0;
  #leaves: string | undefined;
  #idle: NodeJS.Timeout | undefined;
  #onLeft: (why: string) => void = () => {};

  constructor(path: string, { settings, discovery, redactor }: Examined) {
    this.#path = path;
    this.#settings = settings;
    this.#figures = startFigures({ settings, redactor }, (event) => this.tellAll(event));
    this.#windows = new Windows({ settings, discovery, setUpSoftTimeoutMs: SET_UP_SOFT_TIMEOUT_MS });
    this.#feed = new LateFeed(settings, (event) => this.tellAll(event));
    this.left = new Promise((resolve) => {
      this.#onLeft = resolve;
    });
    this.everybody = new LossyWriter({
      waitingChars: 0,
      write: (line, done) => {
        for (const { stderr } of this.#live.values()) stderr.write(line);
        done(true);
      },
    });
  }

  /** Listens. Who starts the bridge has the lock, and nobody listened: a socket there was left by a bridge that died. */
  async listen(): Promise<void> {
    rmSync(this.#path, { force: true });
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(this.#path, resolve);
    });
    chmodSync(this.#path, 0o600);
    this.#feed.open(() => ({
      ...processFacts(VERSION),
      kind: 'shared',
      folder: '',
      // Tools are those of each window: which are learned is not known here.
      servers: this.#windows.servers.map(({ server, state }) => ({ name: server, state, tools: [] })),
    }));
    this.#endWhenIdle(FIRST_WITHIN_MS);
  }

  tellAll(event: Parameters<ServedWindow['observer']>[0]): void {
    for (const { served } of this.#live.values()) served.observer(event);
  }

  /** Lets nobody in any more; ends when the calls that are under way have ended. A second time, at once. */
  leave(why: string, now = this.#leaves !== undefined): void {
    const isFirst = this.#leaves === undefined;
    this.#leaves ??= why;
    clearTimeout(this.#idle);
    if (now) return this.#onLeft(why);
    if (!isFirst) return;
    // The socket is gone from here on, so that the next one can be started.
    this.#server.close();
    this.#windows.leave();
    for (const window of this.#live.values()) void this.#tellLeaving(window, why);
    if (this.#live.size === 0) this.#onLeft(why);
  }

  /** Ends what is there; resolves when nothing of it is left. */
  async end(why: string): Promise<void> {
    this.#leaves ??= why;
    if (this.#server.listening) this.#server.close();
    this.#feed[Symbol.dispose]();
    this.tellAll({ type: 'bridge.closing', reason: why });
    await this.#windows[Symbol.asyncDispose]();
    await this.#figures[Symbol.asyncDispose]();
    await Promise.allSettled([...this.#live.values()].map(({ audit }) => audit[Symbol.asyncDispose]()));
    for (const { connection } of this.#live.values()) connection.end();
    for (const socket of this.#waiting) socket.end();
    const said = [...this.#live.values()].map(({ connection }) => connection.closed);
    await Promise.race([Promise.all(said), sleep(SAID_WITHIN_MS)]);
    removeIfEmpty(dirname(this.#path));
  }

  async #accept(socket: Socket): Promise<void> {
    const opened = await firstMessage(socket, GREETS_WITHIN_MS);
    const greeting = greetingIn(opened?.message);
    if (opened === undefined || greeting === undefined) return void socket.destroy();
    try {
      if (greeting.ask === 'join') await this.#join(greeting, socket, opened);
      else this.#answer(greeting.ask, socket);
    } catch (thrown) {
      this.tellAll({ type: 'bridge.fault', where: 'a window', message: messageOf(thrown) });
      socket.destroy();
    }
  }

  #answer(ask: 'status' | 'stop', socket: Socket): void {
    socket.write(messageFrame(this.#status()));
    socket.resume();
    if (ask === 'status') return void socket.end();
    this.#waiting.add(socket);
    // The process that asked may go away, and may ask again.
    socket.once('close', () => this.#waiting.delete(socket));
    this.leave('it was asked to');
  }

  async #join(greeting: WindowGreeting, socket: Socket, opened: FirstMessage): Promise<void> {
    const refuse = (kind: WindowRefusal) => {
      socket.end(messageFrame({ is: 'refused', kind, pid: process.pid }));
      // A paused one would never notice that the other side has gone.
      socket.resume();
    };
    if (this.#leaves !== undefined) return refuse('closing');
    const age = compareBuilds(greeting.build, this.#build);
    if (age > 0) {
      refuse('closing');
      return this.leave('a newer one takes over');
    }
    // One that was here before must not be left without any.
    if (age < 0 && !greeting.isBack) return refuse('older');
    const connection = new BridgeEnd(socket, opened);
    const stderr = new LossyWriter(connection.log);
    const { env, cwd, isTerminal } = greeting;
    const isInColour = isTerminal && !env['NO_COLOR'] && env['TERM'] !== 'dumb';
    // Nobody who reads a program's output wants to know how its window was let in.
    const prepared = examine(greeting.isCommandLine === true ? 'warn' : 'info', 'serves', {
      env,
      host: { ...hostFacts(), cwd },
      stderr,
      isTerminal,
      isInColour,
    });
    if (prepared.problems.length > 0 || !areSame(prepared.settings, this.#settings))
      return refuse('settings');
    await this.#letIn(greeting, connection, stderr, prepared);
  }

  async #letIn(
    greeting: WindowGreeting,
    connection: BridgeEnd,
    stderr: LossyWriter,
    prepared: Examined,
  ): Promise<void> {
    clearTimeout(this.#idle);
    const number = ++this.#count;
    connection.say({ is: 'joined', window: number, pid: process.pid, version: VERSION });
    const audit = startAudit(prepared);
    const { discovery, redactor, warnings } = prepared;
    const observer = fanOut(
      this.#figures.beside(audit.observer),
      this.#feed.observerFor((text) => redactor.redact(text)),
    );
    observer({ type: 'bridge.joined', window: number, pid: process.pid });
    const { input, output } = connection;
    const served = await this.#windows.open(number, {
      discovery,
      observer,
      redactor,
      warnings,
      input,
      output,
      isCommandLine: greeting.isCommandLine === true,
    });
    const sinceMs = Date.now();
    const window: Window = { greeting, number, connection, served, stderr, audit, sinceMs };
    this.#live.set(number, window);
    if (this.#leaves !== undefined) connection.say({ is: 'leaving', why: this.#leaves });
    connection.onHeld = () => void this.#letGo(window);
    void served.closed.then(() => this.#removeWindow(window));
  }

  /** Runs that go on after an answer are known here alone: until they have ended, their window stays. */
  async #tellLeaving({ served, connection }: Window, why: string): Promise<void> {
    await served.withoutLongRuns();
    connection.say({ is: 'leaving', why });
  }

  /** The relay of a window sends nothing new: what is under way is answered, and then it goes to another one. */
  async #letGo({ served, connection }: Window): Promise<void> {
    await served.waitUntilQuiet();
    await new Promise((resolve) => connection.output.write('', resolve));
    connection.end();
  }

  async #removeWindow(window: Window): Promise<void> {
    await window.served[Symbol.asyncDispose]();
    await window.audit[Symbol.asyncDispose]();
    window.connection.end();
    this.#live.delete(window.number);
    if (this.#live.size > 0) return;
    if (this.#leaves === undefined) this.#endWhenIdle();
    else this.#onLeft(this.#leaves);
  }

  #endWhenIdle(afterMs = IDLE_MS): void {
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => {
      if (this.#windows.lastingSessions > 0) this.#endWhenIdle();
      else this.leave('no window has used it for a while');
    }, afterMs);
  }

  #status(): SharedStatus {
    return {
      pid: process.pid,
      build: this.#build,
      socket: this.#path,
      startedAtMs: this.#startedAtMs,
      isClosing: this.#leaves !== undefined,
      windows: [...this.#live.values()].map(({ number, greeting, served, sinceMs }) => ({
        window: number,
        pid: greeting.pid,
        client: served.client,
        folder: greeting.cwd,
        sinceMs,
        isBusy: served.isBusy,
      })),
      servers: this.#windows.servers,
      sandboxes: this.#windows.sandboxes,
      memory: { bridgeBytes: process.memoryUsage().rss, processesBytes: descendantsBytes(process.pid) },
    };
  }
}

/** Compares all settings but those that a window has for itself. */
function areSame(one: Settings, other: Settings): boolean {
  const shared = ({
    logLevel: _level,
    shared: _shared,
    enginePlace: _place,
    explicitlySet,
    ...settings
  }: Settings) => ({
    ...settings,
    explicitlySet: [...explicitlySet].filter((name) => !OWN_VARIABLES.has(name)).sort(),
  });
  return isDeepStrictEqual(shared(one), shared(other));
}
