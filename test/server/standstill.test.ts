// How long the clock of a run may stand, for the clock of its container: with what a person may take to answer.

import { expect, it } from 'vitest';
import { SandboxService } from '../../src/server/sandbox-service.js';
import { settingsOf } from '../support/plain-kind.js';

it('counts the time for questions about calls, and for a place after them, from when a policy asks them', async () => {
  const settings = settingsOf({
    MCP_BRIDGE_APPROVE: 'all',
    MCP_BRIDGE_APPROVE_WAIT: '90',
    MCP_BRIDGE_MAX_TIMEOUT: '60',
  });
  const host = { platform: 'linux' } as const;
  await using service = new SandboxService({ settings, host, observer: () => {} });
  expect(service.standstillSeconds).toBe(0);
  service.expectQuestions();
  expect(service.standstillSeconds).toBe(150);
  service.waitForServers(() => 30);
  expect(service.standstillSeconds).toBe(180);
});
