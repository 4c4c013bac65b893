// Roo Code, which grew out of Cline.

import type { Host } from '../terms/host.js';
import { CLINE } from './cline.js';
import { ofExtension } from './vscode.js';

export const rooCode: Host = {
  title: 'Roo Code',
  dialect: CLINE,
  expansion: 'editor',
  sources: [
    { scope: 'project', files: { any: ['./.roo/mcp.json'] } },
    { scope: 'user', files: ofExtension('rooveterinaryinc.roo-cline/settings/mcp_settings.json') },
  ],
};
