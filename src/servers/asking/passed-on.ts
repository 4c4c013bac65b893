// Requests of one server to its client, passed on to the agent: questions to the person and the roots of the workspace. Decides
// who may ask and when; relays, and keeps nothing. Only what the agent offers is advertised. Sampling never is: a server could
// spend the user's model on words of its own, and no agent that was tried offers it.

import type { ClientCapabilities } from '@modelcontextprotocol/client';
import PQueue from 'p-queue';
import { messageOf } from '../../base/errors.js';
import { isObject, type JsonObject } from '../../base/json/json-object.js';
import { excessOf } from '../../base/json/json-text.js';
import type { Observer } from '../../base/log/events.js';
import type { Redact } from '../../base/secrets/redact.js';
import { clip } from '../../base/text/text.js';
import { LinkedSignal } from '../../base/waiting/linked-signal.js';
import { unlessAborted } from '../../base/waiting/unless-aborted.js';
import type { McpClient } from '../connection/client.js';
import { LeftOut } from '../connection/left-out.js';
import type { AgentCapabilities } from './agent-capabilities.js';
import type { Callers } from './callers.js';
import type { CallsUnderWay } from './calls-under-way.js';
import { readElicitation } from './elicitation.js';

type PassedOnParts = {
  readonly server: string;
  readonly callers: Callers;
  readonly calls: CallsUnderWay;
  readonly redact: Redact;
  readonly observer: Observer;
};

/** Questions of one server that wait behind the one that is put; a person answers no more than that in a run. */
const MAX_WAITING = 8;
/** Longest answer of a person, and longest list of roots. */
const MAX_ANSWER_CHARS = 1_000_000;
const ANSWER_LIMITS = { maxDepth: 32, maxValues: 20_000 };
/** Log lines of one server in LOG_WINDOW_MS; the rest is not worth our time. */
const MAX_LOG_LINES = 100;
const LOG_WINDOW_MS = 10_000;
const MAX_LOG_CHARS = 1_000;

/** Questions in the mode `url` whose end the server may still tell. */
const MAX_OPEN_ADDRESSES = 32;

const ACTIONS: readonly unknown[] = ['accept', 'decline', 'cancel'];

export class ServerRequests {
  /** Capabilities that the callers offer when this object is made; the server keeps those that it was told in its greeting. */
  readonly capabilities: ClientCapabilities;
  readonly #parts: PassedOnParts;
  readonly #questions = new PQueue({ concurrency: 1 });
  #client: McpClient | undefined;
  /** Whose roots the server was told last; undefined for nobody's, and before it has asked. */
  #rootsOf: AgentCapabilities | undefined;
  /** Whether it has asked for roots since it was last told that they are others. */
  #knowsRoots = false;
  /** Whose question an address was, by its elicitationId. */
  readonly #openAddresses = new Map<string, AgentCapabilities>();
  readonly #leftOut: LeftOut;
  #logLines = 0;
  #logSince = Number.NEGATIVE_INFINITY;

  constructor(parts: PassedOnParts) {
    this.#parts = parts;
    const { server, observer } = parts;
    this.#leftOut = new LeftOut((leftOut) => observer({ type: 'downstream.flooding', server, leftOut }));
    const { form, url, roots, rootsChanges } = parts.callers.offered;
    const modes = { ...(form ? { form: {} } : {}), ...(url ? { url: {} } : {}) };
    this.capabilities = {
      ...(form || url ? { elicitation: modes } : {}),
      ...(roots ? { roots: { listChanged: rootsChanges } } : {}),
    };
    // Roots that the server was told for one agent do not hold for the calls of another.
    parts.calls.onBegin((agent) => {
      if (agent !== this.#rootsOf && agent.hasRoots()) this.#tellRootsChanged();
    });
  }

  /** Over this client it tells the server that the roots are others now. */
  serve(client: McpClient): void {
    this.#client = client;
  }

  /** The answer to what the server asks; undefined for a method that is not answered. */
  readonly answer = (
    method: string,
    params: unknown,
    signal: AbortSignal,
  ): Promise<JsonObject> | undefined => {
    if (method === 'elicitation/create') return this.#elicit(params, signal);
    if (method === 'roots/list' && this.capabilities.roots !== undefined) return this.#roots(signal);
    return undefined;
  };

  /** Takes a notification of the server that is not about its lists. */
  notified(method: string, params: JsonObject): void {
    if (method === 'notifications/message') this.#log(params);
    if (method === 'notifications/elicitation/complete') this.#addressDone(String(params['elicitationId']));
  }

  /** Whether a question of it is put to the person just now. */
  get isAsking(): boolean {
    return this.#questions.pending > 0;
  }

  /** Tells a server that has read the roots of this agent that they are others now. */
  rootsChanged(agent: AgentCapabilities): void {
    if (agent === this.#rootsOf) this.#tellRootsChanged();
  }

  #tellRootsChanged(): void {
    // However often they change: whoever was told once, and has not asked since, knows no more than that.
    if (!this.#knowsRoots || this.capabilities.roots?.listChanged !== true) return;
    this.#knowsRoots = false;
    // One that is ending need not know.
    this.#client?.notify('notifications/roots/list_changed').catch(() => {});
  }

  /** The person's answer; a question that cannot be put is declined, one whose calls have ended is cancelled. */
  async #elicit(raw: unknown, signal: AbortSignal): Promise<JsonObject> {
    const { server, calls, redact, observer } = this.#parts;
    const startedAt = performance.now();
    const told = (result: JsonObject, why?: string) => {
      observer({
        type: 'downstream.asked',
        server,
        answer: `${result['action']}${why === undefined ? '' : `, because ${why}`}`,
        durationMs: performance.now() - startedAt,
      });
      return result;
    };
    const decline = (why: string) => told({ action: 'decline' }, why);
    if (calls.size === 0) return decline('no call of the server is under way');
    const [agent, ...others] = this.#answering();
    if (agent === undefined) return decline('several principals share the server');
    if (others.length > 0)
      return decline('calls of several agents are under way, and it does not say for which one it asks');
    const question = readElicitation(raw, server, agent.elicits(), redact);
    if ('unfit' in question) return decline(question.unfit);
    if (this.#questions.size >= MAX_WAITING) return decline(`${MAX_WAITING} of its questions wait already`);
    using askers = calls.askers();
    using _hold = calls.hold();
    using link = new LinkedSignal(signal, askers.ended);
    const asked = this.#questions.add(async () => {
      if (link.signal.aborted) return { action: 'cancel' };
      this.#expectEnd(question.params['elicitationId'], agent);
      return agent.elicit(question.params, link.signal);
    });
    try {
      return told(relayed(await unlessAborted(asked, link.signal)));
    } catch (thrown) {
      if (link.signal.aborted) return told({ action: 'cancel' }, 'the call has ended');
      return decline(`the agent could not ask: ${messageOf(thrown)}`);
    }
  }

