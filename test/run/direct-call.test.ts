// One tool called for the agent itself: what ends it where its server never answers.

import { expect, it } from 'vitest';
import type { BridgeEvent } from '../../src/base/log/events.js';
import { byCommandLine } from '../../src/run/calls/call-context.js';
import { callDirectly, type DirectServices } from '../../src/run/life/direct-call.js';

const never = (_server: string, signal: AbortSignal) =>
  new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))));
const call = {
  id: 'a-1',
  language: 'command',
  server: 'sandbox',
  tool: 'execute',
  args: {},
  timeoutSeconds: 30,
};

it.each([
  ['is ended when its server is silent for too long', 0.05, () => {}, 'E_SERVER_UNAVAILABLE', 'timeout'],
  ['is ended by its client', 60, (client: AbortController) => client.abort(), 'E_CANCELLED', 'cancelled'],
] as const)('%s', async (_what, softTimeoutSeconds, act, code, status) => {
  const told: BridgeEvent[] = [];
  const client = new AbortController();
  const services = {
    servers: { open: never },
    observer: (event: BridgeEvent) => told.push(event),
  } as unknown as DirectServices;
  const calling = callDirectly({ ...call, softTimeoutSeconds }, services, byCommandLine(client.signal));
  act(client);
  await expect(calling).rejects.toMatchObject({ code });
  expect(told.at(-1)).toMatchObject({ type: 'run.ended', status });
});
