// From a link to a client of whichever era the server speaks. What is not known is asked once, and it costs a server of
// 2025 nothing: it is greeted in its own way whatever it did with the question, in a new process where it ended.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import { z } from 'zod';
import { BridgeError } from '../../base/errors.js';
import { replaceFile } from '../../base/files/replace-file.js';
import { isObject, type JsonObject } from '../../base/json/records.js';
import { shownName } from '../../base/text/shown-name.js';
import { clipHarmless } from '../../base/text/text.js';
import { unlessAborted } from '../../base/waiting/unless-aborted.js';
import { type DownstreamSpec, definitionKey } from '../../hosts/downstream-spec.js';
import type { RpcError } from '../../wire/envelope.js';
import { type ClientHandlers, McpClient } from './client.js';
import { envelopeOf, MODERN_VERSION, WITH_INITIALIZE } from './envelope.js';
import { ErrorAnswer, type Link, UNSUPPORTED_VERSION } from './link.js';

/** How long to wait for the answer to an earlier question, from a server that has refused a later one. */
const LATE_MS = 5_000;

type GreetingParts = {
  readonly spec: DownstreamSpec;
  readonly eras: EraMemory;
  readonly handlers: ClientHandlers;
  /** A started link; each further one takes the place of the one before, which it ends. */
  readonly newLink: () => Promise<Link>;
  /**
   * How long the question may stay unanswered, in ms, before the server is greeted in the old way as well. A server that
   * is still starting looks like one that hangs on what it does not know: the first wants this to be long, since a server
   * of both eras keeps to the one in which it was greeted, and the second waits for it at its very first start.
   */
  readonly softTimeoutMs: number;
};

/** Throws ErrorAnswer, or what the SDK or the link throws. */
export async function greet(parts: GreetingParts, signal: AbortSignal): Promise<McpClient> {
  const { spec, eras } = parts;
  const mode = spec.transport === 'sse' ? 'legacy' : (spec.versionNegotiation ?? 'auto');
  const link = await parts.newLink();
  if (mode === 'legacy') return McpClient.greet(link, parts.handlers, signal);
  const known = mode === 'auto' ? eras.of(spec) : undefined;
  if (known?.era === 'legacy') return greetKnown(known, link, parts, signal);
  const probe = new Probe(link, parts.handlers.capabilities);
  const isSure = mode !== 'auto' || known !== undefined;
  const verdict = await waitAtMost(isSure ? undefined : parts.softTimeoutMs, probe.verdict, signal).catch(
    (thrown: unknown) => {
      // The server does not even refuse the question any more: the next start greets it in the old way as well.
      if (known !== undefined) eras.learn(spec, undefined);
      throw thrown;
    },
  );
  if (verdict?.era === 'unknown') throw verdict.error;
  if (verdict?.era === 'modern') return greetModern(verdict, link, parts, signal);
  if (mode !== 'auto') throw notModern(spec);
  return greetLegacy(link, probe, verdict, parts, signal);
}

function greetModern(
  verdict: Extract<ProbeVerdict, { era: 'modern' }>,
  link: Link,
  { spec, eras, handlers }: GreetingParts,
  signal: AbortSignal,
): Promise<McpClient> {
  eras.learn(spec, { era: 'modern' });
  return McpClient.greet(link, handlers, signal, verdict.said);
}

