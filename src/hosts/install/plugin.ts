// Claude Code with our plugin has the bridge without an entry in any file of the user's: registering it there as well would
// start it twice. Claude Code's own commands install a plugin and take it out; nothing here does.

import { readFileSync } from 'node:fs';
import { isRecord, textsOf } from '../../base/json/records.js';
import { parseText } from '../../settings/files/file-formats.js';
import { pluginEntries } from '../discovery/claude-plugins.js';
import { INSTALLED_PLUGINS } from '../records/claude-code.js';
import { isOurselves } from '../self.js';
import type { HostRecord } from '../tables/installable.js';
import { locate } from '../terms/source-files.js';
import type { Machine } from './hosts.js';

/** Takes our plugin out again, as Claude Code's documentation of plugins says. */
export const PLUGIN_UNDO = 'claude plugin uninstall mcp-sandbox-bridge';

/** The server of a plugin that is switched on and starts us, and the file that says so; undefined where there is none. */
export function ownPlugin(
  { id }: HostRecord,
  { env, host }: Machine,
): { readonly name: string; readonly file: string } | undefined {
  if (id !== 'claude-code') return undefined;
  const [list = ''] = locate(INSTALLED_PLUGINS, env, host);
  const entries = pluginEntries(jsonOf(list), { env, host, read: jsonOf });
  return entries.find(({ value, refusal, trouble }) => {
    if (refusal !== undefined || trouble !== undefined || !isRecord(value)) return false;
    return typeof value['command'] === 'string' && isOurselves(value['command'], textsOf(value['args']));
  });
}

/** Undefined where there is no such file, or none that can be read: it then counts for nothing in the host either. */
function jsonOf(file: string): unknown {
  try {
    const parsed = parseText(readFileSync(file, 'utf8'), 'JSON');
    return 'value' in parsed ? parsed.value : undefined;
  } catch {
    return undefined;
  }
}
