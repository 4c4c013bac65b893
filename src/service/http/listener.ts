// The sockets of the HTTP front: where it listens, with or without TLS, and how many connections it takes. What arrives is
// handed on as Node's request and response; nothing here knows what is asked.

import { lstatSync, rmSync, statSync } from 'node:fs';
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import https from 'node:https';
import { type AddressInfo, createConnection, type Socket } from 'node:net';
import { dirname, resolve } from 'node:path';
import { BridgeError, messageOf } from '../../base/errors.js';
import { findExchangeable, whatIsOpen } from '../../base/files/only-ours.js';
import type { Observer } from '../../base/log/events.js';
import { isLoopback } from '../../base/text/loopback.js';
import { type HttpAddress, pathOfSocket, refuseOpenAddress } from './address.js';
import type { HttpLimits } from './parts.js';
import { readTls, type TlsFiles, TlsWatch } from './tls-files.js';

/** How often a request that is late is looked for. */
const CHECK_MS = 1_000;
/** Pause between two times at which idle connections make room when there are too many. */
const MAKE_ROOM_MS = 1_000;

type ListenerOptions = {
  readonly address: HttpAddress;
  readonly tls: TlsFiles | undefined;
  readonly limits: HttpLimits;
  /** Connections at once; half as many from one address, unless it is exempt. */
  readonly connections: number;
  /** Proxies bring the connections of many. */
  readonly isExempt: (address: string) => boolean;
  readonly hasCredentials: boolean;
  /** The descriptor that systemd has handed over, where the address is its. */
  readonly systemdFd: () => number;
  readonly onRequest: (request: IncomingMessage, response: ServerResponse) => void;
  readonly observer: Observer;
};

export class Listener {
  readonly #options: ListenerOptions;
  readonly #server: http.Server | https.Server;
  readonly #watch: TlsWatch | undefined;
  readonly #fromAddress = new Map<string, number>();
  /** Responses of each connection that are not out yet. */
  readonly #underWay = new WeakMap<Socket, Set<ServerResponse>>();
  readonly #looking: NodeJS.Timeout;
  /** Path of a unix socket. */
  #path: string | undefined;
  #madeRoomAt = 0;
  #dropped = 0;
  #isPrivate = false;

  private constructor(options: ListenerOptions) {
    const { limits, tls } = options;
    this.#options = options;
    const common: http.ServerOptions = {
      headersTimeout: limits.headersMs,
      requestTimeout: limits.requestMs,
      keepAliveTimeout: limits.keepAliveMs,
      connectionsCheckingInterval: Math.min(CHECK_MS, limits.headersMs),
      maxHeaderSize: limits.headerBytes,
      // A half-open connection is noticed, also where nobody writes.
      keepAlive: true,
      keepAliveInitialDelay: limits.streamKeepAliveMs,
      noDelay: true,
    };
    this.#watch = tls && new TlsWatch(tls);
    this.#server =
      tls === undefined
        ? http.createServer(common)
        : https.createServer({ ...common, ...readTls(tls), handshakeTimeout: limits.handshakeMs });
    this.#server.maxHeadersCount = limits.headers;
    this.#server.maxConnections = options.connections;
    this.#server.on('connection', (socket: Socket) => this.#count(socket));
    this.#server.on('drop', () => this.#onDrop());
    this.#server.on('request', (request, response) => this.#onRequest(request, response));
    // A client that asks first whether to send a body is answered when the body is read, or refused before.
    this.#server.on('checkContinue', (request, response) => this.#onRequest(request, response));
    this.#server.on('tlsClientError', (_error, socket) => socket.destroy());
    this.#looking = setInterval(() => this.#look(), limits.lookMs).unref();
  }

