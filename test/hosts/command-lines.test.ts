// Hosts on the command line: their files, their words, and what their users have decided in them.

// biome-ignore-all lint/suspicious/noTemplateCurlyInString: hosts write variables this way

import { chmodSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Home, only, reasonsIn, remote, stdio } from './home.js';

let home: Home;
beforeEach(() => {
  home = new Home();
});
afterEach(() => {
  home[Symbol.dispose]();
});

const names = () => home.discover().ready.map((spec) => spec.name);

it('an integer of TOML that JavaScript has no number for costs its own entry at most', () => {
  const huge = '9223372036854775807';
  home.write(
    '.codex/config.toml',
    `[mcp_servers]
a = { command = "a", tool_timeout_sec = ${huge} }
b = { command = "b", args = [${huge}], env = { N = ${huge} } }
c = { command = "c", type = ${huge} }
d = { command = "d", args = [2024-01-01] }
e = { command = "e" }
`,
  );
  const found = home.discover();
  expect(found.ready).toMatchObject([
    { name: 'a', callTimeoutMs: 2 ** 31 - 1 },
    { name: 'b', args: [huge], env: { N: huge } },
    { name: 'e' },
  ]);
  expect(reasonsIn(found)).toEqual({
    c: `field 'type' is ${huge}; allowed: stdio, streamable_http`,
    d: "field 'args.0': expected a string, number or boolean",
  });
});

describe('Codex', () => {
  const write = (toml: string) => home.write('.codex/config.toml', toml);

  it('a program, with all that its table may say', () => {
    home.env = { TOKEN: 'from-outside', OTHER: 'o', FAR: 'away' };
    const file = write(`
      model = "gpt"
      [mcp_servers.docs]
      command = "npx"
      args = ["-y", "docs-server"]
      cwd = "/srv"
      env_vars = ["TOKEN", { name = "OTHER", source = "local" }, { name = "FAR", source = "remote" }, "UNSET"]
      startup_timeout_sec = 1.5
      tool_timeout_sec = 20
      required = true
      enabled_tools = ["a", "b"]
      disabled_tools = ["b"]
      [mcp_servers.docs.env]
      LITERAL = "\${TOKEN}"
      [mcp_servers.docs.tools.a]
      approval_mode = "approve"
    `);
    expect(only(home.discover())).toEqual({
      name: 'docs',
      transport: 'stdio',
      command: 'npx',
      args: ['-y', 'docs-server'],
      env: { TOKEN: 'from-outside', OTHER: 'o', LITERAL: '${TOKEN}' },
      cwd: '/srv',
      description: '',
      callTimeoutMs: 20_000,
      startTimeoutMs: 1_500,
      toolFilter: { only: ['a', 'b'], except: ['b'] },
      source: { host: 'Codex', scope: 'user', file, pointer: '/mcp_servers/docs' },
    });
  });

  it('reads a remote server, with its token and headers from the environment', () => {
    home.env = { DOCS_TOKEN: 'secret-1', REGION: 'eu\n' };
    write(`
      [mcp_servers.docs]
      url = "https://docs.example/mcp"
      bearer_token_env_var = "DOCS_TOKEN"
      http_headers = { "X-Static" = "1" }
      env_http_headers = { "X-Region" = "REGION" }
      http_headers_helper = "print-headers"
      startup_timeout_ms = 700
      scopes = ["read"]
    `);
    expect(only(home.discover())).toMatchObject({
      transport: 'http',
      url: 'https://docs.example/mcp',
      headers: { 'X-Static': '1', 'X-Region': 'eu', Authorization: 'Bearer secret-1' },
      headersHelper: 'print-headers',
      startTimeoutMs: 700,
      oauth: { scopes: ['read'], clientId: undefined },
    });
  });

  it('a token that is not set, a switched off one, and a wrong field', () => {
    write(`
      [mcp_servers.token]
      url = "https://a.example/mcp"
      bearer_token_env_var = "ABSENT"
      [mcp_servers.off]
      command = "x"
      enabled = false
      [mcp_servers.wrong]
      command = "x"
      env_vars = "TOKEN"
      [mcp_servers.slow]
      command = "x"
      tool_timeout_sec = inf
    `);
    expect(reasonsIn(home.discover())).toEqual({
      token: 'needs environment variable ABSENT',
      off: 'disabled in its file',
      wrong: "field 'env_vars': expected array, received string",
      slow: expect.stringContaining("field 'tool_timeout_sec': expected a positive number"),
    });
  });

  it('CODEX_HOME moves its file', () => {
    home.write('elsewhere/config.toml', '[mcp_servers.a]\ncommand = "a"');
    home.env = { CODEX_HOME: join(home.path, 'elsewhere') };
    expect(names()).toEqual(['a']);
  });

  describe('of a project', () => {
    beforeEach(() => {
      home.write('project/.codex/config.toml', '[mcp_servers.a]\ncommand = "a"');
    });

    it('needs the trust of the user', () => {
      expect(reasonsIn(home.discover())).toEqual({
        a: 'not approved: it comes with the project; approve it in Codex, or set MCP_BRIDGE_TRUST_PROJECT=1',
      });
    });

    it('starts when the project is trusted', () => {
      write(`[projects."${home.cwd}"]\ntrust_level = "trusted"`);
      expect(names()).toEqual(['a']);
    });

    it('starts below the root of a trusted checkout', () => {
      mkdirSync(join(home.cwd, '.git'));
      mkdirSync(join(home.cwd, 'deep'));
      write(`[projects."${home.cwd}"]\ntrust_level = "trusted"`);
      const found = home.discover({ cwd: join(home.cwd, 'deep') });
      expect(found.ready.map((spec) => spec.name)).toEqual(['a']);
    });

    it('does not start when the user said no, whatever the setting says', () => {
      home.settings = { ...home.settings, trustProject: true };
      write(`[projects."${home.cwd}"]\ntrust_level = "untrusted"`);
      expect(reasonsIn(home.discover())).toEqual({ a: 'not approved: refused in Codex' });
    });

    it('is not trusted because it says so itself', () => {
      home.write(
        'project/.codex/config.toml',
        `[mcp_servers.a]\ncommand = "a"\n[projects."${home.cwd}"]\ntrust_level = "trusted"`,
      );
      expect(names()).toEqual([]);
    });
  });
});

