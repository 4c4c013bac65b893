// How long the clock of a run may stand, for the clock of its container: with what a person may take to answer.

import { expect, it } from 'vitest';
import { NO_AGENT } from '../../src/servers/asking/agent-capabilities.js';
import { SandboxService } from '../../src/tenant/sandbox-service.js';
import { settingsOf } from '../support/plain-kind.js';

it('counts the time for questions about calls, and for a place after them, from when a policy asks them', async () => {
  const settings = settingsOf({
    MCP_BRIDGE_APPROVE: 'all',
    MCP_BRIDGE_APPROVE_WAIT: '90',
    MCP_BRIDGE_MAX_TIMEOUT: '60',
  });
  const host = { platform: 'linux' } as const;
  await using service = new SandboxService({ settings, host, observer: () => {} });
  expect(service.freezeSeconds).toBe(0);
  service.expectQuestions();
  expect(service.freezeSeconds).toBe(150);
  service.waitForServers(() => 30);
  expect(service.freezeSeconds).toBe(180);
});

it.each([
  ['neither', { form: false, url: false }, 'ask', 0],
  ['pages only', { form: false, url: true }, 'ask', 90 + 60],
  [
    'forms, which servers that code wants are asked about as well',
    { form: true, url: false },
    'ask',
    120 + 90 + 60,
  ],
  ['forms, where nobody is asked about servers', { form: true, url: true }, 'never', 90 + 60],
])(
  'counts the time for what servers ask from when an agent comes that has: %s',
  async (_what, elicits, autoload, seconds) => {
    const settings = settingsOf({
      MCP_BRIDGE_AUTOLOAD: autoload,
      MCP_BRIDGE_APPROVE_WAIT: '90',
      MCP_BRIDGE_MAX_TIMEOUT: '60',
    });
    const host = { platform: 'linux' } as const;
    await using service = new SandboxService({ settings, host, observer: () => {} });
    service.expect({ ...NO_AGENT, elicits: () => elicits });
    expect(service.freezeSeconds).toBe(seconds);
    service.expectQuestions();
    expect(service.freezeSeconds).toBe(seconds === 0 ? 90 + 60 : seconds + 90);
  },
);