/** A server that was of 2025 when it was asked; where it has become another, it is asked again. */
async function greetKnown(
  known: KnownEra,
  link: Link,
  parts: GreetingParts,
  signal: AbortSignal,
): Promise<McpClient> {
  const { spec, eras, handlers } = parts;
  try {
    const client = await McpClient.greet(link, handlers, signal);
    // The server's next version may speak another protocol as well: the next start asks.
    if (known.version === undefined) learnLegacy(eras, spec, client);
    else if (known.version !== client.serverVersion) eras.learn(spec, undefined);
    return client;
  } catch (thrown) {
    if (signal.aborted || !isRefusal(thrown)) throw thrown;
    eras.learn(spec, undefined);
    // A server that says that it does not speak our version will say which one it speaks, however long it takes to start.
    const softTimeoutMs = thrown.code === UNSUPPORTED_VERSION ? undefined : parts.softTimeoutMs;
    const ask = (over: Link) =>
      waitAtMost(softTimeoutMs, new Probe(over, handlers.capabilities).verdict, signal);
    // The server may have ended with its refusal; where it has not, it need not be started a second time.
    const first = link.ending === undefined ? await ask(link) : undefined;
    const another = link.ending === undefined ? link : await parts.newLink();
    const verdict = another === link ? first : await ask(another);
    if (verdict?.era === 'unknown') throw verdict.error;
    if (verdict?.era !== 'modern') throw thrown;
    return greetModern(verdict, another, parts, signal);
  }
}

/** After a probe that was not answered as a modern server does, or not yet. */
async function greetLegacy(
  link: Link,
  probe: Probe,
  verdict: ProbeVerdict | undefined,
  parts: GreetingParts,
  signal: AbortSignal,
): Promise<McpClient> {
  const { spec, eras, handlers, newLink } = parts;
  const again = async () => {
    // Known from here on, so that a server that cannot be started at all is not started twice each time.
    eras.learn(spec, { era: 'legacy' });
    const client = await McpClient.greet(await newLink(), handlers, signal);
    learnLegacy(eras, spec, client);
    return client;
  };
  if (verdict?.era === 'ended') return again();
  try {
    const client = await McpClient.greet(link, handlers, signal, undefined, probe.take);
    learnLegacy(eras, spec, client);
    if (spec.transport !== 'stdio') probe.abandon();
    // A server that speaks both protocols, and was only slow to say so: the next start greets it by the newer one.
    void probe.verdict.then(({ era }) => era === 'modern' && eras.learn(spec, { era }));
    return client;
  } catch (thrown) {
    if (verdict === undefined && spec.transport === 'stdio' && link.ending === undefined) {
      // Perhaps the question made the server fall silent; the next start does without.
      if (signal.aborted) eras.learn(spec, { era: 'legacy' });
    }
    if (signal.aborted) throw thrown;
    if (verdict === undefined && isRefusal(thrown)) {
      const late = await waitAtMost(LATE_MS, probe.verdict, signal);
      if (late?.era === 'modern') return greetModern(late, link, parts, signal);
    }
    if (spec.transport === 'stdio' && link.ending !== undefined) return again();
    throw thrown;
  }
}

const learnLegacy = (eras: EraMemory, spec: DownstreamSpec, { serverVersion }: McpClient): void =>
  eras.learn(spec, { era: 'legacy', version: serverVersion });

/** The server itself says no: a modern one knows no `initialize`. What a link failed of is told with the error as data. */
function isRefusal(thrown: unknown): thrown is ErrorAnswer {
  if (!(thrown instanceof ErrorAnswer)) return false;
  return !(thrown.data instanceof BridgeError) || Object(thrown.data.cause).saysNothingOfServer !== true;
}

function notModern({ name }: DownstreamSpec): BridgeError {
  return new BridgeError(
    'E_SERVER_UNAVAILABLE',
    `it does not speak MCP ${MODERN_VERSION}, which the \`versionNegotiation\` of '${shownName(name)}' demands`,
    { fault: 'operator' },
  );
}

/** Undefined when `ms` have passed; without them it waits for as long as `signal` lets it. */
async function waitAtMost<T>(
  ms: number | undefined,
  promised: Promise<T>,
  signal: AbortSignal,
): Promise<T | undefined> {
  const ending = new AbortController();
  const late =
    ms === undefined ? [] : [sleep(ms, undefined, { signal: ending.signal }).catch(() => undefined)];
  try {
    return await unlessAborted(Promise.race([promised, ...late]), signal);
  } finally {
    ending.abort();
  }
}

