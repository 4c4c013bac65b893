// Requests of one server to its client, passed on to the agent: questions to the person and the roots of the workspace. Decides
// who may ask and when; relays, and keeps nothing. Only what the agent offers is advertised. Sampling never is: a server could
// spend the user's model on words of its own, and no agent that was tried offers it.

import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClientCapabilities } from '@modelcontextprotocol/client';
import PQueue from 'p-queue';
import { BridgeError, messageOf } from '../../base/errors.js';
import { excessOf } from '../../base/json/json-text.js';
import { isObject, type JsonObject } from '../../base/json/records.js';
import type { Observer } from '../../base/log/events.js';
import type { Redact } from '../../base/secrets/redact.js';
import { shownName } from '../../base/text/shown-name.js';
import { clip, clipHarmless, inOneLine, isHarmless, makeHarmless, webAddress } from '../../base/text/text.js';
import { isAllSeen } from '../../base/text/unseen.js';
import { LinkedSignal } from '../../base/waiting/linked-signal.js';
import type { McpClient } from '../connection/client.js';
import type { FailureCode } from '../connection/link.js';
import { LeftOut } from '../connection/unasked.js';
import type { AgentCapabilities, Callers } from './agent-capabilities.js';
import type { CallsUnderWay } from './calls-under-way.js';

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
  readonly #parts;
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

  constructor(parts: {
    readonly server: string;
    readonly callers: Callers;
    readonly calls: CallsUnderWay;
    readonly redact: Redact;
    readonly observer: Observer;
  }) {
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
  onNotification(method: string, params: JsonObject): void {
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
    const [agent, ...others] = this.#agentsToAsk();
    if (agent === undefined) return decline('several users share the server');
    if (others.length > 0)
      return decline('calls of several agents are under way, and it does not say for which one it asks');
    const question = readElicitation(raw, server, agent.elicits(), redact);
    if ('unfit' in question) return decline(question.unfit);
    if (this.#questions.size >= MAX_WAITING) return decline(`${MAX_WAITING} of its questions wait already`);
    using askers = calls.askers();
    using _hold = calls.hold();
    using link = new LinkedSignal(signal, askers.ended);
    const ask = () => {
      this.#expectEnd(question.params['elicitationId'], agent);
      return agent.elicit(question.params, link.signal);
    };
    try {
      return told(relayAnswer(await this.#questions.add(ask, { signal: link.signal })));
    } catch (thrown) {
      if (link.signal.aborted) return told({ action: 'cancel' }, 'the call has ended');
      return decline(`the agent could not ask: ${messageOf(thrown)}`);
    }
  }

  /** Agents that the server may be asking now. */
  #agentsToAsk(): readonly AgentCapabilities[] {
    const { callers, calls } = this.#parts;
    return callers.agentsToAsk(calls.agents);
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
    const [agent, ...others] = this.#agentsToAsk();
    // None are told where they could be those of the wrong agent; the next call of one tells the server to ask again.
    const isOne = agent !== undefined && others.length === 0 && agent.hasRoots();
    this.#rootsOf = isOne ? agent : undefined;
    if (!isOne) return { roots: [] };
    const { roots } = await agent.listRoots(signal);
    const listed = Array.isArray(roots) ? roots.filter((root) => typeof Object(root).uri === 'string') : [];
    if (isTooMuch(listed)) throw new Error('The agent has more roots than can be passed on.');
    return { roots: listed };
  }

  /** Logs a server's message for the operator only: the agent did not ask what its servers' servers say. */
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
function relayAnswer({ action, content }: Readonly<JsonObject>): JsonObject {
  if (!ACTIONS.includes(action)) throw new Error('its answer holds no action');
  if (action !== 'accept' || !isObject(content)) return { action };
  if (isTooMuch(content)) throw new Error('its answer is too long');
  return { action, content };
}

function isTooMuch(value: unknown): boolean {
  const json = JSON.stringify(value);
  return json.length > MAX_ANSWER_CHARS || excessOf(json, ANSWER_LIMITS) !== undefined;
}

// A server's question to the person, made fit to be put: capped, harmless, and with the asking server's name ahead of
// its words, or a `>` ahead of each line of them. What would have to be changed to be shown safely, and must not be (a
// property's name, an allowed value), makes the whole question unfit. Pure; who is asked and when is for others to decide.

/** Limits of a question that a dialog can show; MCP wants flat forms of few fields. */
const MAX_QUESTION_CHARS = 100_000;
const QUESTION_LIMITS = { maxDepth: 12, maxValues: 5_000 };
const MAX_MESSAGE_CHARS = 4_000;
const MAX_LABEL_CHARS = 1_000;
const MAX_ID_CHARS = 256;

/**
 * Params for the agent, or why there are none, as the end of a sentence. `redact` takes out of the server's words what the
 * configuration knows for secret.
 */
export function readElicitation(
  raw: unknown,
  server: string,
  modes: { readonly form: boolean; readonly url: boolean },
  redact: (text: string) => string,
): { readonly params: Readonly<JsonObject> } | { readonly unfit: string } {
  if (!isObject(raw) || typeof raw['message'] !== 'string') return { unfit: 'it holds no message' };
  const json = JSON.stringify(raw);
  if (json.length > MAX_QUESTION_CHARS)
    return { unfit: `it is longer than ${MAX_QUESTION_CHARS} characters` };
  const excess = excessOf(json, QUESTION_LIMITS);
  if (excess !== undefined) return { unfit: `it ${excess}` };
  const words = quoteWords(clipHarmless(redact(raw['message']), MAX_MESSAGE_CHARS));
  const asks = words.includes('\n') ? ' asks:\n' : ' ';
  const message = `[server '${shownName(server)}']${asks}${words}`;
  const mode = raw['mode'] ?? 'form';
  if (mode === 'url' && modes.url) return readUrl(raw, message);
  if (mode !== 'form' || !modes.form)
    return { unfit: `the agent has no way to ask in the mode ${clip(String(mode), 20)}` };
  const schema = isObject(raw['requestedSchema']) ? shownSchema(raw['requestedSchema']) : undefined;
  if (schema === undefined) return { unfit: 'its form cannot be shown safely' };
  // `mode` as the server had it: clients of before 2025-11-25 know none.
  const said = raw['mode'] === undefined ? {} : { mode };
  return { params: { ...said, message, requestedSchema: schema } };
}

function readUrl(raw: JsonObject, message: string) {
  // The modern era has no such id, since its servers do not tell when a page has been dealt with; agents of 2025 want one.
  const elicitationId = raw['elicitationId'] ?? randomUUID();
  const url = webAddress(raw['url']);
  if (url === undefined) return { unfit: 'its address is not an http or https URL' };
  if (typeof elicitationId !== 'string' || elicitationId.length > MAX_ID_CHARS)
    return { unfit: 'it has no elicitationId' };
  return { params: { mode: 'url', message, url, elicitationId } };
}

/** Many blanks would push what follows onto a line of its own; U+2800 is a braille pattern without dots. */
const BLANKS = /(?:[^\S\n]|\u2800){2,}/g;
/** Where a question names its server; in a server's own words it is nothing of that kind. */
const NAMES_A_SERVER = /[[［](?=\W{0,9}server\b)/gi;

/** A server's words, which cannot look like the beginning of another question: several lines have a `>` each. */
function quoteWords(words: string): string {
  const said = words
    .trim()
    .replace(BLANKS, ' ')
    .replace(/\n{3,}/g, '\n\n')
    .replace(NAMES_A_SERVER, '\\$&');
  return said.includes('\n') ? said.replace(/^/gm, '> ').replace(/(?<! ) +$/gm, '') : said;
}

/** The schema with its labels made harmless; undefined where something else in it is not. */
function shownSchema(schema: JsonObject): JsonObject | undefined {
  try {
    return Object.fromEntries(
      Object.entries(schema).map(([key, value]) => [nameOf(key), shownMember(key, value)]),
    );
  } catch (thrown) {
    if (thrown === UNFIT) return undefined;
    throw thrown;
  }
}

const UNFIT = Symbol('unfit');

function shownMember(key: string, value: unknown): unknown {
  if (typeof value === 'string') {
    if (key === 'title') return clip(quoteWords(inOneLine(makeHarmless(value))), MAX_LABEL_CHARS);
    if (key === 'description') return clip(quoteWords(makeHarmless(value)), MAX_LABEL_CHARS);
    return key === 'default' ? shows(value, isHarmless) : isUnchanged(value);
  }
  if (Array.isArray(value))
    return value.map((member) => (key === 'required' ? nameOf(member) : shownMember('', member)));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [nameOf(name), shownMember(name, member)]),
  );
}

/** A value that the person chooses or that the server compares: one line, as it is. */
const isUnchanged = (text: string): string => shows(text, isOneLine);

/** A name is compared too, and nobody looks at it twice: it has not even what emoji need and does not show. */
const nameOf = (name: unknown): unknown =>
  typeof name === 'string' ? shows(name, (text) => isAllSeen(text) && isOneLine(text)) : name;

const isOneLine = (text: string): boolean => isHarmless(text) && !/[\t\n]/.test(text);

function shows(text: string, isFit: (text: string) => boolean): string {
  if (!isFit(text)) throw UNFIT;
  return text;
}

// A server of the modern era asks its user by its answer: `input_required`, with questions and a state of its own. The
// questions go the way of those that servers of 2025 push (asking/passed-on.ts), and the request is sent once more with
// the answers and the state as it was.

/** A server that still asks after so many answers is not taken to end. */
const MAX_ROUNDS = 10;
/** Questions of one round: a person answers no more at once. */
const MAX_QUESTIONS = 8;
/** Before a request is sent again that was only put off, in ms. */
const PAUSE_MS = 250;
/** Longest state, in characters, that is carried back. */
const MAX_STATE_CHARS = 1_000_000;

/** The final result of a request. Throws as `send` does, and E_TOOL_FAILED for what the bridge does not pass on. */
export async function withInput(
  params: JsonObject,
  parts: {
    /** Names what was asked for and its server, as the beginning of a sentence. */
    readonly what: string;
    readonly failure: FailureCode;
    readonly send: (params: JsonObject) => Promise<object>;
    /** Undefined for a method that is not answered. */
    readonly answer: (
      method: string,
      params: unknown,
      signal: AbortSignal,
    ) => Promise<JsonObject> | undefined;
  },
  signal: AbortSignal,
): Promise<object> {
  const { what, failure, send } = parts;
  const refused = (said: string) => refusal(failure, `${what} ${said}`);
  let result = await send(params);
  for (let round = 1; Reflect.get(result, 'resultType') === 'input_required'; round++) {
    if (round > MAX_ROUNDS) throw refused(`still asks for input after ${MAX_ROUNDS} rounds.`);
    const { inputRequests, requestState } = result as JsonObject;
    const questions = isObject(inputRequests) ? Object.entries(inputRequests) : [];
    const state = requestState ?? undefined;
    const fault = troubleOf(state, questions.length);
    if (fault !== undefined) throw refused(fault);
    if (questions.length === 0) await sleep(PAUSE_MS, undefined, { signal });
    const answers = await Promise.all(
      questions.map(async ([key, question]) => [key, await answerQuestion(question, parts, signal)] as const),
    );
    result = await send({
      ...params,
      ...(answers.length === 0 ? {} : { inputResponses: Object.fromEntries(answers) }),
      ...(state === undefined ? {} : { requestState: state }),
    });
  }
  return result;
}

async function answerQuestion(
  question: unknown,
  { what, failure, answer }: Parameters<typeof withInput>[1],
  signal: AbortSignal,
): Promise<JsonObject> {
  const { method, params } = Object(question) as { method?: unknown; params?: unknown };
  const given = typeof method === 'string' ? answer(method, params, signal) : undefined;
  if (given !== undefined) return given;
  if (method === 'sampling/createMessage') {
    throw refusal(
      failure,
      `${what} asks for the use of the agent's model (sampling), which the bridge never passes on.`,
      'Use another tool, one that needs no model.',
    );
  }
  const asked = clipHarmless(String(method), 100);
  throw refusal(failure, `${what} asks for '${asked}', which the agent does not offer.`);
}

/** The trouble with the question as a whole, as the rest of a sentence. The state is opaque: it goes back as it came. */
function troubleOf(state: unknown, questions: number): string | undefined {
  if (state === undefined && questions === 0)
    return 'asks for input, but names neither a question nor a state.';
  if (questions > MAX_QUESTIONS)
    return `asks ${questions} questions at once; at most ${MAX_QUESTIONS} are allowed.`;
  if (state !== undefined && typeof state !== 'string')
    return 'asks for input with a state that is not a text.';
  if (state !== undefined && state.length > MAX_STATE_CHARS)
    return `asks for input with a state of ${state.length} characters; at most ${MAX_STATE_CHARS} are allowed.`;
  return undefined;
}

function refusal(failure: FailureCode, message: string, remedy?: string): BridgeError {
  return new BridgeError(failure, message, {
    fault: 'downstream',
    ...(remedy === undefined ? {} : { remedy }),
  });
}
