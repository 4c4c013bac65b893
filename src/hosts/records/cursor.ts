// Cursor.

import { PROGRAM } from '../terms/dialect.js';
import type { Host } from '../terms/host.js';

export const cursor: Host = {
  title: 'Cursor',
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
};
