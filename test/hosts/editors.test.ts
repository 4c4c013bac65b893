// Editors, their extensions and desktop programs: their files per operating system, and their words.

// biome-ignore-all lint/suspicious/noTemplateCurlyInString: hosts write variables this way

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

it('Claude Desktop starts programs only, and replaces nothing', () => {
  home.write('.config/Claude/claude_desktop_config.json', {
    globalShortcut: '',
    mcpServers: {
      a: { command: 'srv', args: ['${A}', '$B'], env: { C: '${env:D}' } },
      url: { url: 'https://x.example/mcp' },
      http: { type: 'http', url: 'https://x.example/mcp' },
    },
  });
  const found = home.discover();
  expect(stdio(found.ready[0])).toMatchObject({ args: ['${A}', '$B'], env: { C: '${env:D}' } });
  const elsewhere = 'has no command; Claude Desktop keeps remote servers in the account, not in its file';
  expect(reasonsIn(found)).toEqual({ url: elsewhere, http: elsewhere });
});

describe('Cursor', () => {
  it('fills its variables in every field', () => {
    home.env = { KEY: 'k', PORT: '9' };
    home.write('.cursor/mcp.json', {
      mcpServers: {
        local: {
          command: '${userHome}/bin/srv',
          args: ['${workspaceFolder}', '${workspaceFolderBasename}', 'a${/}b${pathSeparator}c', '${HOME}'],
          env: { K: '${env:KEY}' },
        },
        remote: {
          url: 'http://127.0.0.1:${env:PORT}/mcp',
          headers: { Authorization: 'Bearer ${env:KEY}' },
          auth: { CLIENT_ID: 'id', CLIENT_SECRET: '${env:KEY}', scopes: ['r', 'w'] },
        },
        wanting: { command: 'x', args: ['${env:NO}', '${env:NO}', '${env:NEITHER}'] },
      },
    });
    const found = home.discover();
    expect(stdio(found.ready[0])).toMatchObject({
      command: `${home.path}/bin/srv`,
      args: [home.cwd, 'project', 'a/b/c', '${HOME}'],
      env: { K: 'k' },
    });
    expect(remote(found.ready[1])).toMatchObject({
      transport: 'auto',
      url: 'http://127.0.0.1:9/mcp',
      headers: { Authorization: 'Bearer k' },
      oauth: { clientId: 'id', clientSecret: 'k', scopes: ['r', 'w'] },
    });
    expect(reasonsIn(found)).toEqual({ wanting: 'needs environment variable NO, NEITHER' });
  });

  it('envFile comes before env, and is read with care', () => {
    home.write('keys.env', '# keys\nexport A="from file"\nB=2\n', 0o600);
    home.write('open.env', 'A=1', 0o600);
    const envFile = '${userHome}/keys.env';
    home.write('.cursor/mcp.json', {
      mcpServers: {
        a: { command: 'a', envFile, env: { B: 'own', C: null } },
        absent: { command: 'b', envFile: '~/no.env' },
        folder: { command: 'c', envFile: '~' },
        unset: { command: 'd', envFile: '${env:NO}/x.env' },
      },
    });
    const found = home.discover();
    expect(stdio(only(found)).env).toEqual({ A: 'from file', B: 'own' });
    expect(reasonsIn(found)).toEqual({
      absent: `envFile ${home.path}/no.env does not exist`,
      folder: `envFile ${home.path} is a folder; a file is expected`,
      unset: 'needs environment variable NO',
    });
  });

  it('a project’s file is not started, and nothing that it names is read', () => {
    home.write('project/.cursor/mcp.json', {
      mcpServers: { a: { command: 'a', envFile: '/proc/self/environ' }, b: { url: 'https://x.example' } },
    });
    const reason = 'not approved: it comes with the project; set MCP_BRIDGE_TRUST_PROJECT=1';
    expect(reasonsIn(home.discover())).toEqual({ a: reason, b: reason });
    home.settings = { ...home.settings, trustProject: true };
    expect(names()).toEqual(['a', 'b']);
  });
});

