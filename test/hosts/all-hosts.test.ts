// biome-ignore-all lint/suspicious/noTemplateCurlyInString: hosts write variables this way

// All hosts on one machine, on each system: what is ready, what is passed over and why, who comes first, and what one
// bad file costs. The files are those of test/fixtures/homes, each host's own.

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Discovery } from '../../src/hosts/discovery/discover.js';
import { explainSkip } from '../../src/hosts/discovery/explain-skip.js';
import {
  type Expected,
  FIXTURES,
  type Fixture,
  fixture,
  inWords,
  isFor,
  PLATFORMS,
  type Platform,
  PlayedMachine,
  wholeOf,
} from './played-machine.js';

const isSkipped = (one: Expected): one is Expected & { skipped: string } => 'skipped' in one;
const reasonsOf = ({ skipped }: Discovery, name: string) =>
  skipped.filter((one) => one.name === name).map((one) => explainSkip(one).text);
const commandOf = ({ ready }: Discovery, name: string) => {
  const spec = ready.find((one) => one.name === name);
  return spec?.transport === 'stdio' ? [spec.command, ...spec.args].join(' ') : undefined;
};

/** A machine with every host that there is on its system. */
function furnished(platform: Platform): PlayedMachine {
  const machine = new PlayedMachine(platform);
  for (const one of hostsOn(platform)) machine.add(one);
  return machine;
}
const hostsOn = (platform: Platform): readonly Fixture[] => FIXTURES.filter((one) => isFor(one, platform));

describe.each(PLATFORMS)('as they stand on %s', (platform) => {
  const all = hostsOn(platform);
  let machine: PlayedMachine;
  beforeAll(() => {
    machine = furnished(platform);
  });
  afterAll(() => machine[Symbol.dispose]());

  it('each entry of each host is ready or passed over, with the reason', () => {
    const found = machine.discover();
    expect(found.problems).toEqual([]);
    // One server that all of them have under one name, and one that each has under a name of its own.
    const isCommon = ({ name }: Expected) => name === 'shared' || name.endsWith('-twin');
    const expected = all.flatMap((one) => machine.expectedOf(one));
    const own = expected.filter((one) => !isCommon(one));
    const isWanted = (one: Expected) => !isSkipped(one);

    expect(found.ready.map(({ name }) => name).sort()).toEqual(
      [...own.filter(isWanted).map(({ name }) => name), 'cc-twin', 'shared'].sort(),
    );
    for (const one of own.filter(isWanted)) {
      const spec = found.ready.find(({ name }) => name === one.name);
      if (spec === undefined) throw new Error(one.name);
      const { transport } = wholeOf(one) as { transport?: string };
      const either = transport?.includes('|') ? { transport: spec.transport } : {};
      expect(inWords(spec)).toEqual({ ...wholeOf(one), ...either });
    }
    for (const one of own.filter(isSkipped)) {
      const [reason] = reasonsOf(found, one.name);
      expect(`${one.name}: ${reason}`).toMatch(new RegExp(one.skipped.replace(/^\^/, `^${one.name}: `)));
    }
    const others = expected.filter(isCommon).length - 2;
    expect(found.skipped).toHaveLength(own.filter(isSkipped).length + others);
    expect(found.ready.length).toBeGreaterThan(60);
    expect(found.skipped.length).toBeGreaterThan(75);
  });

  it('each remembers its host, its file, and a pointer into it', () => {
    const { ready, skipped } = machine.discover();
    for (const { name, source } of [...ready, ...skipped]) {
      expect(source.pointer, name).toMatch(/^\/|^$/);
      expect(source.file.startsWith(machine.home), `${name}: ${source.file}`).toBe(true);
    }
    const hosts = new Set([...ready, ...skipped].map(({ source }) => source.host));
    expect([...hosts].sort()).toEqual([...new Set(all.map(({ host }) => host))].sort());
  });

  it('of one name the first host counts, and the others name its file', () => {
    const found = machine.discover();
    expect(commandOf(found, 'shared')).toBe('npx shared-server --from cc-local');
    const reasons = reasonsOf(found, 'shared');
    expect(reasons).toHaveLength(
      all.filter(({ expected }) => expected.some((one) => one.name === 'shared')).length,
    );
    expect(new Set(reasons)).toEqual(
      new Set([`has the name of a server in ${machine.path('~/.claude.json')}`]),
    );
  });

  it('the same server under many names is one', () => {
    const found = machine.discover();
    const twins = found.skipped.filter(({ name }) => name.endsWith('-twin'));
    expect(twins.length).toBeGreaterThan(15);
    for (const twin of twins) {
      expect(`${twin.name} ${explainSkip(twin).text}`).toBe(
        `${twin.name} same server as 'cc-twin' in ${machine.path('~/.claude.json')}`,
      );
    }
  });

  it('we ourselves are found in no spelling', () => {
    const found = machine.discover();
    const ourselves = found.skipped.filter((one) => explainSkip(one).text === 'this bridge itself');
    expect(ourselves.length).toBe(
      all
        .flatMap(({ expected }) => expected)
        .filter((one) => 'skipped' in one && one.skipped.includes('itself')).length,
    );
    expect(JSON.stringify(found.ready)).not.toContain('mcp-sandbox-bridge');
  });
});