  /** Resolves when it listens. Throws E_SETTINGS where it cannot, or where anybody could call. */
  static async open(options: ListenerOptions): Promise<Listener> {
    const { address, hasCredentials } = options;
    if (address.at === 'tcp') refuseOpenAddress(address.host, hasCredentials);
    if (address.at === 'unix') await preparePath(address.path);
    const listener = new Listener(options);
    try {
      await listener.#listen();
      listener.#checkOpened();
    } catch (thrown) {
      clearInterval(listener.#looking);
      listener.#server.close();
      throw thrown;
    }
    return listener;
  }

  /** Where it listens, as a client's configuration would say it. */
  get address(): string {
    const address = this.#server.address();
    if (address === null || typeof address === 'string') return `unix:${this.#path ?? ''}`;
    const host = address.family === 'IPv6' ? `[${address.address}]` : address.address;
    return `${this.#options.tls === undefined ? 'http' : 'https'}://${host}:${address.port}/mcp`;
  }

  /** Whether the listener is a unix socket that only this user can open. */
  get isPrivate(): boolean {
    return this.#isPrivate;
  }

  /** Other machines can reach it, and whoever is in between can read along. */
  get isReadableOnTheWay(): boolean {
    const address = this.#server.address();
    const isTcp = address !== null && typeof address !== 'string';
    return isTcp && this.#options.tls === undefined && !isLoopback(address.address);
  }

  /** Connections that are open now. */
  async connections(): Promise<number> {
    return await new Promise((resolve) => this.#server.getConnections((_error, count) => resolve(count)));
  }

  /** Reads certificate and key again. False where they cannot be used; the old ones then stay. */
  reloadTls(): boolean {
    const { tls, observer } = this.#options;
    if (tls === undefined || !('setSecureContext' in this.#server)) return true;
    try {
      this.#server.setSecureContext(readTls(tls));
      observer({ type: 'http.tls', is: 'reloaded', message: tls.cert });
      return true;
    } catch (thrown) {
      observer({ type: 'http.tls', is: 'kept', message: messageOf(thrown) });
      return false;
    }
  }

  /** Connections on which nothing is under way are closed; clients open others as they need them. */
  closeIdle(): void {
    this.#server.closeIdleConnections();
  }

  /** Ends every connection at once. */
  async close(): Promise<void> {
    clearInterval(this.#looking);
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeAllConnections();
    await closed;
  }

  async #listen(): Promise<void> {
    const { address } = this.#options;
    await new Promise<void>((resolve, reject) => {
      const onError = (thrown: Error) => reject(cannotListen(address, thrown));
      this.#server.once('error', onError);
      this.#server.once('listening', () => {
        this.#server.off('error', onError);
        resolve();
      });
      if (address.at === 'tcp') this.#server.listen(address.port, address.host);
      else if (address.at === 'unix') {
        this.#path = address.path;
        withPrivateMode(() => this.#server.listen(address.path));
      } else {
        const fd = this.#options.systemdFd();
        this.#path = pathOfSocket(fd);
        this.#server.listen({ fd });
      }
    });
  }

  /** A name may resolve to an address of the network, and systemd may hand over any socket. */
  #checkOpened(): void {
    const address = this.#server.address() as AddressInfo | string | null;
    if (address === null || typeof address === 'string') {
      this.#isPrivate = this.#path !== undefined && isPrivateSocket(this.#path);
      if (!this.#isPrivate && !this.#options.hasCredentials)
        throw new BridgeError('E_SETTINGS', '--http: other users can open this socket.', {
          fault: 'operator',
          remedy: 'Set SocketMode=0600 and SocketUser= in the socket unit, or make a token first.',
        });
    } else refuseOpenAddress(address.address, this.#options.hasCredentials);
  }

  #count(socket: Socket): void {
    const address = socket.remoteAddress ?? '';
    if (address === '' || this.#options.isExempt(address)) return;
    const count = (this.#fromAddress.get(address) ?? 0) + 1;
    this.#fromAddress.set(address, count);
    socket.once('close', () => {
      const left = (this.#fromAddress.get(address) ?? 1) - 1;
      if (left === 0) this.#fromAddress.delete(address);
      else this.#fromAddress.set(address, left);
    });
    if (count <= Math.ceil(this.#options.connections / 2)) return;
    this.#onDrop();
    socket.destroy();
  }

  /** Too many connections: those that only wait for a next request make room. */
  #onDrop(): void {
    this.#dropped++;
    if (performance.now() - this.#madeRoomAt < MAKE_ROOM_MS) return;
    this.#madeRoomAt = performance.now();
    this.#server.closeIdleConnections();
    this.#options.observer({ type: 'http.dropped', connections: this.#dropped });
    this.#dropped = 0;
  }

  #onRequest(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    const underWay = this.#underWayOn(socket);
    underWay.add(response);
    response.once('close', () => underWay.delete(response));
    if (underWay.size > this.#options.limits.pipelined) socket.destroy();
    else this.#options.onRequest(request, response);
  }

  #underWayOn(socket: Socket): Set<ServerResponse> {
    const known = this.#underWay.get(socket);
    if (known !== undefined) return known;
    const underWay = new Set<ServerResponse>();
    this.#underWay.set(socket, underWay);
    // Node tells this only to the response whose turn it is; those behind it would go on for nobody.
    socket.once('close', () =>
      setImmediate(() => {
        for (const response of underWay) {
          response.destroy();
          response.emit('close');
        }
      }),
    );
    return underWay;
  }

  #look(): void {
    if (this.#watch?.hasChanged() === true) this.reloadTls();
  }
}

const cannotListen = (address: HttpAddress, thrown: Error): BridgeError =>
  thrown instanceof BridgeError
    ? thrown
    : new BridgeError('E_SETTINGS', `--http: ${messageOf(thrown)}.`, {
        fault: 'operator',
        remedy:
          address.at === 'tcp'
            ? 'Choose another address, or stop the program that listens there.'
            : 'Choose another path, or give this user the right to its folder.',
        cause: thrown,
      });

const FOR_OTHERS = 0o077;
const ASK_MS = 2_000;

/**
 * Makes way for a unix socket at `path`: one that a dead process has left is replaced, a living one's is not. Throws E_SETTINGS
 * that says why there can be none.
 */
async function preparePath(path: string): Promise<void> {
  if (process.platform === 'win32')
    throw socketError(path, 'there are no unix sockets on Windows', 'Give a port.');
  const folder = dirname(path);
  const stats = statSync(folder, { throwIfNoEntry: false });
  if (stats?.isDirectory() !== true)
    throw socketError(path, `there is no folder ${folder}`, `Make it first: mkdir -m 700 ${folder}`);
  const open = findExchangeable(resolve(folder));
  if (open !== undefined)
    throw socketError(
      path,
      `${whatIsOpen(open)}, so somebody else could put a socket there`,
      'Choose a folder that, with all above it, only this user and root can write, such as $XDG_RUNTIME_DIR.',
    );
  const there = lstatSync(path, { throwIfNoEntry: false });
  if (there === undefined) return;
  if (!there.isSocket())
    throw socketError(path, 'there is a file of this name that is not a socket', 'Choose another path.');
  if (await isLive(path))
    throw socketError(path, 'another process listens there', 'Stop it first, or choose another path.');
  rmSync(path, { force: true });
}

/** Runs `listen`, which makes the socket before it returns, so that nobody else can open it from its first moment on. */
function withPrivateMode(listen: () => void): void {
  const before = process.umask(0o177);
  try {
    listen();
  } finally {
    process.umask(before);
  }
}

/** Whether only its owner can open the socket at `path`. */
function isPrivateSocket(path: string): boolean {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats !== undefined && (stats.mode & FOR_OTHERS) === 0 && stats.uid === process.getuid?.();
}

/** Whether somebody accepts connections there. Only a clear refusal means that nobody does. */
function isLive(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection(path);
    const settle = (answer: boolean) => {
      clearTimeout(timer);
      socket.destroy();
      resolve(answer);
    };
    const timer = setTimeout(() => settle(true), ASK_MS);
    socket.once('connect', () => settle(true));
    socket.once('error', ({ code }: NodeJS.ErrnoException) =>
      settle(code !== 'ECONNREFUSED' && code !== 'ENOENT'),
    );
  });
}

const socketError = (path: string, why: string, remedy: string): BridgeError =>
  new BridgeError('E_SETTINGS', `--http: no socket can be made at ${path}: ${why}.`, {
    fault: 'operator',
    remedy,
  });
