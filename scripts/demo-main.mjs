// The main job on real input: a real MCP client starts the built bridge, whose configuration names three servers
// from npm, and has Python in a fresh container discover their tools, call several at once and compute something.
// Shows the code, the answer and where the time went. Uses a home folder of its own and leaves nothing behind.

import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import pc from 'picocolors';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));

const CODE = `import asyncio, statistics

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
*answers, saved = await asyncio.gather(*sums, *files, note)

tonnes = [float(line.split(",")[1]) for text in answers[6:] for line in text["content"].splitlines()[1:]]
print("sums:   ", *[answer.split()[-1].rstrip(".") for answer in answers[:6]])
print("saved:  ", saved.entities[0].name)
{"fields": len(tonnes), "total": sum(tonnes), "median": statistics.median(tonnes)}
`;

const FILES = {
  'north.csv': 'field,tonnes\nmill,12.5\nford,9.25\n',
  'south.csv': 'field,tonnes\nglen,14.75\n',
  'west.csv': 'field,tonnes\nmoor,3.5\nhill,8.0\n',
};

function npmServer(name, ...args) {
  const folder = join(ROOT, 'node_modules/@modelcontextprotocol', name);
  const { bin } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  return { command: process.execPath, args: [join(folder, Object.values(bin)[0]), ...args] };
}

/** A home folder with the configuration and the files of the demo. */
function furnish(home) {
  const servers = join(home, '.config/mcp/servers');
  const harvest = join(home, 'harvest');
  for (const folder of [servers, harvest]) mkdirSync(folder, { recursive: true });
  for (const [name, text] of Object.entries(FILES)) writeFileSync(join(harvest, name), text);
  const mcpServers = {
    everything: npmServer('server-everything'),
    filesystem: npmServer('server-filesystem', harvest),
    memory: { ...npmServer('server-memory'), env: { MEMORY_FILE_PATH: join(home, 'memory.jsonl') } },
  };
  writeFileSync(join(servers, 'demo.json'), JSON.stringify({ mcpServers }), { mode: 0o600 });
}

/** Our environment with another home; the engine still finds its images, which lie below the real one. */
function environment(home) {
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

const timings = [];
async function timed(what, work) {
  const startedAt = performance.now();
  const value = await work();
  timings.push([what, `${Math.round(performance.now() - startedAt)} ms`]);
  return value;
}

const heading = (text) => console.log(`\n${pc.bold(text)}`);
const indented = (text) => text.replace(/^(?=.)/gm, '  ');

async function demonstrate(home) {
  const client = new Client({ name: 'demo', version: '1.0.0' });
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [join(ROOT, 'dist/cli/main.js')],
    env: environment(home),
    cwd: home,
    stderr: 'inherit',
  });
  const runPython = () =>
    client.callTool(
      { name: 'run_python', arguments: { code: CODE, servers: ['everything', 'filesystem', 'memory'] } },
      undefined,
      { timeout: 120_000 },
    );
  try {
    await timed('start and initialize', () => client.connect(transport));
    const listed = await timed('tools/list', () => client.listTools());
    const first = await timed('first call (finds the engine, starts three servers)', runPython);
    const second = await timed('second call (a fresh container again)', runPython);
    heading('The code that an agent would write');
    console.log(pc.cyan(indented(CODE)));
    heading('What it gets back');
    for (const { text } of first.content) console.log(indented(text));
    heading('Where the time went');
    for (const [what, time] of timings) console.log(`  ${what.padEnd(54)}${time.padStart(9)}`);
    console.log(
      `  ${'tools/list, as the model pays for it'.padEnd(54)}${String(JSON.stringify(listed).length).padStart(9)} characters`,
    );
    if (first.isError || second.isError) process.exitCode = 1;
  } finally {
    await client.close();
  }
}

const home = mkdtempSync(join(tmpdir(), 'mcp-sandbox-bridge-demo-'));
try {
  furnish(home);
  await demonstrate(home);
} finally {
  rmSync(home, { recursive: true, force: true });
}
