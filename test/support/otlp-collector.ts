// A collector of OpenTelemetry that keeps what it is sent by OTLP over HTTP with JSON, for tests.

import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';

export type SentSpan = {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly status?: { readonly code: number };
  readonly attributes: readonly Attribute[];
};

type Attribute = {
  readonly key: string;
  readonly value: { readonly stringValue?: string; readonly intValue?: string };
};

type Sent = {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into it as it comes.
  readonly body: any;
};

export type Collector = AsyncDisposable & {
  readonly url: string;
  readonly sent: Sent[];
  /** Statuses of the next answers; 200 when there are none. */
  readonly statuses: number[];
  readonly spans: () => readonly SentSpan[];
  /** Names of all metrics that were sent. */
  readonly metrics: () => ReadonlySet<string>;
};

export async function openCollector(): Promise<Collector> {
  const sent: Sent[] = [];
  const statuses: number[] = [];
  const server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8');
    request.on('data', (piece: string) => {
      text += piece;
    });
    request.on('end', () => {
      const status = statuses.shift() ?? 200;
      if (status === 200)
        sent.push({ path: request.url ?? '', headers: request.headers, body: JSON.parse(text) });
      response.writeHead(status, { 'content-type': 'application/json' }).end('{}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const at = (path: string) => sent.filter((one) => one.path === path);
  return {
    url: `http://127.0.0.1:${port}`,
    sent,
    statuses,
    spans: () => at('/v1/traces').flatMap(({ body }) => body.resourceSpans[0].scopeSpans[0].spans),
    metrics: () =>
      new Set(
        at('/v1/metrics').flatMap(({ body }) =>
          body.resourceMetrics[0].scopeMetrics[0].metrics.map(({ name }: { name: string }) => name),
        ),
      ),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** The attributes of a step, by name. */
export const attributesOf = ({ attributes }: SentSpan): Readonly<Record<string, string | undefined>> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue ?? value.intValue]));
