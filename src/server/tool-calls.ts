// A call of a tool, from the request to the result that the client is sent: the tool is found, called while its progress
// and output are told, and its answer shown as this client can read it.

import type { Server } from '@modelcontextprotocol/sdk/server/index.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { CallToolRequest, CallToolResult, ServerNotification } from '@modelcontextprotocol/sdk/types.js';
import { didYouMean } from '../base/closest.js';
import { asBridgeError } from '../base/errors.js';
import type { Observer } from '../base/events.js';
import type { OutputStream } from '../base/streams.js';
import { clipHarmless } from '../base/text.js';
import type { Settings } from '../config/settings.js';
import type { ToolName } from '../config/variables.js';
import type { AgentCapabilities } from '../downstream/asking/agent-capabilities.js';
import { WrongParams } from '../protocol/wrong-params.js';
import { hasKept } from '../render/files.js';
import { visible } from '../render/payload.js';
import { isStructured, render } from '../render/render.js';
import { outcomeWithoutRun, withoutSecrets } from '../run/outcome/outcome.js';
import type { Bridge } from './bridge.js';
import { CallTool } from './call-request.js';
import type { Caller } from './caller.js';
import { type McpLogLevel, OutputLog } from './log-notifications.js';
import { Progress } from './progress.js';
import type { Answer, BridgeTool } from './tool.js';
import { cleanArguments } from './tools/clean-arguments.js';
import { execute } from './tools/execute.js';
import { executeCode } from './tools/execute-code.js';
import { runPython } from './tools/run-python.js';

/** A transport that may have seen which version of the protocol its client speaks. */
export type ClientTransport = Transport & { readonly clientProtocol?: string | undefined };

/** Versions are dates; before this one there is no `resource_link`, and clients refuse an answer with one. */
const LINKS_SINCE = '2025-06-18';

export const knowsLinks = ({ clientProtocol }: ClientTransport): boolean =>
  clientProtocol === undefined || clientProtocol >= LINKS_SINCE;

const TOOLS: Readonly<Record<ToolName, (settings: Settings) => BridgeTool>> = {
  run_python: runPython,
  execute_code: executeCode,
  execute,
};

/** Those that the operator offers, by their names. */
export const toolsOf = (settings: Settings): ReadonlyMap<string, BridgeTool> =>
  new Map(settings.tools.map((name) => [name, TOOLS[name](settings)]));

/** All there are, offered or not. */
export const allTools = (settings: Settings): ReadonlyMap<string, BridgeTool> =>
  new Map(Object.entries(TOOLS).map(([name, make]) => [name, make(settings)]));

export type CallsParts = {
  readonly tools: ReadonlyMap<string, BridgeTool>;
  readonly bridge: Bridge;
  /** Gets what servers and code ask. */
  readonly agent: AgentCapabilities;
  readonly transport: ClientTransport;
  readonly observer: Observer;
  /** What the client wants to be told, whenever it is asked. */
  readonly logLevel: () => McpLogLevel | undefined;
};

export function answerCalls(server: Server, parts: CallsParts): void {
  const { tools, bridge, agent, transport, observer, logLevel } = parts;
  server.setRequestHandler(CallTool, async ({ params }, extra): Promise<CallToolResult> => {
    const tool = toolNamed(params.name, tools);
    const { name = 'unknown', version = '' } = server.getClientVersion() ?? {};
    const caller: Caller = { client: `${name} ${version}`.trim(), agent };
    const notify = (notification: ServerNotification) => {
      // A client that has gone hears nothing, which is its own doing.
      if (!extra.signal.aborted) extra.sendNotification(notification).catch(() => {});
    };
    const answer = await callTool(tool, params, { bridge, caller, logLevel, notify }, observer, extra.signal);
    const client = server.getClientVersion()?.name ?? '';
    // Before the answer: some hosts read only what their list of resources has.
    if (!('isRelayed' in answer) && hasKept(answer))
      notify({ method: 'notifications/resources/list_changed' });
    return resultOf(answer, tool, bridge.settings, { client, links: knowsLinks(transport) });
  });
}

/** Throws -32602 that lists them where there is none of this name. */
export function toolNamed(name: string, tools: ReadonlyMap<string, BridgeTool>): BridgeTool {
  const tool = tools.get(name);
  if (tool !== undefined) return tool;
  const known = [...tools.keys()];
  throw new WrongParams(
    `There is no tool '${clipHarmless(name, 200)}'.${didYouMean(name, known)} There is: ${known.join(', ')}.`,
  );
}

/** `links`: whether the client knows links to resources. */
type Reader = { readonly client: string; readonly links: boolean };

/** The answer as this client can read it. */
export function resultOf(
  answer: Answer,
  tool: BridgeTool,
  { explicitlySet, outputMode, structured }: Settings,
  { client, links }: Reader,
): CallToolResult {
  if ('isRelayed' in answer) {
    const result = visible(answer.result);
    const { structuredContent, ...rest } = result;
    const isWanted = answer.isRelayed || isStructured({ structured, client });
    return (isWanted && structuredContent !== undefined ? result : rest) as CallToolResult;
  }
  const mode = explicitlySet.has('MCP_BRIDGE_OUTPUT_MODE') ? outputMode : tool.outputMode;
  return render(answer, { mode, structured, client, links }) as unknown as CallToolResult;
}

type CallParts = {
  readonly bridge: Bridge;
  readonly caller: Caller;
  readonly logLevel: () => McpLogLevel | undefined;
  /** Not after the call was cancelled. */
  readonly notify: (notification: ServerNotification) => void;
};

/**
 * Nothing is notified once it has resolved. A fault of ours is that call's answer and a line in the log, never the end
 * of the bridge.
 */
async function callTool(
  tool: BridgeTool,
  { arguments: args, _meta }: CallToolRequest['params'],
  { bridge, caller, logLevel, notify }: CallParts,
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
    const onOutput = (stream: OutputStream, text: string) => log.add(stream, text);
    const cleaned = cleanArguments(args, tool.definition.inputSchema);
    return await tool.call(cleaned, { bridge, caller, progress, onOutput }, signal);
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
