// The host programs that are tried: which package, how a session without a person is started, and which settings keep it
// from the network and from the user's own files. `file` is where our `install` registers the bridge, below the home;
// `add` is the host's own command for a further server { name, command, args }, or writes it where there is none; `addRemote`
// the same for a server { name, url, token } over HTTP, without `token` for one that wants OAuth. `login` are the arguments with which
// the host logs its user in to the server of a name, and `asks` what it wants a yes to before it opens a browser. `listed`
// finds our line in what its list says, and in it the state, which should be `isWell`; `isLoggedOut` is what its list says
// before a login.
// `reads` is the host's own tool with which its model reads a resource of ours, with its arguments.
// `prompted` are the arguments for a session that begins with the prompt `review` of the server `desk`, of an apple.
// `adds` are arguments that the host puts into our schema and its model fills in; `showsWholeAnswers` says that nothing of
// our longest answer may be missing.
// Place = { home, project, url }      of one session; `url` is the stand-in's

import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { anthropic } from './anthropic.mjs';
import { gemini } from './gemini.mjs';
import { openaiChat } from './openai-chat.mjs';
import { openaiResponses } from './openai-responses.mjs';

const PROMPT = 'Use the tool.';
const PLATFORM = `${process.platform}-${process.arch}`;
const MACHINE = { x64: 'x86_64', arm64: 'aarch64' }[process.arch];
/** Keys that no service knows. */
const KEY = 'not-a-key';

const argv = ({ command, args }) => [command, ...args];
const bearer = (token) => (token === undefined ? [] : ['--header', `Authorization: Bearer ${token}`]);