describe('Gemini CLI', () => {
  const write = (content: object, file = '.gemini/settings.json') => home.write(file, content);

  it('reads programs, and the three ways to an address', () => {
    write({
      mcpServers: {
        local: {
          command: 'srv',
          args: ['x'],
          cwd: '/w',
          timeout: 30_000,
          trust: true,
          includeTools: ['a', 'shell(ls)'],
          excludeTools: ['b'],
        },
        sse: { url: 'https://s.example/sse' },
        typed: { url: 'https://t.example/mcp', type: 'http' },
        http: { httpUrl: 'https://h.example/mcp', url: 'https://ignored.example', headers: { A: 'b' } },
        google: { httpUrl: 'https://g.example/mcp', authProviderType: 'google_credentials' },
      },
    });
    const found = home.discover();
    expect(found.ready.map((spec) => [spec.name, spec.transport])).toEqual([
      ['local', 'stdio'],
      ['sse', 'sse'],
      ['typed', 'http'],
      ['http', 'http'],
    ]);
    expect(found.ready[0]).toMatchObject({
      cwd: '/w',
      callTimeoutMs: 30_000,
      toolFilter: { only: ['a', 'shell'], except: ['b'] },
    });
    expect(remote(found.ready[3]).url).toBe('https://h.example/mcp');
    expect(reasonsIn(found)).toEqual({
      google: "needs the sign-in of Gemini CLI (authProviderType 'google_credentials')",
    });
  });

  it('variables that are not set are empty', () => {
    home.env = { HOST: 'h.example', A: '$HOST' };
    write({
      mcpServers: {
        a: {
          command: 'x',
          args: ['$A', '${ABSENT}', '${ABSENT:-d}', '%HOST%', '5$'],
          env: { T: 'Bearer $NO' },
        },
        b: { httpUrl: 'https://$HOST/mcp' },
      },
    });
    const [a, b] = home.discover().ready;
    expect(stdio(a).args).toEqual(['$HOST', '', 'd', '%HOST%', '5$']);
    expect(stdio(a).env).toEqual({ T: 'Bearer ' });
    expect(remote(b).url).toBe('https://h.example/mcp');
  });

  it('the administrator comes first, and may allow and exclude', () => {
    write({ mcpServers: { a: { command: 'user' }, b: { command: 'b' }, c: { command: 'c' } } });
    home.write('etc/gemini-cli-settings.json', {
      mcpServers: { a: { command: 'administrator' } },
      mcp: { allowed: ['A', 'b'], excluded: ' B ' },
    });
    const found = home.discover();
    expect(found.ready.map((spec) => stdio(spec).command)).toEqual(['administrator']);
    expect(reasonsIn(found)).toMatchObject({
      b: 'disabled in Gemini CLI: mcp.excluded names it',
      c: 'disabled in Gemini CLI: mcp.allowed does not name it',
    });
  });

  it('what was switched off with its own command', () => {
    write({ mcpServers: { Docs: { command: 'a' }, b: { command: 'b' } } });
    home.write('.gemini/mcp-server-enablement.json', { docs: { enabled: 'false' }, b: { enabled: 'true' } });
    expect(names()).toEqual(['b']);
    expect(reasonsIn(home.discover())).toEqual({ Docs: 'disabled in Gemini CLI' });
  });

  it('nothing is on when nobody can tell what was switched off', () => {
    write({ mcpServers: { a: { command: 'a' } } });
    const file = home.write('.gemini/mcp-server-enablement.json', '{');
    const found = home.discover();
    expect(reasonsIn(found)).toEqual({ a: `may be disabled in Gemini CLI: ${file} cannot be read` });
    expect(found.problems.map((problem) => problem.file)).toEqual([file]);
  });

  describe('and folders', () => {
    const trust = (rules: object) => home.write('.gemini/trustedFolders.json', rules);
    beforeEach(() => {
      write({ mcpServers: { user: { command: 'u' } } });
      write({ mcpServers: { project: { command: 'p' } } }, 'project/.gemini/settings.json');
    });

    it('of which nobody was asked', () => {
      expect(names()).toEqual(['user']);
      expect(reasonsIn(home.discover())['project']).toMatch(/^not approved: .* approve it in Gemini CLI, or/);
    });

    it.each([
      ['the folder', (cwd: string) => ({ [cwd]: 'TRUST_FOLDER' })],
      ['its parent', (cwd: string) => ({ [dirname(cwd)]: 'TRUST_FOLDER' })],
      ['a sibling’s parent', (cwd: string) => ({ [`${cwd}-2`]: 'TRUST_PARENT' })],
    ])('that are trusted by %s', (_what, rules) => {
      trust(rules(home.cwd));
      expect(names()).toEqual(['project', 'user']);
    });

    it('that are not trusted have none at all', () => {
      trust({ [home.path]: 'TRUST_FOLDER', [home.cwd]: 'DO_NOT_TRUST' });
      const off = 'disabled: Gemini CLI does not trust this folder';
      expect(reasonsIn(home.discover())).toEqual({ project: off, user: off });
    });

    it('are as good as others where trust is switched off', () => {
      write({
        mcpServers: { user: { command: 'u' } },
        security: { folderTrust: { enabled: false } },
      });
      trust({ [home.cwd]: 'DO_NOT_TRUST' });
      expect(names()).toEqual(['user']);
    });

    it('whose name only begins alike are others', () => {
      trust({ [home.cwd.slice(0, -1)]: 'TRUST_FOLDER' });
      expect(names()).toEqual(['user']);
    });

    it('cannot switch off the user’s own servers', () => {
      write(
        { mcp: { excluded: ['user'], allowed: ['project'] }, mcpServers: {} },
        'project/.gemini/settings.json',
      );
      expect(names()).toEqual(['user']);
    });
  });
});

