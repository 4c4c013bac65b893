// What the model reads, whole, from real containers through a real client: one file per typical answer in
// test/snapshots/answers, with its weight. A change here is a change of the product, and is read before it is taken.

import { join } from 'node:path';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { hostileServer, npmServer, startBridge, type TestBridge, tempHome } from '../support/start-bridge.js';
import { makeUsed } from '../support/used-state.js';

type Answer = {
  readonly title: string;
  readonly code: string;
  readonly servers?: readonly string[];
  readonly timeout?: number;
  readonly files?: ReadonlyArray<Readonly<Record<string, string>>>;
  /** Sent as it is in place of all the above. */
  readonly args?: Readonly<Record<string, unknown>>;
};

/** A red square of 64 by 64, made by the standard library. */
const PNG = `
import struct, zlib
def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
class Square:
    def _repr_png_(self):
        rows = (b"\\0" + b"\\xff\\0\\0" * 64) * 64
        head = struct.pack(">IIBBBBB", 64, 64, 8, 2, 0, 0, 0)
        return b"\\x89PNG\\r\\n\\x1a\\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
`.trim();

const GRAPH = `await mcp_memory.create_entities(entities=[
    {"name": name, "entityType": "file", "observations": [f"{size} bytes"]}
    for name, size in [("a.txt", 12), ("b.txt", 7)]])`;

/** It is in the snapshots, so that it is no measured one: code has printed its first word by then on any machine. */
const SECONDS = 3;
const ANSWERS: readonly Answer[] = [
  { title: 'nothing', code: 'x = 1' },
  { title: 'output and value', code: 'print("two lines")\nprint("of output")\n6 * 7' },
  { title: 'both streams', code: 'import sys\nprint("out")\nprint("and err", file=sys.stderr)' },
  {
    title: 'rows',
    code: '[{"id": n, "name": f"item {n}", "price": n * 1.5, "in_stock": n % 3 > 0} for n in range(12)]',
  },
  {
    title: 'a nested value',
    code: '{"user": {"name": "Ann", "tags": ["a", "b"]}, "count": 2, "next": None}',
  },
  { title: 'a long list', code: 'list(range(20_000))' },
  { title: 'a long text', code: '"word " * 20_000' },
  { title: 'a picture', code: `${PNG}\nSquare()` },
  {
    title: 'pictures and words in order',
    code: `${PNG}\nprint("first")\nruntime.display(Square())\nprint("second")\nruntime.display("third", Square())`,
  },
  {
    title: 'files in and out',
    files: [{ name: 'data/in.csv', text: 'name,size\na,1\nb,2\n' }],
    code: 'import csv, json, os\nrows = list(csv.DictReader(open("data/in.csv")))\nos.makedirs("out", exist_ok=True)\njson.dump(rows, open("out/rows.json", "w"))\nopen("out/blob.bin", "wb").write(bytes(range(256)))\nlen(rows)',
  },
  { title: 'big output', code: 'for n in range(20_000):\n    print("line", n)' },
  { title: 'a tool result', servers: ['memory'], code: GRAPH },
  {
    title: 'documentation of a server',
    servers: ['memory'],
    code: 'await runtime.query_tool_docs("memory")',
  },
  {
    title: 'documentation of a tool',
    servers: ['memory'],
    code: 'await runtime.query_tool_docs("memory", "create_entities", detail="full")',
  },
  {
    title: 'a search',
    servers: ['memory'],
    code: 'await runtime.search_tool_docs("find entities by name", limit=3)',
  },
  { title: 'help', servers: ['memory'], code: 'help(mcp_memory.search_nodes)' },
  { title: 'capabilities', servers: ['memory'], code: 'runtime.capability_summary()' },
  {
    title: 'an exception',
    code: 'def average(numbers):\n    return sum(numbers) / len(numbers)\n\nprint("before")\naverage([])',
  },
  { title: 'an exception in a library', code: 'import json\njson.loads("{nope}")' },
  { title: 'a syntax error', code: 'for n in range(3)\n    print(n)' },
  { title: 'an unknown tool', servers: ['memory'], code: 'await mcp_memory.create_entitys(entities=[])' },
  { title: 'a server that is not loaded', code: 'await mcp_memory.read_graph()' },
  { title: 'an unknown server', servers: ['memry'], code: '1' },
  { title: 'a wrong argument', servers: ['memory'], code: 'await mcp_memory.search_nodes(querry="x")' },
  {
    title: 'a failing tool',
    servers: ['hostile'],
    code: 'await mcp_hostile.fail(text="no such record: 17")',
  },
  { title: 'arguments that are wrong', args: { code: 'print(1)', timeout: 'long' }, code: '' },
  {
    title: 'a timeout',
    code: 'import time\nprint("working")\nwhile True:\n    time.sleep(0.1)',
    timeout: SECONDS,
  },
  { title: 'a timeout in a tool', servers: ['hostile'], code: 'await mcp_hostile.hang()', timeout: SECONDS },
  {
    title: 'too much memory',
    code: 'kept = []\nwhile True:\n    kept.append(bytearray(8_000_000))',
    timeout: 60,
  },
  { title: 'an exit status', code: 'import sys\nsys.exit(3)' },
  { title: 'a signal', code: 'import os, signal\nos.kill(os.getpid(), signal.SIGTERM)' },
  { title: 'the network', code: 'import urllib.request\nurllib.request.urlopen("https://example.com")' },
  { title: 'a missing module', code: 'import pandas as pd' },
  { title: 'a read-only place', code: 'open("/etc/motd", "w")' },
  { title: 'no input', code: 'name = input("name? ")' },
];

