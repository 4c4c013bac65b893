// The HTTP front with the server object that agents get, over a bridge that starts nothing.

import { modernCallsOf } from '../../../src/mcp/calls/modern-calls.js';
import { AgentConnection, agentServer } from '../../../src/mcp/connection/server.js';
import type { Bridge } from '../../../src/tenant/bridge.js';
import { HttpAgent } from '../../support/http-agent.js';
import { stubFront } from '../../support/http-front.js';

/** Opens it; `opened` gets what has to be disposed. */
export async function agentOf(
  bridge: Bridge,
  opened: AsyncDisposable[],
  env: Readonly<Record<string, string>> = {},
): Promise<HttpAgent> {
  const shared = new AgentConnection();
  const { url } = await stubFront(opened, {
    env,
    parts: {
      serverFor: (_principal, { era, isSession, clientProtocol, onListChanged }) =>
        agentServer({
          bridge,
          observer: () => {},
          era,
          clientProtocol,
          onListChanged,
          modernCalls: modernCallsOf({
            calls: bridge.resumableCalls,
            principal: 'token:ann',
            taskAfterSeconds: 0,
          }),
          connection: isSession ? undefined : shared,
        }),
    },
  });
  return new HttpAgent({ port: Number(url.port) }, 'ann');
}
