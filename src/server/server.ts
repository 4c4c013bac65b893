// The MCP face of the bridge: one server object per connection, raw request handlers, nothing spawned before a tool is
// called. Only this file, its requests, its resources, its transport and the downstream floor know the SDK.

import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  type CallToolRequest,
  type CallToolResult,
  ErrorCode,
  ListToolsRequestSchema,
  McpError,
  type ServerNotification,
} from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import { didYouMean } from '../base/closest.js';
import { asBridgeError } from '../base/errors.js';
import type { Observer } from '../base/events.js';
import { clip, harmless } from '../base/text.js';
import { PACKAGE_NAME, VERSION } from '../base/version.js';
import { offeredLanguages } from '../config/languages/plan.js';
import type { Settings } from '../config/settings.js';
import type { ToolName } from '../config/variables.js';
import { visible } from '../render/payload.js';
import { isStructured, render } from '../render/render.js';
import { outcomeWithoutRun, withoutSecrets } from '../run/outcome.js';
import { agentFaceOf } from './agent-face.js';
import type { Bridge } from './bridge.js';
import { CallTool } from './call-request.js';
import { instructions } from './capabilities.js';
import { LOG_LEVELS, type LogLevel, OutputLog } from './log-notifications.js';
import { Progress } from './progress.js';
import { offerResources } from './resources.js';
import { completeSnippets } from './snippet-completion.js';
import { offeredSnippets } from './snippet-resources.js';
import type { Answer, Tool } from './tool.js';
import { cleanArguments } from './tools/clean-arguments.js';
import { execute } from './tools/execute.js';
import { executeCode } from './tools/execute-code.js';
import { runPython } from './tools/run-python.js';

/** Hosts start servers in health checks that live 20 ms: house-keeping waits until a client has stayed. */
const QUIET_BEFORE_WARM_MS = 250;
const QUIET_BEFORE_SWEEP_MS = 2_000;

/** A transport that may have seen which version of the protocol its client speaks. */
export type ClientTransport = Transport & { readonly clientProtocol?: string | undefined };

/** Versions are dates; before this one there is no `resource_link`, and clients refuse an answer with one. */
const LINKS_SINCE = '2025-06-18';

const knowsLinks = ({ clientProtocol }: ClientTransport): boolean =>
  clientProtocol === undefined || clientProtocol >= LINKS_SINCE;

/** Looser than the SDK's, which would call a wrong level a fault of ours. */
const SetLevel = z.object({
  method: z.literal('logging/setLevel'),
  params: z.object({ level: z.string() }),
});

/** The SDK would make one at every start, for forms that it checks; ours are asked for raw (agent-face.ts). */
const NO_VALIDATOR = {
  getValidator: (): never => {
    throw new Error('Nothing that the bridge asks an agent is checked by a schema.');
  },
};

const TOOLS: Readonly<Record<ToolName, (settings: Settings) => Tool>> = {
  run_python: runPython,
  execute_code: executeCode,
  execute,
};

