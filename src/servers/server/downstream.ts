// One live MCP server of the user: its tools and their calls, and what else it is asked, relayed as text. Only the pool may end
// it, so `close` is on the handle that the pool holds and not on what others see. Everything thrown is a BridgeError.

import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { BridgeError, messageOf } from '../../base/errors.js';
import { RawJson } from '../../base/json/json-text.js';
import type { JsonObject } from '../../base/json/records.js';
import { shownName } from '../../base/text/shown-name.js';
import { metaOf } from '../../base/trace.js';
import { Deadline } from '../../base/waiting/deadline.js';
import type { DownstreamSpec } from '../../hosts/downstream-spec.js';
import type { AgentCapabilities, Callers } from '../asking/agent-capabilities.js';
import { type Caller, CallsUnderWay, NOBODY } from '../asking/calls-under-way.js';
import { ServerRequests, withInput } from '../asking/passed-on.js';
import type { CallProgress, McpClient } from '../connection/client.js';
import { rawResultOf } from '../connection/inbound.js';
import { callError, type FailureCode, insteadSentence, withoutPrefix } from '../connection/link.js';
import { type Connection, connect, type ServerContext } from './connect.js';
import { parameterHeaders, withHeaders } from './header-parameters.js';
import { ListPace, listTools, type ServerTool, type ToolList } from './tool-list.js';

export type { CallProgress } from '../connection/client.js';

/** A request that is no call of a tool; `what` names it and its server, as the beginning of a sentence. */
export type ServerRequest = {
  readonly what: string;
  readonly method: `resources/${string}` | `prompts/${string}` | 'completion/complete';
  readonly params: Readonly<Record<string, unknown>>;
  readonly failure: FailureCode;
};

/** Parts of MCP besides tools that a server says in its greeting that it has. */
export type ServerPart = 'resources' | 'prompts' | 'completions';

export interface Downstream {
  readonly spec: DownstreamSpec;
  /** The server's own words in its greeting. */
  readonly serverVersion: string | undefined;
  readonly instructions: string | undefined;
  /** As last listed; a server that changes its tools is asked again by itself. */
  tools(): readonly ServerTool[];
  /** Parts of the tool list that could not be used, as messages for the operator. */
  problems(): readonly string[];
  /**
   * Calls a tool with the text of a JSON object; gives the text of the CallToolResult as the server wrote it. One that
   * says `isError` is told to the model as an error, so the values of the configuration are taken out of it.
   * Throws E_TOOL_FAILED (no result: refused, too long, too late), E_SERVER_UNAVAILABLE or E_CANCELLED.
   */
  callTool(
    tool: string,
    args: RawJson,
    onProgress: (progress: CallProgress) => void,
    signal: AbortSignal,
  ): Promise<RawJson>;
  /** Whether it said in its greeting that it has any. */
  has(kind: ServerPart): boolean;
  /** The result, which leads to its own text by `rawResultOf`. Limits and errors as of a tool's call. */
  ask(question: ServerRequest, signal: AbortSignal): Promise<object>;
  /** Resolves, once it is over, with the reason as the end of a sentence about the server. */
  readonly closed: Promise<string>;
  /** This server, with its requests counted as calls of `agent`; the same object for the same agent. */
  calledBy(agent: AgentCapabilities): Downstream;
  /**
   * This server with its agent, for the calls of one run: `stopClock` is called while a person is asked during one of them, and
   * the server is told of `trace` with each.
   */
  during(run: Pick<Caller, 'stopClock' | 'trace'>): Downstream;
}

const NO_HEADERS = (): Readonly<Record<string, string>> => ({});

/** Events for whoever holds the server. */
export type DownstreamEvents = {
  /** The number of calls under way has changed. */
  readonly onActivity: (inFlight: number) => void;
  /** A call was answered, whatever with. */
  readonly onAnswer: () => void;
  /** A changed list of tools was read. */
  readonly onListed: () => void;
  /** The server says that its prompts have changed. */
  readonly onPromptsChanged: () => void;
  /** A changed list of tools could not be read; the earlier one stays. */
  readonly onRefreshFailed: (message: string) => void;
};

/** The server as the pool holds it, with the right to end it. */
export type OpenDownstream = {
  readonly downstream: Downstream;
  /** Resolves when its list is no older than the server says that it is good for; undefined where it need not be read. */
  refreshIfStale(): Promise<void> | undefined;
  /** Resolves when its processes are gone, or its session and sockets. */
  close(): Promise<void>;
  /** The agent has other roots now. */
  rootsChanged(agent: AgentCapabilities): void;
  /** Whether a question of the server is put to the person just now. */
  isAsking(): boolean;
  /** A sentence about what came while calls of `agent` waited for their answers; empty where nothing came. */
  insteadSentence(agent: AgentCapabilities): string;
};