describe('VS Code', () => {
  const user = '.config/Code/User/mcp.json';

  it('its words; what asks the user is passed over', () => {
    home.write(
      user,
      `{ // the user's
        "inputs": [{ "type": "promptString", "id": "key", "password": true }],
        "servers": {
          "local": { "type": "stdio", "command": "srv", "cwd": "\${userHome}/w", "sandboxEnabled": true,
            "sandbox": { "network": {} }, "dev": { "watch": "src" }, "env": { "A": null, "B": 1 } },
          "http": { "type": "http", "url": "https://x.example/mcp" },
          "sse": { "type": "sse", "url": "https://y.example/sse" },
          "asks": { "type": "http", "url": "https://z.example", "headers": { "K": "\${input:key}" } },
          "both": { "command": "x", "args": ["\${input:key}", "\${env:NO}", "\${command:pick}"] },
          "socket": { "type": "http", "url": "unix:///run/x.sock" },
          "pipe": { "type": "http", "url": "pipe:///x" },
        },
      }`,
    );
    const found = home.discover();
    expect(found.ready).toMatchObject([
      { name: 'local', cwd: `${home.path}/w`, env: { B: '1' } },
      { name: 'http', transport: 'auto' },
      { name: 'sse', transport: 'sse' },
    ]);
    expect(reasonsIn(found)).toEqual({
      asks: 'needs input key',
      both: 'needs input key; environment variable NO; command pick',
      socket: "field 'url': begins with unix://; allowed: http:// and https://",
      pipe: "field 'url': begins with pipe://; allowed: http:// and https://",
    });
  });

  it.each([
    user,
    '.config/Code - Insiders/User/mcp.json',
    '.config/Code/User/profiles/1a2b/mcp.json',
    '.config/Code - Insiders/User/profiles/x/mcp.json',
    '.vscode-server/data/User/mcp.json',
  ])('%s', (file) => {
    home.write(file, { servers: { a: { command: 'a' } } });
    expect(only(home.discover()).source).toMatchObject({ host: 'VS Code', pointer: '/servers/a' });
  });

  it('reads the older place in its settings', () => {
    home.write('.config/Code/User/settings.json', { mcp: { servers: { a: { command: 'a' } } } });
    home.write('project/.vscode/settings.json', { mcp: { servers: { p: { command: 'p' } } } });
    const found = home.discover();
    expect(only(found).source.pointer).toBe('/mcp/servers/a');
    expect(reasonsIn(found)['p']).toMatch(/^not approved/);
  });

  it('settings without servers are no problem', () => {
    home.write('.config/Code/User/settings.json', { 'editor.fontSize': 12 });
    expect(home.discover()).toMatchObject({ ready: [], skipped: [], problems: [] });
  });

  it('relative paths of a workspace begin at its folder', () => {
    home.settings = { ...home.settings, trustProject: true };
    home.write('project/keys.env', 'A=1', 0o600);
    home.write('project/.vscode/mcp.json', {
      servers: { a: { command: 'a', cwd: 'sub', envFile: 'keys.env' } },
    });
    expect(only(home.discover())).toMatchObject({ cwd: `${home.cwd}/sub`, env: { A: '1' } });
  });
});

it('Windsurf: serverUrl, its variables, tools that are off', () => {
  home.env = { KEY: 'k' };
  home.write('.codeium/windsurf/mcp_config.json', {
    mcpServers: {
      a: { serverUrl: 'https://x.example/mcp?k=${env:KEY}', headers: { K: '${env:KEY} ${userHome}' } },
      b: { url: 'https://y.example/sse', disabledTools: ['t'] },
      c: { command: 'c', disabled: true },
    },
  });
  expect(home.discover().ready).toMatchObject([
    { url: 'https://x.example/mcp?k=k', headers: { K: 'k ${userHome}' } },
    { transport: 'auto', toolFilter: { except: ['t'] } },
  ]);
});

it('Windsurf: the file of its plugins for other editors, and a token that is in a file', () => {
  home.write('token', 'secret\n', 0o600);
  home.write('.codeium/mcp_config.json', {
    mcpServers: { a: { serverUrl: 'https://x.example/mcp', headers: { K: '${file:~/token}' } } },
  });
  expect(only(home.discover())).toMatchObject({ headers: { K: 'secret' } });
});

describe('Zed', () => {
  it('has limits in seconds', () => {
    home.write('.config/zed/settings.json', {
      context_servers: {
        a: { command: 'a', timeout: 90 },
        b: { url: 'https://x.example/mcp', timeout: 5, oauth: { client_id: 'c' } },
      },
    });
    expect(home.discover().ready).toMatchObject([
      { callTimeoutMs: 90_000 },
      { callTimeoutMs: 5_000, oauth: { clientId: 'c' } },
    ]);
  });

  it('reads an entry in each of its three forms', () => {
    home.write(
      '.config/zed/settings.json',
      `{ /* settings */ "context_servers": {
          "now": { "command": "a", "args": ["x"], "env": { "A": "1" } },
          "custom": { "source": "custom", "enabled": true, "command": "b", "args": [] },
          "once": { "command": { "path": "c", "args": ["y"], "env": { "B": "2" } }, "settings": {} },
          "remote": { "url": "https://x.example/mcp", "headers": { "A": "b" } },
          "off": { "enabled": false, "command": "d" },
          "extension": { "source": "extension", "settings": {} },
          "postgres": { "settings": { "url": "postgres://…" } },
        } }`,
    );
    const found = home.discover();
    expect(found.ready).toMatchObject([
      { name: 'now', command: 'a', args: ['x'], env: { A: '1' } },
      { name: 'custom', command: 'b' },
      { name: 'once', command: 'c', args: ['y'], env: { B: '2' } },
      { name: 'remote', transport: 'auto', headers: { A: 'b' } },
    ]);
    expect(reasonsIn(found)).toEqual({
      off: 'disabled in its file',
      extension: 'is provided by an extension of Zed',
      postgres: 'is provided by an extension of Zed',
    });
  });
});

