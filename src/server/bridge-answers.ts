// What a server object answers out of its bridge: calls of tools, resources, names of snippets. Loaded when the first of these
// is asked for, or ahead of that; nobody who only lists the tools waits for it.

import type { AgentServer } from './agent-server.js';
import type { Bridge } from './bridge.js';
import { offerResources } from './resources.js';
import { completeSnippets } from './snippet-completion.js';
import { offeredSnippets } from './snippet-resources.js';
import { answerCalls, type CallsParts, toolsOf } from './tool-calls.js';

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
