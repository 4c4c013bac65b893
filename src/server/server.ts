// The MCP server of the bridge: one server object per connection, raw request handlers, nothing spawned before a tool is
// called. Only this file, its calls and requests, its resources, its transport and the downstream floor know the SDK.

import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { ListToolsRequestSchema, type ServerCapabilities } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import type { Observer } from '../base/events.js';
import { clip, clipHarmless } from '../base/text.js';
import { PACKAGE_NAME, VERSION } from '../base/version.js';
import { offeredLanguages } from '../config/languages/plan.js';
import type { AgentCapabilities } from '../downstream/asking/agent-capabilities.js';
import { WrongParams } from '../protocol/wrong-params.js';
import { agentCapabilitiesOf } from './agent-capabilities.js';
import type { Bridge } from './bridge.js';
import { instructions } from './capabilities.js';
import { LOG_LEVELS, type McpLogLevel } from './log-notifications.js';
import { offerResources } from './resources.js';
import { completeSnippets } from './snippet-completion.js';
import { offeredSnippets } from './snippet-resources.js';
import type { BridgeTool } from './tool.js';
import { answerCalls, type ClientTransport, toolsOf } from './tool-calls.js';

/** Hosts start servers in health checks that live 20 ms: house-keeping waits until a client has stayed. */
const QUIET_BEFORE_WARM_MS = 250;
const QUIET_BEFORE_SWEEP_MS = 2_000;

/** Of warnings about settings, in the instructions. */
const MAX_WARNINGS = 2;
const MAX_WARNING_CHARS = 200;

/** Looser than the SDK's, which would call a wrong level a fault of ours. */
const SetLevel = z.object({
  method: z.literal('logging/setLevel'),
  params: z.object({ level: z.string() }),
});

/** The SDK would make one at every start, for forms that it checks; ours are asked for raw (agent-capabilities.ts). */
const NO_VALIDATOR = {
  getValidator: (): never => {
    throw new Error('Nothing that the bridge asks an agent is checked by a schema.');
  },
};

/** Connects one agent; resolves when its transport has started. `warnings` are those about the settings. */
export async function serveAgent(
  bridge: Bridge,
  transport: ClientTransport,
  observer: Observer,
  warnings: readonly string[] = [],
): Promise<Server> {
  const tools = toolsOf(bridge.settings);
  const snippets = offeredSnippets(bridge);
  const server = serverFor(bridge, warnings, snippets === undefined ? {} : { completions: {} });
  const agent: AgentCapabilities = agentCapabilitiesOf(server, () => bridge.servers.pool.rootsChanged(agent));
  listTools(server, bridge, agent, tools);
  const logLevel = takeLogLevel(server);
  answerCalls(server, { tools, bridge, agent, transport, observer, logLevel });
  offerResources(server, bridge);
  if (snippets !== undefined) completeSnippets(server, snippets);
  await server.connect(transport);
  return server;
}

/** A name that is misspelt leaves a setting unset, and hosts do not show the log. */
const toldWarnings = (warnings: readonly string[]): readonly string[] =>
  warnings
    .slice(0, MAX_WARNINGS)
    .map((warning) => `Setting without effect, tell the user: ${clip(warning, MAX_WARNING_CHARS)}`);

const serverFor = (
  { settings, servers }: Bridge,
  warnings: readonly string[],
  more: ServerCapabilities,
): Server =>
  new Server(
    { name: PACKAGE_NAME, title: 'MCP sandbox bridge', version: VERSION },
    {
      capabilities: { tools: { listChanged: true }, resources: { listChanged: true }, logging: {}, ...more },
      jsonSchemaValidator: NO_VALIDATOR,
      instructions: [
        instructions(servers.names, { tools: settings.tools, languages: offeredLanguages(settings) }),
        ...toldWarnings(warnings),
      ].join('\n'),
    },
  );

/**
 * Whoever lists the tools is likely to call one soon: house-keeping begins when a client has stayed. Whoever has been told
 * less of the image than is known by then is told that the list has changed.
 */
function listTools(
  server: Server,
  bridge: Bridge,
  agent: AgentCapabilities,
  tools: ReadonlyMap<string, BridgeTool>,
): void {
  let plans: NodeJS.Timeout[] = [];
  let told: string | undefined;
  const described = () => [...tools.values()].map(({ definition }) => definition.description).join('\n');
  bridge.onImageKnown(() => {
    if (told === undefined || told === described()) return;
    told = undefined;
    // A client that has gone hears nothing.
    server.sendToolListChanged().catch(() => {});
  });
  server.setRequestHandler(ListToolsRequestSchema, () => {
    for (const plan of plans) clearTimeout(plan);
    plans = [
      setTimeout(() => bridge.warmUp(agent), QUIET_BEFORE_WARM_MS).unref(),
      setTimeout(() => bridge.sweepOnce(), QUIET_BEFORE_SWEEP_MS).unref(),
    ];
    told = described();
    return { tools: [...tools.values()].map(({ definition }) => definition) };
  });
}

/** What the client has asked to be told of, at any time; undefined before it has asked. */
function takeLogLevel(server: Server): () => McpLogLevel | undefined {
  let logLevel: McpLogLevel | undefined;
  server.setRequestHandler(SetLevel, ({ params: { level } }) => {
    logLevel = LOG_LEVELS.find((known) => known === level);
    if (logLevel !== undefined) return {};
    const shown = clipHarmless(level, 200);
    throw new WrongParams(`There is no log level '${shown}'. There is: ${LOG_LEVELS.join(', ')}.`);
  });
  return () => logLevel;
}
