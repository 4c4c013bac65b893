// The variables by which OpenTelemetry has programs told where their traces and figures go, as far as the bridge knows them.
// They are often set for other programs and handed down, so nothing in them is an error: what cannot be used is told in the log.

import { z } from 'zod';
import { makeOptional, type SettingRow } from './setting-rules.js';

const said = <const N extends string>(row: SettingRow & { readonly name: N }) =>
  makeOptional({ ...row, schema: z.string() });

const ADDRESS = 'an http or https address';

export const otelVariables = {
  endpoint: said({
    name: 'OTEL_EXPORTER_OTLP_ENDPOINT',
    meaning:
      'Where traces and figures are sent in OTLP over HTTP with JSON, at `/v1/traces` and `/v1/metrics` below it; docs/figures.md says what they hold.',
    default: 'none; with an exporter set, http://localhost:4318',
    allowed: ADDRESS,
  }),
  tracesEndpoint: said({
    name: 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
    meaning: 'Where traces are sent, as it stands.',
    default: 'below OTEL_EXPORTER_OTLP_ENDPOINT',
    allowed: ADDRESS,
  }),
  metricsEndpoint: said({
    name: 'OTEL_EXPORTER_OTLP_METRICS_ENDPOINT',
    meaning: 'Where figures are sent, as it stands.',
    default: 'below OTEL_EXPORTER_OTLP_ENDPOINT',
    allowed: ADDRESS,
  }),
  protocol: said({
    name: 'OTEL_EXPORTER_OTLP_PROTOCOL',
    meaning: 'With grpc nothing is sent; whoever takes http/protobuf takes JSON at the same address.',
    default: 'http/json',
    allowed: 'http/json or http/protobuf',
  }),
  headers: said({
    name: 'OTEL_EXPORTER_OTLP_HEADERS',
    meaning: 'Headers of what is sent, such as a credential of the collector.',
    default: 'none',
    allowed: 'name=value, several separated by commas; %2C for a comma in a value',
  }),
  timeout: said({
    name: 'OTEL_EXPORTER_OTLP_TIMEOUT',
    meaning: 'Milliseconds that the collector may take to answer.',
    default: '10000',
    allowed: 'a whole number from 1',
  }),
  tracesExporter: said({
    name: 'OTEL_TRACES_EXPORTER',
    meaning: 'Whether traces are sent.',
    default: 'otlp if an endpoint is set, else none',
    allowed: 'otlp or none',
  }),
  metricsExporter: said({
    name: 'OTEL_METRICS_EXPORTER',
    meaning: 'Whether figures are sent.',
    default: 'otlp if an endpoint is set, else none',
    allowed: 'otlp or none',
  }),
  metricInterval: said({
    name: 'OTEL_METRIC_EXPORT_INTERVAL',
    meaning: 'Milliseconds between two times that figures are sent.',
    default: '60000',
    allowed: 'a whole number from 1',
  }),
  sampler: said({
    name: 'OTEL_TRACES_SAMPLER',
    meaning: 'Which traces are recorded.',
    default: 'parentbased_always_on',
    allowed: 'always_on, always_off or traceidratio, each also behind parentbased_',
  }),
  samplerArgument: said({
    name: 'OTEL_TRACES_SAMPLER_ARG',
    meaning: 'Share of traces that traceidratio records.',
    default: '1',
    allowed: 'a number from 0 to 1',
  }),
  serviceName: said({
    name: 'OTEL_SERVICE_NAME',
    meaning: 'Name of this bridge in traces and figures.',
    default: 'mcp-sandbox-bridge',
    allowed: 'a text',
  }),
  resourceAttributes: said({
    name: 'OTEL_RESOURCE_ATTRIBUTES',
    meaning: 'Further facts about this bridge in traces and figures.',
    default: 'none',
    allowed: 'name=value, several separated by commas; %2C for a comma in a value',
  }),
  disabled: said({
    name: 'OTEL_SDK_DISABLED',
    meaning: 'With true nothing is sent, whatever else is set.',
    default: 'false',
    allowed: 'true or false',
  }),
};
