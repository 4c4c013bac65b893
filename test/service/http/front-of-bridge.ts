// The HTTP front with the server object that agents get, over a bridge that starts nothing.

import type { Jobs } from '../../../src/mcp/calls/jobs.js';
import { AgentConnection, agentServer } from '../../../src/mcp/connection/server.js';
import type { Bridge } from '../../../src/tenant/bridge.js';
import { HttpAgent } from '../../support/http-agent.js';
import { stubFront } from '../../support/http-front.js';

/** Opens it; `opened` gets what has to be disposed. A call that may be a task is one at once. */
export async function agentOf(
  bridge: Bridge,
  jobs: Jobs,
  opened: AsyncDisposable[],
  env: Readonly<Record<string, string>> = {},
): Promise<HttpAgent> {
  const shared = new AgentConnection();
  const { url } = await stubFront(opened, {
    env,
    parts: {
      serverFor: (_principal, { era, isSession, clientProtocol, onListChanged }) =>
        agentServer({
          bridge: { ...bridge, settings: { ...bridge.settings, taskAfterSeconds: 0 } } as Bridge,
          jobs,
          observer: () => {},
          era,
          clientProtocol,
          onListChanged,
          connection: isSession ? undefined : shared,
        }),
    },
  });
  return new HttpAgent({ port: Number(url.port) }, 'ann');
}
