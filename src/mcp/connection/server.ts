// The MCP server of the bridge: one server object for each agent, on whatever transport and in either era of the protocol;
// nothing is spawned before a tool is called. Only this file, the files that it makes its server of, the transport and the
// downstream floor know the SDK.

import type { ServerCapabilities, Transport } from '@modelcontextprotocol/server';
import type { Observer } from '../../base/log/events.js';
import { loadedOnce } from '../../base/replaced-part.js';
import { describeValue } from '../../base/text/echo.js';
import { clip, clipHarmless } from '../../base/text/text.js';
import { allowedFolders } from '../../policy/rules/policy.js';
import { type AgentCapabilities, NO_AGENT } from '../../servers/asking/agent-capabilities.js';
import { offeredLanguages } from '../../settings/environment/plan.js';
import type { Bridge } from '../../tenant/bridge.js';
import { WrongParams } from '../../wire/envelope.js';
import type { Jobs } from '../calls/jobs.js';
import { answerTaskRequests, TASK_CAPABILITIES, watchTasks } from '../calls/tasks.js';
import { agentCapabilitiesOf } from '../requests/agent-capabilities.js';
import type { Era } from '../requests/agent-request.js';
import { AgentServer, CACHED_FOR } from '../requests/agent-server.js';
import { checkCursor, fieldsOf } from '../requests/complaint.js';
import { LOG_LEVELS, type McpLogLevel } from '../requests/log-notifications.js';
import { instructions } from '../resources/capabilities.js';
import { offeredTools, offersSnippets, type ToolDefinition, withDataLine } from '../tools/definitions.js';
import { LateBridge, loadAnswers, wholeBridge } from './late-bridge.js';
import { serveConnection } from './stdio-connection.js';

/** Loads the list of prompts, which some hosts ask for ahead of all else. */
const loadPrompts = loadedOnce(() => import('../resources/prompts.js'));

/** Limits for warnings about settings in the instructions. */
const MAX_WARNINGS = 2;
const MAX_WARNING_CHARS = 200;

/** Methods that are not asked for before the tools are listed. */
const ANSWERED_LATER = ['tools/call', 'resources/list', 'resources/templates/list', 'resources/read'];

/**
 * The server object for one agent, not yet connected: `connect(transport)` serves it, `close()` ends what its requests have
 * begun. It starts nothing by itself, and asks the bridge for nothing before a request does.
 *
 * Over stdio, one is made for each connection (`serveAgent`). Over HTTP:
 * - `createMcpHandler(({ era }) => agentServer({ bridge, jobs, observer, era, connection, onListChanged, … }))`, with a
 *   handler, a `Connection` and a bus for each principal, since what they remember and tell is that principal's.
 *   `onListChanged` calls the handler's `notify.toolsChanged()` or its like: a server object there lives as
 *   long as its request. `clientProtocol` is the header `mcp-protocol-version` of `requestInfo`, for era `legacy`.
 * - A session of 2025: `agentServer({ bridge, jobs, observer, era: 'legacy' })`, connected to the session's own transport.
 * Results hold RawJson, texts that only `stringify` (base/json/json-text.ts) writes verbatim; JSON.stringify parses them. Over
 * HTTP, where the SDK writes, `RelayedTexts` in `authInfo.extra` keeps them (http/parts.ts).
 */
