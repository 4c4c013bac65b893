// Claude Desktop. Its record is the last resort: what stands anywhere else under the same name comes before it.

// biome-ignore-all lint/suspicious/noTemplateCurlyInString: file patterns name environment variables this way

import { PROGRAM } from '../terms/dialect.js';
import { type Host, PROGRAM_FIELDS, plainEntry, unseenInWindows } from '../terms/host.js';

const TITLE = 'Claude Desktop';

export const claudeDesktop: Host = {
  title: TITLE,
  /** Programs only; its remote servers are connectors of the account. */
  dialect: {
    types: { stdio: 'stdio' },
    addresses: {},
    fields: PROGRAM,
    callTimes: [],
    startTimes: [],
    refuse: ({ command, url }) =>
      command === undefined && url !== undefined ? { kind: 'account-connector', host: TITLE } : undefined,
  },
  expansion: 'none',
  sources: [
    {
      scope: 'user',
      files: {
        darwin: ['~/Library/Application Support/Claude/claude_desktop_config.json'],
        linux: ['${XDG_CONFIG_HOME:-~/.config}/Claude/claude_desktop_config.json'],
        win32: [
          '${APPDATA:-~/AppData/Roaming}/Claude/claude_desktop_config.json',
          // As installed from a store, when Windows keeps its files apart.
          '${LOCALAPPDATA:-~/AppData/Local}/Packages/Claude_*/LocalCache/Roaming/Claude/claude_desktop_config.json',
        ],
      },
    },
  ],
  // Claude Desktop's model has no tools for files; its user has the links.
  client: { name: 'claude-ai', view: { paths: false, links: true, showsStructured: false } },
  install: {
    id: 'claude-desktop',
    programs: [],
    isDesktop: true,
    entry: plainEntry,
    adopt: {
      fields: [...PROGRAM_FIELDS, 'type'],
      handsOnVariables: false,
      unseen: unseenInWindows(TITLE),
    },
  },
};
