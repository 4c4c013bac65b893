// From a link to a client of whichever era the server speaks. What is not known is asked once, and it costs a server of
// 2025 nothing: it is greeted in its own way whatever it did with the question, in a new process where it ended.

import { setTimeout as sleep } from 'node:timers/promises';
import { BridgeError } from '../../base/errors.js';
import { shownName } from '../../base/text/shown-name.js';
import { unlessAborted } from '../../base/waiting/unless-aborted.js';
import type { DownstreamSpec } from '../../hosts/downstream-spec.js';
import { type ClientHandlers, McpClient } from './client.js';
import { MODERN_VERSION } from './envelope.js';
import type { EraMemory, KnownEra } from './eras.js';
import { ErrorAnswer, UNSUPPORTED_VERSION } from './error-answer.js';
import type { Link } from './link.js';
import { Probe, type ProbeVerdict } from './probe.js';

/** For the answer to an earlier question, of a server that has refused a later one. */
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
  readonly patienceMs: number;
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
  const verdict = await within(isSure ? undefined : parts.patienceMs, probe.verdict, signal).catch(
    (thrown: unknown) => {
      // It does not even refuse the question any more: the next start greets it in the old way as well.
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
    // Its next version may speak another protocol as well: the next start asks.
    if (known.version === undefined) learnLegacy(eras, spec, client);
    else if (known.version !== client.serverVersion) eras.learn(spec, undefined);
    return client;
  } catch (thrown) {
    if (signal.aborted || !isRefusal(thrown)) throw thrown;
    eras.learn(spec, undefined);
    // A server that says that it does not speak our version will say which one it speaks, however long it takes to start.
    const patienceMs = thrown.code === UNSUPPORTED_VERSION ? undefined : parts.patienceMs;
    const ask = (over: Link) => within(patienceMs, new Probe(over, handlers.capabilities).verdict, signal);
    // It may have ended with its refusal; where it has not, it need not be started a second time.
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
    // It speaks both, and was only slow to say so: the next start greets it by the newer one.
    void probe.verdict.then(({ era }) => era === 'modern' && eras.learn(spec, { era }));
    return client;
  } catch (thrown) {
    if (verdict === undefined && spec.transport === 'stdio' && link.ending === undefined) {
      // It was perhaps the question that made it fall silent; the next start does without.
      if (signal.aborted) eras.learn(spec, { era: 'legacy' });
    }
    if (signal.aborted) throw thrown;
    if (verdict === undefined && isRefusal(thrown)) {
      const late = await within(LATE_MS, probe.verdict, signal);
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
async function within<T>(
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
