// Cursor.

import { PROGRAM } from '../terms/dialect.js';
import { type Host, PROGRAM_FIELDS, plainEntry, REMOTE_FIELDS, unseenInWindows } from '../terms/host.js';

const TITLE = 'Cursor';

export const cursor: Host = {
  title: TITLE,
  dialect: {
    types: { stdio: 'stdio', http: 'http', 'streamable-http': 'http', streamableHttp: 'http', sse: 'sse' },
    addresses: { url: 'auto' },
    fields: { ...PROGRAM, envFile: 'envFile', headers: 'headers', oauth: 'auth' },
    callTimes: [],
    startTimes: [],
  },
  expansion: 'editor',
  sources: [
    { scope: 'project', files: { any: ['./.cursor/mcp.json'] } },
    { scope: 'user', files: { any: ['~/.cursor/mcp.json'] } },
  ],
  install: {
    id: 'cursor',
    programs: ['cursor', 'cursor-agent'],
    isDesktop: true,
    entry: plainEntry,
    adopt: {
      fields: [...PROGRAM_FIELDS, ...REMOTE_FIELDS, 'type', 'envFile'],
      handsOnVariables: true,
      unseen: unseenInWindows(TITLE),
    },
  },
};