describe('extensions that keep a file of their own', () => {
  const storage = '.config/Code/User/globalStorage';

  it.each([
    ['Cline', `${storage}/saoudrizwan.claude-dev/settings/cline_mcp_settings.json`],
    ['Cline', '.cline/data/settings/cline_mcp_settings.json'],
    ['Cline', '.config/Cursor/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json'],
    ['Roo Code', `${storage}/rooveterinaryinc.roo-cline/settings/mcp_settings.json`],
    ['Kilo Code', `${storage}/kilocode.kilo-code/settings/mcp_settings.json`],
    ['Kilo Code', '.kilocode/cli/global/settings/mcp_settings.json'],
  ])('%s: %s', (host, file) => {
    home.write(file, {
      mcpServers: {
        a: { command: 'a', timeout: 90, autoApprove: ['x'], alwaysAllow: ['y'], disabled: false },
        b: { type: 'streamableHttp', url: 'https://x.example/mcp' },
        c: { type: 'streamable-http', url: 'https://y.example/mcp', disabledTools: ['t'] },
        d: { command: 'd', disabled: true },
      },
    });
    const found = home.discover();
    expect(found.ready).toMatchObject([
      { source: { host }, callTimeoutMs: 90_000 },
      { transport: 'http' },
      { transport: 'http', toolFilter: { except: ['t'] } },
    ]);
    expect(reasonsIn(found)).toEqual({ d: 'disabled in its file' });
  });

  it('Cline can be told where its file is', () => {
    const file = home.write('cline.json', { mcpServers: { a: { command: 'a' } } });
    home.env = { CLINE_MCP_SETTINGS_PATH: file };
    expect(only(home.discover()).source).toMatchObject({ host: 'Cline', file });
  });

  it('Roo Code replaces as its editor does', () => {
    home.env = { K: 'k' };
    home.write(`${storage}/rooveterinaryinc.roo-cline/settings/mcp_settings.json`, {
      mcpServers: { a: { command: 'a', args: ['${env:K}', '${workspaceFolder}'] } },
    });
    expect(stdio(only(home.discover())).args).toEqual(['k', home.cwd]);
  });
});

describe('Continue', () => {
  it('a list, in YAML', () => {
    home.write(
      '.continue/config.yaml',
      `name: mine
schema: v1
shared: &keys
  A: "1"
mcpServers:
  - name: local
    command: npx
    args: [-y, srv, 8080]
    env:
      <<: *keys
      B: true
    cwd: /srv
    connectionTimeout: 2500
  - name: remote
    type: streamable-http
    url: https://x.example/mcp
    apiKey: abc
    requestOptions:
      headers: { X-One: 1 }
  - name: secret
    type: sse
    url: https://y.example/sse
    requestOptions: { headers: { Authorization: "Bearer \${{ secrets.KEY }}" } }
  - uses: anthropic/memory-mcp
  - command: nameless
`,
    );
    const found = home.discover();
    expect(found.ready).toMatchObject([
      {
        name: 'local',
        args: ['-y', 'srv', '8080'],
        env: { A: '1', B: 'true' },
        cwd: '/srv',
        startTimeoutMs: 2_500,
        source: { pointer: '/mcpServers/0' },
      },
      { transport: 'http', headers: { 'X-One': '1', Authorization: 'Bearer abc' } },
    ]);
    expect(reasonsIn(found)).toEqual({
      secret: 'needs secret KEY',
      'anthropic/memory-mcp': 'is a block of the Continue hub',
      '': 'its name is empty',
    });
  });

  it('reads blocks of a project, in YAML and JSON', () => {
    home.settings = { ...home.settings, trustProject: true };
    home.write('project/.continue/mcpServers/a.yaml', 'mcpServers:\n  - name: a\n    command: a\n');
    home.write('project/.continue/mcpServers/b.yml', 'mcpServers:\n  - name: b\n    command: b\n');
    home.write('project/.continue/mcpServers/c.json', { mcpServers: { c: { command: 'c' } } });
    home.write('project/.continue/mcpServers/d.json', { command: 'd' });
    expect(names()).toEqual(['a', 'b', 'c', 'd']);
    home.settings = { ...home.settings, trustProject: false };
    expect(names()).toEqual([]);
  });

  it('a list of another shape', () => {
    const file = home.write('.continue/config.yaml', 'mcpServers: 3\n');
    expect(home.discover().problems).toEqual([{ file, message: '/mcpServers must be a list' }]);
  });
});

