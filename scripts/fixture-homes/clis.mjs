// biome-ignore-all lint/suspicious/noTemplateCurlyInString: hosts write variables this way

// The command lines that can write their own configuration here, and what they are told to write: one entry for each way
// in which a server may be said, named after its host. `files` are what they leave, from the place to the file that keeps
// it; `furnish` does by hand what only their screens can do, and `check` has them read the
// result by a command that starts no server: the lists of Claude Code, Gemini CLI and OpenCode start them all.
// Place = { home, project }

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { HOSTS } from '../agents/hosts.mjs';
import { json, put } from './files.mjs';
import { marketplace } from './marketplace.mjs';

const PLATFORM = `${process.platform}-${process.arch}`;
/** A file below `folder` as `change` makes it of what it was. */
function edit(folder, name, change) {
  const file = join(folder, name);
  writeFileSync(file, change(readFileSync(file, 'utf8')));
}
const editJson = (folder, name, change) =>
  edit(folder, name, (text) => {
    const value = JSON.parse(text);
    change(value);
    return json(value);
  });
const program = (id) => {
  const { title, package: name, version, programs } = HOSTS[id];
  return { title, package: name, version, programs };
};

const claude = {
  ...program('claude-code'),
  env: { CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', DISABLE_AUTOUPDATER: '1', DISABLE_TELEMETRY: '1' },
};

export const CLIS = {
  'claude-code': {
    ...claude,
    furnishFirst: ({ project }) => mkdirSync(join(project, '.git')),
    commands: [
      'mcp add -s user cc-local -e ROOT=/data -e TOKEN=${FIXTURE_TOKEN} -- npx -y cc-server /data'.split(' '),
      [
        ...'mcp add -s user -t http cc-remote https://cc.example.com/mcp -H'.split(' '),
        'X-Key: ${FIXTURE_TOKEN}',
      ],
      'mcp add -s user -t http cc-oauth https://login.example.com/mcp --client-id cc-id --callback-port 8123'.split(
        ' ',
      ),
      'mcp add -s user -t sse cc-sse https://cc.example.com/sse'.split(' '),
      [
        'mcp',
        'add-json',
        '-s',
        'user',
        'cc-timed',
        json({ command: 'node', args: ['timed.js'], timeout: 5000 }),
      ],
      [
        'mcp',
        'add-json',
        '-s',
        'user',
        'cc-default',
        json({ command: 'node', args: ['${FIXTURE_UNSET:-by-default}'] }),
      ],
      ['mcp', 'add-json', '-s', 'user', 'cc-missing', json({ command: 'node', args: ['${FIXTURE_UNSET}'] })],
      ['mcp', 'add-json', '-s', 'user', 'cc-socket', json({ type: 'ws', url: 'wss://cc.example.com/ws' })],
      [
        ...['mcp', 'add-json', '-s', 'user', 'cc-helper'],
        json({
          type: 'http',
          url: 'https://helper.example.com/mcp',
          headersHelper: 'print-headers --for cc',
        }),
      ],
      'mcp add -s user cc-off -- npx cc-off'.split(' '),
      'mcp add -s user cc-self -- npx -y mcp-sandbox-bridge@latest'.split(' '),
      'mcp add -s user cc-twin -- uvx mcp-server-time'.split(' '),
      'mcp add -s user shared -- npx shared-server --from cc-user'.split(' '),
      'mcp add shared -- npx shared-server --from cc-local'.split(' '),
      'mcp add cc-here -- uvx cc-here'.split(' '),
      'mcp add -s project cc-pending -- npx cc-pending'.split(' '),
      'mcp add -s project cc-approved -- npx cc-approved'.split(' '),
      'mcp add -s project cc-refused -- npx cc-refused'.split(' '),
    ],
    // What its /mcp screen and its question at the start write.
    furnish: ({ home, project }) =>
      editJson(home, '.claude.json', ({ projects }) =>
        Object.assign(projects[project], {
          disabledMcpServers: ['cc-off'],
          enabledMcpjsonServers: ['cc-approved'],
          disabledMcpjsonServers: ['cc-refused'],
        }),
      ),
    files: { '~/.claude.json': 'state.json', './.mcp.json': 'project.json' },
  },

  'claude-code-plugins': {
    ...claude,
    furnishFirst: ({ home, project }) => {
      mkdirSync(join(project, '.git'));
      marketplace(join(home, 'market'));
    },
    commands: [
      ['plugin', 'marketplace', 'add', '{HOME}/market'],
      ['plugin', 'install', 'tools@acme', '--config', 'region=us', '--config', 'key=not-a-key'],
      ['plugin', 'install', 'inline@acme'],
      ['plugin', 'install', 'many@acme'],
      ['plugin', 'install', 'off@acme'],
      ['plugin', 'disable', 'off@acme'],
    ],
    files: {
      '~/.claude/settings.json': 'settings.json',
      '~/.claude/plugins/installed_plugins.json': 'installed_plugins.json',
      '~/.claude/plugins/known_marketplaces.json': 'known_marketplaces.json',
      ...Object.fromEntries(
        ['tools', 'inline', 'many', 'off'].map((name) => [
          `~/market/plugins/${name}/.claude-plugin/plugin.json`,
          `${name}.plugin.json`,
        ]),
      ),
      '~/market/.claude-plugin/marketplace.json': 'marketplace.json',
      '~/market/plugins/tools/.mcp.json': 'tools.mcp.json',
      '~/market/plugins/many/.mcp.json': 'many.mcp.json',
      '~/market/plugins/many/more.json': 'many.more.json',
      '~/market/plugins/off/.mcp.json': 'off.mcp.json',
    },
  },

  codex: {
    ...program('codex'),
    furnishFirst: ({ home }) => mkdirSync(join(home, '.codex')),
    commands: [
      'mcp add codex-local --env ROOT=/data -- npx -y codex-server /data'.split(' '),
      'mcp add codex-remote --url https://codex.example.com/mcp --bearer-token-env-var FIXTURE_TOKEN'.split(
        ' ',
      ),
      'mcp add codex-missing --url https://missing.example.com/mcp --bearer-token-env-var FIXTURE_UNSET'.split(
        ' ',
      ),
      'mcp add codex-literal -- node ${FIXTURE_TOKEN}'.split(' '),
      'mcp add codex-self -- node /opt/mcp-sandbox-bridge/dist/cli/main.js'.split(' '),
      'mcp add codex-twin -- uvx mcp-server-time'.split(' '),
      'mcp add shared -- npx shared-server --from codex'.split(' '),
    ],
    // Its command line has no options for these.
    furnish: ({ home }) => edit(home, '.codex/config.toml', (text) => text + CODEX_BY_HAND),
    check: ['mcp', 'list', '--json'],
    files: { '~/.codex/config.toml': 'config.toml' },
  },

  gemini: {
    ...program('gemini'),
    env: {
      GEMINI_CLI_NO_RELAUNCH: 'true',
      GEMINI_CLI_TRUST_WORKSPACE: 'true',
      GEMINI_TELEMETRY_ENABLED: 'false',
    },
    commands: [
      [
        ...'mcp add -e ROOT=/data -e TOKEN=$FIXTURE_TOKEN --timeout 5000'.split(' '),
        ...['--description', 'Files of Gemini', '--include-tools', 'read', '--include-tools', 'list'],
        ...['--exclude-tools', 'list', '--scope', 'user', 'gemini-local', 'npx', 'gemini-server', '/data'],
      ],
      [
        ...'mcp add -s user -t http gemini-remote https://gemini.example.com/mcp -H'.split(' '),
        'Authorization: Bearer ${FIXTURE_TOKEN}',
      ],
      'mcp add -s user -t sse gemini-sse https://gemini.example.com/sse'.split(' '),
      'mcp add -s user gemini-unset node $FIXTURE_UNSET'.split(' '),
      'mcp add -s user gemini-off node gemini-off.js'.split(' '),
      'mcp add -s user gemini-excluded node gemini-excluded.js'.split(' '),
      'mcp add -s user gemini-self bunx mcp-sandbox-bridge'.split(' '),
      'mcp add -s user gemini-twin uvx mcp-server-time'.split(' '),
      'mcp add -s user shared npx shared-server -- --from gemini'.split(' '),
      'mcp add -s project gemini-project npx gemini-project'.split(' '),
    ],
    // Its own `mcp disable` does not find a server of the user without a screen; this is what it writes with one.
    furnish: ({ home }) => {
      put(home, '.gemini/mcp-server-enablement.json', { 'gemini-off': { enabled: false } });
      editJson(home, '.gemini/settings.json', (settings) => {
        settings.mcp = { excluded: ['gemini-excluded'] };
        settings.mcpServers['gemini-http-url'] = { httpUrl: 'https://gemini.example.com/http', trust: true };
        settings.mcpServers['gemini-url'] = { url: 'https://gemini.example.com/plain' };
      });
    },
    files: {
      '~/.gemini/settings.json': 'settings.json',
      '~/.gemini/mcp-server-enablement.json': 'mcp-server-enablement.json',
      './.gemini/settings.json': 'project.json',
    },
  },

  opencode: {
    ...program('opencode'),
    env: { OPENCODE_DISABLE_AUTOUPDATE: '1', OPENCODE_DISABLE_MODELS_FETCH: '1' },
    furnishFirst: ({ home, project }) => {
      mkdirSync(join(project, '.git'));
      writeFileSync(join(home, 'opencode-token'), 'from-a-file\n');
    },
    commands: [
      'mcp add opencode-local --env ROOT=/data --env TOKEN={env:FIXTURE_TOKEN} -- npx -y opencode-server /data'.split(
        ' ',
      ),
      [
        ...'mcp add opencode-remote --url https://opencode.example.com/mcp --header'.split(' '),
        'Authorization=Bearer {file:~/opencode-token}',
      ],
      'mcp add opencode-unset -- node unset.js {env:FIXTURE_UNSET}'.split(' '),
      'mcp add opencode-self -- docker run -i --rm ghcr.io/acme/mcp-sandbox-bridge:1'.split(' '),
      'mcp add opencode-twin -- uvx mcp-server-time'.split(' '),
      'mcp add shared -- npx shared-server --from opencode'.split(' '),
    ],
    furnish: ({ home, project }) => {
      editJson(home, '.config/opencode/opencode.jsonc', ({ mcp }) => {
        Object.assign(mcp['opencode-local'], { timeout: 7000, cwd: '/data' });
        mcp['opencode-off'] = { type: 'local', command: ['node', 'off.js'], enabled: false };
        mcp['opencode-no-login'] = { type: 'remote', url: 'https://open.example.com/mcp', oauth: false };
      });
      put(project, 'opencode.json', {
        mcp: { 'opencode-project': { type: 'local', command: ['npx', 'opencode-project'] } },
      });
    },
    check: ['debug', 'config'],
    files: {
      '~/.config/opencode/opencode.jsonc': 'opencode.json',
      '~/opencode-token': 'opencode-token',
      './opencode.json': 'project.json',
    },
  },

  'copilot-cli': {
    title: 'Copilot CLI',
    package: '@github/copilot',
    version: '1.0.102',
    programs: [`@github/copilot-${PLATFORM}/copilot`],
    env: { COPILOT_AUTO_UPDATE: 'false' },
    commands: [
      'mcp add copilot-local --env ROOT=/data --tools read,list --timeout 5000 -- npx -y copilot-server /data'.split(
        ' ',
      ),
      [
        ...'mcp add copilot-remote --transport http https://copilot.example.com/mcp --header'.split(' '),
        'X-Key: k',
      ],
      'mcp add copilot-sse --transport sse https://copilot.example.com/sse'.split(' '),
      'mcp add copilot-off -- npx copilot-off'.split(' '),
      'mcp add copilot-self -- mcp-sandbox-bridge serve'.split(' '),
      'mcp add copilot-twin -- uvx mcp-server-time'.split(' '),
      'mcp add shared -- npx shared-server --from copilot'.split(' '),
      'mcp disable copilot-off'.split(' '),
    ],
    // Its command line adds for the user only.
    furnish: ({ project }) =>
      put(project, '.github/mcp.json', {
        mcpServers: {
          'copilot-project': { type: 'local', command: 'npx', args: ['copilot-project'], tools: ['*'] },
        },
      }),
    check: ['mcp', 'list', '--json'],
    files: {
      '~/.copilot/mcp-config.json': 'mcp-config.json',
      '~/.copilot/settings.json': 'settings.json',
      './.github/mcp.json': 'project.json',
    },
  },

  'cline-cli': {
    title: 'Cline',
    package: 'cline',
    version: '3.0.65',
    programs: ['cline/bin/cline'],
    commands: [
      'mcp install --yes cline-cli-local -- npx -y cline-cli-server /data'.split(' '),
      [
        ...'mcp install --yes --transport http --header'.split(' '),
        ...['X-Key: k', 'cline-cli-remote', 'https://cline-cli.example.com/mcp'],
      ],
      'mcp install --yes --transport sse cline-cli-sse https://cline-cli.example.com/sse'.split(' '),
      'mcp install --yes cline-cli-self -- npx mcp-sandbox-bridge'.split(' '),
      'mcp install --yes cline-cli-twin -- uvx mcp-server-time'.split(' '),
      'mcp install --yes shared -- npx shared-server --from cline-cli'.split(' '),
    ],
    files: { '~/.cline/data/settings/cline_mcp_settings.json': 'cline_mcp_settings.json' },
  },
};

const CODEX_BY_HAND = `
[mcp_servers.codex-tuned]
command = "node"
args = ["tuned.js"]
cwd = "/data"
env_vars = ["FIXTURE_TOKEN"]
startup_timeout_sec = 12.5
tool_timeout_sec = 90
enabled_tools = ["read", "list"]
disabled_tools = ["list"]

[mcp_servers.codex-headers]
url = "https://headers.example.com/mcp"
http_headers = { "X-Fixed" = "fixed" }
env_http_headers = { "X-Token" = "FIXTURE_TOKEN" }

[mcp_servers.codex-off]
command = "node"
args = ["off.js"]
enabled = false
`;
