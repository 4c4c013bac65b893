// The MCP server of `execute`: one server object for each connection, session or single request, all of one Execute and in
// either era of the protocol. Says how long a command runs already, to clients that ask for progress.

import {
  type JSONRPCRequest,
  type Result,
  Server,
  type ServerContext,
  type Transport,
} from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';
import { describeValue } from '../base/text/echo.js';
import { clipHarmless } from '../base/text/text.js';
import { VERSION } from '../base/version.js';
import { WrongParams } from '../wire/envelope.js';
import type { Execute } from './execute.js';

/** Clients and proxies give up after a minute of silence; six words in that time are hardly one too many. */
const PROGRESS_MS = 10_000;
/** How long clients may keep the list of tools: the server's one tool is the same for as long as the server lives. */
const TOOLS_TTL_MS = 3_600_000;
// JSON-RPC 2.0, section 5.1.
const METHOD_NOT_FOUND = -32_601;

/** The SDK would make one at every start; nothing that this server says or is sent is checked by it. */
const NO_VALIDATOR = {
  getValidator: (): never => {
    throw new Error('Nothing of this server is checked by a schema of JSON.');
  },
};

/** Serves one client on a connection that is its own; what it says first decides the era. `close()` ends it. */
export const serveExecute = (execute: Execute, transport: Transport): { close(): Promise<void> } =>
  serveStdio(() => executeServer(execute), { transport });

/** The server object for one connection, session or request; it is not connected yet. */
export function executeServer(execute: Execute): Server {
  const cached = { ttlMs: TOOLS_TTL_MS, cacheScope: 'private' } as const;
  const server = new Server(
    { name: 'code-exec', title: 'Command sandbox', version: VERSION },
    {
      capabilities: { tools: {} },
      jsonSchemaValidator: NO_VALIDATOR,
      cacheHints: { 'tools/list': cached, 'server/discover': cached },
    },
  );
  const { definition } = execute;
  server.setRequestHandler('tools/list', { params: z.unknown() }, () => ({ tools: [definition] }));
  // Not as a handler of its own, which the SDK would check, in its words, and whose results it would copy.
  server.fallbackRequestHandler = async ({ method, params }, context) => {
    if (method !== 'tools/call')
      throw Object.assign(new Error('Method not found'), { code: METHOD_NOT_FOUND });
    const args = argumentsOf(params, definition.name);
    using _telling = tellProgress(context);
    return (await execute.call(args, context.mcpReq.signal)) as unknown as Result;
  };
  return server;
}

/** Throws -32602 that names the field; what a command may be is said as an answer. */
function argumentsOf(params: JSONRPCRequest['params'], tool: string): unknown {
  const { name, arguments: args } = params ?? {};
  if (typeof name !== 'string')
    throw new WrongParams(`name: got ${describeValue(name)}, expected the name of a tool.`);
  if (name !== tool) throw new WrongParams(`There is no tool '${clipHarmless(name, 200)}'. Tools: ${tool}.`);
  if (args !== undefined && (typeof args !== 'object' || args === null || Array.isArray(args)))
    throw new WrongParams(`arguments: got ${describeValue(args)}, expected an object by argument names.`);
  return args;
}

function tellProgress({ mcpReq }: ServerContext): Disposable {
  const progressToken = mcpReq._meta?.progressToken;
  const startedAt = performance.now();
  const tell = () => {
    if (progressToken === undefined) return;
    const progress = Math.round((performance.now() - startedAt) / 1_000);
    const params = { progressToken, progress, message: `running for ${progress} s` };
    // A client that has gone notices nothing.
    mcpReq.notify({ method: 'notifications/progress', params }).catch(() => {});
  };
  const timer = setInterval(tell, PROGRESS_MS);
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
