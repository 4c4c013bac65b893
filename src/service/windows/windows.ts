// A shared bridge serves the windows of one user. Each window has a bridge of the service's root (principals/bridges.ts), with servers
// that windows share where nothing tells them apart. What else a window has is its own: folder, environment, project files,
// approvals, agent, log.

import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import { Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  CLIENT_INFO_META_KEY,
  type JSONRPCMessage,
  type RequestId,
  type Transport,
} from '@modelcontextprotocol/server';
import { isObject } from '../../base/json/records.js';
import type { BridgeEvent, Observer } from '../../base/log/events.js';
import type { LineTarget } from '../../base/log/lossy-writer.js';
import { LOCAL_USER, type Principal } from '../../base/principal.js';
import type { Redactor } from '../../base/secrets/redact.js';
import type { DiscoverContext } from '../../hosts/discovery/discover.js';
import { serveAgent } from '../../mcp/connection/server.js';
import { AgentTransport } from '../../mcp/requests/stdio-transport.js';
import { COMMAND_LINE } from '../../run/calls/call-context.js';
import { Sessions } from '../../run/sessions/sessions.js';
import type { Settings } from '../../settings/environment/settings.js';
import type { BridgeOptions } from '../../tenant/bridge.js';
import { Bridges, type BridgeTenant } from '../principals/bridges.js';
import { type FirstMessage, framesOf, messageFrame, messageIn, readFrames } from './frames.js';
import type { BridgeMessage, SharedStatus } from './greeting.js';

/** At runs that go on, while somebody waits for their end. */
const LOOK_AGAIN_MS = 250;

/** Events that every window is told: about what all windows share, never about what one of them runs. */
const TOLD_TO_ALL: ReadonlySet<BridgeEvent['type']> = new Set([
  'engine.swept',
  'engine.trouble',
  'engine.health',
  'setup.step',
  'image.progress',
  'image.known',
  'image.building',
  'image.built',
  'image.replaced',
  'walls.known',
  'sandbox.unloaded',
  'pool.resting',
]);

export class Windows implements AsyncDisposable {
  readonly #settings: Settings;
  /** A window is a principal that has all that the user has, and brings what its bridge is made of. */
  readonly #bridges: Bridges<Principal & { readonly tenant: () => BridgeTenant }>;
  readonly #live = new Set<ServedWindow>();
  /**
   * Calls of the command line, one after the other, are one conversation, each with a window of its own: their sessions are
   * one scope, and stay until they end or this process does. They alone outlive a window, and not its bridge, since folder,
   * environment, servers, approvals and log of a call are those of the terminal that it comes from.
   */
  readonly #commandLine: Sessions;
  /** Containers that there are, by id. */
  readonly #containers = new Set<string>();