// One `server/discover`, sent before anything else, and what a server makes of it. Servers of 2025 answer with an error
// or with anything, print, hang, close the connection or exit: all of that means `legacy`, and none of it is an error.

type ProbeVerdict =
  | { readonly era: 'modern'; readonly said: JsonObject }
  | { readonly era: 'legacy' }
  /** The connection ended: what is known of it is that it does not survive this question. */
  | { readonly era: 'ended' }
  /** Nobody was there to answer, or whoever it was wants a login, or speaks no version that the bridge does. */
  | { readonly era: 'unknown'; readonly error: Error };

/** A number, since some servers take no other ids, and one that the SDK, which counts from 0, does not come to. */
const PROBE_ID = 2_000_000_000;
/** Id of the second question, to a server that refused the first although it has the version. */
const SECOND_ID = PROBE_ID + 1;

class Probe {
  /** Never rejects, and may never resolve. */
  readonly verdict: Promise<ProbeVerdict>;
  readonly #link: Link;
  readonly #clientCapabilities: object;
  #settle: (verdict: ProbeVerdict) => void = () => {};

  /** Over a link that has been started and on which nothing was said yet. */
  constructor(link: Link, clientCapabilities: object) {
    this.#link = link;
    this.#clientCapabilities = clientCapabilities;
    this.verdict = new Promise((resolve) => {
      this.#settle = resolve;
    });
    link.onmessage = (message) => void this.take(message);
    link.onclose = () => this.#settle({ era: 'ended' });
    this.#ask(PROBE_ID);
  }

  /** Whether the message was the answer to this question. */
  readonly take = (message: JSONRPCMessage): boolean => {
    if ('method' in message || (message.id !== PROBE_ID && message.id !== SECOND_ID)) return false;
    const isFirst = message.id === PROBE_ID;
    if (!('error' in message)) this.#settle(verdictOf(message.result));
    else if (isFirst && versionsOffered(message.error)?.includes(MODERN_VERSION)) this.#ask(SECOND_ID);
    else this.#settle(verdictOfError(message.error));
    return true;
  };

  /** The answer is not waited for any more. */
  abandon(): void {
    this.#link.abandon(PROBE_ID);
    this.#link.abandon(SECOND_ID);
  }

