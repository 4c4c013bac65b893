// The main job: three real servers from npm, called from real code in a real container, in every way there is.

import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { npmServer, startBridge, type TestBridge, tempHome } from '../support/start-bridge.js';

const ALL = ['everything', 'filesystem', 'memory'];
let bridge: TestBridge;
let files: string;

beforeAll(async () => {
  files = mkdtempSync(join(tempHome(), 'files-'));
  mkdirSync(files, { recursive: true });
  writeFileSync(join(files, 'a.txt'), 'alpha');
  bridge = await startBridge({
    everything: npmServer('@modelcontextprotocol/server-everything'),
    filesystem: npmServer('@modelcontextprotocol/server-filesystem', files),
    memory: {
      ...npmServer('@modelcontextprotocol/server-memory'),
      env: { MEMORY_FILE_PATH: join(files, 'memory.json') },
    },
  });
});
afterAll(() => bridge[Symbol.asyncDispose]());

const run = (code: string, servers = ALL) => bridge.run(code, { servers });

describe('calling tools', () => {
  it.each([
    ['mcp_<alias>', 'await mcp_everything.echo(message="hi")'],
    ['mcp_servers[name]', 'await mcp_servers["everything"].echo(message="hi")'],
    ['from mcp.servers', 'from mcp.servers.everything import echo\nawait echo(message="hi")'],
    ['import mcp.servers', 'import mcp.servers.everything as e\nawait e.echo(message="hi")'],
    ['runtime.call_tool', 'await runtime.call_tool("everything", "echo", {"message": "hi"})'],
    [
      'mcp.runtime',
      'from mcp.runtime import call_tool\nawait call_tool("everything", "echo", {"message": "hi"})',
    ],
    [
      'asyncio.run',
      'import asyncio\nasync def main():\n    return await mcp_everything.echo(message="hi")\nasyncio.run(main())',
    ],
    ['a forgotten await on the last line', 'mcp_everything.echo(message="hi")'],
  ])('calls a tool by %s', async (_way, code) => {
    expect(await run(code)).toMatchObject({ status: 'success', result: 'Echo: hi' });
  });

  it('works with all three servers at once, concurrently', async () => {
    const code = `
import asyncio
texts = await asyncio.gather(
    mcp_everything.echo(message="one"),
    mcp_filesystem.read_text_file(path=${JSON.stringify(join('PLACE', 'a.txt'))}.replace("PLACE", ${JSON.stringify('FILES')})),
    mcp_memory.create_entities(entities=[{"name": "Ada", "entityType": "person", "observations": ["wrote"]}]),
)
graph = await mcp_memory.read_graph()
[texts[0], texts[1].content, graph.entities[0].name, graph["entities"][0]["observations"]]
`.replace('FILES', files);
    expect(await run(code)).toMatchObject({
      status: 'success',
      result: ['Echo: one', 'alpha', 'Ada', ['wrote']],
    });
  });

  it('gives structured results attribute access and names the closest key', async () => {
    const payload = await run(
      'r = await mcp_everything.get_structured_content(location="Chicago")\nr.temprature',
    );
    expect(payload).toMatchObject({ status: 'error', error: expect.stringContaining('temperature') });
  });

  it('gives images as bytes with a media type', async () => {
    const payload = await run(
      'r = await mcp_everything.get_tiny_image()\n[type(x).__name__ + ":" + getattr(x, "media_type", "") for x in r]',
    );
    expect(payload.result).toContain('Blob:image/png');
  });

  it('raises MCPError on isError, with server, tool and text', async () => {
    const code = `
try:
    await mcp_filesystem.read_text_file(path="/etc/hostname")
except runtime.MCPError as error:
    print(error.server, error.tool, "denied" in str(error).lower())
`;
    expect(await run(code)).toMatchObject({ status: 'success', stdout: ['filesystem read_text_file True'] });
  });

  it.each([
    ['an unknown tool', 'getattr(mcp_everything, "ecko")', /echo/],
    ['a positional argument', 'await mcp_everything.echo("x")', /message/],
    ['a missing argument', 'await mcp_everything.echo()', /message/],
    ['an unknown argument', 'await mcp_everything.echo(mesage="x")', /message/],
    ['a server that was not loaded', 'getattr(mcp_memory, "read_graph")', /memory.*servers=\["memory"\]/s],
    ['a server that was not loaded, by name', 'mcp_servers["memory"]', /memory.*servers=\["memory"\]/s],
  ])('%s is explained', async (_name, code, message) => {
    expect(await run(code, ['everything'])).toMatchObject({
      status: 'error',
      error: expect.stringMatching(message),
    });
  });
});

