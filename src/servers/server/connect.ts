// From a DownstreamSpec to a connected client that knows the server's tools, or to an error that says what to do.
// Which client capabilities are advertised, and what answers for them, is passed-on.ts's business.

import { BridgeError } from '../../base/errors.js';
import type { JsonObject } from '../../base/json/records.js';
import type { Observer } from '../../base/log/events.js';
import { shownName } from '../../base/text/shown-name.js';
import { Deadline } from '../../base/waiting/deadline.js';
import type { DownstreamSpec, RemoteSpec } from '../../hosts/downstream-spec.js';
import type { ServerRequests } from '../asking/passed-on.js';
import type { McpClient } from '../connection/client.js';
import { type EraMemory, ErasInMemory, greet } from '../connection/greet.js';
import { type Link, lastWordsOf, WaitsForUser } from '../connection/link.js';
import type { RemoteContext } from '../remote/credentials.js';
import type { ServerLogin } from '../remote/login-needed.js';
import { StdioTransport } from '../stdio/stdio-transport.js';
import { listTools, type ToolList } from './tool-list.js';

export type DownstreamTimes = {
  /** Start, greeting and list of tools together, unless the spec has a limit of its own. */
  readonly connectTimeoutMs: number;
  /**
   * How long a server whose era is not known may leave the first question unanswered before it is greeted in the old way as
   * well; at most half of the time that it has to start.
   */
  readonly probeMs: number;
  /** How long a call may be silent when its spec sets no limit; progress starts it anew. */
  readonly silenceMs: number;
  /** Without a call for so long, a server is ended. */
  readonly idleMs: number;
  /** The first rest after a failed start; each further failure doubles it, up to `maxRestMs`. */
  readonly restMs: number;
  readonly maxRestMs: number;
};

/**
 * Parts that the connection to one server needs besides its spec. The pool makes the context, and hands it down as it is, by
 * way of the slot and the live server, to the link; each takes out of the context what is its own affair.
 */
export type ServerContext = RemoteContext & {
  readonly times: DownstreamTimes;
  readonly observer: Observer;
  /** Logins of remote servers; without it, one that wants a login is told to the user as such. */
  readonly loginFor?: ((spec: RemoteSpec) => Promise<ServerLogin | undefined>) | undefined;
  /** Which era of MCP servers speak; without it, each start finds out anew. */
  readonly eras?: EraMemory | undefined;
  /** Hears of each start that fails, with the reason and what to do; it must not throw. */
  readonly onStartFailed?:
    | ((spec: DownstreamSpec, reason: string, remedy: string | undefined) => void)
    | undefined;
};

export type Connection = {
  readonly client: McpClient;
  readonly transport: Link;
  readonly listed: ToolList;
};

/**
 * Starts or reaches the server, greets it and lists its tools. Throws E_SERVER_UNAVAILABLE, or E_SHUTDOWN when `signal`
 * ended it; nothing of the server or of the connection is left then.
 */
export async function connect(
  spec: DownstreamSpec,
  context: ServerContext,
  {
    onToolsChanged,
    onPromptsChanged,
    passedOn,
  }: {
    /** Called for every `tools/list_changed`, from the first moment on. */
    readonly onToolsChanged: () => void;
    /** Called likewise for every `prompts/list_changed`. */
    readonly onPromptsChanged: () => void;
    /** Answers what the server asks. */
    readonly passedOn: ServerRequests;
  },
  signal: AbortSignal,
): Promise<Connection> {
  const limitMs = spec.startTimeoutMs ?? context.times.connectTimeoutMs;
  let transport: Link | undefined;
  const newLink = async () => {
    await transport?.close();
    transport = await linkTo(spec, context, limitMs);
    transport.onflood = (leftOut) =>
      context.observer({ type: 'downstream.flooding', server: spec.name, leftOut });
    await transport.start();
    return transport;
  };
  const handlers = {
    capabilities: passedOn.capabilities,
    onNotification: (method: string, params: JsonObject) => {
      if (method === 'notifications/tools/list_changed') onToolsChanged();
      else if (method === 'notifications/prompts/list_changed') onPromptsChanged();
      else passedOn.onNotification(method, params);
    },
    onRequest: passedOn.answer,
  };
  using deadline = new Deadline(signal);
  deadline.start(limitMs);
  try {
    const { eras = new ErasInMemory() } = context;
    const softTimeoutMs = Math.min(context.times.probeMs, limitMs / 2);
    const client = await greet({ spec, eras, handlers, newLink, softTimeoutMs }, deadline.signal);
    if (transport === undefined) throw new Error('a client without a link');
    passedOn.serve(client);
    const listed = await listTools(client, deadline.signal, spec.transport !== 'stdio');
    return { client, transport, listed };
  } catch (thrown) {
    // The address is no address.
    if (transport === undefined) throw thrown;
    const { cause } = deadline;
    const problem = await transport.explain(thrown, cause === 'timeout' ? limitMs : undefined);
    await transport.close();
    if (cause !== undefined && cause !== 'timeout') {
      throw new BridgeError(
        'E_SHUTDOWN',
        `Server '${shownName(spec.name)}' was not started: the bridge is closing.`,
        {
          fault: 'bridge',
        },
      );
    }
    const reason = context.redactor.redact(problem.reason);
    const Kind = problem.waitsForUser ? WaitsForUser : BridgeError;
    throw new Kind(
      'E_SERVER_UNAVAILABLE',
      `Server '${shownName(spec.name)}' ${problem.what}: ${reason}.${lastWordsOf(transport)}`,
      { fault: 'operator', remedy: problem.remedy, cause: thrown },
    );
  }
}

/** The one place that knows how many kinds of servers there are. */
async function linkTo(spec: DownstreamSpec, context: ServerContext, limitMs: number): Promise<Link> {
  if (spec.transport === 'stdio') {
    const { command, args, cwd = context.cwd } = spec;
    return new StdioTransport({ command, args, cwd, env: context.env }, (text) =>
      context.redactor.redact(text),
    );
  }
  // Loaded when first needed: most who list our tools have not called a remote server yet.
  const { RemoteLink } = await import('../remote/remote-link.js');
  return new RemoteLink(spec, context, limitMs, await context.loginFor?.(spec));
}
