// One agent on a connection of its own, in either era: what it says first decides. A client that probes (server/discover) and
// then greets as in 2025 gets a second server object, so making one must start nothing.

import type { Transport } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import type { WatchTasks } from '../calls/tasks.js';
import type { Era } from '../requests/agent-request.js';
import type { AgentServer } from '../requests/agent-server.js';
import { TaskListening } from './task-listening.js';

/** Subscriptions of one agent; each costs a notification whenever a list has changed. */
const MAX_SUBSCRIPTIONS = 100;

export type StdioConnection = {
  /** Ends the connection, and what its requests have begun. */
  close(): Promise<void>;
};

/**
 * Resolves when `given` has started. `onClosed` is called when the connection has ended, whoever has ended it. `watchTasks`
 * tells of tasks to an agent that listens for them; without it there are none.
 */
export async function serveConnection(
  given: Transport,
  serverFor: (era: Era) => AgentServer,
  onClosed: () => void = () => {},
  watchTasks?: WatchTasks,
): Promise<StdioConnection> {
  const transport = watchTasks === undefined ? given : new TaskListening(given, watchTasks);
  const served = serveStdio(({ era }) => serverFor(era), { transport, maxSubscriptions: MAX_SUBSCRIPTIONS });
  const { onclose } = transport;
  transport.onclose = () => {
    onclose?.();
    onClosed();
  };
  return served;
}
