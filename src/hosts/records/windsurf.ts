// Windsurf.

import { ANY_TYPE, PROGRAM, REMOTE } from '../terms/dialect.js';
import { type Host, PROGRAM_FIELDS, plainEntry, REMOTE_FIELDS } from '../terms/host.js';

export const windsurf: Host = {
  title: 'Windsurf',
  dialect: {
    types: ANY_TYPE,
    addresses: { serverUrl: 'auto', url: 'auto' },
    fields: { ...PROGRAM, ...REMOTE, except: 'disabledTools' },
    callTimes: [],
    startTimes: [],
  },
  expansion: 'windsurf',
  sources: [
    {
      scope: 'user',
      // The second one is that of its plugins for other editors.
      files: { any: ['~/.codeium/windsurf/mcp_config.json', '~/.codeium/mcp_config.json'] },
    },
  ],
  install: {
    id: 'windsurf',
    programs: ['windsurf'],
    isDesktop: true,
    entry: plainEntry,
    adopt: {
      fields: [...PROGRAM_FIELDS, ...REMOTE_FIELDS, 'serverUrl', 'type', 'disabled', 'disabledTools'],
      handsOnVariables: true,
    },
  },
};
