// The main job as data: the code an agent would write, the files it reads, and a home folder whose configuration names
// three servers from npm. Shown by scripts/demo, and run on other machines by scripts/test-host.mjs. Starts nothing.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

export const MAIN_JOB = `import asyncio, statistics

print("servers:", ", ".join(runtime.discovered_servers()))
for hit in await runtime.search_tool_docs("sum of two numbers", limit=1):
    print("found:  ", hit["signature"])

# Ten calls to three servers, all in flight at once.
folder = (await mcp_filesystem.list_allowed_directories())["content"].splitlines()[-1]
sums = [mcp_everything.get_sum(a=n, b=n * n) for n in range(1, 7)]
files = [mcp_filesystem.read_text_file(path=f"{folder}/{name}.csv") for name in ("north", "south", "west")]
note = mcp_memory.create_entities(entities=[
    {"name": "harvest", "entityType": "report", "observations": ["three regions read"]},
])
*answers, _ = await asyncio.gather(*sums, *files, note)
graph = await mcp_memory.read_graph()

tonnes = [float(line.split(",")[1]) for text in answers[6:] for line in text["content"].splitlines()[1:]]
print("sums:   ", *[answer.split()[-1].rstrip(".") for answer in answers[:6]])
print("saved:  ", graph.entities[0].name)
{"fields": len(tonnes), "total": sum(tonnes), "median": statistics.median(tonnes)}
`;

/** What the files below come to. */
export const MAIN_JOB_RESULT = { fields: 5, total: 48, median: 9.25 };

const FILES = {
  'north.csv': 'field,tonnes\nmill,12.5\nford,9.25\n',
  'south.csv': 'field,tonnes\nglen,14.75\n',
  'west.csv': 'field,tonnes\nmoor,3.5\nhill,8.0\n',
};

export const SERVERS = ['everything', 'filesystem', 'memory'];
/** The npm package of a server. */
export const packageOf = (server) => `@modelcontextprotocol/server-${server}`;

/** Writes the configuration and the files into the folder `home`; the servers' packages are in `modules`. */
export function furnish(home, modules) {
  const servers = join(home, '.config/mcp/servers');
  const harvest = join(home, 'harvest');
  for (const folder of [servers, harvest]) mkdirSync(folder, { recursive: true });
  for (const [name, text] of Object.entries(FILES)) writeFileSync(join(harvest, name), text);
  const npmServer = (name, ...args) => {
    const folder = join(modules, packageOf(name));
    const { bin } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    return { command: process.execPath, args: [join(folder, Object.values(bin)[0]), ...args] };
  };
  const mcpServers = {
    everything: npmServer('everything'),
    filesystem: npmServer('filesystem', harvest),
    memory: { ...npmServer('memory'), env: { MEMORY_FILE_PATH: join(home, 'memory.jsonl') } },
  };
  writeFileSync(join(servers, 'demo.json'), JSON.stringify({ mcpServers }), { mode: 0o600 });
}

/** Our environment with another home; the engine still finds its images, which lie below the real one. */
export function environmentIn(home) {
  const storage = join(homedir(), '.config/containers/storage.conf');
  const kept = Object.entries(process.env).filter(
    ([name]) => !/^(?:MCP_SERVERS_|XDG_CONFIG_|CLAUDE)/.test(name),
  );
  return {
    ...Object.fromEntries(kept),
    HOME: home,
    XDG_DATA_HOME: process.env.XDG_DATA_HOME ?? join(homedir(), '.local/share'),
    MCP_BRIDGE_STATE_DIR: join(home, 'state'),
    MCP_BRIDGE_LOG_LEVEL: process.env.MCP_BRIDGE_LOG_LEVEL ?? 'warn',
    ...(existsSync(storage) ? { CONTAINERS_STORAGE_CONF: storage } : {}),
  };
}
