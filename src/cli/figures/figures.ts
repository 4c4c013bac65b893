// Figures and traces of a process that serves: folded out of its events, sent to a collector, and read by Prometheus. Loaded only
// where one of these is asked for.

import type { BridgeEvent, Observer } from '../../base/log/events.js';
import type { Redactor } from '../../base/secrets/redact.js';
import { PatientSender } from '../../base/waiting/patient-sender.js';
import { type OtelExport, type OtelValues, otelExportOf } from '../../settings/environment/otel-export.js';
import { EventFigures } from './event-figures.js';
import { type EndedSpan, metricsBody, spanOf, tracesBody } from './otlp-json.js';
import { PROMETHEUS_TYPE, prometheusText } from './prometheus-text.js';

/** Steps of traces are sent together after so long, or when there are so many. */
const SPANS_WITHIN_MS = 5_000;
const SPANS_AT_ONCE = 512;
/** Steps that wait for a collector; further ones are lost, and told. */
const MAX_SPANS = 2_048;
/** The time that a process which ends gives its collector. */
const LAST_WITHIN_MS = 1_000;

export class Figures implements AsyncDisposable {
  readonly #figures = new EventFigures();
  readonly #export: OtelExport;
  readonly #redact: (text: string) => string;
  readonly #observer: Observer;
  readonly #traces: PatientSender | undefined;
  readonly #metrics: PatientSender | undefined;
  readonly #sinceMs = Date.now();
  readonly #timer: NodeJS.Timeout | undefined;
  #spans: EndedSpan[] = [];
  #lost = 0;
  #sending: Promise<void> | undefined;
  #planned: NodeJS.Timeout | undefined;

  constructor(
    values: OtelValues,
    { redactor, observer }: { readonly redactor: Redactor; readonly observer: Observer },
  ) {
    this.#export = otelExportOf(values);
    const { traces, metrics, metricIntervalMs, troubles } = this.#export;
    redactor.addAll({ ...traces?.headers, ...metrics?.headers });
    this.#redact = (text) => redactor.redact(text);
    this.#observer = observer;
    const tell = (message: string) => observer({ type: 'figures.trouble', message });
    for (const message of troubles) tell(message);
    this.#traces = traces && new PatientSender(traces, tell);
    this.#metrics = metrics && new PatientSender(metrics, tell);
    if (metrics !== undefined)
      this.#timer = setInterval(() => void this.#sendMetrics(), metricIntervalMs).unref();
  }

  /** An observer. */
  readonly observe = (event: BridgeEvent): void => {
    this.#figures.observe(event);
    if (this.#traces === undefined) return;
    const span = spanOf(event, this.#redact);
    if (span !== undefined) this.#add(span);
  };

  /** The page of Prometheus, and its media type. */
  page(): { readonly text: string; readonly type: string } {
    return { text: prometheusText(this.#figures.read(), this.#export.resource), type: PROMETHEUS_TYPE };
  }

  /** Sends what has not been sent yet, as far as there is time. */
  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    clearTimeout(this.#planned);
    this.#traces?.hurry();
    this.#metrics?.hurry();
    const sent = Promise.all([this.#sendMetrics(), this.#sendSpans()]);
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, LAST_WITHIN_MS);
    });
    await Promise.race([sent, late]);
    clearTimeout(timer);
  }

  #add(span: EndedSpan): void {
    if (this.#spans.length >= MAX_SPANS) {
      if (this.#lost++ === 0)
        this.#observer({
          type: 'figures.trouble',
          message: `Traces are lost: ${MAX_SPANS} steps wait for their collector.`,
        });
      return;
    }
    this.#spans.push(span);
    if (this.#spans.length >= SPANS_AT_ONCE) void this.#sendSpans();
    else this.#planned ??= setTimeout(() => void this.#sendSpans(), SPANS_WITHIN_MS).unref();
  }

  /** One batch after the other, until none waits. */
  #sendSpans(): Promise<void> {
    clearTimeout(this.#planned);
    this.#planned = undefined;
    this.#sending ??= this.#sendWaiting().finally(() => {
      this.#sending = undefined;
    });
    return this.#sending;
  }

  async #sendWaiting(): Promise<void> {
    while (this.#spans.length > 0) {
      const batch = this.#spans.slice(0, SPANS_AT_ONCE);
      this.#spans = this.#spans.slice(SPANS_AT_ONCE);
      await this.#traces?.send(tracesBody(batch, this.#export.resource));
    }
    this.#lost = 0;
  }

  async #sendMetrics(): Promise<void> {
    const times = { sinceMs: this.#sinceMs, nowMs: Date.now() };
    await this.#metrics?.send(metricsBody(this.#figures.read(), this.#export.resource, times));
  }
}