describe('names that nothing has', () => {
  it.each([
    ['a tool', 'await mcp_everything.ecko(message="x")', /'ecko'.*'echo'/],
    ['a tool of a real name', 'mcp_servers["everything"]["get_sum"]; mcp_everything["get-sun"]', /'get_sum'/],
    ['a server', 'await mcp_memory.read_graph()', /servers=\["everything","memory"\]/],
    ['a module', 'from mcp.servers.memory import read_graph', /servers=\["everything","memory"\]/],
  ])('%s is told of before anything runs', async (_name, code, message) => {
    const payload = await run(`print("ran")\n${code}`, ['everything']);
    expect(payload).toMatchObject({ status: 'validation_error' });
    expect(payload).not.toHaveProperty('stdout');
    expect(`${payload.error} ${payload.remedy}`).toMatch(message);
  });

  it('what the program can handle itself is left to it', async () => {
    const code = `
try:
    await mcp_everything.ecko(message="x")
except runtime.MCPError as error:
    print(type(error).__name__)
`;
    expect(await run(code, ['everything'])).toMatchObject({ stdout: ['UnknownToolError'] });
  });
});

describe('finding tools', () => {
  it('lists what is discovered and what is loaded', async () => {
    const code = `
print(sorted(runtime.discovered_servers()), LOADED_MCP_SERVERS)
print(await runtime.list_servers() == runtime.list_servers_sync() == ('memory',))
print([d["name"] for d in runtime.discovered_servers(detailed=True) if d["loaded"]])
import os, json
print([s["name"] for s in json.loads(os.environ["MCP_AVAILABLE_SERVERS"])], sorted(json.loads(os.environ["MCP_DISCOVERED_SERVERS"])))
`;
    const payload = await run(code, ['memory']);
    expect(payload.stdout).toEqual([
      "['everything', 'filesystem', 'memory'] ('memory',)",
      'True',
      "['memory']",
      "['memory'] ['everything', 'filesystem', 'memory']",
    ]);
  });

  it('has every helper, sync and async, with the same answers', async () => {
    const code = `
a = await runtime.list_tools("everything") == runtime.list_tools_sync("everything")
b = await runtime.query_tool_docs("everything", "echo") == runtime.query_tool_docs_sync("everything", "echo")
found = await runtime.search_tool_docs("echo message", limit=3)
c = [d["tool"] for d in found]
d = runtime.search_tool_docs_sync("echo message", limit=3) == found
full = (await runtime.query_tool_docs("everything", "echo", detail="full"))
[a, b, "echo" in c, d, "message" in str(full), runtime.describe_server("everything")["name"], len(runtime.capability_summary()) < 1500, runtime.list_loaded_server_metadata()[0]["name"]]
`;
    const payload = await run(code, ['everything']);
    expect(payload).toMatchObject({
      status: 'success',
      result: [true, true, true, true, true, 'everything', true, 'everything'],
    });
  });

  it('searches without awaiting, in a thread and while its event loop has more calls under way than are answered at once', async () => {
    const code = `
import asyncio
search = lambda: [d["tool"] for d in runtime.search_tool_docs_sync("echo message", limit=3)]
calls = [asyncio.ensure_future(mcp_everything.echo(message=str(i))) for i in range(300)]
await asyncio.sleep(0)
here = search()
there = await asyncio.gather(*(asyncio.to_thread(search) for _ in range(20)))
["echo" in here, all(found == here for found in there), len(set(await asyncio.gather(*calls)))]
`;
    expect(await run(code, ['everything'])).toMatchObject({ status: 'success', result: [true, true, 300] });
  });

  it('keeps a function for later runs', async () => {
    await run('def double(n):\n    "Twice n."\n    return 2 * n\nruntime.save_tool(double)', []);
    const payload = await run(
      'from user_tools import double\n[double(21), [t["name"] for t in runtime.saved_tools()]]',
      [],
    );
    expect(payload).toMatchObject({ status: 'success', result: [42, ['double']] });
  });
});
