// Figures and traces out of events, as a collector and Prometheus get them.

import { afterEach, describe, expect, it } from 'vitest';
import type { BridgeEvent } from '../../../src/base/log/events.js';
import { Redactor } from '../../../src/base/secrets/redact.js';
import { EventFigures } from '../../../src/cli/figures/event-figures.js';
import { Figures } from '../../../src/cli/figures/figures.js';
import { prometheusText } from '../../../src/cli/figures/prometheus-text.js';
import { startFigures } from '../../../src/cli/figures/start-figures.js';
import { parseSettings } from '../../../src/settings/environment/settings.js';
import { hostFacts } from '../../../src/settings/files/host-facts.js';
import { attributesOf, openCollector } from '../../support/otlp-collector.js';
import { until } from '../../support/time.js';

const opened: AsyncDisposable[] = [];
afterEach(async () => {
  for (const one of opened.splice(0).reverse()) await one[Symbol.asyncDispose]();
});

async function collecting(env: Readonly<Record<string, string>> = {}) {
  const collector = await openCollector();
  opened.push(collector);
  const troubles: string[] = [];
  const all = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, ...env };
  const { settings } = parseSettings(all, hostFacts());
  const redactor = new Redactor();
  redactor.addAll({ SECRET: 'a-secret-of-the-user' });
  const observer = (event: BridgeEvent) => {
    if (event.type === 'figures.trouble') troubles.push(event.message);
  };
  return { collector, troubles, figures: new Figures(settings.otel, { redactor, observer }) };
}

const SPAN = { trace: '0af7651916cd43dd8448eb211c80319c', id: 'b7ad6b7169203331', parent: undefined };
const request = (
  of: Partial<Extract<BridgeEvent, { type: 'run.request' }>> = {},
): Extract<BridgeEvent, { type: 'run.request' }> => ({
  type: 'run.request',
  run: 'r1',
  server: 'files',
  method: 'tools/call',
  target: 'read',
  transport: 'pipe',
  durationMs: 30,
  error: undefined,
  refusal: undefined,
  span: { ...SPAN, id: '00f067aa0ba902b7', parent: SPAN.id },
  ...of,
});
const call: Extract<BridgeEvent, { type: 'call.ended' }> = {
  type: 'call.ended',
  tool: 'run_python',
  client: 'agent 7',
  protocol: '2025-11-25',
  transport: 'pipe',
  id: 3,
  durationMs: 1500,
  failed: true,
  span: SPAN,
};

describe('steps of a trace', () => {
  it('come to the collector under the names of the conventions, with headers and facts about the process', async () => {
    const { collector, figures } = await collecting({ OTEL_EXPORTER_OTLP_HEADERS: 'x-key=abc' });
    figures.observe(request());
    figures.observe(
      request({
        method: 'resources/read',
        target: 'file:///a-secret-of-the-user',
        error: 'E_RESOURCE_FAILED',
        refusal: -32002,
      }),
    );
    figures.observe(request({ method: 'prompts/list', target: undefined }));
    figures.observe(call);
    figures.observe(request({ span: undefined }));
    await figures[Symbol.asyncDispose]();
    const spans = collector.spans();
    expect(spans.map(({ name, kind, status }) => [name, kind, status?.code])).toEqual([
      ['tools/call read', 3, undefined],
      ['resources/read', 3, 2],
      ['prompts/list', 3, undefined],
      ['tools/call run_python', 2, 2],
    ]);
    const [read, resource, , served] = spans.map(attributesOf);
    expect(read).toEqual({
      'mcp.method.name': 'tools/call',
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'read',
      'network.transport': 'pipe',
      'mcp_bridge.server.name': 'files',
      'mcp_bridge.run.id': 'r1',
    });
    expect(resource).toMatchObject({
      'mcp.resource.uri': 'file:///[SECRET]',
      'error.type': 'E_RESOURCE_FAILED',
      'rpc.response.status_code': '-32002',
    });
    expect(served).toMatchObject({
      'mcp.protocol.version': '2025-11-25',
      'error.type': 'tool_error',
      'jsonrpc.request.id': '3',
    });
    expect(spans[3]).toMatchObject({ traceId: SPAN.trace, spanId: SPAN.id });
    expect(spans[3]).not.toHaveProperty('parentSpanId');
    const lasted = BigInt(spans[3]?.endTimeUnixNano ?? 0) - BigInt(spans[3]?.startTimeUnixNano ?? 0);
    expect(lasted).toBe(1_500_000_000n);
    expect(collector.sent[0]?.headers['x-key']).toBe('abc');
    const about = collector.sent.find(({ path }) => path === '/v1/traces')?.body.resourceSpans[0].resource;
    expect(about.attributes).toContainEqual({
      key: 'service.name',
      value: { stringValue: 'mcp-sandbox-bridge' },
    });
  });

  it('are sent again where the collector is busy', async () => {
    const { collector, figures, troubles } = await collecting({ OTEL_METRICS_EXPORTER: 'none' });
    collector.statuses.push(503);
    for (let count = 0; count < 512; count++) figures.observe(request());
    await until(() => collector.spans().length === 512);
    expect(troubles).toEqual([]);
    await figures[Symbol.asyncDispose]();
  });

  it('are lost where the collector refuses them, which is told once until it takes some', async () => {
    const { collector, figures, troubles } = await collecting({ OTEL_METRICS_EXPORTER: 'none' });
    collector.statuses.push(400, 400);
    for (let count = 0; count < 3 * 512; count++) figures.observe(request());
    await figures[Symbol.asyncDispose]();
    expect(collector.spans()).toHaveLength(512);
    expect(troubles).toEqual([`${collector.url} takes nothing: it answers 400 {}.`]);
  });
});

