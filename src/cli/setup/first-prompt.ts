// The text that the user pastes into a host after `setup`: one program that calls two of the user's own servers. Names only
// tools that read, by their names, and need no arguments. Names of servers and tools are other people's text, so only plain ones
// are taken.

import { textsOf } from '../../base/json/records.js';
import type { DownstreamSpec } from '../../hosts/downstream-spec.js';
import type { KeptCatalog } from '../../servers/catalog/kept-catalog.js';
import type { ServerTool } from '../../servers/server/tool-list.js';

const PLAIN_SERVER = /^[A-Za-z0-9][\w.-]{0,39}$/;
const PLAIN_TOOL = /^[A-Za-z_][\w.-]{0,59}$/;
const WITHOUT_SERVERS = 'Use run_python to compute 2 ** 100.';
const MOST_SERVERS = 2;

/** Servers whose tools are known come first, and of these the ones with a tool that can be called just so. */
export function firstPrompt(ready: readonly DownstreamSpec[], catalog: Pick<KeptCatalog, 'of'>): string {
  const known = ready.flatMap((spec) => {
    const kept = catalog.of(spec);
    if (kept === undefined || !PLAIN_SERVER.test(spec.name)) return [];
    return [{ name: spec.name, tool: kept.tools().find((tool) => isEasy(tool, spec)) }];
  });
  const chosen = [
    ...known.filter(({ tool }) => tool !== undefined),
    ...known.filter(({ tool }) => tool === undefined),
  ].slice(0, MOST_SERVERS);
  const [first] = chosen;
  if (first === undefined) return WITHOUT_SERVERS;
  const names = chosen.map(({ name }) => name).join(' and ');
  const calls = chosen.map(({ name, tool }) =>
    tool === undefined ? `a tool of ${name} that only reads` : `${name}.${tool.name}`,
  );
  const servers = chosen.length === 1 ? `the server ${names}` : `the servers ${names}`;
  return `Use run_python with ${servers}: call ${calls.join(' and ')} in one program, and tell me in three lines what comes back.`;
}

// A list that is kept has no annotations, so that only the names tell.
const READS = /(^|[_.-])(list|get|read|search|find|show|describe|status|count)([_.-]|[A-Z]|$)/;
const WRITES = /add|clear|create|delete|edit|move|remove|reset|send|set|update|write/i;

function isEasy({ name, inputSchema, needsTask }: ServerTool, { toolFilter }: DownstreamSpec): boolean {
  const { only, except } = toolFilter;
  const isAllowed = only?.includes(name) !== false && !except.includes(name);
  const needsNothing = textsOf(inputSchema['required']).length === 0;
  const reads = READS.test(name) && !WRITES.test(name);
  return isAllowed && needsNothing && reads && !needsTask && PLAIN_TOOL.test(name);
}
