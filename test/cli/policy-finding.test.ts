// What doctor makes of patterns that mean something here, and of those that do not.

import { expect, it } from 'vitest';
import type { Examination } from '../../src/cli/doctor/examination.js';
import { examinePolicy, idlePatterns } from '../../src/cli/doctor/findings.js';
import type { DownstreamSpec } from '../../src/hosts/downstream-spec.js';
import { policyOf } from '../../src/policy/rules/policy.js';
import { PolicyBook } from '../../src/policy/rules/policy-book.js';
import { hostFacts } from '../../src/settings/files/host-facts.js';

const spec = (name: string): DownstreamSpec => ({
  name,
  description: '',
  callTimeoutMs: undefined,
  startTimeoutMs: undefined,
  toolFilter: { only: undefined, except: [] },
  source: { host: 'x', scope: 'user', file: '/x', pointer: '' },
  transport: 'stdio',
  command: name,
  args: [],
  env: {},
  cwd: undefined,
});

const examine = (deny: readonly string[], allow?: readonly string[]) => {
  const settings = { policyFile: undefined, allow, deny, stateDir: '/nonexistent' };
  const subject = {
    settings,
    policyBook: new PolicyBook(settings, hostFacts(), () => {}),
    discovery: {
      ready: [spec('github'), spec('files')],
      skipped: [{ name: 'off', reason: { kind: 'disabled-in-file' } }],
    },
  };
  return examinePolicy(subject as unknown as Examination);
};

it('nothing is said where nothing is set', () => {
  expect(examine([])).toBeUndefined();
});

it('patterns of servers that are known, ready or not', () => {
  expect(examine(['github', 'off'], ['*.read*'])).toEqual({
    status: 'ok',
    detail: '3 patterns, 1 of 2 servers denied',
  });
});

it('a pattern that means no server is a warning that names it', () => {
  expect(examine(['Gitlab.delete_*', 'files'], ['gihub'])).toEqual({
    status: 'warn',
    detail:
      "3 patterns, 2 of 2 servers denied; no known server or tool matches MCP_BRIDGE_ALLOW 'gihub', MCP_BRIDGE_DENY 'Gitlab.delete_*'",
    remedy: expect.stringContaining('mcp-sandbox-bridge servers'),
  });
});

it('of a server whose tools are known, a pattern that means none of them', () => {
  const perServer = (deny: string[]) => ({ deny, resources: 'allow' as const, limits: {} });
  const content = {
    version: 1 as const,
    deny: ['github.delte_*', 'github.delete_*', 'unknown-yet.x', '*.nothing', 'none.x'],
    perServer: { github: perServer(['get', 'gte']), gihub: perServer([]) },
    limits: {},
    changedTools: 'flag' as const,
  };
  const { patterns } = policyOf({ allow: undefined, deny: [], file: { path: '/p', content } }, []);
  const known = new Map([
    ['github', ['get', 'delete_repo']],
    ['unknown-yet', undefined],
  ]);
  expect(idlePatterns(patterns, known).map(({ rule }) => rule)).toEqual([
    "deny 'github.delte_*' in /p",
    "deny 'none.x' in /p",
    "perServer.github.deny 'gte' in /p",
    'perServer.gihub in /p',
  ]);
});