  /** Agents that the server may be asking now. */
  #answering(): readonly AgentCapabilities[] {
    const { callers, calls } = this.#parts;
    return callers.answering(calls.agents);
  }

  #addressDone(elicitationId: string): void {
    const agent = this.#openAddresses.get(elicitationId);
    this.#openAddresses.delete(elicitationId);
    agent?.elicitationDone(elicitationId);
  }

  #expectEnd(elicitationId: unknown, agent: AgentCapabilities): void {
    if (typeof elicitationId !== 'string') return;
    const [oldest] = this.#openAddresses.keys();
    if (this.#openAddresses.size >= MAX_OPEN_ADDRESSES && oldest !== undefined)
      this.#openAddresses.delete(oldest);
    this.#openAddresses.set(elicitationId, agent);
  }

  async #roots(signal: AbortSignal): Promise<JsonObject> {
    this.#knowsRoots = true;
    const [agent, ...others] = this.#answering();
    // None are told where they could be those of the wrong agent; the next call of one tells the server to ask again.
    const isOne = agent !== undefined && others.length === 0 && agent.hasRoots();
    this.#rootsOf = isOne ? agent : undefined;
    if (!isOne) return { roots: [] };
    const { roots } = await agent.listRoots(signal);
    const listed = Array.isArray(roots) ? roots.filter((root) => typeof Object(root).uri === 'string') : [];
    if (isTooMuch(listed)) throw new Error('The agent has more roots than can be passed on.');
    return { roots: listed };
  }

  /** For the operator's log only: the agent did not ask what its servers' servers say. */
  #log(params: unknown): void {
    const now = performance.now();
    if (now - this.#logSince > LOG_WINDOW_MS) [this.#logSince, this.#logLines] = [now, 0];
    if (++this.#logLines > MAX_LOG_LINES) return this.#leftOut.add(1);
    if (!isObject(params)) return;
    const { level, data } = params;
    const text = typeof data === 'string' ? data : (JSON.stringify(data) ?? '');
    const { server, observer, redact } = this.#parts;
    // Less than all of a long text, and more than is kept, so that no secret is cut in two before it is known for one.
    const said = clip(redact(text.slice(0, 4 * MAX_LOG_CHARS)), MAX_LOG_CHARS);
    observer({ type: 'downstream.said', server, level: clip(String(level), 20), text: said });
  }
}

/**
 * Keeps the parts of the agent's answer that MCP defines. `_meta` is dropped: it is between the agent and the bridge.
 */
function relayed({ action, content }: Readonly<JsonObject>): JsonObject {
  if (!ACTIONS.includes(action)) throw new Error('its answer holds no action');
  if (action !== 'accept' || !isObject(content)) return { action };
  if (isTooMuch(content)) throw new Error('its answer is too long');
  return { action, content };
}

function isTooMuch(value: unknown): boolean {
  const json = JSON.stringify(value);
  return json.length > MAX_ANSWER_CHARS || excessOf(json, ANSWER_LIMITS) !== undefined;
}