  #ask(id: number): void {
    const params = { _meta: envelopeOf(this.#clientCapabilities) };
    this.#link
      .send({ jsonrpc: '2.0', id, method: 'server/discover', params })
      .catch(() => this.#settle({ era: 'ended' }));
  }
}

function verdictOf(result: unknown): ProbeVerdict {
  if (!isObject(result)) return { era: 'legacy' };
  const versions = versionsIn(result['supportedVersions']);
  return versions?.includes(MODERN_VERSION) ? { era: 'modern', said: result } : withoutOurVersion(versions);
}

/** The verdict on a server that does not take our version; `versions` are those that the server names. */
function withoutOurVersion(versions: readonly string[] = []): ProbeVerdict {
  const isUnknown = versions.length > 0 && !versions.some((version) => WITH_INITIALIZE.has(version));
  return isUnknown ? { era: 'unknown', error: noCommonVersion(versions) } : { era: 'legacy' };
}

/** Versions of MCP are dates; undefined where there is no list. */
const versionsIn = (list: unknown): readonly string[] | undefined =>
  Array.isArray(list) ? list.filter((item) => typeof item === 'string' && VERSION.test(item)) : undefined;

const VERSION = /^\d{4}-\d{2}-\d{2}$/;

/** The versions that a server names as it refuses ours; undefined for any other error. */
function versionsOffered({ code, data }: RpcError): readonly string[] | undefined {
  const { supported } = isObject(data) ? data : ({} as JsonObject);
  return code === UNSUPPORTED_VERSION ? versionsIn(supported) : undefined;
}

/**
 * A failure of the link comes with the error as data. A server that names the versions it speaks is believed; whatever
 * else one says means that it does not know the question.
 */
function verdictOfError(error: RpcError): ProbeVerdict {
  const { code, message, data } = error;
  const isFinal = data instanceof BridgeError && Object(data.cause).saysNothingOfServer === true;
  if (isFinal) return { era: 'unknown', error: new ErrorAnswer(message, code, data) };
  return withoutOurVersion(versionsOffered(error));
}

const MAX_VERSIONS_CHARS = 200;

/** A server that goes on refusing a version that it names gets here as well. */
function noCommonVersion(versions: readonly string[]): BridgeError {
  const offered = clipHarmless(versions.join(', '), MAX_VERSIONS_CHARS);
  const message = versions.includes(MODERN_VERSION)
    ? `it refuses MCP ${MODERN_VERSION}, although it names it among its versions: ${offered}`
    : `it speaks MCP in versions that this bridge does not know: ${offered}`;
  return new BridgeError('E_SERVER_UNAVAILABLE', message, { fault: 'operator' });
}

// Which era of MCP each server speaks, remembered from start to start: a server of 2025 that hangs or exits when it is
// asked for `server/discover` is asked only once. By what starts or reaches a server, and not by its name.

type KnownEra = {
  /** `legacy` opens with `initialize` (2024-11-05 to 2025-11-25), `modern` does without (2026-07-28). */
  readonly era: 'legacy' | 'modern';
  /** The server's own version when it was found out; undefined where it did not get that far. */
  readonly version?: string | undefined;
};

export interface EraMemory {
  of(spec: DownstreamSpec): KnownEra | undefined;
  /** Undefined forgets. Never throws. */
  learn(spec: DownstreamSpec, known: KnownEra | undefined): void;
}

/** Remembers the eras for as long as this process lives. */
export class ErasInMemory implements EraMemory {
  readonly #known = new Map<string, KnownEra>();

  of(spec: DownstreamSpec): KnownEra | undefined {
    return this.#known.get(definitionKey(spec));
  }

  learn(spec: DownstreamSpec, known: KnownEra | undefined): void {
    const key = definitionKey(spec);
    if (known === undefined) this.#known.delete(key);
    else this.#known.set(key, known);
  }
}

/** The oldest are forgotten: they are only asked once more. */
const MAX_SERVERS = 1_000;
const MAX_VERSION_CHARS = 200;

const file = z.record(
  z.string(),
  z.object({ era: z.enum(['legacy', 'modern']), version: z.string().max(MAX_VERSION_CHARS).optional() }),
);

/**
 * In `cache/eras.json` of the state directory, which several bridges may share; the last one who writes is right. Nothing of
 * ours lies in that directory itself under a name that discovery reads: it may be ~/MCPs.
 */
export class KeptEras implements EraMemory {
  readonly #path: string;

  constructor(stateDir: string) {
    this.#path = join(stateDir, 'cache', 'eras.json');
  }

  of(spec: DownstreamSpec): KnownEra | undefined {
    return this.#read().get(definitionKey(spec));
  }

  learn(spec: DownstreamSpec, known: KnownEra | undefined): void {
    const key = definitionKey(spec);
    const all = this.#read();
    const before = all.get(key);
    const version = known?.version?.slice(0, MAX_VERSION_CHARS);
    if (before?.era === known?.era && before?.version === version) return;
    // The latest stand at the end.
    all.delete(key);
    if (known !== undefined) all.set(key, { era: known.era, version });
    try {
      replaceFile(this.#path, `${JSON.stringify(Object.fromEntries([...all].slice(-MAX_SERVERS)))}\n`);
    } catch {
      // The next start asks the server once more.
    }
  }

  /** A file that is damaged is as none. */
  #read(): Map<string, KnownEra> {
    try {
      return new Map(Object.entries(file.parse(JSON.parse(readFileSync(this.#path, 'utf8')))));
    } catch {
      return new Map();
    }
  }
}
