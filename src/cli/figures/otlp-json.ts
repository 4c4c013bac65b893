// Readings and steps of traces as the JSON of OTLP (opentelemetry-proto 1.x): 64-bit numbers as texts, ids in hex.

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
      { resource: resourceOf(resource), scopeSpans: [{ scope: SCOPE, spans: spans.map(spanOf) }] },
    ],
  });

const spanOf = ({ span, name, kind, startMs, endMs, attributes, failed }: EndedSpan) => ({
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
