import { expect, it } from 'vitest';
import { softTimeoutOf } from '../../src/hosts/records/all-hosts.js';

it.each([
  ['codex-mcp-client 0.169.0', false, 290],
  ['codex-mcp-client', true, 290],
  ['gemini-cli-mcp-client 1', false, 590],
  ['claude-code 2.1', false, 290],
  ['claude-code 2.1', true, 27 * 3_600 - 10],
  ['opencode 1.18', true, 690],
  ['opencode', false, 50],
  ['an unknown one', false, 50],
  ['an unknown one', true, 50],
  ['codex-mcp-client-of-mine', true, 50],
])('%s, told of progress: %s, is answered after %d s', (client, isTold, seconds) => {
  expect(softTimeoutOf(client, isTold)).toBe(seconds);
});
