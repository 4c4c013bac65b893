// The eleven real MCP servers from npm that tests and measurements load: how each is started so that it lists its tools
// without a network, a browser or an account, and what they list. Nothing of a server is changed or left out.

import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';

const MODULES = join(dirname(fileURLToPath(import.meta.url)), '../../node_modules');

/** Some servers refuse to start without one; listing never sends it anywhere. */
const NO_TOKEN = 'not-a-token';

/** Server name to npm package, and how it is told what it wants to know. `scratch` is an existing empty folder. */
const SERVERS = {
  everything: { package: '@modelcontextprotocol/server-everything' },
  filesystem: { package: '@modelcontextprotocol/server-filesystem', args: (scratch) => [scratch] },
  memory: {
    package: '@modelcontextprotocol/server-memory',
    env: (scratch) => ({ MEMORY_FILE_PATH: join(scratch, 'memory.json') }),
  },
  'sequential-thinking': { package: '@modelcontextprotocol/server-sequential-thinking' },
  time: { package: 'time-mcp' },
  git: {
    package: '@cyanheads/git-mcp-server',
    env: (scratch) => ({ MCP_TRANSPORT_TYPE: 'stdio', LOGS_DIR: join(scratch, 'logs') }),
  },
  notion: { package: '@notionhq/notion-mcp-server', env: () => ({ NOTION_TOKEN: NO_TOKEN }) },
  github: {
    package: '@modelcontextprotocol/server-github',
    env: () => ({ GITHUB_PERSONAL_ACCESS_TOKEN: NO_TOKEN }),
  },
  playwright: { package: '@playwright/mcp', args: () => ['--headless', '--isolated'] },
  'chrome-devtools': {
    package: 'chrome-devtools-mcp',
    args: () => ['--headless', '--isolated'],
    // It would ask its registry for a newer version of itself.
    env: () => ({ CHROME_DEVTOOLS_MCP_NO_UPDATE_CHECKS: '1', CHROME_DEVTOOLS_MCP_NO_USAGE_STATISTICS: '1' }),
  },
  context7: { package: '@upstash/context7-mcp' },
};

/** `mcpServers` entries of all of them, run by this Node. */
export function realServers(scratch) {
  return Object.fromEntries(
    Object.entries(SERVERS).map(([name, { package: id, args, env }]) => {
      const folder = join(MODULES, id);
      const { bin } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
      return [
        name,
        {
          command: process.execPath,
          args: [join(folder, Object.values(bin)[0]), ...(args?.(scratch) ?? [])],
          env: env?.(scratch) ?? {},
        },
      ];
    }),
  );
}

/** What each lists, by server name: [{ name, description, inputSchema, … }], from pages to their end. */
export async function listRealServers(scratch) {
  const entries = Object.entries(realServers(scratch));
  return Object.fromEntries(
    await Promise.all(
      entries.map(async ([name, entry]) => {
        const transport = new StdioClientTransport({
          ...entry,
          env: { PATH: process.env.PATH, HOME: scratch, ...entry.env },
          cwd: scratch,
          stderr: 'ignore',
        });
        const client = new Client({ name: 'search-quality', version: '1.0.0' });
        try {
          await client.connect(transport);
          const tools = [];
          let cursor;
          do {
            const page = await client.listTools(cursor === undefined ? {} : { cursor });
            tools.push(...page.tools);
            cursor = page.nextCursor;
          } while (cursor !== undefined);
          return [
            name,
            { instructions: client.getInstructions(), version: client.getServerVersion()?.version, tools },
          ];
        } finally {
          await client.close();
        }
      }),
    ),
  );
}
