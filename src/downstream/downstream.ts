// One live MCP server of the user: its tools and their calls, relayed as text. Only the pool may end it, so `close`
// is on the handle that the pool holds and not on what others see. Everything thrown is a BridgeError.

import { z } from 'zod';
import { Deadline } from '../base/deadline.js';
import { BridgeError, messageOf } from '../base/errors.js';
import type { Redactor } from '../base/redact.js';
import type { DownstreamSpec } from '../config/downstream-spec.js';
import { RawJson } from '../protocol/json-text.js';
import { callError, withoutPrefix } from './call-error.js';
import { type Connection, connect } from './connect.js';
import { rawResultOf } from './inbound.js';
import { isObject } from './json-object.js';
import type { LoginFor } from './remote/server-login.js';
import { listTools, NO_TIMEOUT_MS, type Tool, type ToolList } from './tool-list.js';

export interface Downstream {
  readonly spec: DownstreamSpec;
  /** The server's own words in its greeting. */
  readonly serverVersion: string | undefined;
  readonly instructions: string | undefined;
  /** As last listed; a server that changes its tools is asked again by itself. */
  tools(): readonly Tool[];
  /** What of its list could not be used, in words for the operator. */
  problems(): readonly string[];
  /**
   * Calls a tool with the text of a JSON object; gives the text of the CallToolResult as the server wrote it. One that
   * says `isError` is told to the model as an error, so the values of the configuration are taken out of it.
   * Throws E_TOOL_FAILED (no result: refused, too long, too late), E_SERVER_UNAVAILABLE or E_CANCELLED.
   */
  callTool(tool: string, args: RawJson, signal: AbortSignal): Promise<RawJson>;
  /** Resolves, once it is over, with the reason as the end of a sentence about the server. */
  readonly closed: Promise<string>;
}

export type DownstreamOptions = {
  /** The whole environment of the process. */
  readonly env: Readonly<Record<string, string>>;
  readonly connectTimeoutMs: number;
  /** How long a call may be silent when its spec sets no limit; progress starts it anew. */
  readonly silenceMs: number;
  /** The number of calls under way has changed. */
  readonly onActivity: (inFlight: number) => void;
  /** A call was answered, whatever with. */
  readonly onAnswer: () => void;
  /** A changed list of tools could not be read; the earlier one stays. */
  readonly onRefreshFailed: (message: string) => void;
  readonly redactor: Redactor;
  readonly loginFor?: LoginFor | undefined;
};

/** What the pool holds: the server, and the right to end it. */
export type OpenDownstream = {
  readonly downstream: Downstream;
  /** Resolves when its processes are gone, or its session and sockets. */
  close(): Promise<void>;
};

/** Starts and greets a server; throws as `connect` does. */
export async function openDownstream(
  spec: DownstreamSpec,
  options: DownstreamOptions,
  signal: AbortSignal,
): Promise<OpenDownstream> {
  let live: LiveDownstream | undefined;
  let changedEarly = false;
  const onToolsChanged = () => {
    changedEarly = true;
    live?.refresh();
  };
  const { env, connectTimeoutMs: timeoutMs, redactor, loginFor } = options;
  const connecting = { env, timeoutMs, onToolsChanged, redactor, loginFor };
  const connection = await connect(spec, connecting, signal);
  live = new LiveDownstream(spec, connection, options);
  if (changedEarly) live.refresh();
  return { downstream: live, close: () => connection.transport.close() };
}

// The caller gets the very object that the transport made, which leads to its text.
const anyResult = z.custom<object>(isObject);

class LiveDownstream implements Downstream {
  readonly spec: DownstreamSpec;
  readonly serverVersion: string | undefined;
  readonly instructions: string | undefined;
  readonly closed: Promise<string>;
  readonly #connection: Connection;
  readonly #options: DownstreamOptions;
  #listed: ToolList;
  #inFlight = 0;
  #refreshing = false;
  #stale = false;

  constructor(spec: DownstreamSpec, connection: Connection, options: DownstreamOptions) {
    const { client, transport, listed } = connection;
    this.spec = spec;
    this.serverVersion = client.getServerVersion()?.version;
    this.instructions = client.getInstructions();
    this.#connection = connection;
    this.#options = options;
    this.#listed = listed;
    this.closed = new Promise((resolve) => {
      const tell = () => resolve(transport.ending ?? 'ended');
      if (transport.ending !== undefined) tell();
      else client.onclose = tell;
    });
  }

  tools(): readonly Tool[] {
    return this.#listed.tools;
  }

  problems(): readonly string[] {
    return this.#listed.problems;
  }

  async callTool(tool: string, args: RawJson, signal: AbortSignal): Promise<RawJson> {
    const what = `Tool '${tool}' of server '${this.spec.name}'`;
    const { client, transport } = this.#connection;
    if (this.tools().some(({ name, needsTask }) => name === tool && needsTask)) {
      throw new BridgeError('E_TOOL_FAILED', `${what} runs only as an MCP task.`, {
        fault: 'bridge',
        remedy: 'The bridge does not run tasks; use another tool.',
      });
    }
    const { callTimeoutMs } = this.spec;
    const { redactor } = this.#options;
    const limitMs = callTimeoutMs ?? this.#options.silenceMs;
    // A deadline of its own, since the SDK never takes its listener off the signal: on one that outlives the call it
    // would cancel the call long after.
    using deadline = new Deadline(signal);
    deadline.start(limitMs);
    // Asking for progress is what lets a long call show that it is alive. The host's own limit is a hard one.
    const onprogress = () => (callTimeoutMs === undefined ? deadline.start(limitMs) : undefined);
    this.#options.onActivity(++this.#inFlight);
    try {
      const result = await client.request(
        { method: 'tools/call', params: { name: tool, arguments: args } },
        anyResult,
        { timeout: NO_TIMEOUT_MS, signal: deadline.signal, onprogress },
      );
      const raw = rawResultOf(result);
      if (raw === undefined) throw new Error('an answer that did not come through the transport');
      this.#options.onAnswer();
      return Reflect.get(result, 'isError') === true ? new RawJson(redactor.redactValues(raw.text)) : raw;
    } catch (thrown) {
      const redact = (text: string) => redactor.redact(text);
      throw callError(what, thrown, { cause: deadline.cause, limitMs, transport, redact });
    } finally {
      this.#options.onActivity(--this.#inFlight);
    }
  }

  /** Reads the list of tools again; asked while it does so, it does it once more. */
  refresh(): void {
    this.#stale = true;
    if (!this.#refreshing) void this.#refresh();
  }

  async #refresh(): Promise<void> {
    this.#refreshing = true;
    while (this.#stale) {
      this.#stale = false;
      using deadline = new Deadline(new AbortController().signal);
      deadline.start(this.spec.startTimeoutMs ?? this.#options.connectTimeoutMs);
      try {
        this.#listed = await listTools(this.#connection.client, deadline.signal);
      } catch (thrown) {
        if (this.#connection.transport.ending !== undefined) break;
        this.#options.onRefreshFailed(withoutPrefix(messageOf(thrown)));
      }
    }
    this.#refreshing = false;
  }
}
