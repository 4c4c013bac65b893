// Readings as the text that Prometheus reads (exposition format 0.0.4), under the names that OpenTelemetry has its own translated
// to: underscores, the unit behind the name, `_total` behind counters.

import type { Attributes, HistogramPoint, InstrumentReading } from './instruments.js';

export const PROMETHEUS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

const UNITS: Readonly<Record<string, string>> = { s: '_seconds', By: '_bytes' };

/** `resource` are the facts about the process, which `target_info` has. */
export function prometheusText(
  readings: readonly InstrumentReading[],
  resource: Readonly<Record<string, string>>,
): string {
  const info: InstrumentReading = {
    name: 'target_info',
    unit: '1',
    description: 'Facts about this process.',
    kind: 'gauge',
    points: [{ attributes: resource, value: 1 }],
  };
  return [info, ...readings].flatMap(linesOf).join('\n').concat('\n');
}

/** A metric without points has no lines. */
function linesOf(reading: InstrumentReading): readonly string[] {
  if (reading.points.length === 0) return [];
  const name = metricName(reading);
  const head = [`# HELP ${name} ${reading.description}`, `# TYPE ${name} ${reading.kind}`];
  if (reading.kind !== 'histogram')
    return [
      ...head,
      ...reading.points.map(({ attributes, value }) => line(name, labelsOf(attributes), value)),
    ];
  return [...head, ...reading.points.flatMap((point) => bucketLines(name, reading.bounds, point))];
}

function metricName({ name, unit, kind }: Pick<InstrumentReading, 'name' | 'unit' | 'kind'>): string {
  const suffix = UNITS[unit] ?? '';
  return `${plain(name)}${suffix}${kind === 'counter' ? '_total' : ''}`;
}

/** Each bucket counts all that is not larger. */
function bucketLines(
  name: string,
  bounds: readonly number[],
  { attributes, count, sum, buckets }: HistogramPoint,
): readonly string[] {
  const labels = labelsOf(attributes);
  let below = 0;
  const lines = bounds.map((bound, index) => {
    below += buckets[index] ?? 0;
    return line(`${name}_bucket`, [...labels, `le="${bound}"`], below);
  });
  return [
    ...lines,
    line(`${name}_bucket`, [...labels, 'le="+Inf"'], count),
    line(`${name}_sum`, labels, sum),
    line(`${name}_count`, labels, count),
  ];
}

const line = (name: string, labels: readonly string[], value: number): string =>
  `${name}${labels.length === 0 ? '' : `{${labels.join(',')}}`} ${value}`;

const labelsOf = (attributes: Attributes): readonly string[] =>
  Object.entries(attributes).map(([name, value]) => `${plain(name)}="${escaped(String(value))}"`);

const plain = (name: string): string => name.replace(/[^A-Za-z0-9_]/g, '_');

const escaped = (text: string): string =>
  text.replace(/[\\"\n]/g, (char) => (char === '\n' ? '\\n' : `\\${char}`));