describe.each(PLATFORMS)('with changes on %s', (platform) => {
  let machine: PlayedMachine;
  let putBack: () => void;
  beforeAll(() => {
    machine = furnished(platform);
  });
  beforeEach(() => {
    putBack = machine.checkpoint();
  });
  afterEach(() => putBack());
  afterAll(() => machine[Symbol.dispose]());

  it('an explicit file comes before every host', () => {
    const file = machine.write('~/mine.json', { mcpServers: { shared: { command: 'mine' } } });
    machine.settings = { ...machine.settings, serversConfig: [file] };
    const found = machine.discover();
    expect(commandOf(found, 'shared')).toBe('mine');
    expect(new Set(reasonsOf(found, 'shared'))).toEqual(new Set([`has the name of a server in ${file}`]));
  });

  it('with our own depth, nothing is offered at all', () => {
    machine.settings = { ...machine.settings, depth: 1 };
    expect(machine.discover().ready).toEqual([]);
  });

  it('a project’s files are listed and not started, unless projects are trusted', () => {
    const isOfProject = ({ source }: Discovery['ready'][number]) => source.scope === 'project';
    const found = machine.discover();
    expect(found.ready.filter(isOfProject).map(({ name }) => name)).toEqual(['cc-approved']);
    const pending = found.skipped.filter((one) => /^not approved: it comes with/.test(explainSkip(one).text));
    expect(pending.length).toBeGreaterThanOrEqual(13);

    machine.settings = { ...machine.settings, trustProject: true };
    const trusted = machine.discover();
    for (const { name } of pending) expect(trusted.ready.map((spec) => spec.name)).toContain(name);
    expect(reasonsOf(trusted, 'cc-refused')).toEqual(['not approved: refused in Claude Code']);
  });

  it.each([
    ['JSON', '~/.cursor/mcp.json', /^cursor-(?!project)/],
    ['TOML', '~/.codex/config.toml', /^codex-/],
    ['YAML', '~/.continue/config.yaml', /^continue-(?!block|copied)/],
    ['JSON with comments', '~/.config/opencode/opencode.jsonc', /^opencode-(?!project)/],
  ])('a malformed file of %s costs only itself, and is shown with its place', (_format, at, names) => {
    const before = machine.discover();
    const file = machine.write(at, '{"mcpServers": [1, 2}\n = : oops {{');
    const { ready, skipped, problems } = machine.discover();
    expect(problems.map((problem) => problem.file)).toEqual([file]);
    expect(problems[0]?.message).toMatch(/:\d+:\d+: /);
    expect([...ready, ...skipped].filter(({ name }) => names.test(name))).toEqual([]);
    const kept = (found: Discovery) =>
      found.ready.map(({ name }) => name).filter((name) => !names.test(name));
    expect(kept({ ...before, ready })).toEqual(kept(before));
  });

  it('a changed and a removed entry count with the next look', () => {
    expect(commandOf(machine.discover(), 'lmstudio-local')).toBe('npx -y lmstudio-server');
    machine.write('~/.lmstudio/mcp.json', { mcpServers: { 'lmstudio-local': { command: 'changed' } } });
    const changed = machine.discover();
    expect(commandOf(changed, 'lmstudio-local')).toBe('changed');
    expect(changed.ready.map(({ name }) => name)).not.toContain('lmstudio-remote');
    machine.remove('~/.lmstudio/mcp.json');
    const removed = machine.discover();
    expect(removed.ready.map(({ name }) => name)).not.toContain('lmstudio-local');
    expect(removed.problems).toEqual([]);
  });

  it('no secret of an entry is among what is said of those passed over', () => {
    machine.write('~/.cursor/mcp.json', {
      mcpServers: {
        a: { command: 'x', env: { KEY: 's3cret-value', OTHER: '${env:FIXTURE_UNSET}' } },
        b: { url: 'https://x.example/?key=s3cret-value', headers: { 'bad header': 's3cret-value' } },
        c: { url: 's3cret-value' },
        d: { command: 'x', args: ['s3cret-value', {}] },
      },
    });
    const { skipped, problems } = machine.discover();
    for (const name of ['a', 'b', 'c', 'd']) expect(skipped.map((one) => one.name)).toContain(name);
    const said = skipped.map(({ name, reason, source }) => ({ name, reason, source }));
    expect(JSON.stringify({ said, problems, events: machine.events })).not.toContain('s3cret');
  });

  // Windows has neither owners nor modes that Node could see.
  it
    .runIf(platform !== 'win32')
    .each(['~/.cursor/mcp.json', '~/.codex/config.toml', '~/.continue/config.yaml'])(
    '%s is refused while others may write it, with the command that mends it',
    (at) => {
      const file = machine.write(at, '', 0o664);
      const { problems, ready } = machine.discover();
      expect(problems.map((problem) => problem.file)).toEqual([file]);
      expect(problems[0]?.message).toContain(`run: chmod go-w '${file}'`);
      expect(ready.filter(({ source }) => source.file === file)).toEqual([]);
    },
  );

  describe('Claude Code of an administrator', () => {
    const FOLDERS = {
      linux: '/etc/claude-code',
      darwin: '/Library/Application Support/ClaudeCode',
      win32: 'C:\\Program Files\\ClaudeCode',
    };
    const at = (name: string) => machine.rules.join(FOLDERS[platform], name);

    it('managed-mcp.json excludes what Claude Code has elsewhere, and no other host', () => {
      const file = machine.write(at('managed-mcp.json'), { mcpServers: { corp: { command: 'corp' } } });
      const found = machine.discover();
      expect(
        found.ready.filter(({ source }) => source.host === 'Claude Code').map(({ name }) => name),
      ).toEqual(['corp']);
      expect(reasonsOf(found, 'cc-local')).toEqual([`Claude Code takes its servers from ${file} only`]);
      expect(reasonsOf(found, 'plugin:tools:db')).toEqual([
        `Claude Code takes its servers from ${file} only`,
      ]);
      expect(commandOf(found, 'cursor-local')).toContain('cursor-server');
    });

    it('managedMcpServers are remote, by https, without variables', () => {
      machine.write(at('managed-settings.json'), {
        managedMcpServers: {
          wiki: { type: 'http', url: 'https://wiki.example.com/mcp', headers: { 'X-Team': 'a' } },
          events: { type: 'sse', url: 'https://wiki.example.com/sse' },
          plain: { type: 'http', url: 'http://wiki.example.com/mcp' },
          variable: { type: 'http', url: 'https://${FIXTURE_TOKEN}.example.com/mcp' },
          program: { command: 'program' },
        },
      });
      machine.write(at('managed-settings.d/10-more.json'), {
        managedMcpServers: { more: { type: 'http', url: 'https://more.example.com/mcp' } },
      });
      const found = machine.discover();
      const managed = found.ready.filter(({ source }) => source.scope === 'managed');
      expect(managed.map(({ name, transport }) => `${name} ${transport}`)).toEqual([
        'wiki http',
        'events sse',
        'more http',
      ]);
      expect(reasonsOf(found, 'plain')).toEqual([
        'has no https address; managedMcpServers allows only https',
      ]);
      expect(reasonsOf(found, 'variable')).toEqual([
        'names a variable, but managedMcpServers replaces no variables',
      ]);
      expect(reasonsOf(found, 'program')).toEqual([
        'has no https address; managedMcpServers allows only https',
      ]);
    });

    it('both together: each of them counts', () => {
      machine.write(at('managed-mcp.json'), { mcpServers: { corp: { command: 'corp' } } });
      machine.write(at('managed-settings.json'), {
        managedMcpServers: { wiki: { type: 'http', url: 'https://wiki.example.com/mcp' } },
      });
      const { ready } = machine.discover();
      expect(ready.filter(({ source }) => source.host === 'Claude Code').map(({ name }) => name)).toEqual([
        'corp',
        'wiki',
      ]);
    });
  });
});