export const HOSTS = {
  'claude-code': {
    title: 'Claude Code',
    package: '@anthropic-ai/claude-code',
    version: '2.1.330',
    programs: [`@anthropic-ai/claude-code-${PLATFORM}/claude`],
    dialect: anthropic,
    toolName: 'mcp__sandbox__run_python',
    reads: { name: 'ReadMcpResourceTool', args: (uri) => ({ server: 'sandbox', uri }) },
    showsWholeAnswers: true,
    env: ({ url }) => ({
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_API_KEY: KEY,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_AUTOUPDATER: '1',
      DISABLE_TELEMETRY: '1',
      DISABLE_ERROR_REPORTING: '1',
      // Off by itself for an address that is not the service's own; with it, other servers' tools are only named.
      ENABLE_TOOL_SEARCH: 'true',
    }),
    file: '.claude.json',
    add: ({ name, server }) => ['mcp', 'add', '-s', 'user', name, '--', ...argv(server)],
    addRemote: ({ name, url, token }) => [
      ...['mcp', 'add', '-s', 'user', '--transport', 'http', name, url],
      ...bearer(token),
    ],
    login: (name) => ['mcp', 'login', name],
    isLoggedOut: /sandbox: .*Needs authentication/,
    list: ['mcp', 'list'],
    listed: /^.*sandbox: .*(Connected|Failed.*|Disabled|Disconnected|Pending.*)$/m,
    isWell: 'Connected',
    session: () => [
      ...['-p', PROMPT, '--output-format', 'stream-json', '--verbose'],
      ...['--allowedTools', 'mcp__sandbox__run_python,ReadMcpResourceTool,Read'],
    ],
    prompted: () => ['-p', '/mcp__sandbox__desk.review apple', '--output-format', 'stream-json', '--verbose'],
  },

  codex: {
    title: 'Codex',
    package: '@openai/codex',
    version: '0.169.0',
    // Its script in JavaScript only starts this, and a signal to the one would not end the other.
    programs: [`@openai/codex-${PLATFORM}/vendor/${MACHINE}-unknown-linux-musl/bin/codex`],
    dialect: openaiResponses,
    toolName: 'run_python',
    reads: { name: 'read_mcp_resource', args: (uri) => ({ server: 'sandbox', uri }) },
    showsWholeAnswers: false,
    env: () => ({ STAND_IN_KEY: KEY }),
    furnish: ({ home }) => mkdirSync(join(home, '.codex')),
    file: '.codex/config.toml',
    add: ({ name, server }) => ['mcp', 'add', name, '--', ...argv(server)],
    addRemote: ({ home, name, url, token }) => {
      const headers = token === undefined ? '' : `http_headers = { Authorization = "Bearer ${token}" }`;
      appendFileSync(
        join(home, '.codex/config.toml'),
        `\n[mcp_servers.${name}]\nurl = "${url}"\n${headers}\n`,
      );
    },
    login: (name) => ['mcp', 'login', name],
    isLoggedOut: /^sandbox .*Not logged in/m,
    list: ['mcp', 'list'],
    listed: /^sandbox .* (enabled|disabled)\b.*$/m,
    isWell: 'enabled',
    session: ({ url }) => [
      ...['exec', '--json', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox'],
      ...['-c', 'check_for_update_on_startup=false', '-c', 'analytics.enabled=false'],
      ...['-c', 'model_provider="stand-in"', '-m', 'gpt-5'],
      '-c',
      `model_providers.stand-in={name="stand-in",base_url="${url}/v1",env_key="STAND_IN_KEY",wire_api="responses"}`,
      PROMPT,
    ],
  },

  gemini: {
    title: 'Gemini CLI',
    package: '@google/gemini-cli',
    version: '0.61.0',
    programs: ['@google/gemini-cli/bundle/gemini.js'],
    dialect: gemini,
    toolName: 'mcp_sandbox_run_python',
    reads: { name: 'read_mcp_resource', args: (uri) => ({ uri }) },
    showsWholeAnswers: false,
    adds: { wait_for_previous: true },
    env: ({ url }) => ({
      GEMINI_CLI_NO_RELAUNCH: 'true',
      GOOGLE_GEMINI_BASE_URL: url,
      GEMINI_API_KEY: KEY,
      GEMINI_CLI_TRUST_WORKSPACE: 'true',
      GEMINI_TELEMETRY_ENABLED: 'false',
    }),
    furnish: ({ home }) =>
      writeJson(join(home, '.gemini'), 'settings.json', {
        general: { enableAutoUpdate: false, enableAutoUpdateNotification: false },
        privacy: { usageStatisticsEnabled: false },
        security: { auth: { selectedType: 'gemini-api-key' } },
      }),
    file: '.gemini/settings.json',
    add: ({ name, server }) => ['mcp', 'add', '-s', 'user', name, ...argv(server)],
    addRemote: ({ name, url, token }) => [
      ...['mcp', 'add', '-s', 'user', '--transport', 'http', ...bearer(token), name, url],
    ],
    // Its command for the interactive screen, which it takes as a prompt too.
    login: (name) => ['-p', `/mcp auth ${name}`],
    asks: '[Y/n]',
    isLoggedOut: /sandbox: .*Disconnected/,
    list: ['mcp', 'list'],
    listed: /^.*sandbox: .*(Connected|Failed.*|Disabled|Disconnected|Pending.*)$/m,
    isWell: 'Connected',
    session: () => ['-p', PROMPT, '-o', 'stream-json', '--yolo', '-m', 'gemini-2.5-flash'],
    prompted: () => [
      '-p',
      '/desk.review --fruit="apple"',
      '-o',
      'stream-json',
      '--yolo',
      '-m',
      'gemini-2.5-flash',
    ],
  },

  opencode: {
    title: 'OpenCode',
    package: 'opencode-ai',
    version: '1.18.33',
    // The baseline runs on processors without AVX2 too.
    programs: [`opencode-${PLATFORM}-baseline/bin/opencode`, `opencode-${PLATFORM}/bin/opencode`],
    dialect: openaiChat,
    toolName: 'sandbox_run_python',
    reads: { name: 'read_mcp_resource', args: (uri) => ({ server: 'sandbox', uri }) },
    showsWholeAnswers: false,
    env: () => ({
      OPENCODE_DISABLE_AUTOUPDATE: '1',
      OPENCODE_DISABLE_MODELS_FETCH: '1',
      OPENCODE_DISABLE_DEFAULT_PLUGINS: '1',
      OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
      OPENCODE_DISABLE_SHARE: '1',
    }),
    file: '.config/opencode/opencode.json',
    add: ({ home, name, server }) => {
      const mcp = { [name]: { type: 'local', command: argv(server) } };
      writeJson(join(home, '.config/opencode'), 'opencode.json', { mcp });
    },
    addRemote: ({ home, name, url, token }) => {
      const known = token && { headers: { Authorization: `Bearer ${token}` }, oauth: false };
      const mcp = { [name]: { type: 'remote', url, ...known } };
      writeJson(join(home, '.config/opencode'), 'opencode.json', { mcp });
    },
    furnish: ({ project, url }) => {
      const model = {
        name: 'one',
        tool_call: true,
        attachment: true,
        modalities: { input: ['text', 'image'], output: ['text'] },
        limit: { context: 1_000_000, output: 8_000 },
      };
      const options = { baseURL: `${url}/v1`, apiKey: KEY };
      writeJson(project, 'opencode.json', {
        model: 'stand-in/one',
        small_model: 'stand-in/one',
        provider: {
          'stand-in': { npm: '@ai-sdk/openai-compatible', name: 'Stand-in', options, models: { one: model } },
        },
      });
    },
    login: (name) => ['mcp', 'auth', name],
    isLoggedOut: /sandbox\s+needs authentication/,
    list: ['mcp', 'list'],
    listed: /^.*sandbox\s+(\w+)/m,
    isWell: 'connected',
    session: () => ['run', '--format', 'json', '--auto', PROMPT],
  },
};

function writeJson(folder, name, value) {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, name), JSON.stringify(value));
}
