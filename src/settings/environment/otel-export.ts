// The variables of OpenTelemetry as decisions: whether traces and figures are sent, where, and which traces are recorded.
// Values that cannot be used count as not set, which a sentence tells.

import { randomUUID } from '../../base/crypto.js';
import type { Sampler } from '../../base/trace.js';
import { PACKAGE_NAME, VERSION } from '../../base/version.js';
import type { SettingValues } from './variables.js';

export type OtelValues = SettingValues['otel'];

/** Where one kind of data is sent. */
type OtlpTarget = {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
};

export type OtelExport = {
  readonly traces: OtlpTarget | undefined;
  readonly metrics: OtlpTarget | undefined;
  readonly metricIntervalMs: number;
  /** Facts about this process. */
  readonly resource: Readonly<Record<string, string>>;
  /** Sentences about variables that do not count as they stand. */
  readonly troubles: readonly string[];
};

const DEFAULT_ENDPOINT = 'http://localhost:4318';
const DEFAULT_TIMEOUT_MS = 10_000;
const DEFAULT_INTERVAL_MS = 60_000;
const SIGNALS = { traces: 'v1/traces', metrics: 'v1/metrics' } as const;
type Signal = keyof typeof SIGNALS;

/** Whether anything may be sent: a quick look for whoever would have to load the rest. */
export const mayExport = ({ endpoint, tracesExporter, metricsExporter, ...others }: OtelValues): boolean =>
  [endpoint, tracesExporter, metricsExporter, others.tracesEndpoint, others.metricsEndpoint].some(
    (said) => said !== undefined && said !== 'none',
  ) && !isDisabled(others);

const isDisabled = ({ disabled }: Pick<OtelValues, 'disabled'>): boolean =>
  disabled?.toLowerCase() === 'true';

export function otelExportOf(values: OtelValues): OtelExport {
  const troubles: string[] = [];
  const tell = (name: string, expected: string) =>
    void troubles.push(`${name} has no effect as it stands: expected ${expected}.`);
  const target = (signal: Signal) => targetOf(signal, values, tell);
  const traces = target('traces');
  const metrics = target('metrics');
  return {
    traces,
    metrics,
    metricIntervalMs:
      wholeOr(values.metricInterval, 'OTEL_METRIC_EXPORT_INTERVAL', tell) ?? DEFAULT_INTERVAL_MS,
    resource: resourceOf(values, tell),
    troubles: [...new Set(troubles)],
  };
}

type Tell = (name: string, expected: string) => void;

function targetOf(signal: Signal, values: OtelValues, tell: Tell): OtlpTarget | undefined {
  const own = signal === 'traces' ? values.tracesEndpoint : values.metricsEndpoint;
  const exporter = signal === 'traces' ? values.tracesExporter : values.metricsExporter;
  if (isDisabled(values) || !isAsked(exporter, own ?? values.endpoint, signal, tell)) return undefined;
  if (values.protocol !== undefined && !values.protocol.startsWith('http/')) {
    tell('OTEL_EXPORTER_OTLP_PROTOCOL', 'http/json, with the address where the collector takes that');
    return undefined;
  }
  const name = `OTEL_EXPORTER_OTLP_${own === undefined ? '' : `${signal.toUpperCase()}_`}ENDPOINT`;
  const text = own ?? below(values.endpoint ?? DEFAULT_ENDPOINT, signal);
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    tell(name, 'an http or https address');
    return undefined;
  }
  return {
    url,
    headers: pairsOf(values.headers, 'OTEL_EXPORTER_OTLP_HEADERS', tell),
    timeoutMs: wholeOr(values.timeout, 'OTEL_EXPORTER_OTLP_TIMEOUT', tell) ?? DEFAULT_TIMEOUT_MS,
  };
}

function isAsked(
  exporter: string | undefined,
  endpoint: string | undefined,
  signal: Signal,
  tell: Tell,
): boolean {
  if (exporter === undefined) return endpoint !== undefined;
  const names = exporter.split(',').map((name) => name.trim());
  if (names.includes('otlp')) return true;
  if (!names.includes('none')) tell(`OTEL_${signal.toUpperCase()}_EXPORTER`, 'otlp or none');
  return false;
}

const below = (endpoint: string, signal: Signal): string =>
  `${endpoint.replace(/\/$/, '')}/${SIGNALS[signal]}`;

function wholeOr(said: string | undefined, name: string, tell: Tell): number | undefined {
  if (said === undefined) return undefined;
  if (/^[1-9]\d{0,8}$/.test(said)) return Number(said);
  tell(name, 'a whole number from 1, in milliseconds');
  return undefined;
}

/** Pairs as the W3C writes baggage, which these variables use; those that are none are left out. */
function pairsOf(said: string | undefined, name: string, tell: Tell): Readonly<Record<string, string>> {
  if (said === undefined) return {};
  const pairs: [string, string][] = [];
  for (const part of said.split(',').filter((text) => text.trim() !== '')) {
    const { key, value } = /^\s*(?<key>[\w.!#$%&'*+^`|~-]+)\s*=(?<value>.*)$/.exec(part)?.groups ?? {};
    try {
      if (key === undefined || value === undefined) throw new URIError('no pair');
      pairs.push([key, decodeURIComponent(value.trim())]);
    } catch {
      tell(name, 'name=value, several separated by commas');
    }
  }
  return Object.fromEntries(pairs);
}

let instanceId: string | undefined;

function resourceOf(values: OtelValues, tell: Tell): Readonly<Record<string, string>> {
  const attributes = pairsOf(values.resourceAttributes, 'OTEL_RESOURCE_ATTRIBUTES', tell);
  instanceId ??= randomUUID();
  return {
    'service.name': PACKAGE_NAME,
    'service.version': VERSION,
    'service.instance.id': instanceId,
    ...attributes,
    ...(values.serviceName === undefined ? {} : { 'service.name': values.serviceName }),
  };
}

/** Which traces are recorded; undefined where none is sent anywhere. */
export function samplerOf(values: OtelValues): Sampler | undefined {
  if (!mayExport(values) || otelExportOf(values).traces === undefined) return undefined;
  const { sampler = 'parentbased_always_on', samplerArgument = '1' } = values;
  const { isParentBased, root } =
    /^(?<isParentBased>parentbased_)?(?<root>always_on|always_off|traceidratio)$/.exec(sampler)?.groups ?? {};
  const share = root === 'always_off' ? 0 : root === 'traceidratio' ? shareOf(samplerArgument) : 1;
  const isKept = (traceId: string) => Number.parseInt(traceId.slice(-12), 16) < share * 2 ** 48;
  // A name that nobody knows counts as the default.
  if (root !== undefined && isParentBased === undefined) return isKept;
  return (traceId, isParentSampled) => isParentSampled ?? isKept(traceId);
}

function shareOf(text: string): number {
  const share = Number(text);
  return share >= 0 && share <= 1 ? share : 1;
}
