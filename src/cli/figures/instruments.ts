// Instruments as OpenTelemetry has them: counters, gauges and histograms whose points are told apart by attributes. They are
// read by whoever writes them down (prometheus-text.ts, otlp-json.ts). None grows without an end.

export type Attributes = Readonly<Record<string, string | number>>;

/** One instrument as it is now. `unit` is in UCUM: s, By, or 1 in braces for things that are counted. */
export type InstrumentReading = {
  readonly name: string;
  readonly unit: string;
  readonly description: string;
} & (
  | { readonly kind: 'counter' | 'gauge'; readonly points: readonly NumberPoint[] }
  | {
      readonly kind: 'histogram';
      /** The largest value of each bucket but the last, which has all that is larger. */
      readonly bounds: readonly number[];
      readonly points: readonly HistogramPoint[];
    }
);

type NumberPoint = { readonly attributes: Attributes; readonly value: number };
export type HistogramPoint = {
  readonly attributes: Attributes;
  readonly count: number;
  readonly sum: number;
  /** Counts, one more than there are bounds. */
  readonly buckets: readonly number[];
};

/** Points of one instrument; further attributes are counted together, in OpenTelemetry's word for it. */
const MAX_POINTS = 2_000;
const OVERFLOW: Attributes = { 'otel.metric.overflow': 'true' };
/** Bounds of the conventions for MCP, in seconds. */
const SECONDS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300] as const;

class Points<P> {
  readonly #points = new Map<string, { readonly attributes: Attributes; readonly point: P }>();
  readonly #make: () => P;

  constructor(make: () => P) {
    this.#make = make;
  }

  at(attributes: Attributes): P {
    const key = keyOf(attributes);
    const known = this.#points.get(key);
    if (known !== undefined) return known.point;
    if (this.#points.size >= MAX_POINTS && attributes !== OVERFLOW) return this.at(OVERFLOW);
    const point = this.#make();
    this.#points.set(key, { attributes, point });
    return point;
  }

  read<R>(reading: (attributes: Attributes, point: P) => R): readonly R[] {
    return [...this.#points.values()].map(({ attributes, point }) => reading(attributes, point));
  }
}

const keyOf = (attributes: Attributes): string => JSON.stringify(Object.entries(attributes));

type Named = Pick<InstrumentReading, 'name' | 'unit' | 'description'>;

/** A sum that only grows, or with `gauge` one that may fall. */
export class Count {
  readonly #named: Named & { readonly kind: 'counter' | 'gauge' };
  readonly #points = new Points(() => ({ value: 0 }));

  constructor(named: Named & { readonly kind: 'counter' | 'gauge' }) {
    this.#named = named;
  }

  add(value: number, attributes: Attributes = {}): void {
    this.#points.at(attributes).value += value;
  }

  set(value: number, attributes: Attributes = {}): void {
    this.#points.at(attributes).value = value;
  }

  read(): InstrumentReading {
    return { ...this.#named, points: this.#points.read((attributes, { value }) => ({ attributes, value })) };
  }
}

/** Times in seconds, counted by how long they were. */
export class Durations {
  readonly #named: Omit<Named, 'unit'>;
  readonly #points = new Points(() => ({
    count: 0,
    sum: 0,
    buckets: new Array<number>(SECONDS.length + 1).fill(0),
  }));

  constructor(named: Omit<Named, 'unit'>) {
    this.#named = named;
  }

  add(durationMs: number, attributes: Attributes = {}): void {
    const seconds = durationMs / 1000;
    const point = this.#points.at(attributes);
    point.count++;
    point.sum += seconds;
    const bucket = SECONDS.findIndex((bound) => seconds <= bound);
    const index = bucket === -1 ? SECONDS.length : bucket;
    point.buckets[index] = (point.buckets[index] ?? 0) + 1;
  }

  read(): InstrumentReading {
    const points = this.#points.read((attributes, { buckets, ...point }) => ({
      attributes,
      ...point,
      buckets: [...buckets],
    }));
    return { ...this.#named, unit: 's', kind: 'histogram', bounds: SECONDS, points };
  }
}
