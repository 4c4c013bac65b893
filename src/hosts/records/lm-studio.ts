// LM Studio, which follows Cursor's words.

import { PROGRAM, REMOTE } from '../terms/dialect.js';
import type { Host } from '../terms/host.js';
import { cursor } from './cursor.js';

export const lmStudio: Host = {
  title: 'LM Studio',
  dialect: { ...cursor.dialect, fields: { ...PROGRAM, ...REMOTE } },
  expansion: 'none',
  sources: [{ scope: 'user', files: { any: ['~/.lmstudio/mcp.json', '~/.cache/lm-studio/mcp.json'] } }],
};