/** Starts and greets a server; throws as `connect` does. */
export async function openDownstream(
  spec: DownstreamSpec,
  context: ServerContext,
  callers: Callers,
  events: DownstreamEvents,
  signal: AbortSignal,
): Promise<OpenDownstream> {
  let live: LiveDownstream | undefined;
  let changedEarly = false;
  const onToolsChanged = () => {
    changedEarly = true;
    live?.onChanged();
  };
  // Before it is open, nobody has read its prompts yet.
  const onPromptsChanged = () => void (live && events.onPromptsChanged());
  const { redactor, observer } = context;
  const redact = (text: string) => redactor.redact(text);
  const calls = new CallsUnderWay();
  const passedOn = new ServerRequests({ server: spec.name, callers, calls, redact, observer });
  const connection = await connect(spec, context, { onToolsChanged, onPromptsChanged, passedOn }, signal);
  const listening = new AbortController();
  live = new LiveDownstream(spec, connection, { calls, passedOn }, context, events);
  const opened = live;
  if (changedEarly) live.onChanged();
  opened.listen(listening.signal);
  return {
    downstream: live,
    close: () => {
      listening.abort();
      opened.forget();
      return connection.transport.close();
    },
    refreshIfStale: () => opened.refreshIfStale(),
    rootsChanged: (agent) => passedOn.rootsChanged(agent),
    isAsking: () => passedOn.isAsking,
    insteadSentence: (agent) => opened.insteadSentence(agent),
  };
}

/** A list that is good for less would be read before each call of a run. */
const LEAST_TTL_MS = 5_000;

class LiveDownstream implements Downstream {
  readonly spec: DownstreamSpec;
  readonly serverVersion: string | undefined;
  readonly instructions: string | undefined;
  readonly closed: Promise<string>;
  readonly #connection: Connection;
  readonly #calls: CallsUnderWay;
  readonly #passedOn: ServerRequests;
  readonly #context: ServerContext;
  readonly #events: DownstreamEvents;
  readonly #called = new WeakMap<AgentCapabilities, Downstream>();
  readonly #pace = new ListPace();
  /** Calls that wait for their answers: whose each is, and how many lines that are no messages had come before. */
  readonly #waiting = new Set<{ readonly agent: AgentCapabilities; readonly noiseLines: number }>();
  #listed: ToolList;
  /** While the list is read. */
  #reading: Promise<void> | undefined;
  /** The list is wanted as it is from now on. */
  #isWanted = false;
  /** The server has said that its list has changed, and it has not been read since. */
  #isStale = false;
  #planned: NodeJS.Timeout | undefined;
  /** Whether the server tells of changes, so that its list is good until it does. */
  #hears = false;

  constructor(
    spec: DownstreamSpec,
    connection: Connection,
    { calls, passedOn }: { readonly calls: CallsUnderWay; readonly passedOn: ServerRequests },
    context: ServerContext,
    events: DownstreamEvents,
  ) {
    const { client, transport, listed } = connection;
    this.spec = spec;
    this.serverVersion = client.serverVersion;
    this.instructions = client.instructions;
    this.#connection = connection;
    this.#calls = calls;
    this.#passedOn = passedOn;
    this.#context = context;
    this.#events = events;
    this.#listed = listed;
    this.closed = new Promise((resolve) => {
      const tell = () => resolve(transport.ending ?? 'ended');
      if (transport.ending !== undefined) tell();
      else client.onclose = tell;
    });
  }

  tools(): readonly ServerTool[] {
    return this.#listed.tools;
  }

  problems(): readonly string[] {
    return this.#listed.problems;
  }

  async callTool(
    tool: string,
    args: RawJson,
    onProgress: (progress: CallProgress) => void,
    signal: AbortSignal,
    caller = NOBODY,
  ): Promise<RawJson> {
    const what = `Tool '${shownName(tool)}' of server '${shownName(this.spec.name)}'`;
    if (this.tools().some(({ name, needsTask }) => name === tool && needsTask)) {
      throw new BridgeError('E_TOOL_FAILED', `${what} runs only as an MCP task.`, {
        fault: 'bridge',
        remedy: 'The bridge does not run tasks; use another tool.',
      });
    }
    const params = { name: tool, arguments: args };
    const call = { what, method: 'tools/call', params, failure: 'E_TOOL_FAILED' } as const;
    const result = await this.#request(call, caller, onProgress, signal, () =>
      this.#headersOf(what, tool, args),
    );
    const raw = rawResultOf(result);
    if (raw === undefined) throw new Error('an answer that did not come through the transport');
    const isError = Reflect.get(result, 'isError') === true;
    return isError ? new RawJson(this.#context.redactor.redactValues(raw.text)) : raw;
  }

