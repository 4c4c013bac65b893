// One request passed on to another replica, as it came and on a connection of its own, and the answer passed back as it comes.
// Replicas know each other by a key that never leaves them: whoever asks signs the request, and whoever is asked proves first
// that it has the key too, since the address of a pod that has ended may have become another's. A proof is of one address, so
// that whoever has that address now cannot hand on the proof of a replica elsewhere.

import { createHmac, randomBytes } from 'node:crypto';
import http, { type IncomingMessage, type OutgoingHttpHeaders, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { isSameSecret } from '../../base/crypto.js';
import type { HttpAnswer, RequestFacts } from '../http/parts.js';

/**
 * Outcome of a request that was passed on: it was answered; or the other replica has done nothing, since it `leaves` the principal to others or was
 * `unreached`; or it was `lost` with the other replica while that was at it.
 */
export type Relayed = 'answered' | 'leaves' | 'unreached' | 'lost';

/** Told of what was with a replica that has ended. */
export const LOST =
  'The replica that had your sessions and runs has ended, and they are lost with it. Call the tool again.';
const LOST_CODE = -32_000;
/** A header of the answer of a replica that has done nothing, and leaves the request to others. */
export const LEAVES = 'x-mcp-bridge-leaves';
const SIGNED = 'x-mcp-bridge-replica';
const PROOF_PATH = '/replica';
const NONCE = 'x-mcp-bridge-nonce';
/** Headers about one connection, and those that are said anew. */
const OWN_HEADERS = new Set([
  'connection',
  'keep-alive',
  'transfer-encoding',
  'content-length',
  'expect',
  'te',
  'trailer',
  'upgrade',
  'forwarded',
  'x-real-ip',
  SIGNED,
]);
const CONNECTS_WITHIN_MS = 3_000;
const PROVES_WITHIN_MS = 5_000;
/** How often the other replica is looked at while it has a request; one that is missing twice in a row has ended. */
const LOOKS_EVERY_MS = 5_000;
const MISSES = 2;
/** How far the clocks of two nodes may be apart, and how long a signature lasts. */
const CLOCKS_MS = 60_000;
const PROOF_CHARS = 64;

export class RequestRelay {
  readonly #key: Buffer;
  readonly #own: string;

  /** `own` is the address by which other replicas know this one. */
  constructor(key: Buffer, own: string) {
    this.#key = key;
    this.#own = own;
  }

  /** Whether another replica has passed this request on. */
  isFromReplica({ headers, method = '', url = '' }: IncomingMessage): boolean {
    const [time = '', signature = ''] = String(headers[SIGNED] ?? '').split('.');
    if (Math.abs(Date.now() - Number(time)) > CLOCKS_MS) return false;
    return isSameSecret(signature, this.#sign('request', time, method, url, headers.authorization ?? ''));
  }

  /** The proof that this replica has the key, for whoever asks at its path; undefined at every other one. */
  proofFor({ path, headers }: RequestFacts): HttpAnswer | undefined {
    if (path !== PROOF_PATH) return undefined;
    return { status: 200, text: this.#proof(String(headers[NONCE] ?? '').slice(0, PROOF_CHARS), this.#own) };
  }

  /** Passes `request`, whose body is `text`, on to `address`, and its answer back as `response`. */
  async pass(
    address: string,
    { request, facts, text }: { request: IncomingMessage; facts: RequestFacts; text: string | undefined },
    response: ServerResponse,
  ): Promise<Relayed> {
    if (!(await this.#isReplica(address, request))) return 'unreached';
    const socket = await connected(address, request);
    if (socket === undefined) return 'unreached';
    const { method = '', url = '' } = request;
    const time = String(Date.now());
    const headers: OutgoingHttpHeaders = {
      ...Object.fromEntries(Object.entries(request.headers).filter(([name]) => !OWN_HEADERS.has(name))),
      'x-forwarded-for': facts.remoteAddress ?? '',
      'x-forwarded-proto': facts.isSecure ? 'https' : 'http',
      'x-forwarded-host': facts.host,
      [SIGNED]: `${time}.${this.#sign('request', time, method, url, request.headers.authorization ?? '')}`,
      connection: 'close',
      ...(text === undefined ? {} : { 'content-length': Buffer.byteLength(text) }),
    };
    return await new Promise<Relayed>((resolve) => {
      const outgoing = http.request({ method, path: url, headers, createConnection: () => socket });
      // A pod that is gone with its address says nothing more, and a connection to it never ends by itself.
      const stopLooking = this.#watch(address, request, () => socket.destroy());
      // Nobody waits for the answer when the client has gone.
      response.once('close', () => socket.destroy());
      socket.once('close', stopLooking);
      outgoing.once('error', () => resolve('lost'));
      outgoing.once('response', (incoming) => {
        if (incoming.headers[LEAVES] !== undefined) {
          incoming.resume();
          return resolve('leaves');
        }
        // The id under which this replica's log has the request stays.
        const passed = Object.entries(incoming.headers).filter(
          ([name]) => name === 'content-length' || !(OWN_HEADERS.has(name) || name === 'x-request-id'),
        );
        response.writeHead(incoming.statusCode ?? 502, Object.fromEntries(passed));
        response.flushHeaders();
        const isStream = /^text\/event-stream/.test(incoming.headers['content-type'] ?? '');
        incoming.once('error', () => (isStream ? response.end(lastWord(text)) : response.destroy()));
        // A line that only keeps the connection says nothing.
        let isSilent = true;
        incoming.on('data', (chunk: Buffer) => {
          if (isSilent && chunk.includes('data:')) isSilent = false;
        });
        incoming.once('end', () => response.end(isStream && isSilent ? lastWord(text) : undefined));
        incoming.pipe(response, { end: false });
        response.once('close', () => resolve('answered'));
      });
      outgoing.end(text);
    });
  }

  /** Calls `onGone` once nobody who has the key answers at `address` any more, until the returned function is called. */
  #watch(address: string, request: IncomingMessage, onGone: () => void): () => void {
    let misses = 0;
    const timer = setInterval(async () => {
      misses = (await this.#isReplica(address, request)) ? 0 : misses + 1;
      if (misses >= MISSES) onGone();
    }, LOOKS_EVERY_MS);
    return () => clearInterval(timer);
  }

  /** Whether whoever is at `address` has the key. */
  async #isReplica(address: string, request: IncomingMessage): Promise<boolean> {
    const socket = await connected(address, request);
    if (socket === undefined) return false;
    const nonce = randomBytes(PROOF_CHARS / 2).toString('hex');
    return await new Promise<boolean>((resolve) => {
      const headers = { [NONCE]: nonce, connection: 'close', host: 'localhost' };
      const asking = http.get({ path: PROOF_PATH, headers, createConnection: () => socket }, (incoming) => {
        let text = '';
        incoming.setEncoding('utf8').on('data', (piece: string) => {
          text = (text + piece).slice(0, 2 * PROOF_CHARS);
        });
        incoming.once('end', () => resolve(isSameSecret(text, this.#proof(nonce, address))));
        incoming.once('error', () => resolve(false));
      });
      asking.setTimeout(PROVES_WITHIN_MS, () => asking.destroy());
      asking.once('error', () => resolve(false));
      asking.once('close', () => resolve(false));
    });
  }

  #proof(nonce: string, address: string): string {
    return this.#sign('proof', nonce, address);
  }

  #sign(...words: readonly string[]): string {
    return createHmac('sha256', this.#key).update(JSON.stringify(words)).digest('hex');
  }
}

/** The end of a stream of events that breaks off, or has had none: an answer to the request, since a client waits for that and not for its connection. */
function lastWord(text: string | undefined): string {
  const { id }: { id?: unknown } = JSON.parse(text ?? '{}');
  const answer = { jsonrpc: '2.0', id, error: { code: LOST_CODE, message: LOST } };
  return id === undefined ? '' : `\n\nevent: message\ndata: ${JSON.stringify(answer)}\n\n`;
}

/** A connection to the port of `address` to which `request` came here, encrypted as that was; undefined where there is none. */
async function connected(address: string, { socket: own }: IncomingMessage): Promise<Socket | undefined> {
  const place = { host: address, port: own.localPort ?? 0 };
  const certificate = (own as Partial<TLSSocket>).getCertificate?.();
  const isTls = (own as Partial<TLSSocket>).encrypted === true;
  // All replicas have one certificate, which is no name's of a pod: it is looked at below.
  const socket = isTls ? connectTls({ ...place, rejectUnauthorized: false }) : connect(place);
  const isOpen = await new Promise<boolean>((resolve) => {
    socket.once(isTls ? 'secureConnect' : 'connect', () => resolve(true));
    socket.once('error', () => resolve(false));
    socket.setTimeout(CONNECTS_WITHIN_MS, () => resolve(false));
  });
  socket.setTimeout(0);
  socket.on('error', () => {});
  const theirs = isTls ? (socket as TLSSocket).getPeerCertificate().fingerprint256 : undefined;
  const isTheirs = !isTls || theirs === (certificate as { fingerprint256?: string } | null)?.fingerprint256;
  if (isOpen && isTheirs) return socket;
  socket.destroy();
  return undefined;
}
