// The MCP face of `execute`: one server object for each connection or session, all of one Execute.

import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  CallToolRequestSchema,
  type CallToolResult,
  ErrorCode,
  ListToolsRequestSchema,
  McpError,
} from '@modelcontextprotocol/sdk/types.js';
import { clip, harmless } from '../base/text.js';
import { VERSION } from '../base/version.js';
import type { Execute } from './execute.js';

/** Resolves when `transport` has started. */
export async function serveExecute(execute: Execute, transport: Transport): Promise<Server> {
  const server = new Server(
    { name: 'code-exec', title: 'Command sandbox', version: VERSION },
    { capabilities: { tools: {} } },
  );
  const { definition } = execute;
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: [definition] }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, { signal }): Promise<CallToolResult> => {
    if (params.name === definition.name)
      return (await execute.call(params.arguments, signal)) as unknown as CallToolResult;
    const name = clip(harmless(params.name), 200);
    throw new McpError(ErrorCode.InvalidParams, `There is no tool '${name}'. There is: ${definition.name}.`);
  });
  await server.connect(transport);
  return server;
}
