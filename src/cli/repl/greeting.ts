// What `repl` says of the servers that its session has.

import { ownCommand } from '../../base/process/own-command.js';
import { nameList } from '../../base/text/name-list.js';
import type { ServerDoc } from '../../wire/frames.js';

/** `configured`: how many servers there are. */
export function loadedLine(
  loaded: readonly Pick<ServerDoc, 'alias' | 'tools'>[],
  configured: number,
): string {
  if (loaded.length > 0) {
    const names = loaded.map(({ alias, tools }) => `mcp_${alias} (${tools.length} tools)`);
    return `Loaded: ${nameList(names)}.`;
  }
  if (configured === 0) return 'No MCP server is configured.';
  return `No server is loaded: name some with --servers, or all ${configured} with --all; \`${ownCommand('servers')}\` lists them.`;
}
