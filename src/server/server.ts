// The MCP face of the bridge: one server object per connection, raw request handlers, nothing spawned before a tool is
// called. Only this file, its resources, its transport and the downstream floor know the SDK.

import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  CallToolRequestSchema,
  type CallToolResult,
  ErrorCode,
  ListToolsRequestSchema,
  McpError,
} from '@modelcontextprotocol/sdk/types.js';
import { didYouMean } from '../base/closest.js';
import { asBridgeError } from '../base/errors.js';
import type { Observer } from '../base/events.js';
import { clip, harmless } from '../base/text.js';
import { PACKAGE_NAME, VERSION } from '../base/version.js';
import { render } from '../render/render.js';
import { outcomeWithoutRun, withoutSecrets } from '../run/outcome.js';
import type { Bridge } from './bridge.js';
import { instructions } from './capabilities.js';
import { offerResources } from './resources.js';
import type { Tool } from './tool.js';
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

/** Connects one agent; resolves when its transport has started. */
export async function serveAgent(
  bridge: Bridge,
  transport: ClientTransport,
  observer: Observer,
): Promise<Server> {
  const tools = new Map([runPython(bridge.settings)].map((tool) => [tool.definition.name, tool]));
  const server = new Server(
    { name: PACKAGE_NAME, title: 'MCP sandbox bridge', version: VERSION },
    { capabilities: { tools: {}, resources: {} }, instructions: instructions(bridge.serverNames) },
  );
  let plans: NodeJS.Timeout[] = [];

  server.setRequestHandler(ListToolsRequestSchema, () => {
    for (const plan of plans) clearTimeout(plan);
    plans = [
      setTimeout(() => bridge.warmUp(), QUIET_BEFORE_WARM_MS).unref(),
      setTimeout(() => bridge.sweepOnce(), QUIET_BEFORE_SWEEP_MS).unref(),
    ];
    return { tools: [...tools.values()].map(({ definition }) => definition) };
  });

  server.setRequestHandler(CallToolRequestSchema, async ({ params }, extra): Promise<CallToolResult> => {
    const tool = tools.get(params.name);
    if (tool === undefined) {
      const known = [...tools.keys()];
      throw new McpError(
        ErrorCode.InvalidParams,
        `There is no tool '${clip(harmless(params.name), 200)}'.${didYouMean(params.name, known)} There is: ${known.join(', ')}.`,
      );
    }
    const token = params._meta?.progressToken;
    let step = 0;
    const progress = (message: string) => {
      if (token === undefined || extra.signal.aborted) return;
      void extra.sendNotification({
        method: 'notifications/progress',
        params: { progressToken: token, progress: ++step, message },
      });
    };
    const { outputMode: mode, structured } = bridge.settings;
    const client = server.getClientVersion()?.name ?? '';
    const outcome = await callTool(tool, params.arguments, bridge, progress, observer, extra.signal);
    return render(outcome, {
      mode,
      structured,
      client,
      links: knowsLinks(transport),
    }) as unknown as CallToolResult;
  });

  offerResources(server, bridge);
  await server.connect(transport);
  return server;
}

/** A fault of ours is that call's answer and a line in the log, never the end of the bridge. */
async function callTool(
  tool: Tool,
  args: unknown,
  bridge: Bridge,
  progress: (message: string) => void,
  observer: Observer,
  signal: AbortSignal,
) {
  try {
    return await tool.call(args, { bridge, progress }, signal);
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
