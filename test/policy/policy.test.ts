// Verdicts as a table: what is set, who asks for what, and by which rule it is decided.

import { chmodSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { BridgeEvent } from '../../src/base/log/events.js';
import { explainSkip } from '../../src/hosts/discovery/explain-skip.js';
import type { DownstreamSpec } from '../../src/hosts/downstream-spec.js';
import {
  allowedPart,
  type PolicyRules,
  policyOf,
  type RequestMethod,
} from '../../src/policy/rules/policy.js';
import { PolicyBook, withoutDenied } from '../../src/policy/rules/policy-book.js';
import { type PolicyFile, readPolicyFile } from '../../src/policy/rules/policy-file.js';
import { hostFacts } from '../../src/settings/files/host-facts.js';

const spec = (
  name: string,
  toolFilter: DownstreamSpec['toolFilter'] = { only: undefined, except: [] },
): DownstreamSpec => ({
  name,
  description: '',
  callTimeoutMs: undefined,
  startTimeoutMs: undefined,
  toolFilter,
  source: { host: 'Gemini CLI', scope: 'user', file: '/h/settings.json', pointer: '' },
  transport: 'stdio',
  command: 'x',
  args: [],
  env: {},
  cwd: undefined,
});
const SPECS = [spec('github'), spec('files'), spec('picky', { only: ['a', 'b'], except: ['b'] })];

const emptyFile: PolicyFile = { version: 1, deny: [], perServer: {}, limits: {}, changedTools: 'flag' };
const withFile = (content: Partial<PolicyFile>): Partial<PolicyRules> => ({
  file: { path: '/p.yaml', content: { ...emptyFile, ...content } },
});
const policy = (rules: Partial<PolicyRules>) =>
  policyOf({ allow: undefined, deny: [], file: undefined, ...rules }, SPECS);
const server = { deny: [], resources: undefined, limits: {} } as const;

describe('verdicts', () => {
  it.each<[string, Partial<PolicyRules>, string, string | undefined, boolean, string]>([
    ['nothing is set', {}, 'github', 'delete', true, 'no rule'],
    ['a denied server', { deny: ['github'] }, 'github', undefined, false, "MCP_BRIDGE_DENY 'github'"],
    ['its tools', { deny: ['github'] }, 'github', 'get', false, "MCP_BRIDGE_DENY 'github'"],
    ['another server', { deny: ['github'] }, 'files', undefined, true, 'no rule'],
    ['denied tools leave the server', { deny: ['github.*'] }, 'github', undefined, true, 'no rule'],
    ['a denied tool', { deny: ['x', '*.del*'] }, 'files', 'del/a', false, "MCP_BRIDGE_DENY '*.del*'"],
    ['a look-alike', { deny: ['*.del*'] }, 'files', 'D\u200bel', false, "MCP_BRIDGE_DENY '*.del*'"],
    [
      'one that a terminal would show as it',
      { deny: ['files.del'] },
      'files',
      'read\rd\u001b[1mel',
      false,
      "MCP_BRIDGE_DENY 'files.del'",
    ],
    ['of a server', { deny: ['files'] }, 'Files', undefined, false, "MCP_BRIDGE_DENY 'files'"],
    [
      'which no rule for the original allows',
      { allow: ['files.read'] },
      'files',
      'Read',
      false,
      'MCP_BRIDGE_ALLOW, which does not name it',
    ],
    [
      'nor one for its server',
      { allow: ['files'] },
      'Files',
      undefined,
      false,
      'MCP_BRIDGE_ALLOW, which does not name it',
    ],
    [
      "and which a host's exception means",
      {},
      'picky',
      'B',
      false,
      "Gemini CLI's own choice of tools in /h/settings.json",
    ],
    [
      'a server that looks like one with rules',
      withFile({ perServer: { github: { ...server, deny: ['push'] } } }),
      'GitHub',
      'Push',
      false,
      "perServer.github.deny 'push' in /p.yaml",
    ],
    [
      'is given nothing by them',
      withFile({ perServer: { github: { ...server, allow: ['get*'] } } }),
      'GitHub',
      'get_x',
      false,
      'perServer.github.allow in /p.yaml, which does not name it',
    ],
    [
      'but by its own',
      withFile({
        perServer: { github: { ...server, allow: ['get*'] }, GitHub: { ...server, allow: ['put*'] } },
      }),
      'GitHub',
      'put_x',
      true,
      "perServer.GitHub.allow 'put*' in /p.yaml",
    ],
    ['an allowed server', { allow: ['git*'] }, 'github', 'x', true, "MCP_BRIDGE_ALLOW 'git*'"],
    [
      'all others',
      { allow: ['github'] },
      'files',
      undefined,
      false,
      'MCP_BRIDGE_ALLOW, which does not name it',
    ],
    [
      'an allowed tool lets its server in',
      { allow: ['files.read*'] },
      'files',
      undefined,
      true,
      "MCP_BRIDGE_ALLOW 'files.read*'",
    ],
    [
      'and no other tool',
      { allow: ['files.read*'] },
      'files',
      'write',
      false,
      'MCP_BRIDGE_ALLOW, which does not name it',
    ],
    [
      'an empty allow list',
      { allow: [] },
      'files',
      undefined,
      false,
      'MCP_BRIDGE_ALLOW, which does not name it',
    ],
    ['deny wins', { allow: ['*'], deny: ['files'] }, 'files', undefined, false, "MCP_BRIDGE_DENY 'files'"],
    [
      'the file denies what the settings allow',
      { allow: ['*'], ...withFile({ deny: ['*.push'] }) },
      'github',
      'push',
      false,
      "deny '*.push' in /p.yaml",
    ],
    [
      'the file allows less than the settings',
      { allow: ['*'], ...withFile({ allow: ['files'] }) },
      'github',
      undefined,
      false,
      'allow in /p.yaml, which does not name it',
    ],
    [
      'one server alone',
      withFile({ perServer: { github: { ...server, deny: ['push'] } } }),
      'github',
      'push',
      false,
      "perServer.github.deny 'push' in /p.yaml",
    ],
    [
      'and not the same tool of another',
      withFile({ perServer: { github: { ...server, deny: ['push'] } } }),
      'files',
      'push',
      true,
      'no rule',
    ],
    [
      'the only tools of one server',
      withFile({ perServer: { github: { ...server, allow: ['get*'] } } }),
      'github',
      'push',
      false,
      'perServer.github.allow in /p.yaml, which does not name it',
    ],
    [
      "a host's list of tools",
      { allow: ['*'] },
      'picky',
      'c',
      false,
      "Gemini CLI's own choice of tools in /h/settings.json",
    ],
    ["a host's exception", {}, 'picky', 'b', false, "Gemini CLI's own choice of tools in /h/settings.json"],
    ['what the host lets through', {}, 'picky', 'a', true, 'no rule'],
    ['a name that is no own property', withFile({}), 'constructor', 'toString', true, 'no rule'],
  ])('%s', (_what, rules, name, tool, allowed, rule) => {
    const judge = policy(rules);
    const verdict = tool === undefined ? judge.server(name) : judge.tool(name, { name: tool, changed: null });
    expect(verdict).toEqual({ allowed, rule });
  });

  it('a tool that has changed is refused where that is asked for, and nowhere else', () => {
    const changed = { name: 'get', changed: 'its description' };
    expect(policy({}).tool('github', changed).allowed).toBe(true);
    const strict = policy(withFile({ changedTools: 'refuse' }));
    expect(strict.tool('github', changed)).toEqual({
      allowed: false,
      rule: 'changedTools in /p.yaml: its description',
    });
    expect(strict.tool('github', { name: 'get', changed: null }).allowed).toBe(true);
  });

  describe('resources and prompts', () => {
    const of = (rules: Partial<PolicyRules>, method: RequestMethod = 'resources/read') =>
      policy(rules).request('github', method);

    it.each<[string, Partial<PolicyRules>, boolean]>([
      ['a pattern for tools', { allow: ['github.get_*'] }, false],
      [
        'a pattern for tools that the method happens to match',
        { allow: ['github.*read', '*.*/read'] },
        false,
      ],
      ['the whole server', { allow: ['github'] }, true],
      ['a server by a star', { allow: ['git*'] }, true],
      ['all of the server', { allow: ['github.*'] }, true],
      ['all of all servers', { allow: ['*.*'] }, true],
      ['resources', { allow: ['github.x', 'github.resources/*'] }, true],
      ['the one method', { allow: ['github.resources/read'] }, true],
      ['another method', { allow: ['github.resources/list'] }, false],
      ['prompts only', { allow: ['github.prompts/*'] }, false],
      ['another server', { allow: ['files.resources/*', 'github.x'] }, false],
      ['an empty list', { allow: [] }, false],
      ['denied tools', { deny: ['github.get_*', '*.*read*'] }, true],
      ['all of it denied', { deny: ['github.*'] }, false],
      ['resources denied', { deny: ['*.resources/*'] }, false],
      ['prompts denied', { deny: ['*.prompts/*'] }, true],
      ['the file names tools only', { allow: ['github'], ...withFile({ allow: ['github.x'] }) }, false],
      [
        'the file for one server: tools',
        withFile({ perServer: { github: { ...server, allow: ['x'] } } }),
        false,
      ],
      ['the same: all', withFile({ perServer: { github: { ...server, allow: ['*'] } } }), true],
      [
        'the same: resources',
        withFile({ perServer: { github: { ...server, allow: ['x', 'resources/*'] } } }),
        true,
      ],
      [
        'the same: tools, and a word for resources',
        withFile({ perServer: { github: { ...server, allow: ['x'], resources: 'allow' } } }),
        true,
      ],
      [
        'denied for one server',
        withFile({ perServer: { github: { ...server, deny: ['resources/*'] } } }),
        false,
      ],
    ])('%s', (_what, rules, allowed) => {
      expect(of(rules).allowed).toBe(allowed);
    });

    it.each<[string, Partial<PolicyRules>, string, boolean]>([
      ['denied in capitals', { deny: ['GITHUB.Resources/*'] }, 'github', false],
      ['denied with an invisible letter', { deny: ['github.\u200bresources/READ '] }, 'github', false],
      ['denied by an invisible letter and a star', { deny: ['github.\u200b*'] }, 'github', false],
      ['denied of a look-alike', { deny: ['github.resources/*'] }, 'GitHub\u200b', false],
      ['a pattern for tools in capitals', { deny: ['GITHUB.*READ'] }, 'github', true],
      ['allowed in capitals', { allow: ['github.x', 'github.Resources/*'] }, 'github', false],
      ['allowed to a look-alike', { allow: ['github.resources/*'] }, 'GitHub', false],
      [
        'denied in the entry of a look-alike',
        withFile({ perServer: { github: { ...server, deny: ['Resources/*'] } } }),
        'GITHUB',
        false,
      ],
      [
        'an allow list of a look-alike',
        withFile({ perServer: { github: { ...server, allow: ['resources/*'] } } }),
        'GITHUB',
        false,
      ],
      [
        'a word for its own resources',
        withFile({ perServer: { github: { ...server, deny: ['*'], resources: 'allow' } } }),
        'github',
        true,
      ],
      [
        'a word for the resources of a look-alike',
        withFile({ perServer: { github: { ...server, deny: ['*'], resources: 'allow' } } }),
        'GITHUB',
        false,
      ],
      [
        'its own word, and a look-alike’s against it',
        withFile({
          perServer: {
            github: { ...server, resources: 'allow' },
            GitHub: { ...server, resources: 'deny' },
          },
        }),
        'github',
        false,
      ],
    ])('look-alikes: %s', (_what, rules, name, allowed) => {
      expect(policy(rules).request(name, 'resources/read').allowed).toBe(allowed);
    });

    it('the rule is named', () => {
      expect(of({ allow: ['github.x'] }).rule).toBe('MCP_BRIDGE_ALLOW, which does not name it');
      expect(of(withFile({ perServer: { github: { ...server, allow: ['x'] } } })).rule).toBe(
        'perServer.github.allow in /p.yaml, which does not name it',
      );
      expect(of({ deny: ['github.prompts/*'] }, 'prompts/get').rule).toBe(
        "MCP_BRIDGE_DENY 'github.prompts/*'",
      );
    });
  });

  it('resources go with the server, or are denied alone', () => {
    const judge = policy(withFile({ perServer: { github: { ...server, resources: 'deny' } } }));
    expect(judge.request('files', 'resources/list')).toEqual({ allowed: true, rule: 'no rule' });
    expect(judge.server('github').allowed).toBe(true);
    expect(judge.request('github', 'resources/list')).toEqual({
      allowed: false,
      rule: 'perServer.github.resources in /p.yaml',
    });
    expect(policy({ deny: ['files'] }).request('files', 'prompts/get').rule).toBe("MCP_BRIDGE_DENY 'files'");
  });

  it('what is shown of a server lacks what is denied', () => {
    const tool = { alias: 'x', description: '', inputSchema: {}, outputSchema: null, observed: null };
    const tools = ['get', 'del'].map((name) => ({ ...tool, name, changed: null }));
    const doc = {
      name: 'github',
      alias: 'github',
      description: '',
      version: null,
      instructions: null,
      tools,
    };
    const shown = allowedPart(doc, policy({ deny: ['*.del'] }));
    expect(shown.tools.map(({ name }) => name)).toEqual(['get']);
  });
});

describe('limits', () => {
  it('without a file there are those of the bridge', () => {
    const { runLimits, serverLimits } = policy({});
    expect([runLimits.callsPerRun, runLimits.callsInFlight.max]).toEqual([undefined, 128]);
    expect(serverLimits('github')).toEqual({
      callsPerRun: undefined,
      callsInFlight: { max: 128, rule: "the bridge's own" },
      secondsPerCall: undefined,
      bytesPerCall: undefined,
    });
  });

  it("a server's own come before those for all", () => {
    const limits = { callsPerRun: 9, callsInFlightPerServer: 8, secondsPerCall: 7, bytesPerCall: 6 };
    const own = { ...server, limits: { callsPerRun: 5, callsInFlight: 4, secondsPerCall: 3 } };
    const judge = policy(withFile({ limits, perServer: { github: own } }));
    expect(judge.runLimits.callsPerRun).toEqual({ max: 9, rule: 'limits.callsPerRun in /p.yaml' });
    expect(judge.serverLimits('github')).toEqual({
      callsPerRun: { max: 5, rule: 'perServer.github.limits.callsPerRun in /p.yaml' },
      callsInFlight: { max: 4, rule: 'perServer.github.limits.callsInFlight in /p.yaml' },
      secondsPerCall: { max: 3, rule: 'perServer.github.limits.secondsPerCall in /p.yaml' },
      bytesPerCall: { max: 6, rule: 'limits.bytesPerCall in /p.yaml' },
    });
    expect(judge.serverLimits('files')).toMatchObject({
      callsPerRun: undefined,
      callsInFlight: { max: 8 },
      secondsPerCall: { max: 7 },
    });
  });
});

it('limits hold for look-alikes, the tightest first, unless they have their own', () => {
  const limited = (callsPerRun: number) => ({ ...server, limits: { callsPerRun } });
  const judge = policy(withFile({ perServer: { github: limited(5), 'GitHub\u200b': limited(3) } }));
  const most = (name: string) => judge.serverLimits(name).callsPerRun?.max;
  expect([most('github'), most('GITHUB'), most('gitlab')]).toEqual([5, 3, undefined]);
  const closed = policy(withFile({ perServer: { github: { ...server, resources: 'deny' } } }));
  expect(closed.request('GitHub', 'resources/list')).toEqual({
    allowed: false,
    rule: 'perServer.github.resources in /p.yaml',
  });
});

describe('a file that changes', () => {
  let folder: string;
  let path: string;
  let events: BridgeEvent[];
  let clock: number;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'policy-'));
    path = join(folder, 'p.yaml');
    events = [];
    clock = 1;
    write('version: 1\ndeny: [files]');
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const write = (text: string) => {
    writeFileSync(path, text, { mode: 0o600 });
    utimesSync(path, clock, clock++);
  };
  const book = () =>
    new PolicyBook({ policyFile: path, allow: undefined, deny: [] }, hostFacts(), (event) => {
      events.push(event);
    });
  const isAllowed = (from: PolicyBook, name: string) => from.policy(SPECS).server(name).allowed;

  it('is read anew, and only then', () => {
    const policies = book();
    const first = policies.policy(SPECS);
    expect(policies.policy(SPECS)).toBe(first);
    expect([isAllowed(policies, 'files'), isAllowed(policies, 'github')]).toEqual([false, true]);
    write('version: 1\ndeny: [github]');
    expect([isAllowed(policies, 'files'), isAllowed(policies, 'github')]).toEqual([true, false]);
    expect(events).toEqual([]);
  });

  it.each<[string, () => void]>([
    ['broken', () => write('version: 1\ndeny: [')],
    ['gone', () => rmSync(path)],
    [
      'a link that leads to itself',
      () => {
        rmSync(path);
        symlinkSync(path, path);
      },
    ],
    ['open to others', () => chmodSync(path, 0o666)],
  ])('%s: the one of before holds, which is said once', (_what, change) => {
    const policies = book();
    change();
    for (let time = 0; time < 3; time++) expect(isAllowed(policies, 'files')).toBe(false);
    expect(events).toEqual([
      {
        type: 'config.problem',
        file: path,
        message: expect.stringContaining('the previous policy stays in force'),
      },
    ]);
    expect(policies.trouble).toMatch(/^MCP_BRIDGE_POLICY: .*the previous policy stays in force\.$/);
    rmSync(path, { force: true });
    write('version: 1');
    expect(isAllowed(policies, 'files')).toBe(true);
    expect(policies.trouble).toBeUndefined();
  });

  it('one that cannot be read stops the start', () => {
    write('deny: []');
    expect(book).toThrow(/'version' is missing/);
    expect(() => readPolicyFile(join(folder, 'none.yaml'), hostFacts())).toThrow(/does not exist/);
  });
});

it('a denied server is passed over, with the rule as the reason', () => {
  const discovery = { ready: SPECS, skipped: [], problems: [], files: [] };
  const left = withoutDenied(discovery, policy({ deny: ['gith*'] }));
  expect(left.ready.map(({ name }) => name)).toEqual(['files', 'picky']);
  expect(left.skipped.map((one) => [one.name, explainSkip(one).text])).toEqual([
    ['github', "denied by MCP_BRIDGE_DENY 'gith*'"],
  ]);
  expect(withoutDenied(discovery, policy({}))).toBe(discovery);
});
