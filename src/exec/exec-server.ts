// The MCP server of `execute`: one server object for each connection or session, all of one Execute. Says how long a command
// runs already, to clients that ask for progress.

import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import type { RequestHandlerExtra } from '@modelcontextprotocol/sdk/shared/protocol.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  CallToolRequestSchema,
  type CallToolResult,
  ListToolsRequestSchema,
  type ServerNotification,
  type ServerRequest,
} from '@modelcontextprotocol/sdk/types.js';
import { clipHarmless } from '../base/text.js';
import { VERSION } from '../base/version.js';
import { WrongParams } from '../protocol/wrong-params.js';
import type { Execute } from './execute.js';

/** Clients and proxies give up after a minute of silence; six words in that time are hardly one too many. */
const PROGRESS_MS = 10_000;

/** Resolves when `transport` has started. */
export async function serveExecute(execute: Execute, transport: Transport): Promise<Server> {
  const server = new Server(
    { name: 'code-exec', title: 'Command sandbox', version: VERSION },
    { capabilities: { tools: {} } },
  );
  const { definition } = execute;
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: [definition] }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, extra): Promise<CallToolResult> => {
    if (params.name === definition.name) {
      using _telling = tellProgress(params._meta?.progressToken, extra);
      return (await execute.call(params.arguments, extra.signal)) as unknown as CallToolResult;
    }
    const name = clipHarmless(params.name, 200);
    throw new WrongParams(`There is no tool '${name}'. There is: ${definition.name}.`);
  });
  await server.connect(transport);
  return server;
}

type Extra = RequestHandlerExtra<ServerRequest, ServerNotification>;

function tellProgress(progressToken: string | number | undefined, { sendNotification }: Extra): Disposable {
  const startedAt = performance.now();
  const tell = () => {
    if (progressToken === undefined) return;
    const progress = Math.round((performance.now() - startedAt) / 1_000);
    const params = { progressToken, progress, message: `running for ${progress} s` };
    // A client that has gone notices nothing.
    sendNotification({ method: 'notifications/progress', params }).catch(() => {});
  };
  const timer = setInterval(tell, PROGRESS_MS);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