it('figures come to the collector as the process ends', async () => {
  const { collector, figures } = await collecting();
  figures.observe(request());
  figures.observe(call);
  await figures[Symbol.asyncDispose]();
  expect([...collector.metrics()]).toEqual(
    expect.arrayContaining([
      'mcp.server.operation.duration',
      'mcp.client.operation.duration',
      'process.memory.usage',
    ]),
  );
  const [{ metrics }] = collector.sent[0]?.body.resourceMetrics[0].scopeMetrics ?? [];
  const duration = metrics.find(({ name }: { name: string }) => name === 'mcp.server.operation.duration');
  expect(duration).toMatchObject({
    unit: 's',
    histogram: { aggregationTemporality: 2, dataPoints: [{ count: '1', sum: 1.5 }] },
  });
  expect(duration.histogram.dataPoints[0].bucketCounts).toHaveLength(15);
});

describe('the page of Prometheus', () => {
  const lines = (figures: EventFigures) =>
    prometheusText(figures.read(), { 'service.name': 'x"y' }).split('\n');

  it('has histograms that add up, and names that Prometheus takes', () => {
    const figures = new EventFigures();
    for (const durationMs of [5, 30, 400_000]) figures.observe(request({ durationMs }));
    figures.observe({ type: 'run.refused', run: 'r', server: 's', tool: 't', code: 'E_DENIED', message: '' });
    const labels =
      'mcp_method_name="tools/call",mcp_bridge_server_name="files",gen_ai_tool_name="read",network_transport="pipe"';
    const name = 'mcp_client_operation_duration_seconds';
    expect(lines(figures)).toEqual(
      expect.arrayContaining([
        'target_info{service_name="x\\"y"} 1',
        `# TYPE ${name} histogram`,
        `${name}_bucket{${labels},le="0.01"} 1`,
        `${name}_bucket{${labels},le="0.05"} 2`,
        `${name}_bucket{${labels},le="300"} 2`,
        `${name}_bucket{${labels},le="+Inf"} 3`,
        `${name}_count{${labels}} 3`,
        'mcp_bridge_call_refused_total{error_type="E_DENIED"} 1',
      ]),
    );
    for (const line of lines(figures))
      expect(line).toMatch(/^(# (HELP|TYPE) [a-z_]+ .+|[a-z_]+(\{([a-z_]+="[^\n]*",?)+\})? [0-9.e+-]+|)$/);
  });

  it('keeps as many tools apart as there is room for, and counts all others together', () => {
    const figures = new EventFigures();
    for (let count = 0; count < 500; count++) figures.observe(request({ target: `tool_${count}` }));
    const counts = lines(figures).filter((line) =>
      line.startsWith('mcp_client_operation_duration_seconds_count'),
    );
    expect(counts).toHaveLength(201);
    expect(counts).toContainEqual(expect.stringMatching(/gen_ai_tool_name="other",.*\} 300$/));
  });

  it('counts a run as long as it is under way', () => {
    const figures = new EventFigures();
    const begun = {
      run: 'r',
      client: 'c',
      servers: [],
      code: { bytes: 1, sha256: undefined },
      timeoutSeconds: 1,
    };
    figures.observe({ type: 'run.queued', run: 'r', ahead: 0 });
    figures.observe({ type: 'run.queued', run: 'other', ahead: 1 });
    expect(lines(figures)).toContain('mcp_bridge_run_waiting 2');
    figures.observe({ type: 'run.started', ...begun, language: 'go' });
    expect(lines(figures)).toEqual(
      expect.arrayContaining(['mcp_bridge_run_active 1', 'mcp_bridge_run_waiting 1']),
    );
    figures.observe({
      type: 'run.ended',
      run: 'r',
      servers: [],
      status: 'success',
      durationMs: 20,
      calls: 0,
    });
    expect(lines(figures)).toEqual(
      expect.arrayContaining([
        'mcp_bridge_run_active 0',
        'mcp_bridge_run_duration_seconds_count{mcp_bridge_language="go",mcp_bridge_status="success"} 1',
      ]),
    );
  });
});

describe('a process that keeps none', () => {
  it('tells whom it told before, and nobody else', async () => {
    const { settings } = parseSettings({}, hostFacts());
    const observer = () => {};
    const figures = startFigures({ settings, redactor: new Redactor() }, observer);
    expect(figures.beside(observer)).toBe(observer);
    expect(figures.page).toBeUndefined();
    await figures[Symbol.asyncDispose]();
  });

  it('has all that happened before they were loaded, where it keeps some', async () => {
    const { settings } = parseSettings({}, hostFacts());
    const figures = startFigures({ settings, redactor: new Redactor() }, () => {}, true);
    figures.beside(() => {})(request());
    expect((await figures.page?.())?.text).toContain('mcp_client_operation_duration_seconds_count');
    await figures[Symbol.asyncDispose]();
  });
});
