import { describe, expect, it } from 'vitest';
import type { Environment } from '../../src/base/process/environment.js';
import { mayExport, otelExportOf, samplerOf } from '../../src/settings/environment/otel-export.js';
import { parseSettings } from '../../src/settings/environment/settings.js';
import { hostFacts } from '../../src/settings/files/host-facts.js';

const of = (env: Environment) => parseSettings(env, hostFacts()).settings.otel;
const targets = (env: Environment) => {
  const { traces, metrics } = otelExportOf(of(env));
  return [traces?.url.href, metrics?.url.href];
};
const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318/base/' };

describe('what is sent where', () => {
  it.each<[string, Environment, readonly (string | undefined)[]]>([
    ['nothing without a word', {}, [undefined, undefined]],
    ['both below one endpoint', ENDPOINT, ['http://c:4318/base/v1/traces', 'http://c:4318/base/v1/metrics']],
    [
      'each at its own address, as it stands',
      { ...ENDPOINT, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://t/x' },
      ['https://t/x', 'http://c:4318/base/v1/metrics'],
    ],
    [
      'only one of them',
      { ...ENDPOINT, OTEL_METRICS_EXPORTER: 'none' },
      ['http://c:4318/base/v1/traces', undefined],
    ],
    [
      'to this machine where only an exporter is named',
      { OTEL_TRACES_EXPORTER: 'console,otlp' },
      ['http://localhost:4318/v1/traces', undefined],
    ],
    ['nothing where it is switched off', { ...ENDPOINT, OTEL_SDK_DISABLED: 'TRUE' }, [undefined, undefined]],
    ['nothing by grpc', { ...ENDPOINT, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, [undefined, undefined]],
    [
      'nothing to what is no address',
      { OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4318' },
      [undefined, undefined],
    ],
  ])('is %s', (_what, env, expected) => {
    expect(targets(env)).toEqual(expected);
    if (expected.some((url) => url !== undefined)) expect(mayExport(of(env))).toBe(true);
  });

  it('goes by a variable that is said to have no effect, and stops no bridge', () => {
    const env = {
      ...ENDPOINT,
      OTEL_EXPORTER_OTLP_TIMEOUT: 'soon',
      OTEL_EXPORTER_OTLP_HEADERS: 'a=b%2Cc, =x,d=%zz',
      OTEL_METRIC_EXPORT_INTERVAL: '0',
      OTEL_METRICS_EXPORTER: 'statsd',
    };
    const { traces, metrics, metricIntervalMs, troubles } = otelExportOf(of(env));
    expect(traces).toMatchObject({ timeoutMs: 10_000, headers: { a: 'b,c' } });
    expect(metrics).toBeUndefined();
    expect(metricIntervalMs).toBe(60_000);
    expect(troubles.map((trouble) => trouble.split(' ')[0])).toEqual([
      'OTEL_EXPORTER_OTLP_HEADERS',
      'OTEL_EXPORTER_OTLP_TIMEOUT',
      'OTEL_METRICS_EXPORTER',
      'OTEL_METRIC_EXPORT_INTERVAL',
    ]);
  });

  it('names the process by the service, its version and an id of its own', () => {
    const env = {
      ...ENDPOINT,
      OTEL_RESOURCE_ATTRIBUTES: 'team=a%20b,service.name=x',
      OTEL_SERVICE_NAME: 'y',
    };
    expect(otelExportOf(of(env)).resource).toMatchObject({
      'service.name': 'y',
      'service.instance.id': expect.stringMatching(/^[0-9a-f-]{36}$/),
      team: 'a b',
    });
  });
});

describe('a sampler', () => {
  const LOW = `${'0'.repeat(18)}00000000000001`;
  const HIGH = 'f'.repeat(32);
  const decided = (name: string | undefined, argument?: string) => {
    const sampler = samplerOf(
      of({
        ...ENDPOINT,
        ...(name === undefined ? {} : { OTEL_TRACES_SAMPLER: name }),
        ...(argument === undefined ? {} : { OTEL_TRACES_SAMPLER_ARG: argument }),
      }),
    );
    return [
      sampler?.(LOW, undefined),
      sampler?.(HIGH, undefined),
      sampler?.(HIGH, true),
      sampler?.(LOW, false),
    ];
  };

  it.each([
    [undefined, undefined, [true, true, true, false]],
    ['nonsense', undefined, [true, true, true, false]],
    ['always_on', undefined, [true, true, true, true]],
    ['always_off', undefined, [false, false, false, false]],
    ['parentbased_always_off', undefined, [false, false, true, false]],
    ['traceidratio', '0.5', [true, false, false, true]],
    ['parentbased_traceidratio', '0.5', [true, false, true, false]],
    ['traceidratio', '7', [true, true, true, true]],
  ])('%s %s', (name, argument, expected) => {
    expect(decided(name, argument)).toEqual(expected);
  });

  it('is none where no trace is sent', () => {
    expect(samplerOf(of({}))).toBeUndefined();
    expect(samplerOf(of({ ...ENDPOINT, OTEL_TRACES_EXPORTER: 'none' }))).toBeUndefined();
  });
});