describe('Copilot CLI', () => {
  it('reads its types, its tools and its variables', () => {
    home.env = { TOKEN: 't' };
    home.write('.copilot/mcp-config.json', {
      mcpServers: {
        local: { type: 'local', command: 'srv', args: [], env: { T: '${TOKEN}' }, tools: ['*'] },
        some: { type: 'http', url: 'https://x.example/mcp', headers: { A: '${TOKEN}' }, tools: ['a'] },
        none: { type: 'sse', url: 'https://y.example/sse', tools: [] },
      },
    });
    expect(home.discover().ready).toMatchObject([
      { transport: 'stdio', env: { T: 't' }, toolFilter: { only: undefined } },
      { transport: 'http', headers: { A: 't' }, toolFilter: { only: ['a'] } },
      { transport: 'sse', toolFilter: { only: [] } },
    ]);
  });

  it('COPILOT_HOME moves its file', () => {
    home.write('c/mcp-config.json', { mcpServers: { a: { command: 'a' } } });
    home.env = { COPILOT_HOME: join(home.path, 'c') };
    expect(names()).toEqual(['a']);
  });
});

describe('OpenCode', () => {
  const user = '.config/opencode/opencode.json';

  it('commands in one list, `environment`, times', () => {
    home.env = { KEY: 'k' };
    home.write('.config/opencode/opencode.jsonc', {
      $schema: 'https://opencode.ai/config.json',
      mcp: {
        local: {
          type: 'local',
          command: ['npx', '-y', 'srv', '{env:KEY}'],
          environment: { KEY: '{env:KEY}', NOT: '${KEY}' },
          enabled: true,
          timeout: 8_000,
        },
        remote: { type: 'remote', url: 'https://x.example/mcp', oauth: false },
        client: { type: 'remote', url: 'https://y.example/mcp', oauth: { clientId: 'c', scope: 'a b' } },
        off: { type: 'local', command: ['x'], enabled: false },
        odd: { type: 'local', command: [] },
        both: { type: 'local', command: ['y'], timeout: { startup: 1_000, request: 2_000 } },
      },
    });
    const found = home.discover();
    expect(found.ready).toMatchObject([
      {
        command: 'npx',
        args: ['-y', 'srv', 'k'],
        env: { KEY: 'k', NOT: '${KEY}' },
        startTimeoutMs: 8_000,
        callTimeoutMs: undefined,
      },
      { transport: 'auto', oauth: false },
      { oauth: { clientId: 'c', scopes: ['a', 'b'] } },
      { command: 'y', startTimeoutMs: 1_000, callTimeoutMs: 2_000 },
    ]);
    expect(reasonsIn(found)).toEqual({
      off: 'disabled in its file',
      odd: "field 'command': expected string, received undefined",
    });
  });

  it('reads the form of V2: below `servers`, off by `disabled`, a time for all of them', () => {
    home.write(user, {
      mcp: {
        timeout: { startup: 3_000, catalog: 4_000, execution: 5_000 },
        servers: {
          local: { type: 'local', command: ['npx', '-y', 'srv'], environment: { A: 'b' }, codemode: false },
          own: { type: 'local', command: ['own'], timeout: { execution: 7_000 } },
          remote: {
            type: 'remote',
            url: 'https://x.example/mcp',
            oauth: { client_id: 'c', callback_port: 7_777 },
          },
          off: { type: 'local', command: ['x'], disabled: true },
        },
        before: { type: 'local', command: ['before'] },
      },
    });
    const found = home.discover();
    expect(found.ready).toMatchObject([
      { name: 'local', command: 'npx', env: { A: 'b' }, startTimeoutMs: 3_000, callTimeoutMs: 5_000 },
      { name: 'own', startTimeoutMs: undefined, callTimeoutMs: 7_000 },
      {
        name: 'remote',
        oauth: { clientId: 'c', callbackPort: 7_777 },
        source: { pointer: '/mcp/servers/remote' },
      },
      { name: 'before', source: { pointer: '/mcp/before' } },
    ]);
    expect(reasonsIn(found)).toEqual({ off: 'disabled in its file' });
    expect(found.problems).toEqual([]);
  });

  it('a server of the earlier form may be called `servers` or `timeout`', () => {
    const one = { type: 'local', command: ['x'] };
    home.write(user, { mcp: { servers: one, timeout: { ...one, command: ['y'] } } });
    expect(home.discover().ready.map(({ name }) => name)).toEqual(['servers', 'timeout']);
    home.write(user, { mcp: { servers: {}, timeout: 3_000 } });
    expect(home.discover()).toMatchObject({ ready: [], skipped: [], problems: [] });
  });

  it('a file’s content is put in, without its last newline', () => {
    const keys = home.write('.config/opencode/key.txt', 'secret\n', 0o600);
    home.write(user, {
      mcp: {
        near: { type: 'local', command: ['a', '{file:key.txt}', `{file:${keys}}`] },
        home: { type: 'local', command: ['b', '{file:~/.config/opencode/key.txt}'] },
        absent: { type: 'local', command: ['c', '{file:no.txt}', '{env:NO}'] },
        shared: { type: 'local', command: ['d', '{file:shared.txt}'] },
      },
    });
    const shared = home.write('.config/opencode/shared.txt', 'x');
    chmodSync(shared, 0o666);
    const found = home.discover();
    expect(found.ready.map((spec) => stdio(spec).args)).toEqual([['secret', 'secret'], ['secret']]);
    expect(reasonsIn(found)).toMatchObject({ absent: 'needs file no.txt' });
    expect(reasonsIn(found)['shared']).toContain(`file ${shared} can be written by other users`);
  });

  it('the nearest place counts, and a project asks', () => {
    const entry = (command: string) => ({ mcp: { a: { type: 'local', command: [command] } } });
    home.write(user, entry('user'));
    home.write('project/opencode.json', entry('project'));
    home.write('project/.opencode/opencode.jsonc', entry('hidden'));
    home.write('custom.json', entry('custom'));
    const first = () => home.discover().ready.map((spec) => stdio(spec).command);
    expect(first()).toEqual(['user']);
    home.env = { OPENCODE_CONFIG: join(home.path, 'custom.json') };
    expect(first()).toEqual(['custom']);
    home.settings = { ...home.settings, trustProject: true };
    expect(first()).toEqual(['hidden']);
    home.write('dir/opencode.json', entry('dir'));
    home.env = { OPENCODE_CONFIG_DIR: join(home.path, 'dir') };
    expect(first()).toEqual(['dir']);
  });

  it('a project’s parents are read up to the root of its checkout, and not above', () => {
    mkdirSync(join(home.cwd, 'deep/er'), { recursive: true });
    home.write('project/opencode.json', { mcp: { inside: { type: 'local', command: ['x'] } } });
    home.write('opencode.json', { mcp: { above: { type: 'local', command: ['y'] } } });
    home.settings = { ...home.settings, trustProject: true };
    const found = () => home.discover({ cwd: join(home.cwd, 'deep/er') }).ready.map((spec) => spec.name);
    expect(found()).toEqual([]);
    mkdirSync(join(home.cwd, '.git'));
    expect(found()).toEqual(['inside']);
  });
});

