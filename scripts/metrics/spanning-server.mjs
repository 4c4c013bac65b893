// An MCP server with a trace of its own, kept by the SDK of OpenTelemetry: each call of its tool `count` is a span below the one that
// the request names in `_meta`, sent to the collector as protobuf. The SDK lies in the folder that is named.
//
//   OTEL_EXPORTER_OTLP_ENDPOINT=http://… node spanning-server.mjs FOLDER

import { createRequire } from 'node:module';
import { join } from 'node:path';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';

const installed = createRequire(join(process.argv[2] ?? '', 'index.js'));
const { defaultTextMapGetter, ROOT_CONTEXT, SpanKind } = installed('@opentelemetry/api');
const { W3CTraceContextPropagator } = installed('@opentelemetry/core');
const { OTLPTraceExporter } = installed('@opentelemetry/exporter-trace-otlp-proto');
const { BasicTracerProvider, SimpleSpanProcessor } = installed('@opentelemetry/sdk-trace-base');

const provider = new BasicTracerProvider({
  spanProcessors: [new SimpleSpanProcessor(new OTLPTraceExporter())],
});
const tracer = provider.getTracer('counting');
const propagator = new W3CTraceContextPropagator();
const server = new McpServer({ name: 'counting', version: '1.0.0' });
let count = 0;
server.registerTool('count', { description: 'Counts its calls.', inputSchema: {} }, (_given, { _meta }) => {
  const parent = propagator.extract(ROOT_CONTEXT, _meta ?? {}, defaultTextMapGetter);
  const span = tracer.startSpan('count one', { kind: SpanKind.SERVER }, parent);
  count += 1;
  span.end();
  return { content: [{ type: 'text', text: String(count) }] };
});
await server.connect(new StdioServerTransport());
