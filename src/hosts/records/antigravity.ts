// Antigravity, which follows Windsurf's words.

import type { Host } from '../terms/host.js';
import { windsurf } from './windsurf.js';

const TITLE = 'Antigravity';

export const antigravity: Host = {
  title: TITLE,
  dialect: {
    ...windsurf.dialect,
    refuse: ({ authProviderType: provider }) =>
      typeof provider === 'string' ? { kind: 'host-sign-in', host: TITLE, provider } : undefined,
    // An entry with both a command and an address is taken by its address.
    reshape: (entry) => {
      const { command: _, ...rest } = entry;
      return typeof entry['serverUrl'] === 'string' ? rest : entry;
    },
  },
  expansion: 'none',
  // Antigravity's documents disagree about the place, and each place has been seen.
  sources: [
    {
      scope: 'project',
      files: {
        any: ['.agents', '.agent', '_agents', '_agent'].map((folder) => `./${folder}/mcp_config.json`),
      },
    },
    {
      scope: 'user',
      files: {
        any: [
          '~/.gemini/config/mcp_config.json',
          '~/.gemini/antigravity/mcp_config.json',
          '~/.gemini/antigravity-cli/mcp_config.json',
        ],
      },
    },
  ],
};