it.each([
  '.gemini/antigravity/mcp_config.json',
  '.gemini/config/mcp_config.json',
  '.gemini/antigravity-cli/mcp_config.json',
])('Antigravity reads %s', (file) => {
  home.write(file, {
    mcpServers: {
      a: { serverUrl: 'https://x.example/mcp', headers: { A: '${B}' }, disabledTools: ['t'] },
      off: { command: 'x', disabled: true },
    },
  });
  expect(only(home.discover())).toMatchObject({
    transport: 'auto',
    url: 'https://x.example/mcp',
    headers: { A: '${B}' },
    toolFilter: { only: undefined, except: ['t'] },
  });
});

it.each(['.agents', '.agent', '_agents', '_agent'])(
  'Antigravity reads %s of a project, with approval',
  (folder) => {
    home.write(`project/${folder}/mcp_config.json`, { mcpServers: { a: { command: 'a' } } });
    expect(reasonsIn(home.discover())['a']).toMatch(/^not approved/);
  },
);

it('Antigravity takes the address of an entry that has a command as well, and signs in at some servers itself', () => {
  home.write('.gemini/config/mcp_config.json', {
    mcpServers: {
      both: { command: 'a', args: ['x'], serverUrl: 'https://x.example/mcp' },
      signs: { serverUrl: 'https://y.example/mcp', authProviderType: 'google_credentials' },
    },
  });
  const found = home.discover();
  expect(only(found)).toMatchObject({ name: 'both', transport: 'auto', url: 'https://x.example/mcp' });
  expect(reasonsIn(found)['signs']).toContain('google_credentials');
});
