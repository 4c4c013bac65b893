// One of several replicas behind one address, any of which may be asked: a request is served by the replica that holds its
// principal. One that leaves goes on with what it began, and another one takes its principals over for all that is new.

import type { IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { BridgeError } from '../../base/errors.js';
import { readGuarded } from '../../settings/files/guarded-file.js';
import type { HostFacts } from '../../settings/files/host-facts.js';
import { type HttpAnswer, type RequestFacts, type Routed, rpcError } from '../http/parts.js';
import type { Holders } from './holders.js';
import { LEAVES, LOST, type Relayed, RequestRelay } from './relay.js';

const NAME = 'MCP_BRIDGE_HTTP_REPLICA_KEY';
const MAX_KEY_BYTES = 4_096;
const LEAST_KEY_CHARS = 32;
/** Between two tries to reach a holder whose pod is there, and may only be starting again. */
const AGAIN_MS = 500;
/** Holders that are asked before the client is told to come again. */
const TRIES = 4;
const RETRY = { 'retry-after': '1' };

export class Replicas {
  readonly #relay: RequestRelay;
  readonly #holders: Holders;
  /** Addresses of replicas that have finished what they began, and are not asked again. */
  readonly #ended = new Set<string>();

  /** Throws E_SETTINGS where the file of the key cannot be used. */
  constructor(holders: Holders, keyFile: string | undefined, host: HostFacts) {
    this.#holders = holders;
    this.#relay = new RequestRelay(keyIn(keyFile, host), holders.own);
  }

  /** Whether another replica has passed this request on. */
  isFromReplica(request: IncomingMessage): boolean {
    return this.#relay.isFromReplica(request);
  }

  /** The answer to a replica that asks whether this is one; undefined for every other request. */
  proofFor(facts: RequestFacts): HttpAnswer | undefined {
    return this.#relay.proofFor(facts);
  }

  /** Resolves with 'here' where this replica is to serve it, 'answered' where another one has; else with what to answer. */
  async route(routed: Routed): Promise<'here' | 'answered' | HttpAnswer> {
    const { request, isHere, isDraining, beginsWork, goesOn } = routed;
    if (isHere) return 'here';
    const mayServe = !isDraining || !(beginsWork || goesOn);
    try {
      if (!this.#relay.isFromReplica(request)) return await this.#find(routed, mayServe);
      const { isOwn } = await this.#holders.of(routed.principal);
      return isOwn && mayServe ? 'here' : leaves();
    } catch {
      return comeAgain('It is not known now which replica has your sessions and runs.');
    }
  }

  /** Gives up all principals; for the end of the process. */
  async release(): Promise<void> {
    await this.#holders.release();
  }

  async #find(routed: Routed, mayServe: boolean): Promise<'here' | 'answered' | HttpAnswer> {
    const { principal, request, response, facts, text, goesOn } = routed;
    const pass = (address: string): Promise<Relayed> =>
      this.#relay.pass(address, { request, facts, text }, response);
    let unreached = 0;
    for (let tries = 0; tries < TRIES; tries++) {
      const holder = await this.#holders.of(principal);
      if (holder.isOwn) {
        for (const address of goesOn ? holder.earlier.filter((each) => !this.#ended.has(each)) : []) {
          const relayed = await pass(address);
          if (relayed === 'unreached') this.#ended.add(address);
          if (relayed === 'answered') return relayed;
          if (relayed === 'lost') return lost();
        }
        return mayServe ? 'here' : leaves();
      }
      this.#ended.delete(holder.address);
      const relayed = await pass(holder.address);
      if (relayed === 'answered') return relayed;
      if (relayed === 'lost') return lost();
      if (!mayServe) return leaves();
      if (relayed === 'unreached' && unreached++ === 0) {
        this.#holders.forget(principal);
        await sleep(AGAIN_MS);
      } else await this.#holders.takeOver(principal, holder, relayed === 'leaves');
    }
    return comeAgain('No replica has taken the request.');
  }
}

const comeAgain = (why: string): HttpAnswer =>
  rpcError(503, `${why} Nothing was done: send the request again.`, { headers: RETRY });

const leaves = (): HttpAnswer =>
  rpcError(503, 'This replica is shutting down and begins nothing new. Send the request again.', {
    headers: { ...RETRY, [LEAVES]: '1' },
  });

const lost = (): HttpAnswer => rpcError(502, LOST);

function keyIn(file: string | undefined, host: HostFacts): Buffer {
  const read = file === undefined ? undefined : readGuarded(file, MAX_KEY_BYTES, host);
  const key = read?.state === 'read' ? read.text.trim() : '';
  if (key.length >= LEAST_KEY_CHARS) return Buffer.from(key);
  throw new BridgeError('E_SETTINGS', `${NAME}: ${whyNoKey(file, read)}.`, {
    fault: 'operator',
    remedy: `Name a file of the bridge's own user with ${LEAST_KEY_CHARS} characters or more, the same for all replicas.`,
  });
}

function whyNoKey(file: string | undefined, read: ReturnType<typeof readGuarded> | undefined): string {
  if (read === undefined) return 'it is not set, and MCP_BRIDGE_HTTP_REPLICA needs it';
  if (read.state === 'absent') return `there is no file ${file}`;
  return read.state === 'refused'
    ? `${file} ${read.message}`
    : `${file} has fewer than ${LEAST_KEY_CHARS} characters`;
}