const memory = npmServer('@modelcontextprotocol/server-memory');
let bridge: TestBridge;
beforeAll(async () => {
  // A host that shows the text; others are told the same in structuredContent.
  bridge = await startBridge(
    {
      memory: { ...memory, env: { MEMORY_FILE_PATH: join(tempHome(), 'memory.jsonl') } },
      hostile: hostileServer(),
    },
    // What is known of servers is part of some answers, so nobody else's runs may have left anything.
    { clientName: 'claude-code', env: { MCP_BRIDGE_STATE_DIR: makeUsed(join(tempHome(), 'state')) } },
  );
});
afterAll(() => bridge[Symbol.asyncDispose]());

it.each(ANSWERS)('$title', async ({ title, args, code, servers, timeout, files }) => {
  const given = Object.fromEntries(
    Object.entries({ code, servers, timeout, files }).filter(([, value]) => value !== undefined),
  );
  const text = readable(await bridge.call(args ?? given));
  // Characters by four is how hosts estimate tokens before they have counted them.
  const weight = `${text.length} characters, about ${Math.ceil(text.length / 4)} tokens`;
  await expect(`${text}\n--- ${weight} ---\n`).toMatchFileSnapshot(
    `../snapshots/answers/${title.replaceAll(' ', '-')}.txt`,
  );
});

/** The blocks of an answer as text; what differs from run to run is masked. */
function readable({ content, isError }: CallToolResult): string {
  const blocks = content.map((block) => {
    if (block.type === 'text') return block.text;
    if (block.type === 'image') return `<image ${block.mimeType}, ${block.data.length} characters of base64>`;
    if (block.type === 'resource_link')
      return `<link ${block.name} ${block.mimeType ?? ''} ${block.size ?? ''} ${block.uri}>`;
    return `<${block.type}>`;
  });
  return [...(isError === true ? ['<error>'] : []), ...blocks]
    .join('\n')
    .replaceAll(/ or \/\S+\/kept\//g, ' or <state>/kept/')
    .replaceAll(/[0-9a-f]{32}/g, '<handle>')
    .replaceAll(/\b0x[0-9a-f]{6,}/g, '<address>');
}
