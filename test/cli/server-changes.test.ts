import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { serverFindings } from '../../src/cli/doctor/doctor.js';
import { serverLines } from '../../src/cli/servers/server-list.js';
import { serverTroubles } from '../../src/cli/servers/server-trouble.js';
import { serverChanges } from '../../src/cli/servers/servers-refresh.js';
import { KeptCatalog } from '../../src/servers/catalog/kept-catalog.js';
import { hostile } from '../servers/hostile.js';

let stateDir: string;
beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), 'changes-test-'));
});
afterEach(() => rmSync(stateDir, { recursive: true }));

const learn = (name: string, description: string) => {
  const tools = Array.from({ length: 7 }, (_, n) => ({
    name: `tool_${n}`,
    description,
    inputSchema: {},
    outputSchema: undefined,
    needsTask: false,
  }));
  const spec = { ...hostile(name), name };
  const server = { spec, serverVersion: '1', instructions: undefined, tools: () => tools };
  new KeptCatalog(stateDir, () => {}).learn(server);
  return spec;
};
const discovery = (...ready: ReturnType<typeof learn>[]) => ({ ready, skipped: [], problems: [], files: [] });

it('doctor warns of a server whose tools have changed, with the commands, and of no other', () => {
  const [same, other] = [learn('same', 'One.'), learn('other', 'One.')];
  learn('other', 'Two.\u202e');
  const never = { ...hostile('never'), name: 'never' };
  const changes = serverChanges([same, other, never], { stateDir });
  expect([...changes.keys()]).toEqual(['other']);
  const findings = serverFindings(discovery(same, other, never), new Map(), changes);
  expect(findings.map(({ status }) => status)).toEqual(['ok', 'warn', 'ok']);
  expect(findings[1]).toMatchObject({
    detail: expect.stringMatching(
      /; changed since it was first seen: tool_0 \(description, since \d{4}-\d\d-\d\d\), .*tool_4 .* and 2 more$/,
    ),
    remedy:
      'See what changed with `mcp-sandbox-bridge servers refresh other`, then accept it with `mcp-sandbox-bridge servers refresh other --accept`.',
  });
});

it('a command that is not there is the more pressing trouble', () => {
  learn('x', 'One.');
  const spec = learn('x', 'Two.');
  const gone = { ...spec, command: 'no-such-command-anywhere' };
  const changes = new Map([['x', { changed: 'not as first seen', remedy: 'Accept it.' }]]);
  const troubles = serverTroubles([gone], {}, { stateDir });
  expect(serverFindings(discovery(gone), troubles, changes)[0]?.detail).toContain('was not found');
});

it('a start that failed is kept until one succeeds, and shown by doctor and by servers', () => {
  const spec = { ...hostile('x'), name: 'x' };
  const env = { PATH: process.env['PATH'] };
  const failure = { reason: "Server 'x' ended with exit code 3.", remedy: 'Set its key.' };
  new KeptCatalog(stateDir, () => {}).noteFailure(spec, failure);
  const troubles = serverTroubles([spec], env, { stateDir });
  expect(serverFindings(discovery(spec), troubles, new Map())).toMatchObject([
    {
      status: 'warn',
      detail: expect.stringMatching(
        /^its last start failed \(20\d\d-.*\): Server 'x' ended with exit code 3$/,
      ),
      remedy: 'Set its key. Try it again with `mcp-sandbox-bridge servers refresh x`.',
    },
  ]);
  expect(serverLines(discovery(spec), new Map(), troubles)).toMatchObject([{ name: 'x', state: 'failed' }]);
  learn('x', 'One.');
  expect(serverTroubles([spec], env, { stateDir }).size).toBe(0);
});
