// biome-ignore-all lint/suspicious/noTemplateCurlyInString: Claude Code writes variables this way

// A marketplace of plugins for Claude Code in a folder: servers in a file, in the manifest, and in both, with and without
// the outer key; options with a value, with a default, and one that is secret.

import { put } from './files.mjs';

export function marketplace(folder) {
  const plugins = {
    tools: {
      version: '1.2.0',
      userConfig: {
        region: { type: 'string', title: 'Region', description: 'Where', default: 'eu' },
        size: { type: 'number', title: 'Size', description: 'How much', default: 3 },
        key: { type: 'string', title: 'Key', description: 'Secret', sensitive: true },
      },
    },
    inline: {
      version: '0.1.0',
      mcpServers: { web: { type: 'http', url: 'https://plugin.example.com/mcp' } },
    },
    many: { version: '0.2.0', mcpServers: ['./more.json', { third: { command: 'many-third' } }] },
    off: { version: '0.3.0' },
  };
  put(folder, '.claude-plugin/marketplace.json', {
    name: 'acme',
    owner: { name: 'Acme' },
    plugins: Object.keys(plugins).map((name) => ({ name, source: `./plugins/${name}`, description: name })),
  });
  for (const [name, manifest] of Object.entries(plugins)) {
    put(folder, `plugins/${name}/.claude-plugin/plugin.json`, { name, description: name, ...manifest });
  }
  const db = {
    command: '${CLAUDE_PLUGIN_ROOT}/bin/db',
    args: ['--data', '${CLAUDE_PLUGIN_DATA}', '--project', '${CLAUDE_PROJECT_DIR}'],
    env: { REGION: '${user_config.region}', SIZE: '${user_config.size}' },
  };
  put(folder, 'plugins/tools/.mcp.json', {
    mcpServers: {
      db,
      keyed: { command: 'keyed', env: { KEY: '${user_config.key}' } },
      self: {
        command: 'node',
        args: ['${CLAUDE_PLUGIN_ROOT}/node_modules/mcp-sandbox-bridge/dist/cli/main.js'],
      },
    },
  });
  put(folder, 'plugins/many/.mcp.json', { first: { command: 'many-first' } });
  put(folder, 'plugins/many/more.json', { mcpServers: { second: { command: 'many-second' } } });
  put(folder, 'plugins/off/.mcp.json', { mcpServers: { gone: { command: 'gone' } } });
}