  has(kind: ServerPart): boolean {
    return this.#connection.client.has(kind);
  }

  ask(question: ServerRequest, signal: AbortSignal, caller = NOBODY): Promise<object> {
    return this.#request(question, caller, () => {}, signal);
  }

  calledBy(agent: AgentCapabilities): Downstream {
    let called = this.#called.get(agent);
    if (called === undefined) {
      called = calledBy(this, { ...NOBODY, agent });
      this.#called.set(agent, called);
    }
    return called;
  }

  during(run: Pick<Caller, 'stopClock' | 'trace'>): Downstream {
    return calledBy(this, { ...NOBODY, ...run });
  }

  async #request(
    { what, method, params: own, failure }: Omit<ServerRequest, 'method'> & { readonly method: string },
    caller: Caller,
    onProgress: (progress: CallProgress) => void,
    signal: AbortSignal,
    headersNow: () => Readonly<Record<string, string>> = NO_HEADERS,
  ): Promise<object> {
    const { client, transport } = this.#connection;
    const meta = metaOf(caller.trace);
    const params = Object.keys(meta).length === 0 ? own : { ...own, _meta: meta };
    const { callTimeoutMs } = this.spec;
    const { redactor, times } = this.#context;
    const limitMs = callTimeoutMs ?? times.silenceMs;
    // Asking for progress is what lets a long call show that it is alive. The host's own limit goes by no progress.
    const limit = { ms: limitMs, of: callTimeoutMs === undefined ? 'silence' : 'whole' } as const;
    const call = this.#calls.begin(limit, signal, caller);
    const onprogress = (progress: CallProgress) => {
      call.onHeard();
      onProgress(progress);
    };
    this.#events.onActivity(this.#calls.size);
    const waiting = { agent: caller.agent, noiseLines: transport.noiseLines ?? 0 };
    this.#waiting.add(waiting);
    try {
      const send = (all: JsonObject) =>
        withHeaders(
          async (headers) => {
            const sent = await client.request(method, all, { signal: call.signal, onprogress, headers });
            call.onHeard();
            return sent;
          },
          headersNow,
          () => this.#readAgain(),
        );
      const result = client.isModern
        ? await withInput({ ...params }, { what, failure, send, answer: this.#passedOn.answer }, call.signal)
        : await send({ ...params });
      this.#events.onAnswer();
      return result;
    } catch (thrown) {
      const redact = (text: string) => redactor.redact(text);
      throw callError(what, thrown, {
        ...{ failure, cause: call.cause, limitMs, transport, redact },
        noiseLines: (transport.noiseLines ?? 0) - waiting.noiseLines,
      });
    } finally {
      this.#waiting.delete(waiting);
      call[Symbol.dispose]();
      this.#events.onActivity(this.#calls.size);
    }
  }

  insteadSentence(agent: AgentCapabilities): string {
    const { transport } = this.#connection;
    const { noiseLines = 0 } = transport;
    const befores = [...this.#waiting].filter((call) => call.agent === agent).map((call) => call.noiseLines);
    return insteadSentence(
      noiseLines - Math.min(noiseLines, ...befores),
      transport,
      `'${shownName(this.spec.name)}'`,
    );
  }

  /** Throws E_TOOL_FAILED for a value that a header may not carry. */
  #headersOf(what: string, tool: string, args: RawJson): Readonly<Record<string, string>> {
    const parameters = this.#listed.headerParameters.get(tool) ?? [];
    try {
      return parameterHeaders(parameters, args);
    } catch (thrown) {
      if (!(thrown instanceof RangeError)) throw thrown;
      throw new BridgeError('E_TOOL_FAILED', `${what} was not called: ${thrown.message}`, {
        fault: 'guest',
        remedy: 'Pass a smaller number.',
      });
    }
  }

  /** Hears of changed lists where the server tells of them only to who asks; until `signal` or the connection ends. */
  listen(signal: AbortSignal): void {
    const { client } = this.#connection;
    if (!client.isModern) return;
    void subscribe(
      client,
      () => this.onChanged(),
      signal,
      (hears) => {
        this.#hears = hears;
      },
    );
  }

  /** Undefined where the list need not be read again. */
  refreshIfStale(): Promise<void> | undefined {
    // A user of the server gets the changes that the server has told of, though its word alone would still have to wait.
    if (this.#isStale && this.#pace.waitForUserMs === 0) return this.#readAgain();
    const { ttlMs, readAt } = this.#listed;
    if (ttlMs === undefined || this.#hears || !this.#connection.client.isModern) return undefined;
    if (performance.now() - readAt < Math.max(ttlMs, LEAST_TTL_MS)) return undefined;
    return this.#readAgain();
  }

  /** Plans to read the list of tools, as the server says that it changed: when allowed, and surely once after the last word. */
  onChanged(): void {
    this.#pace.noteTold();
    this.#isStale = true;
    this.#plan();
  }

  /** Cancels the reading that is planned. */
  forget(): void {
    clearTimeout(this.#planned);
    this.#isStale = false;
  }

  #plan(): void {
    if (!this.#isStale || this.#reading !== undefined || this.#planned !== undefined) return;
    if (this.#connection.transport.ending !== undefined) return;
    const { waitMs } = this.#pace;
    if (waitMs === 0) return void this.#readAgain();
    this.#planned = setTimeout(() => {
      this.#planned = undefined;
      void this.#readAgain();
    }, waitMs).unref();
  }

  /** Reads the list of tools again; asked while it does so, it does it once more. */
  #readAgain(): Promise<void> {
    this.#isWanted = true;
    this.#reading ??= this.#readWhileWanted();
    return this.#reading;
  }

  async #readWhileWanted(): Promise<void> {
    while (this.#isWanted) {
      this.#isWanted = false;
      this.#isStale = false;
      clearTimeout(this.#planned);
      this.#planned = undefined;
      await this.#read();
    }
    this.#reading = undefined;
    this.#plan();
  }

  async #read(): Promise<void> {
    const startedAt = performance.now();
    const before = this.#listed;
    using deadline = new Deadline(new AbortController().signal);
    deadline.start(this.spec.startTimeoutMs ?? this.#context.times.connectTimeoutMs);
    try {
      this.#listed = await listTools(
        this.#connection.client,
        deadline.signal,
        this.spec.transport !== 'stdio',
      );
      this.#events.onListed();
    } catch (thrown) {
      if (this.#connection.transport.ending !== undefined) return;
      // Or each call would wait for another attempt.
      this.#listed = { ...this.#listed, readAt: performance.now() };
      this.#events.onRefreshFailed(withoutPrefix(messageOf(thrown)));
    }
    this.#pace.read(!isSameList(before, this.#listed), performance.now() - startedAt);
  }
}

/** Whether nothing has changed that anybody sees. */
const isSameList = (one: ToolList, other: ToolList): boolean =>
  isDeepStrictEqual([one.tools, one.problems], [other.tools, other.problems]);

/** A view of a live server: all but who calls it is the server's own. */
function calledBy(live: LiveDownstream, caller: Caller): Downstream {
  return {
    spec: live.spec,
    serverVersion: live.serverVersion,
    instructions: live.instructions,
    closed: live.closed,
    tools: () => live.tools(),
    problems: () => live.problems(),
    has: (kind) => live.has(kind),
    callTool: (tool, args, onProgress, signal) => live.callTool(tool, args, onProgress, signal, caller),
    ask: (question, signal) => live.ask(question, signal, caller),
    calledBy: (agent) => live.calledBy(agent),
    during: (run) => calledBy(live, { ...caller, ...run }),
  };
}

/** Pauses between two subscriptions; they double from the first to the second. */
const RESUBSCRIBE_MS = { first: 1_000, most: 30_000 };

/**
 * Hears by `subscriptions/listen` that the list of tools has changed, which is how a server of the modern era tells it.
 * Subscribes again when a subscription ends, and has the list read anew then, since nobody knows what was missed. Never
 * rejects. Ends with `signal`, with the connection, and where the server has no such thing. `onHearing` is told whether the
 * server has promised to tell.
 */
async function subscribe(
  client: McpClient,
  onMissed: () => void,
  signal: AbortSignal,
  onHearing: (hears: boolean) => void,
): Promise<void> {
  if (!client.tellsToolChanges) return;
  let pauseMs = RESUBSCRIBE_MS.first;
  for (let times = 0; !signal.aborted; times++) {
    try {
      const { ended } = await client.listen({ toolsListChanged: true }, signal);
      if (times > 0) onMissed();
      onHearing(true);
      const startedAt = performance.now();
      await ended;
      if (performance.now() - startedAt > RESUBSCRIBE_MS.most) pauseMs = RESUBSCRIBE_MS.first;
    } catch (thrown) {
      if (client.isRefused(thrown)) return;
    } finally {
      onHearing(false);
    }
    await sleep(pauseMs, undefined, { signal, ref: false }).catch(() => {});
    pauseMs = Math.min(2 * pauseMs, RESUBSCRIBE_MS.most);
    if (client.isClosed) return;
  }
}
