// Steps of traces out of the events that have them: a call of the agent, and below it each request to a server. Names and
// attributes are those of the conventions for MCP.

import type { BridgeEvent } from '../../base/log/events.js';
import type { EndedSpan } from './otlp-json.js';

/** The step that has ended with this event; undefined where the event is none, or its trace is not recorded. */
export function spanOf(event: BridgeEvent, redact: (text: string) => string): EndedSpan | undefined {
  if (event.type === 'call.ended' && event.span !== undefined) {
    const { tool, client, protocol, transport, id, failed } = event;
    return {
      ...timesOf(event.durationMs),
      span: event.span,
      name: `tools/call ${tool}`,
      kind: 'server',
      failed,
      attributes: {
        'mcp.method.name': 'tools/call',
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': tool,
        'jsonrpc.request.id': String(id),
        'network.transport': transport,
        'mcp_bridge.client': redact(client),
        ...(protocol === undefined ? {} : { 'mcp.protocol.version': protocol }),
        ...(failed ? { 'error.type': 'tool_error' } : {}),
      },
    };
  }
  if (event.type === 'run.request' && event.span !== undefined) {
    const { run, server, method, target, transport, error, refusal } = event;
    const shown = target === undefined ? undefined : redact(target);
    return {
      ...timesOf(event.durationMs),
      span: event.span,
      // The address of a resource is no name of a kind of step.
      name: shown === undefined || method === 'resources/read' ? method : `${method} ${shown}`,
      kind: 'client',
      failed: error !== undefined,
      attributes: {
        'mcp.method.name': method,
        ...targetAttributes(method, shown),
        'network.transport': transport,
        'mcp_bridge.server.name': server,
        'mcp_bridge.run.id': run,
        ...(error === undefined ? {} : { 'error.type': error }),
        ...(refusal === undefined ? {} : { 'rpc.response.status_code': String(refusal) }),
      },
    };
  }
  return undefined;
}

function targetAttributes(method: string, target: string | undefined): Readonly<Record<string, string>> {
  if (target === undefined) return {};
  if (method === 'tools/call') return { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': target };
  return method === 'prompts/get' ? { 'gen_ai.prompt.name': target } : { 'mcp.resource.uri': target };
}

/** Events are told at their end. */
function timesOf(durationMs: number): { readonly startMs: number; readonly endMs: number } {
  const endMs = Date.now();
  return { startMs: endMs - durationMs, endMs };
}
