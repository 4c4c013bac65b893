// Readings and steps of traces as the JSON of OTLP (opentelemetry-proto 1.x): 64-bit numbers as texts, ids in hex.

import type { BridgeEvent } from '../../base/log/events.js';
import type { TraceSpan } from '../../base/trace.js';
import { PACKAGE_NAME, VERSION } from '../../base/version.js';
import type { Attributes, InstrumentReading } from './instruments.js';

/** A step of a trace that has ended; times in milliseconds since 1970. */
export type EndedSpan = {
  readonly span: TraceSpan;
  readonly name: string;
  readonly kind: 'server' | 'client';
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Attributes;
  readonly failed: boolean;
};

type Resource = Readonly<Record<string, string>>;

const SCOPE = { name: PACKAGE_NAME, version: VERSION };
const KINDS = { server: 2, client: 3 } as const;
const FAILED = { code: 2 } as const;
/** Sums count from the start of the process. */
const CUMULATIVE = 2;

export const tracesBody = (spans: readonly EndedSpan[], resource: Resource): string =>
  JSON.stringify({
    resourceSpans: [
      { resource: resourceOf(resource), scopeSpans: [{ scope: SCOPE, spans: spans.map(spanJson) }] },
    ],
  });

const spanJson = ({ span, name, kind, startMs, endMs, attributes, failed }: EndedSpan) => ({
  traceId: span.trace,
  spanId: span.id,
  ...(span.parent === undefined ? {} : { parentSpanId: span.parent }),
  name,
  kind: KINDS[kind],
  startTimeUnixNano: nanos(startMs),
  endTimeUnixNano: nanos(endMs),
  attributes: pairs(attributes),
  ...(failed ? { status: FAILED } : {}),
});

/** `sinceMs` is when the sums began, `nowMs` when they were read. */
export function metricsBody(
  readings: readonly InstrumentReading[],
  resource: Resource,
  { sinceMs, nowMs }: { readonly sinceMs: number; readonly nowMs: number },
): string {
  const times = { startTimeUnixNano: nanos(sinceMs), timeUnixNano: nanos(nowMs) };
  const metrics = readings
    .filter(({ points }) => points.length > 0)
    .map((reading) => {
      const { name, unit, description } = reading;
      return { name, unit, description, ...dataOf(reading, times) };
    });
  return JSON.stringify({
    resourceMetrics: [{ resource: resourceOf(resource), scopeMetrics: [{ scope: SCOPE, metrics }] }],
  });
}

function dataOf(reading: InstrumentReading, times: Readonly<Record<string, string>>): object {
  if (reading.kind === 'histogram')
    return {
      histogram: {
        aggregationTemporality: CUMULATIVE,
        dataPoints: reading.points.map(({ attributes, count, sum, buckets }) => ({
          ...times,
          attributes: pairs(attributes),
          count: String(count),
          sum,
          bucketCounts: buckets.map(String),
          explicitBounds: reading.bounds,
        })),
      },
    };
  const dataPoints = reading.points.map(({ attributes, value }) => ({
    ...times,
    attributes: pairs(attributes),
    asDouble: value,
  }));
  return reading.kind === 'gauge'
    ? { gauge: { dataPoints } }
    : { sum: { dataPoints, aggregationTemporality: CUMULATIVE, isMonotonic: true } };
}

const resourceOf = (resource: Resource) => ({ attributes: pairs(resource) });

const pairs = (attributes: Attributes) =>
  Object.entries(attributes).map(([key, value]) => ({
    key,
    value: typeof value === 'number' ? { intValue: String(value) } : { stringValue: value },
  }));

/** Whole microseconds, which a double has exactly for another century. */
const nanos = (ms: number): string => `${Math.round(ms * 1000)}000`;

// Steps of traces out of the events that have them: a call of the agent, and below it each request to a server. Names and
// attributes are those of the conventions for MCP.

/** The step that has ended with this event; undefined where the event is none, or its trace is not recorded. */
export function spanOf(event: BridgeEvent, redact: (text: string) => string): EndedSpan | undefined {
  if (event.type === 'call.ended' && event.span !== undefined) {
    const { tool, client, protocol, transport, id, failed } = event;
    return {
      ...timesOf(event.durationMs),
      span: event.span,
      name: `tools/call ${tool}`,
      kind: 'server',
      failed,
      attributes: {
        'mcp.method.name': 'tools/call',
        'gen_ai.operation.name': 'execute_tool',
        'gen_ai.tool.name': tool,
        'jsonrpc.request.id': String(id),
        'network.transport': transport,
        'mcp_bridge.client': redact(client),
        ...(protocol === undefined ? {} : { 'mcp.protocol.version': protocol }),
        ...(failed ? { 'error.type': 'tool_error' } : {}),
      },
    };
  }
  if (event.type === 'run.request' && event.span !== undefined) {
    const { run, server, method, target, transport, error, refusal } = event;
    const shown = target === undefined ? undefined : redact(target);
    return {
      ...timesOf(event.durationMs),
      span: event.span,
      // The address of a resource is no name of a kind of step.
      name: shown === undefined || method === 'resources/read' ? method : `${method} ${shown}`,
      kind: 'client',
      failed: error !== undefined,
      attributes: {
        'mcp.method.name': method,
        ...targetAttributes(method, shown),
        'network.transport': transport,
        'mcp_bridge.server.name': server,
        'mcp_bridge.run.id': run,
        ...(error === undefined ? {} : { 'error.type': error }),
        ...(refusal === undefined ? {} : { 'rpc.response.status_code': String(refusal) }),
      },
    };
  }
  return undefined;
}

function targetAttributes(method: string, target: string | undefined): Readonly<Record<string, string>> {
  if (target === undefined) return {};
  if (method === 'tools/call') return { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': target };
  return method === 'prompts/get' ? { 'gen_ai.prompt.name': target } : { 'mcp.resource.uri': target };
}

/** Events are told at their end. */
function timesOf(durationMs: number): { readonly startMs: number; readonly endMs: number } {
  const endMs = Date.now();
  return { startMs: endMs - durationMs, endMs };
}