describe('ourselves', () => {
  let machine: PlayedMachine;
  beforeEach(() => {
    machine = new PlayedMachine('linux');
  });
  afterEach(() => machine[Symbol.dispose]());

  it.each([
    ['mcp-sandbox-bridge', []],
    ['/usr/local/bin/mcp-sandbox-bridge', ['serve']],
    ['npx', ['mcp-sandbox-bridge']],
    ['npx', ['-y', 'mcp-sandbox-bridge@1.2.3']],
    ['npx', ['--yes', '--package=mcp-sandbox-bridge', 'mcp-sandbox-bridge']],
    ['bunx', ['mcp-sandbox-bridge@latest']],
    ['pnpm', ['dlx', 'mcp-sandbox-bridge']],
    ['node', ['/opt/mcp-sandbox-bridge/dist/cli/main.js']],
    ['node', ['${HOME_OF}/mcp-sandbox-bridge/dist/cli/main.js', 'serve']],
    ['docker', ['run', '-i', '--rm', '-e', 'A=b', 'ghcr.io/acme/mcp-sandbox-bridge:1.0']],
    ['podman', ['run', '-i', 'mcp-sandbox-bridge']],
    ['cmd', ['/c', 'npx', '-y', 'mcp-sandbox-bridge']],
    ['sh', ['-c', 'exec npx -y mcp-sandbox-bridge@latest']],
    ['env', ['A=b', 'npx', 'mcp-sandbox-bridge']],
  ])('knows the bridge itself in %s %j', (command, args) => {
    machine.env = { HOME_OF: '/opt' };
    machine.write('~/.claude.json', { mcpServers: { sandbox: { command, args } } });
    machine.write('~/.config/opencode/opencode.json', {
      mcp: {
        own: { type: 'local', command: [command, ...args].map((one) => one.replace('${HOME_OF}', '/opt')) },
      },
    });
    const found = machine.discover();
    expect(found.ready).toEqual([]);
    expect([...reasonsOf(found, 'sandbox'), ...reasonsOf(found, 'own')]).toEqual([
      'this bridge itself',
      'this bridge itself',
    ]);
  });
});