it('Kiro has the user’s file and a workspace’s', () => {
  home.env = { KEY: 'k' };
  home.write('.kiro/settings/mcp.json', {
    mcpServers: {
      a: { command: 'a', env: { K: '${KEY}' }, disabledTools: ['t'], autoApprove: ['*'], timeout: 60_000 },
      b: { url: 'https://x.example/mcp', oauth: { oauthScopes: ['s'] } },
      off: { command: 'c', disabled: true },
    },
  });
  home.write('project/.kiro/settings/mcp.json', { mcpServers: { p: { command: 'p' } } });
  const found = home.discover();
  expect(found.ready).toMatchObject([
    { env: { K: 'k' }, toolFilter: { except: ['t'] }, callTimeoutMs: 60_000 },
    { transport: 'auto', oauth: { scopes: ['s'] } },
  ]);
  expect(reasonsIn(found)['p']).toMatch(/^not approved/);
});

it.each([
  ['LM Studio', '.lmstudio/mcp.json'],
  ['MCP Inspector', '.mcp-inspector/mcp.json'],
  ['home-manager', '.config/mcp/mcp.json'],
])('%s: %s', (host, file) => {
  home.write(file, {
    mcpServers: {
      a: { command: 'a' },
      b: { url: 'https://x.example/mcp', headers: { A: 'b' } },
      off: { command: 'c', enabled: false },
    },
  });
  expect(home.discover().ready).toMatchObject([
    { name: 'a', source: { host } },
    { name: 'b', headers: { A: 'b' } },
  ]);
});

it('home-manager: variables and files as it writes them for every host', () => {
  home.env = { KEY: 'k', OWN: 'o' };
  home.write('token', 't0ken\n', 0o600);
  home.write('.config/mcp/mcp.json', {
    mcpServers: {
      a: { type: 'stdio', command: 'a', env: { NPM_TOKEN: `{file:${home.path}/token}`, OWN: '${OWN}' } },
      b: { type: 'http', url: 'https://x.example/mcp', headers: { K: '{env:KEY}' } },
      lacking: { type: 'http', url: 'https://y.example/mcp', headers: { K: '{env:NOT_SET}' } },
    },
  });
  const found = home.discover();
  expect(found.ready).toMatchObject([{ env: { NPM_TOKEN: 't0ken', OWN: 'o' } }, { headers: { K: 'k' } }]);
  expect(reasonsIn(found)['lacking']).toContain('NOT_SET');
});

it('MCP Inspector has its own limits, and a catalog in another place', () => {
  const file = home.write('catalog.json', {
    mcpServers: {
      a: {
        type: 'http',
        url: 'https://x.example/mcp',
        connectionTimeout: 4_000,
        requestTimeout: 9_000,
        timeout: 1,
      },
    },
  });
  home.env = { MCP_CATALOG_PATH: file };
  home.write('.mcp-inspector/mcp.json', { mcpServers: { other: { command: 'other' } } });
  expect(only(home.discover())).toMatchObject({
    callTimeoutMs: 9_000,
    startTimeoutMs: 4_000,
    source: { file },
  });
});

it.each([
  '.cursor/mcp.json',
  '.vscode/mcp.json',
  '.vscode/settings.json',
  '.roo/mcp.json',
  '.kilocode/mcp.json',
  '.kiro/settings/mcp.json',
  '.zed/settings.json',
  '.continue/mcpServers/x.yaml',
  '.continue/mcpServers/x.json',
  '.gemini/settings.json',
  '.codex/config.toml',
  '.opencode/opencode.json',
  'opencode.jsonc',
  '.agents/mcp_config.json',
  '.agent/mcp_config.json',
  '_agents/mcp_config.json',
  '_agent/mcp_config.json',
  '.mcp.json',
  'mcp-servers/x.json',
])('a project’s %s starts nothing by itself', (file) => {
  const entry = { command: 'evil' };
  const all = { mcpServers: { a: entry }, servers: { a: entry }, mcp: { servers: { a: entry }, a: entry } };
  home.write(
    `project/${file}`,
    file.endsWith('.toml')
      ? '[mcp_servers.a]\ncommand = "evil"'
      : {
          ...all,
          ...(file.endsWith('.yaml') ? { mcpServers: [{ name: 'a', ...entry }] } : {}),
          context_servers: { a: entry },
        },
  );
  const found = home.discover();
  expect(found.ready).toEqual([]);
  expect(reasonsIn(found)['a']).toMatch(/^not approved: it comes with the project/);
});
