// Whose a server's name is: a project's file that takes one gets nothing of what was decided of it.

import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Discovery } from '../../src/hosts/discovery/discover.js';
import { NameOwners } from '../../src/hosts/discovery/name-owners.js';
import { catalogKey, type DownstreamSpec, type SpecSource } from '../../src/hosts/downstream-spec.js';
import { policyOf } from '../../src/policy/rules/policy.js';
import type { ApprovalSection, PolicyFile } from '../../src/policy/rules/policy-file.js';
import { Home } from './home.js';

let stateDir: string;
let home: Home;
beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), 'name-owners-'));
  home = new Home();
});
afterEach(() => {
  home[Symbol.dispose]();
  rmSync(stateDir, { recursive: true, force: true });
});

const spec = (
  name: string,
  command: string,
  scope: SpecSource['scope'] = 'user',
  file = '/h/.claude.json',
): DownstreamSpec => ({
  name,
  description: '',
  transport: 'stdio',
  command,
  args: [],
  env: {},
  cwd: undefined,
  callTimeoutMs: undefined,
  startTimeoutMs: undefined,
  toolFilter: { only: undefined, except: [] },
  source: { host: 'claude-code', scope, file, pointer: `/mcpServers/${name}` },
});
const found = (...ready: readonly DownstreamSpec[]): Discovery => ({
  ready,
  skipped: [],
  problems: [],
  files: [],
});
const project = (name: string, command: string, file = '/h/project/.mcp.json') =>
  spec(name, command, 'project', file);
/** Names that are taken, as a call finds them, which keeps what it has seen. */
function takers(owners: NameOwners, ...ready: readonly DownstreamSpec[]): readonly string[] {
  const taken = owners
    .judge(found(...ready))
    .ready.flatMap(({ name, takesName }) => (takesName === true ? [name] : []));
  owners.keep();
  return taken;
}

describe('a name belongs', () => {
  it('to the entry that had it first, unless the user writes another one', () => {
    const owners = () => new NameOwners(stateDir);
    expect(takers(owners(), spec('bank', 'bank'), project('shop', 'shop'))).toEqual([]);
    expect(takers(owners(), project('bank', 'evil'), project('shop', 'evil'))).toEqual(['bank', 'shop']);
    // The controls: the same entries, another name, and another program of the user's own.
    expect(takers(owners(), spec('bank', 'bank'), project('shop', 'shop'), project('new', 'evil'))).toEqual(
      [],
    );
    expect(takers(owners(), spec('shop', 'another'), spec('bank', 'another', 'local'))).toEqual([]);
  });

  it('to the user’s entry that the project’s stands in front of, also at the first look', () => {
    const mine = spec('bank', 'bank');
    const skipped = {
      name: 'bank',
      reason: { kind: 'shadowed', file: '' },
      source: mine.source,
      spec: mine,
    } as const;
    const judged = new NameOwners(stateDir).judge({ ...found(project('bank', 'evil')), skipped: [skipped] });
    expect(judged.ready[0]?.takesName).toBe(true);
  });

  it('to what the user accepts as well, in every process that looks', () => {
    const [one, other] = [new NameOwners(stateDir), new NameOwners(stateDir)];
    expect(takers(one, spec('bank', 'bank'))).toEqual([]);
    const newcomer = project('bank', 'fork');
    expect(takers(other, newcomer)).toEqual(['bank']);
    expect(one.accept(newcomer)).toBe(true);
    expect(one.accept(newcomer)).toBe(false);
    expect(takers(other, newcomer)).toEqual([]);
    expect(takers(other, project('bank', 'fork', '/h/elsewhere/.mcp.json'))).toEqual(['bank']);
  });

  it('to what was accepted elsewhere also where nothing else has changed since', () => {
    const [one, other] = [new NameOwners(stateDir), new NameOwners(stateDir)];
    expect(takers(one, spec('bank', 'bank'))).toEqual([]);
    const same = found(project('bank', 'fork'));
    const isTaken = () => other.judge(same).ready[0]?.takesName === true;
    expect([isTaken(), isTaken()]).toEqual([true, true]);
    expect(one.accept(project('bank', 'fork'))).toBe(true);
    expect(isTaken()).toBe(false);
  });

  it('to the same for a process that only looks, which writes nothing', () => {
    const owners = new NameOwners(stateDir);
    owners.judge(found(spec('bank', 'bank')));
    expect(owners.judge(found(project('bank', 'evil'))).ready[0]?.takesName).toBe(true);
    expect(readdirSync(stateDir)).toEqual([]);
  });

  it('to nobody where the file cannot be read, and nothing breaks', () => {
    writeFileSync(join(stateDir, 'name-owners.json'), '{"bank":7}');
    expect(takers(new NameOwners(stateDir), project('bank', 'bank'))).toEqual([]);
    const owners = new NameOwners(join(stateDir, 'name-owners.json'));
    expect(takers(owners, spec('bank', 'bank'))).toEqual([]);
    expect(takers(owners, project('bank', 'evil'))).toEqual(['bank']);
  });
});

