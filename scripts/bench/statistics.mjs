// What a list of samples comes down to. Pure; knows nothing of what was measured.

/** The value below which `share` (0..1) of the samples lie, interpolated between neighbours. */
export function percentile(samples, share) {
  const sorted = [...samples].sort((a, b) => a - b);
  const at = (sorted.length - 1) * share;
  const below = sorted[Math.floor(at)];
  const above = sorted[Math.ceil(at)];
  return below + (above - below) * (at - Math.floor(at));
}

export const median = (samples) => percentile(samples, 0.5);

/**
 * Samples under a label, with their p50 and p95. Where more is better (calls a second) the p95 is that of the worse
 * end, so that it always says how bad it gets. A single sample has no p95.
 */
export function figure(label, samples, { moreIsBetter = false } = {}) {
  if (samples.length === 0) throw new Error(`${label}: there is no sample`);
  const p95 = samples.length === 1 ? undefined : percentile(samples, moreIsBetter ? 0.05 : 0.95);
  return { label, samples, p50: median(samples), p95 };
}
