// Times as a person writes them on a command line: how long, a day, a moment.

export const DAY_MS = 86_400_000;
const UNITS_MS: Readonly<Record<string, number>> = {
  m: 60_000,
  h: 3_600_000,
  d: DAY_MS,
  w: 7 * DAY_MS,
  y: 365 * DAY_MS,
};
const DURATION = /^(?<count>\d{1,6})(?<unit>[mhdwy])$/;
const DATE = /^\d{4}-\d{2}-\d{2}$/;
const INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2})?(?:\.\d{1,3})?(?:Z|[+-]\d{2}:\d{2})$/;

/** Milliseconds of `30m`, `12h`, `30d`, `8w` or `1y`; undefined for anything else. */
export function durationOf(text: string): number | undefined {
  const { count, unit } = DURATION.exec(text)?.groups ?? {};
  return count === undefined || unit === undefined ? undefined : Number(count) * (UNITS_MS[unit] ?? 0);
}

/** First moment (UTC, in ms since 1970) of a day such as `2030-12-31`; undefined for anything else. */
export function dayOf(text: string): number | undefined {
  if (!DATE.test(text)) return undefined;
  const startMs = Date.parse(`${text}T00:00:00Z`);
  // Some days, such as 30 February, are read as days of the next month.
  const isDay = !Number.isNaN(startMs) && new Date(startMs).toISOString().startsWith(text);
  return isDay ? startMs : undefined;
}

/** Milliseconds since 1970 of a moment such as `2030-12-31T12:00Z`; undefined for anything else. */
export function instantOf(text: string): number | undefined {
  const atMs = INSTANT.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(atMs) ? undefined : atMs;
}
