// Kilo Code, which grew out of Cline and, as it is now, has OpenCode's words.

import type { Host } from '../terms/host.js';
import { CLINE } from './cline.js';
import { OPENCODE } from './opencode.js';
import { ofExtension } from './vscode.js';

const now = { pointer: ['mcp'], movedTo: 'servers', dialect: OPENCODE, expansion: 'opencode' } as const;
const FILES = ['kilo.jsonc', 'kilo.json'];

export const kiloCode: Host = {
  title: 'Kilo Code',
  dialect: CLINE,
  expansion: 'editor',
  sources: [
    {
      ...now,
      scope: 'project',
      files: { any: ['./.kilo/', './'].flatMap((folder) => FILES.map((name) => folder + name)) },
    },
    { scope: 'project', files: { any: ['./.kilocode/mcp.json'] } },
    {
      ...now,
      scope: 'user',
      files: { any: FILES.map((name) => `\${XDG_CONFIG_HOME:-~/.config}/kilo/${name}`) },
    },
    { scope: 'user', files: ofExtension('kilocode.kilo-code/settings/mcp_settings.json') },
    { scope: 'user', files: { any: ['~/.kilocode/cli/global/settings/mcp_settings.json'] } },
  ],
};