export function agentServer(parts: {
  /** All that the agent's principal has, or what will have it. */
  readonly bridge: Bridge | LateBridge;
  /** The principal's, too. Whoever made them ends them. */
  readonly jobs: Jobs;
  readonly observer: Observer;
  readonly era: Era;
  /** About the settings; the first are told in the instructions. */
  readonly warnings?: readonly string[] | undefined;
  /** Default: one of its own. */
  readonly connection?: AgentConnection | undefined;
  /** The version of MCP that a client of 2025 speaks, where no greeting comes: the header MCP-Protocol-Version. */
  readonly clientProtocol?: string | undefined;
  /**
   * Is told when the list of tools, of resources or of prompts has changed. Default: the agent is, by a notification, which reaches it
   * only while this server object is connected.
   */
  readonly onListChanged?: ((list: ChangedList) => void) | undefined;
}): AgentServer {
  const { bridge, jobs, observer, era, warnings = [], connection = new AgentConnection() } = parts;
  const { settings } = bridge;
  const tools = offeredTools(settings);
  // Commands alone reach no server.
  const hasServers = settings.tools.some((name) => name !== 'execute');
  const hasSnippets = offersSnippets(settings, bridge.snippets.folder);
  const server = new AgentServer({
    era,
    capabilities: {
      tools: { listChanged: true },
      resources: { listChanged: true },
      ...(hasServers ? { prompts: { listChanged: true } } : {}),
      logging: {},
      ...(hasSnippets || hasServers ? { completions: {} } : {}),
      ...(era === 'modern' ? TASK_CAPABILITIES : {}),
    } satisfies ServerCapabilities,
    instructions: instructionsOf(bridge, warnings),
    clientProtocol: parts.clientProtocol,
  });
  const listChanged = parts.onListChanged ?? ((list) => tellListChanged(server, list));
  if (parts.connection === undefined)
    server.closed.addEventListener('abort', () => connection[Symbol.dispose]());
  const agent = whoIsAsked(server, bridge);
  server.peer = { agent, scope: connection.id, logLevel: () => connection.logLevel };
  listTools(server, { bridge, connection }, tools, agent, listChanged);
  takeLogLevel(server, connection);
  if (hasServers) listPrompts(server, { bridge, connection }, listChanged);
  const later = [
    ...ANSWERED_LATER,
    ...(hasServers ? ['prompts/get'] : []),
    ...(hasSnippets || hasServers ? ['completion/complete'] : []),
  ];
  server.answerLater(later, async () => {
    const [{ answerFrom }, whole] = await Promise.all([loadAnswers(), wholeBridge(bridge)]);
    answerFrom(whole, server, {
      jobs,
      observer,
      onKept: (request) => {
        // An agent of 2025 hears it on the way to its answer; a later one only where it listens.
        if (request.era === 'legacy') request.notify({ method: LIST_CHANGED.resources });
        if (request.era === 'modern' || parts.onListChanged !== undefined) listChanged('resources');
      },
    });
  });
  if (era === 'modern') answerTaskRequests(server, jobs);
  return server;
}

/**
 * Serves one agent on a connection that is its own; what it says first decides the era. Resolves when the transport has
 * started. `warnings` are those about the settings.
 */
export function serveAgent(
  bridge: Bridge | LateBridge,
  jobs: Jobs,
  transport: Transport,
  observer: Observer,
  warnings: readonly string[] = [],
): ReturnType<typeof serveConnection> {
  const connection = new AgentConnection();
  return serveConnection(
    transport,
    (era) => agentServer({ bridge, jobs, observer, warnings, connection, era }),
    () => connection[Symbol.dispose](),
    (taskIds, tell) => watchTasks(jobs, taskIds, tell),
  );
}

const LIST_CHANGED = {
  tools: 'notifications/tools/list_changed',
  resources: 'notifications/resources/list_changed',
  prompts: 'notifications/prompts/list_changed',
} as const;

/** A list that an agent may have read and that is no longer what it was. */
export type ChangedList = keyof typeof LIST_CHANGED;

function tellListChanged(server: AgentServer, list: ChangedList): void {
  // A client that has gone hears nothing.
  server.notification({ method: LIST_CHANGED[list] }).catch(() => {});
}

/** A name that is misspelt leaves a setting unset, and hosts do not show the log. */
const toldWarnings = (warnings: readonly string[]): readonly string[] =>
  warnings
    .slice(0, MAX_WARNINGS)
    .map((warning) => `Setting without effect, tell the user: ${clip(warning, MAX_WARNING_CHARS)}`);

const instructionsOf = ({ settings, servers }: Bridge | LateBridge, warnings: readonly string[]): string =>
  [
    instructions(servers.names, { tools: settings.tools, languages: offeredLanguages(settings) }),
    ...toldWarnings(warnings),
  ].join('\n');

/** Whom the calls of this server may ask: an agent of 2025 by requests; a later one is asked by answers (Job). */
function whoIsAsked(server: AgentServer, bridge: Bridge | LateBridge): AgentCapabilities {
  if (server.era === 'modern') return NO_AGENT;
  const agent: AgentCapabilities = agentCapabilitiesOf(server, () => tellOfRoots(bridge, agent));
  return agent;
}

/** Where no bridge is made yet, there is no server that was told of other roots. */
function tellOfRoots(bridge: Bridge | LateBridge, agent: AgentCapabilities): void {
  const made = bridge instanceof LateBridge ? bridge.made : bridge;
  made?.servers.pool.rootsChanged(agent);
}