  constructor({
    settings,
    discovery,
    setUpSoftTimeoutMs,
  }: Pick<BridgeOptions, 'settings' | 'discovery' | 'setUpSoftTimeoutMs'>) {
    this.#settings = settings;
    const observer = (event: BridgeEvent) => this.#tell(event);
    this.#bridges = new Bridges({
      settings,
      host: discovery.host,
      observer,
      setUpSoftTimeoutMs,
      tenantOf: ({ tenant }) => tenant(),
    });
    this.#commandLine = new Sessions({
      limits: settings.sessions,
      most: () => settings.sessions.most,
      stateDir: settings.stateDir,
      principal: null,
      scope: COMMAND_LINE.scope,
      retire: (sandbox) => this.#bridges.service.retire(sandbox),
      observer,
    });
  }

  /** How many sessions there are that no window has to be there for. */
  get lastingSessions(): number {
    return this.#commandLine.size;
  }

  /** Serves the agent of a window, until it has gone. Throws E_SETTINGS where the policy cannot be used. */
  async open(
    number: number,
    parts: {
      /** Environment and folder of this window. */
      readonly discovery: DiscoverContext;
      readonly observer: Observer;
      readonly redactor: Redactor;
      /** Warnings about the window's settings. */
      readonly warnings: readonly string[];
      readonly input: Readable;
      readonly output: Writable;
      /** Whether the window is the user's own command line. */
      readonly isCommandLine: boolean;
    },
  ): Promise<ServedWindow> {
    const { cwd } = parts.discovery.host;
    const held = this.#bridges.hold({
      ...LOCAL_USER,
      id: `window ${number}`,
      tenant: () => ({
        discovery: { ...parts.discovery, settings: this.#settings },
        observer: parts.observer,
        redactor: parts.redactor,
        commandLine: parts.isCommandLine ? this.#commandLine : undefined,
        // Its processes start where the window did.
        slotFor: ({ context, ...slot }) =>
          this.#bridges.slots.slotFor({ ...slot, context: { ...context, cwd } }, number),
      }),
    });
    const window = new ServedWindow(held, parts, () => this.#live.delete(window));
    this.#live.add(window);
    await serveAgent(held.bridge, held.jobs, window.transport, parts.observer, parts.warnings);
    return window;
  }

  /** Another process takes the next window: sessions that no window has to be there for end, since it has others. */
  leave(): void {
    this.#commandLine.close();
  }

  get servers(): SharedStatus['servers'] {
    return this.#bridges.slots
      .states()
      .map(({ name: server, state, windows }) => ({ server, state, windows }));
  }

  get sandboxes(): SharedStatus['sandboxes'] {
    const { running } = this.#bridges.service.turns;
    return { running, waiting: Math.max(0, this.#containers.size - running) };
  }

  /** Ends every run, server and container; resolves when they are gone. */
  async [Symbol.asyncDispose](): Promise<void> {
    // Ahead of the windows: nothing more is started for any of them.
    this.#bridges.service.warm[Symbol.dispose]();
    this.#commandLine[Symbol.dispose]();
    await Promise.allSettled([...this.#live].map((window) => window[Symbol.asyncDispose]()));
    await this.#bridges[Symbol.asyncDispose]();
  }

  #tell(event: BridgeEvent): void {
    if (event.type === 'sandbox.started') this.#containers.add(event.container);
    if (event.type === 'sandbox.ended') this.#containers.delete(event.container);
    if (!TOLD_TO_ALL.has(event.type)) return;
    for (const { observer } of this.#live) observer(event);
  }
}

/** One window and its bridge. */
export class ServedWindow implements AsyncDisposable {
  readonly observer: Observer;
  /** Resolves when its agent has gone. */
  readonly closed: Promise<void>;
  readonly transport: WindowTransport;
  readonly #held: ReturnType<Bridges['hold']>;
  readonly #onEnd: () => void;
  #disposing: Promise<void> | undefined;

  constructor(
    held: ReturnType<Bridges['hold']>,
    {
      observer,
      input,
      output,
    }: { readonly observer: Observer; readonly input: Readable; readonly output: Writable },
    onEnd: () => void,
  ) {
    this.observer = observer;
    this.#held = held;
    const agent = new AgentTransport(input, output);
    this.closed = agent.closed;
    this.transport = new WindowTransport(agent);
    this.#onEnd = onEnd;
  }

  get client(): string | undefined {
    return this.transport.client;
  }

  /** Whether its agent waits for an answer, or has a run that goes on after one. */
  get isBusy(): boolean {
    return this.transport.isBusy || this.#held.jobs.unfinished > 0;
  }

  /** Resolves when no run goes on after its first answer: another bridge would not know it. */
  async withoutLongRuns(): Promise<void> {
    let isClosed = false;
    void this.closed.then(() => {
      isClosed = true;
    });
    while (this.#held.jobs.unfinished > 0 && !isClosed) await sleep(LOOK_AGAIN_MS);
  }

  /** Resolves when its agent waits for nothing, or has gone. */
  async waitUntilQuiet(): Promise<void> {
    if (!this.transport.isBusy) return;
    const quiet = new Promise<void>((resolve) => {
      this.transport.onQuiet = resolve;
    });
    await Promise.race([quiet, this.closed]);
  }

  /** Ends its runs, and the servers that no other window uses; resolves when they are gone. */
  [Symbol.asyncDispose](): Promise<void> {
    this.#disposing ??= (async () => {
      await this.transport.close();
      await this.#held.end();
      this.#onEnd();
    })();
    return this.#disposing;
  }
}

// Stands between a window's transport and the SDK. It knows which requests wait for an answer, so that a bridge that ends can
// tell when a window has none; and it gives what the bridge asks an agent ids that no other bridge gives, since the agent of a
// window may still answer what one asked that has died.

/** Requests that stay open as long as the agent is there. */
const STANDING: ReadonlySet<string> = new Set(['subscriptions/listen']);

class WindowTransport implements Transport {
  onmessage?: (message: JSONRPCMessage) => void;
  onclose?: () => void;
  onerror?: (error: Error) => void;
  /** Name that the agent gives itself; undefined before the agent has. */
  client: string | undefined;
  /** Called when no request waits any more. */
  onQuiet: () => void = () => {};
  readonly #inner: Transport;
  readonly #prefix = `${randomBytes(6).toString('hex')}:`;
  readonly #open = new Set<RequestId>();

  constructor(inner: Transport) {
    this.#inner = inner;
  }

  /** Whether some request waits for its answer. */
  get isBusy(): boolean {
    return this.#open.size > 0;
  }

  start(): Promise<void> {
    this.#inner.onmessage = (message) => this.#receive(message);
    this.#inner.onerror = (error) => this.onerror?.(error);
    this.#inner.onclose = () => {
      this.#open.clear();
      this.onclose?.();
    };
    return this.#inner.start();
  }

  async send(message: JSONRPCMessage): Promise<void> {
    await this.#inner.send(this.#mark(message));
    if (!('method' in message) && message.id !== undefined) this.#onEnded(message.id);
  }

  close(): Promise<void> {
    return this.#inner.close();
  }

  #mark(message: JSONRPCMessage): JSONRPCMessage {
    if (!('method' in message)) return message;
    if ('id' in message) return { ...message, id: `${this.#prefix}${message.id}` };
    if (message.method !== 'notifications/cancelled') return message;
    const { params } = message;
    return { ...message, params: { ...params, requestId: `${this.#prefix}${params?.['requestId']}` } };
  }

  #receive(message: JSONRPCMessage): void {
    if (!('method' in message)) {
      const id = this.#ownId(message.id);
      // No own id: the message answers a question of a bridge that is gone.
      if (id !== undefined) this.onmessage?.({ ...message, id });
      return;
    }
    const { method, params } = message;
    if ('id' in message && !STANDING.has(method)) this.#open.add(message.id);
    this.client ??= nameIn(params);
    this.onmessage?.(message);
    // A call that was cancelled may never be answered.
    if (method === 'notifications/cancelled') this.#onEnded(params?.['requestId'] as RequestId);
  }

  #onEnded(id: RequestId): void {
    if (this.#open.delete(id) && !this.isBusy) this.onQuiet();
  }

  /** As the SDK knows it: it counts from 0. */
  #ownId(id: RequestId | undefined): RequestId | undefined {
    if (typeof id !== 'string' || !id.startsWith(this.#prefix)) return undefined;
    return Number(id.slice(this.#prefix.length));
  }
}

/** Name in a greeting of 2025, or in any request of 2026. */
function nameIn(params: Readonly<Record<string, unknown>> | undefined): string | undefined {
  const meta = params?.['_meta'];
  const info = params?.['clientInfo'] ?? (isObject(meta) ? meta[CLIENT_INFO_META_KEY] : undefined);
  const name = isObject(info) ? info['name'] : undefined;
  return typeof name === 'string' ? name : undefined;
}

// The bridge's end of the connection to one window: the two streams of its agent as Node's own, its log, and what relay and
// bridge say to each other.

export class BridgeEnd {
  /** Lines from the agent; the stream ends when the agent's relay has gone. */
  readonly input: Readable;
  /** Answers to the agent. */
  readonly output: Writable;
  /** Lines for the window's stderr. */
  readonly log: LineTarget;
  /** Resolves when the relay has gone. */
  readonly closed: Promise<void>;
  /** Called when the relay holds back what is new, as it was asked to. */
  onHeld: () => void = () => {};
  readonly #socket: Socket;

  constructor(socket: Socket, opened: FirstMessage) {
    this.#socket = socket;
    const input = new Readable({ read: () => void socket.resume() });
    this.input = input;
    this.output = new Writable({
      highWaterMark: socket.writableHighWaterMark,
      write: (chunk: Buffer, _encoding, done) => {
        let isTaken = true;
        for (const piece of framesOf('talk', chunk)) isTaken = socket.write(piece);
        if (isTaken || socket.destroyed) return done();
        // A window that has gone takes nothing any more, and nobody waits for it.
        const go = () => {
          for (const event of ['drain', 'close'] as const) socket.off(event, go);
          done();
        };
        for (const event of ['drain', 'close'] as const) socket.on(event, go);
      },
    });
    this.log = {
      get waitingChars() {
        return socket.destroyed ? 0 : socket.writableLength;
      },
      write: (line, done) => {
        const frames = Buffer.concat(framesOf('log', Buffer.from(line)));
        socket.write(frames, (error) => done(error === null || error === undefined));
      },
    };
    this.closed = new Promise((resolve) => {
      socket.once('close', () => {
        input.push(null);
        resolve();
      });
    });
    readFrames(socket, opened, ({ type, payload }) => {
      if (type === 'talk' && !input.push(payload)) socket.pause();
      else if (type === 'message' && messageIn(payload)?.['is'] === 'held') this.onHeld();
    });
    // The agent has gone: what is under way for it ends.
    socket.once('end', () => socket.end());
    socket.resume();
  }

  say(message: BridgeMessage): void {
    this.#socket.write(messageFrame(message));
  }

  /** Ends it when all that was written has left. */
  end(): void {
    this.#socket.end();
  }
}
