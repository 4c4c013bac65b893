// From a DownstreamSpec to a connected client that knows the server's tools, or to an error that says what to do.
// Which client capabilities are advertised, and what answers for them, is passed-on.ts's business.

import { BridgeError } from '../../base/errors.js';
import type { JsonObject } from '../../base/json/json-object.js';
import { shownName } from '../../base/text/shown-name.js';
import { Deadline } from '../../base/waiting/deadline.js';
import type { DownstreamSpec } from '../../hosts/downstream-spec.js';
import type { PassedOn } from '../asking/passed-on.js';
import { lastWordsOf } from '../connection/call-error.js';
import type { McpClient } from '../connection/client.js';
import { ErasInMemory } from '../connection/eras.js';
import { greet } from '../connection/greet.js';
import { type Link, WaitsForUser } from '../connection/link.js';
import type { ServerContext } from '../connection/server-context.js';
import { StdioTransport } from '../stdio/stdio-transport.js';
import { listTools, type ToolList } from './tool-list.js';

export type Connection = {
  readonly client: McpClient;
  readonly transport: Link;
  readonly listed: ToolList;
};

/** How the client answers what it is told and asked. */
export type ClientHandlers = {
  /** Called for every `tools/list_changed`, from the first moment on. */
  readonly onToolsChanged: () => void;
  /** Answers what the server asks. */
  readonly passedOn: PassedOn;
};

/**
 * Starts or reaches the server, greets it and lists its tools. Throws E_SERVER_UNAVAILABLE, or E_SHUTDOWN when `signal`
 * ended it; nothing of the server or of the connection is left then.
 */
export async function connect(
  spec: DownstreamSpec,
  context: ServerContext,
  { onToolsChanged, passedOn }: ClientHandlers,
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
      else passedOn.notified(method, params);
    },
    onRequest: passedOn.answer,
  };
  using deadline = new Deadline(signal);
  deadline.start(limitMs);
  try {
    const { eras = new ErasInMemory() } = context;
    const patienceMs = Math.min(context.times.probeMs, limitMs / 2);
    const client = await greet({ spec, eras, handlers, newLink, patienceMs }, deadline.signal);
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