/** Answers tools/list. An agent that was told less of the image than is known later is told that the list has changed. */
function listTools(
  server: AgentServer,
  { bridge, connection }: { readonly bridge: Bridge | LateBridge; readonly connection: AgentConnection },
  tools: readonly ToolDefinition[],
  agent: AgentCapabilities,
  listChanged: (list: 'tools') => void,
): void {
  // Folders may be given and taken, and so may the right to see them.
  const toldNow = () => withDataLine(tools, allowedFolders(bridge));
  const described = (listed = toldNow()) => listed.map(({ description }) => description).join('\n');
  const onImageKnown = () => {
    if (connection.toldOfTools === undefined || connection.toldOfTools === described()) return;
    connection.toldOfTools = undefined;
    listChanged('tools');
  };
  server.answer('tools/list', (params, { era }) => {
    checkCursor(params);
    connection.prepare(bridge, agent);
    connection.onLearned('image', bridge, onImageKnown);
    const told = toldNow();
    connection.toldOfTools = described(told);
    const listed = { tools: told };
    return era === 'legacy' ? listed : { ...listed, ...CACHED_FOR.tools };
  });
}

/** Answers prompts/list out of what is kept, which makes no bridge whole and starts no server. */
function listPrompts(
  server: AgentServer,
  { bridge, connection }: { readonly bridge: Bridge | LateBridge; readonly connection: AgentConnection },
  listChanged: (list: 'prompts') => void,
): void {
  server.answer('prompts/list', async (params, { era }) => {
    checkCursor(params);
    connection.onLearned('prompts', bridge, () => listChanged('prompts'));
    const { offeredPrompts } = await loadPrompts();
    const prompts = offeredPrompts(bridge).map(({ shown }) => shown);
    return era === 'legacy' ? { prompts } : { prompts, ...CACHED_FOR.prompts };
  });
}

/** Takes the log level that an agent of 2025 sets, at any time; a later agent says its level with each request. */
function takeLogLevel(server: AgentServer, connection: AgentConnection): void {
  server.answer('logging/setLevel', (params) => {
    const { level } = fieldsOf(params);
    connection.logLevel = LOG_LEVELS.find((known) => known === level);
    if (connection.logLevel !== undefined) return {};
    const shown = typeof level === 'string' ? `'${clipHarmless(level, 200)}'` : describeValue(level);
    throw new WrongParams(`There is no log level ${shown}. Log levels: ${LOG_LEVELS.join(', ')}.`);
  });
}

// State of one agent's connection, kept from request to request, apart from the SDK's server object: over HTTP there is a
// server object for each request of 2026-07-28, and these objects share one state for each bridge.

/** Hosts start servers in health checks that live 20 ms: house-keeping waits until a client has stayed. */
const QUIET_BEFORE_WARM_MS = 250;
const QUIET_BEFORE_SWEEP_MS = 2_000;

let made = 0;

export class AgentConnection implements Disposable {
  /** No two in one process have the same. */
  readonly id = String(++made);
  /** Log level that an agent of 2025 wants, as the agent has last said. */
  logLevel: McpLogLevel | undefined;
  /** Descriptions that the agent was given when it last listed the tools. */
  toldOfTools: string | undefined;
  #plans: NodeJS.Timeout[] = [];
  readonly #stopListening = new Map<'image' | 'prompts', () => void>();

  /** Plans warm-up, since an agent that lists the tools may call one soon, and house-keeping for when a client has stayed. */
  prepare(bridge: Bridge | LateBridge, agent: AgentCapabilities): void {
    for (const plan of this.#plans) clearTimeout(plan);
    this.#plans = [
      setTimeout(() => bridge.warmUp(agent), QUIET_BEFORE_WARM_MS).unref(),
      setTimeout(() => bridge.sweepOnce(), QUIET_BEFORE_SWEEP_MS).unref(),
    ];
  }

  /** `listener` hears when more is known `of` this. Only the first one that is given for it does. */
  onLearned(of: 'image' | 'prompts', bridge: Bridge | LateBridge, listener: () => void): void {
    if (this.#stopListening.has(of)) return;
    const stop = bridge.onLearned((learned) => {
      if (learned === of) listener();
    });
    this.#stopListening.set(of, stop);
  }

  /** Plans still happen: these are the bridge's house-keeping. */
  [Symbol.dispose](): void {
    for (const stop of this.#stopListening.values()) stop();
  }
}
