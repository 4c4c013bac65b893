// Kiro.

import { ANY_TYPE, MS, PROGRAM, REMOTE, timeout } from '../terms/dialect.js';
import type { Host } from '../terms/host.js';

export const kiro: Host = {
  title: 'Kiro',
  dialect: {
    types: ANY_TYPE,
    addresses: { url: 'auto' },
    fields: { ...PROGRAM, ...REMOTE, except: 'disabledTools' },
    callTimes: timeout(MS),
    startTimes: [],
  },
  expansion: 'claude-code',
  sources: [
    { scope: 'project', files: { any: ['./.kiro/settings/mcp.json'] } },
    { scope: 'user', files: { any: ['~/.kiro/settings/mcp.json'] } },
  ],
};