describe('plugins of Claude Code', () => {
  let machine: PlayedMachine;
  beforeEach(() => {
    machine = new PlayedMachine('linux');
    machine.add(fixture('claude-code-plugins'));
  });
  afterEach(() => machine[Symbol.dispose]());

  const SETTINGS = '~/.claude/settings.json';
  const enabling = (enabledPlugins: object) => ({ enabledPlugins });
  const names = (found: Discovery) => found.ready.map(({ name }) => name);

  it('count only when the user’s own settings switch them on', () => {
    machine.write(SETTINGS, enabling({ 'inline@acme': false }));
    machine.write('./.claude/settings.json', enabling({ 'tools@acme': true, 'inline@acme': true }));
    machine.write('./.claude/settings.local.json', enabling({ 'off@acme': true, 'inline@acme': true }));
    const found = machine.discover();
    expect(names(found)).toEqual([]);
    expect(reasonsOf(found, 'plugin:inline:web')).toEqual([
      `disabled in Claude Code: ${machine.path(SETTINGS)} does not enable inline@acme`,
    ]);
  });

  it('come after the user’s own: of the same server, the plugin’s is passed over', () => {
    machine.write('~/.claude.json', { mcpServers: { mine: { url: 'https://plugin.example.com/mcp' } } });
    const found = machine.discover();
    expect(names(found)).toContain('mine');
    expect(reasonsOf(found, 'plugin:inline:web')).toEqual([
      `same server as 'mine' in ${machine.path('~/.claude.json')}`,
    ]);
  });

  it('one of another project is none of this one', () => {
    const installPath = machine.path('~/elsewhere');
    machine.write('~/elsewhere/.mcp.json', { mcpServers: { own: { command: 'own' } } });
    const list = (projectPath: string) =>
      machine.write('~/.claude/plugins/installed_plugins.json', {
        version: 2,
        plugins: { 'own@git': [{ scope: 'project', projectPath, installPath }] },
      });
    machine.write(SETTINGS, enabling({ 'own@git': true }));
    list(machine.path('~/other'));
    expect(names(machine.discover())).toEqual([]);
    list(machine.cwd);
    expect(names(machine.discover())).toEqual(['plugin:own:own']);
  });

  it('one that was installed for this project may be switched on by the project', () => {
    const installPath = machine.path('~/elsewhere');
    machine.write('~/elsewhere/.mcp.json', { mcpServers: { own: { command: 'own' } } });
    machine.write('~/.claude/plugins/installed_plugins.json', {
      version: 2,
      plugins: { 'own@git': [{ scope: 'local', projectPath: machine.cwd, installPath }] },
    });
    machine.write('./.claude/settings.json', enabling({ 'own@git': true }));
    expect(names(machine.discover())).toEqual(['plugin:own:own']);
    const local = machine.write('./.claude/settings.local.json', enabling({ 'own@git': false }));
    expect(reasonsOf(machine.discover(), 'plugin:own:own')).toEqual([
      `disabled in Claude Code: ${local} does not enable own@git`,
    ]);
  });

  it('are switched off by a project that disables those of the user', () => {
    const file = machine.write('./.claude/settings.json', enabling({ 'inline@acme': false }));
    const found = machine.discover();
    expect(reasonsOf(found, 'plugin:inline:web')).toEqual([
      `disabled in Claude Code: ${file} does not enable inline@acme`,
    ]);
    expect(names(found)).toContain('plugin:tools:db');
  });

  it('one from elsewhere than a folder lies where it was installed', () => {
    const installPath = machine.path('~/.claude/plugins/cache/git/own/1.0.0');
    machine.write('~/.claude/plugins/cache/git/own/1.0.0/.mcp.json', {
      own: { command: '${CLAUDE_PLUGIN_ROOT}/run', headers: 3 },
    });
    machine.write('~/.claude/plugins/installed_plugins.json', {
      version: 1,
      plugins: { 'own@git': { installPath } },
    });
    machine.write(SETTINGS, enabling({ 'own@git': true }));
    expect(commandOf(machine.discover(), 'plugin:own:own')).toBe(`${installPath}/run`);
  });

  it('what the user has switched off for the project stays off', () => {
    mkdirSync(join(machine.cwd, '.git'));
    machine.write('~/.claude.json', {
      projects: { [machine.cwd]: { disabledMcpServers: ['plugin:tools:db'] } },
    });
    expect(reasonsOf(machine.discover(), 'plugin:tools:db')).toEqual([
      'disabled in Claude Code for this project',
    ]);
  });

  it('a file of servers outside of the plugin is not read', () => {
    machine.write('~/outside.json', { mcpServers: { outside: { command: 'outside' } } });
    machine.write('~/market/plugins/many/.claude-plugin/plugin.json', {
      name: 'many',
      mcpServers: ['../../../outside.json', machine.path('~/outside.json'), './server.mcpb'],
    });
    const found = machine.discover();
    expect(names(found).filter((name) => name.startsWith('plugin:many:'))).toEqual(['plugin:many:first']);
    expect(reasonsOf(found, 'plugin:many:./server.mcpb')[0]).toContain('bundle');
  });

  it('an entry that is nested without end costs itself', () => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    machine.write('~/market/plugins/tools/.mcp.json', `{"db": {"command": "db", "env": ${deep}}}`);
    const found = machine.discover();
    expect(names(found)).toContain('plugin:inline:web');
    expect(reasonsOf(found, 'plugin:tools:db')).toEqual(["field 'env': expected record, received array"]);
  });

  it('a file of a plugin that others may write is refused', () => {
    const file = machine.write('~/market/plugins/tools/.mcp.json', '{}', 0o666);
    const found = machine.discover();
    expect(found.problems.map((problem) => problem.file)).toEqual([file]);
    expect(names(found)).toContain('plugin:inline:web');
    expect(names(found)).not.toContain('plugin:tools:db');
  });

  it('are looked for where CLAUDE_CONFIG_DIR says', () => {
    const other = machine.path('~/other');
    machine.env = { CLAUDE_CONFIG_DIR: other };
    expect(names(machine.discover())).toEqual([]);
    const installPath = machine.path('~/own');
    machine.write('~/own/.mcp.json', { own: { command: 'own', args: ['${CLAUDE_PLUGIN_DATA}'] } });
    machine.write('~/other/plugins/installed_plugins.json', {
      version: 2,
      plugins: { 'own@m.x': [{ installPath }] },
    });
    machine.write('~/other/settings.json', enabling({ 'own@m.x': true }));
    expect(commandOf(machine.discover(), 'plugin:own:own')).toBe(`own ${other}/plugins/data/own-m-x`);
  });
});
