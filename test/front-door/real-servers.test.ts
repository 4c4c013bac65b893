// The eleven real servers from npm side by side, one of them over all three transports: loaded by one run of one bridge,
// and found by the next bridge, which starts none of them and reaches none.

import { mkdtempSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { everythingWeb } from '../servers/remote-servers.js';
import { descendants } from '../support/nothing-left.js';
import { type ServerEntry, startBridge, type TestBridge, tempHome } from '../support/start-bridge.js';
import { makeUsed } from '../support/used-state.js';

/** What each listed when this was written; a newer version may list more. */
const TOOLS = {
  everything: 13,
  filesystem: 14,
  memory: 9,
  'sequential-thinking': 1,
  time: 6,
  git: 28,
  notion: 24,
  github: 26,
  playwright: 25,
  'chrome-devtools': 32,
  context7: 2,
  'everything-http': 13,
  'everything-sse': 13,
};

type Measured = Readonly<
  Record<'all' | 'heldOut', { readonly questions: number; readonly recallAt5: number }>
>;
const load = (name: string) => import(new URL(`../../scripts/search/${name}.mjs`, import.meta.url).href);
const { realServers } = (await load('real-servers')) as {
  readonly realServers: (scratch: string) => Readonly<Record<string, ServerEntry>>;
};
const { measure, QUESTIONS } = (await load('measure')) as {
  readonly measure: (search: (question: string) => readonly string[]) => Measured;
  readonly QUESTIONS: ReadonlyArray<{ readonly question: string }>;
};

const web = [everythingWeb('streamableHttp'), everythingWeb('sse')] as const;
let scratch: string;
let stateDir: string;
let servers: Readonly<Record<string, ServerEntry>>;
let bridge: TestBridge | undefined;

beforeAll(async () => {
  scratch = realpathSync(mkdtempSync(join(tempHome(), 'scratch-')));
  stateDir = makeUsed(join(tempHome(), 'state'));
  writeFileSync(join(scratch, 'note.txt'), 'hello from a file');
  const [http, sse] = await Promise.all(web.map((server) => server.start()));
  servers = {
    ...realServers(scratch),
    'everything-http': { type: 'http', url: http?.url() ?? '' },
    'everything-sse': { type: 'sse', url: sse?.url('sse') ?? '' },
  };
});
afterAll(async () => {
  await bridge?.[Symbol.asyncDispose]();
  await Promise.all(web.map((server) => server.kill()));
});

const open = async () => {
  bridge = await startBridge(servers, { env: { MCP_BRIDGE_STATE_DIR: stateDir } });
  return bridge;
};

it('loads all of them for one run, over stdio, HTTP and SSE, and calls them', async () => {
  const { run } = await open();
  const code = `
import asyncio
counts = {s.name: len(s.tools) for s in runtime.list_loaded_server_metadata()}
said = await asyncio.gather(*[s.echo(message="hi") for s in (mcp_everything, mcp_everything_http, mcp_everything_sse)])
note = await mcp_filesystem.read_text_file(path=${JSON.stringify(join(scratch, 'note.txt'))})
graph = await mcp_memory.read_graph()
days = await mcp_time.days_in_month(date="2028-02-01")
{"counts": counts, "said": said, "note": str(note), "graph": graph, "days": str(days)}`;
  const payload = await run(code, { servers: Object.keys(TOOLS) });
  expect(payload.error ?? payload.summary).toBe(payload.summary);
  expect(payload.status).toBe('success');
  const result = payload.result as {
    readonly counts: Readonly<Record<string, number>>;
    readonly said: readonly string[];
    readonly note: string;
    readonly graph: unknown;
    readonly days: string;
  };
  const fewer = Object.entries(TOOLS).filter(([name, count]) => (result.counts[name] ?? 0) < count);
  expect(fewer).toEqual([]);
  expect(result.said).toEqual(['Echo: hi', 'Echo: hi', 'Echo: hi']);
  expect(result.note).toContain('hello from a file');
  expect(result.graph).toEqual({ entities: [], relations: [] });
  expect(result.days).toContain('29');
  await bridge?.[Symbol.asyncDispose]();
});

it('finds their tools in a bridge that starts none of them, and says how to load each', async () => {
  await Promise.all(web.map((server) => server.kill()));
  const { run, pid } = await open();
  const code = `
known = {s.name: s.tools for s in runtime.discovered_servers(detailed=True)}
hits = await runtime.search_tool_docs("how many days does a month have", limit=3)
print(hits)
async def best(question):
    # The same server by another transport has the same tools.
    hits = [(d.server.removesuffix("-http").removesuffix("-sse"), d.tool) for d in await runtime.search_tool_docs(question, limit=20)]
    return ["/".join(hit) for hit in dict.fromkeys(hits)][:5]
found = [await best(question) for question in ${JSON.stringify(QUESTIONS.map(({ question }) => question))}]
{"known": known, "loaded": [s for s in runtime.list_servers_sync()], "hit": hits[0], "found": found}`;
  const payload = await run(code, { servers: [] });
  expect(payload.error ?? payload.summary).toBe(payload.summary);
  expect(payload.status).toBe('success');
  const result = payload.result as {
    readonly known: Readonly<Record<string, number>>;
    readonly loaded: readonly string[];
    readonly hit: unknown;
    readonly found: readonly (readonly string[])[];
  };
  expect(result.loaded).toEqual([]);
  expect(Object.entries(TOOLS).filter(([name, count]) => !((result.known[name] ?? 0) >= count))).toEqual([]);
  expect(Object.values(result.known).reduce((sum, count) => sum + count, 0)).toBeGreaterThanOrEqual(150);
  expect(result.hit).toMatchObject({
    server: 'time',
    tool: 'days_in_month',
    load: 'To load it, pass servers=["time"] in the call.',
  });
  expect(payload.stdout?.join('\n')).toContain('mcp_time.days_in_month(');
  const found = new Map(QUESTIONS.map(({ question }, index) => [question, result.found[index] ?? []]));
  const { all } = measure((question) => [...(found.get(question) ?? [])]);
  expect(all.recallAt5).toBeGreaterThanOrEqual(0.85);
  expect(descendants(pid).filter((line) => /node_modules/.test(line))).toEqual([]);
});
