// The trace of a run: what the agent names goes on to the servers of the run, and with a collector each call of the code is a step
// of it.

import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { attributesOf, type Collector, openCollector } from '../support/otlp-collector.js';
import { startBridge, type TestBridge } from '../support/start-bridge.js';
import { HANGS_MS, until } from '../support/time.js';

const FIXTURE = join(fileURLToPath(new URL('../fixtures/', import.meta.url)), 'tracing-server.mjs');
const servers = {
  old: { command: process.execPath, args: [FIXTURE] },
  young: { command: process.execPath, args: [FIXTURE, 'modern'] },
};
const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PARENT = 'b7ad6b7169203331';
const TEXTS = { traceparent: `00-${TRACE}-${PARENT}-01`, tracestate: 'a=1', baggage: 'user=ann' };
/** Twenty calls of tools at two servers, and the `_meta` of each; then a resource and a prompt. */
const CODE = `
import json
metas = [
    (await tool()).meta for server in (mcp_old, mcp_young) for tool in [server.first, server.second] * 5
]
read = await runtime.read_resource("old", "trace://here")
prompt = await runtime.get_prompt("young", "trace")
[[meta.get("traceparent"), meta.get("tracestate"), meta.get("baggage")] for meta in [*metas, json.loads(read), json.loads(prompt)]]
`;

let collector: Collector;
let plain: TestBridge;
let traced: TestBridge;
beforeAll(async () => {
  collector = await openCollector();
  plain = await startBridge(servers);
  traced = await startBridge(servers, { env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url } });
});
afterAll(async () => {
  await plain[Symbol.asyncDispose]();
  await traced[Symbol.asyncDispose]();
  await collector[Symbol.asyncDispose]();
});

type Texts = readonly (string | null)[];

async function metas({ client }: TestBridge, meta: Readonly<Record<string, string>> = {}): Promise<Texts[]> {
  const { structuredContent } = await client.callTool(
    { name: 'run_python', arguments: { code: CODE, servers: ['old', 'young'] }, _meta: meta },
    undefined,
    { timeout: HANGS_MS },
  );
  const { result, ...rest } = structuredContent as { readonly result?: Texts[] };
  if (result === undefined) throw new Error(JSON.stringify(rest));
  return result;
}

it('goes on to the servers in the texts of the agent, where nobody records it', async () => {
  const found = await metas(plain, TEXTS);
  expect(found).toHaveLength(22);
  expect(new Set(found.map((texts) => JSON.stringify(texts)))).toEqual(
    new Set([JSON.stringify([TEXTS.traceparent, TEXTS.tracestate, TEXTS.baggage])]),
  );
  expect((await metas(plain))[0]).toEqual([null, null, null]);
});

it('comes to a collector with a step for each of twenty calls, below that of the agent’s call', async () => {
  const found = await metas(traced, TEXTS);
  await until(() => collector.spans().length === 23);
  const spans = collector.spans();
  const served = spans.find(({ kind }) => kind === 2);
  expect(served).toMatchObject({ name: 'tools/call run_python', traceId: TRACE, parentSpanId: PARENT });
  const steps = spans.filter(({ kind }) => kind === 3);
  for (const step of steps) expect(step).toMatchObject({ traceId: TRACE, parentSpanId: served?.spanId });
  // The servers are told of the very steps that the collector has.
  expect(new Set(found.map(([traceparent]) => traceparent))).toEqual(
    new Set(steps.map(({ spanId }) => `00-${TRACE}-${spanId}-01`)),
  );
  for (const [, ...others] of found) expect(others).toEqual([TEXTS.tracestate, TEXTS.baggage]);
  const names = steps.map((step) => `${attributesOf(step)['mcp_bridge.server.name']} ${step.name}`);
  expect(names.filter((name) => name === 'young tools/call second')).toHaveLength(5);
  expect(names).toEqual(expect.arrayContaining(['old resources/read', 'young prompts/get trace']));
});

it('begins here where the agent has none', async () => {
  const before = collector.spans().length;
  await metas(traced);
  await until(() => collector.spans().length === before + 23);
  const spans = collector.spans().slice(before);
  const [traceId, ...others] = new Set(spans.map((span) => span.traceId));
  expect([traceId === TRACE, others]).toEqual([false, []]);
  expect(spans.find(({ kind }) => kind === 2)).not.toHaveProperty('parentSpanId');
});
