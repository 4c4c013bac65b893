// What doctor makes of patterns that mean something here, and of those that do not.

import { expect, test } from 'vitest';
import type { Examination } from '../../src/cli/examination.js';
import { examinePolicy } from '../../src/cli/policy-finding.js';
import type { DownstreamSpec } from '../../src/config/downstream-spec.js';
import { hostFacts } from '../../src/config/host-facts.js';
import { PolicyBook } from '../../src/run/policy-book.js';

const spec = (name: string) =>
  ({
    name,
    toolFilter: { only: undefined, except: [] },
    source: { host: 'x', file: '/x' },
  }) as unknown as DownstreamSpec;

const examine = (deny: readonly string[], allow?: readonly string[]) => {
  const settings = { policyFile: undefined, allow, deny };
  const subject = {
    settings,
    policyBook: new PolicyBook(settings, hostFacts(), () => {}),
    discovery: { ready: [spec('github'), spec('files')], skipped: [{ name: 'off', reason: 'disabled' }] },
  };
  return examinePolicy(subject as unknown as Examination);
};

test('nothing is said where nothing is set', () => {
  expect(examine([])).toBeUndefined();
});

test('patterns of servers that are known, ready or not', () => {
  expect(examine(['github', 'off'], ['*.read*'])).toEqual({
    status: 'ok',
    detail: '3 patterns, 1 of 2 servers denied',
  });
});

test('a pattern that means no server is a warning that names it', () => {
  expect(examine(['Github.delete_*', 'files'], ['gihub'])).toEqual({
    status: 'warn',
    detail:
      "3 patterns, 2 of 2 servers denied; of no server that is known: MCP_BRIDGE_ALLOW 'gihub', MCP_BRIDGE_DENY 'Github.delete_*'",
    remedy: expect.stringContaining('mcp-sandbox-bridge servers'),
  });
});