/** Connects one agent; resolves when its transport has started. */
export async function serveAgent(
  bridge: Bridge,
  transport: ClientTransport,
  observer: Observer,
): Promise<Server> {
  const tools = new Map(bridge.settings.tools.map((name) => [name as string, TOOLS[name](bridge.settings)]));
  const snippets = offeredSnippets(bridge);
  const completions = snippets === undefined ? {} : { completions: {} };
  const server = new Server(
    { name: PACKAGE_NAME, title: 'MCP sandbox bridge', version: VERSION },
    {
      capabilities: { tools: {}, resources: {}, logging: {}, ...completions },
      jsonSchemaValidator: NO_VALIDATOR,
      instructions: instructions(bridge.servers.names, {
        tools: bridge.settings.tools,
        languages: offeredLanguages(bridge.settings),
      }),
    },
  );
  let plans: NodeJS.Timeout[] = [];
  let logLevel: LogLevel | undefined;

  server.setRequestHandler(ListToolsRequestSchema, () => {
    for (const plan of plans) clearTimeout(plan);
    plans = [
      setTimeout(() => bridge.warmUp(), QUIET_BEFORE_WARM_MS).unref(),
      setTimeout(() => bridge.sweepOnce(), QUIET_BEFORE_SWEEP_MS).unref(),
    ];
    return { tools: [...tools.values()].map(({ definition }) => definition) };
  });

  server.setRequestHandler(SetLevel, ({ params: { level } }) => {
    logLevel = LOG_LEVELS.find((known) => known === level);
    if (logLevel !== undefined) return {};
    const shown = clip(harmless(level), 200);
    throw new McpError(
      ErrorCode.InvalidParams,
      `There is no log level '${shown}'. There is: ${LOG_LEVELS.join(', ')}.`,
    );
  });

  server.setRequestHandler(CallTool, async ({ params }, extra): Promise<CallToolResult> => {
    const tool = tools.get(params.name);
    if (tool === undefined) {
      const known = [...tools.keys()];
      throw new McpError(
        ErrorCode.InvalidParams,
        `There is no tool '${clip(harmless(params.name), 200)}'.${didYouMean(params.name, known)} There is: ${known.join(', ')}.`,
      );
    }
    const { name = 'unknown', version = '' } = server.getClientVersion() ?? {};
    bridge.client = `${name} ${version}`.trim();
    const notify = (notification: ServerNotification) => {
      // A client that has gone hears nothing, which is its own doing.
      if (!extra.signal.aborted) extra.sendNotification(notification).catch(() => {});
    };
    const answer = await callTool(
      tool,
      params,
      { bridge, logLevel: () => logLevel, notify },
      observer,
      extra.signal,
    );
    const { said, outputMode, structured } = bridge.settings;
    const mode = said.has('MCP_BRIDGE_OUTPUT_MODE') ? outputMode : tool.outputMode;
    const client = server.getClientVersion()?.name ?? '';
    if ('isRelayed' in answer) {
      const result = visible(answer.result);
      const { structuredContent, ...rest } = result;
      const isWanted = answer.isRelayed || isStructured({ structured, client });
      return (isWanted && structuredContent !== undefined ? result : rest) as CallToolResult;
    }
    return render(answer, {
      mode,
      structured,
      client,
      links: knowsLinks(transport),
    }) as unknown as CallToolResult;
  });

  offerResources(server, bridge);
  if (snippets !== undefined) completeSnippets(server, snippets);
  bridge.serveFor(agentFaceOf(server, () => bridge.servers.pool.rootsChanged()));
  await server.connect(transport);
  return server;
}

type Caller = {
  readonly bridge: Bridge;
  readonly logLevel: () => LogLevel | undefined;
  /** Not after the call was cancelled. */
  readonly notify: (notification: ServerNotification) => void;
};

/**
 * Nothing is notified once it has resolved. A fault of ours is that call's answer and a line in the log, never the end
 * of the bridge.
 */
async function callTool(
  tool: Tool,
  { arguments: args, _meta }: CallToolRequest['params'],
  { bridge, logLevel, notify }: Caller,
  observer: Observer,
  signal: AbortSignal,
): Promise<Answer> {
  const progressToken = _meta?.progressToken;
  using log = new OutputLog(tool.definition.name, logLevel, (params) =>
    notify({ method: 'notifications/message', params }),
  );
  using progress = new Progress(
    progressToken === undefined
      ? undefined
      : (params) => notify({ method: 'notifications/progress', params: { progressToken, ...params } }),
  );
  try {
    const onOutput = (stream: 'stdout' | 'stderr', text: string) => log.add(stream, text);
    const cleaned = cleanArguments(args, tool.definition.inputSchema);
    return await tool.call(cleaned, { bridge, progress, onOutput }, signal);
  } catch (thrown) {
    const { code, message, remedy } = asBridgeError(thrown);
    observer({ type: 'bridge.fault', where: tool.definition.name, message });
    const outcome = outcomeWithoutRun(
      'error',
      { type: code, message, remedy },
      bridge.settings.timeoutSeconds,
    );
    return withoutSecrets(outcome, (text) => bridge.redactor.redact(text));
  }
}
