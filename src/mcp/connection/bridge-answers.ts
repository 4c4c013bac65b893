// What a server object answers out of its bridge: calls of tools, resources, names of snippets. Loaded when the first of these
// is asked for, or ahead of that; nobody who only lists the tools waits for it.

import type { Bridge } from '../../tenant/bridge.js';
import { answerCalls, type CallsParts, toolsOf } from '../calls/tool-calls.js';
import type { AgentServer } from '../requests/agent-server.js';
import { offerResources } from '../resources/resources.js';
import { completeSnippets } from '../resources/snippet-completion.js';
import { offeredSnippets } from '../resources/snippet-resources.js';

/** Answers on `server` whatever is asked of `bridge`. */
export function answerFrom(
  bridge: Bridge,
  server: AgentServer,
  parts: Omit<CallsParts, 'bridge' | 'tools'>,
): void {
  answerCalls(server, { ...parts, bridge, tools: toolsOf(bridge.settings) });
  offerResources(server, bridge);
  const snippets = offeredSnippets(bridge);
  if (snippets !== undefined) completeSnippets(server, snippets);
}