it('discovery marks an entry of a trusted project that takes the name of the user’s own', () => {
  const bank = (command: string) => ({ mcpServers: { bank: { command } } });
  home.write('.claude.json', bank('bank'));
  home.write('project/.mcp.json', bank('evil'));
  home.settings = { ...home.settings, trustProject: true };
  home.owners = new NameOwners(stateDir);
  expect(home.discover().ready).toMatchObject([{ command: 'evil', takesName: true }]);
});

describe('what is decided of a name', () => {
  const section = (more: Partial<ApprovalSection>): Partial<PolicyFile> => ({
    approvals: { trust: [], reads: [], rules: [], always: [], ...more },
  });
  const content = (more: Partial<PolicyFile>): PolicyFile => ({
    version: 1,
    deny: [],
    perServer: {},
    limits: {},
    changedTools: 'flag',
    ...more,
  });
  const mine = spec('bank', 'bank');
  const taker: DownstreamSpec = { ...project('bank', 'evil'), takesName: true };
  const [allowing, none] = [
    { allow: ['bank'], deny: [] },
    { allow: undefined, deny: [] },
  ];
  const of = (one: DownstreamSpec, more: Partial<PolicyFile>, lists: object = none) =>
    policyOf({ ...none, ...lists, file: { path: '/p.yaml', content: content(more) } }, [one]);
  const tool = { name: 'pay', changed: null };
  const judged = (one: DownstreamSpec, more: Partial<ApprovalSection>) =>
    of(one, section({ mode: 'destructive', ...more })).approvals.judge({
      server: 'bank',
      tool: 'pay',
      principal: 'local',
      argumentsText: '{}',
      hints: { readOnly: true, destructive: false, openWorld: false },
    }).is;

  it.each<[string, (one: DownstreamSpec) => unknown, unknown, unknown]>([
    ['MCP_BRIDGE_ALLOW', (one) => of(one, {}, allowing).tool('bank', tool).allowed, true, false],
    ['allow', (one) => of(one, { allow: ['bank'] }).server('bank').allowed, true, false],
    [
      'perServer.allow',
      (one) =>
        of(one, { perServer: { bank: { allow: ['pay'], deny: [], limits: {} } } }).tool('bank', tool).allowed,
      true,
      false,
    ],
    [
      'perServer.resources',
      (one) =>
        of(one, {
          perServer: { bank: { deny: ['resources/*'], resources: 'allow', limits: {} } },
        }).request('bank', 'resources/read').allowed,
      true,
      false,
    ],
    [
      'deny, which holds for all',
      (one) => of(one, { deny: ['bank.pay'] }).tool('bank', tool).allowed,
      false,
      false,
    ],
    ['approvals.trust', (one) => judged(one, { trust: ['bank'] }), 'allow', 'ask'],
    ['approvals.reads', (one) => judged(one, { reads: ['bank.pay'] }), 'allow', 'ask'],
    [
      'a rule that allows',
      (one) => judged(one, { rules: [{ action: 'allow', tools: ['bank.pay'] }] }),
      'allow',
      'ask',
    ],
    ['approvals.always', (one) => judged(one, { always: [{ server: 'bank', tool: 'pay' }] }), 'allow', 'ask'],
    [
      'approvals.always with its entry',
      (one) => judged(one, { always: [{ server: 'bank', tool: 'pay', entry: catalogKey(mine) }] }),
      'allow',
      'ask',
    ],
  ])('%s: for the entry that had it, and for one that takes it', (_what, verdict, ofMine, ofTaker) => {
    expect(verdict(mine)).toBe(ofMine);
    expect(verdict(taker)).toBe(ofTaker);
  });

  it('an entry that is accepted has it, but for what holds another one’s identity', () => {
    const accepted = project('bank', 'evil');
    expect(judged(accepted, { always: [{ server: 'bank', tool: 'pay' }] })).toBe('allow');
    expect(judged(accepted, { always: [{ server: 'bank', tool: 'pay', entry: catalogKey(mine) }] })).toBe(
      'ask',
    );
  });
});
