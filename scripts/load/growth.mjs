// Whether something grows: the line that fits samples best, over the last half of them.

/** Memory may come and go by so much between two collections of garbage. */
export const MAX_GROWTH_BYTES = 32 * 2 ** 20;
/** Or by this part of what there is. */
export const MAX_GROWTH_SHARE = 0.15;
/** Connections come and go; what leaks with each call is far more. */
export const MAX_GROWTH_DESCRIPTORS = 24;

/** By how much the line that fits `samples` (of `at` in seconds and `value`) rises over their last half. */
export function growth(samples) {
  const half = samples.slice(Math.floor(samples.length / 2));
  if (half.length < 4) return 0;
  const mean = (of) => half.reduce((sum, each) => sum + of(each), 0) / half.length;
  const [meanAt, meanValue] = [mean(({ at }) => at), mean(({ value }) => value)];
  const covariance = mean(({ at, value }) => (at - meanAt) * (value - meanValue));
  const variance = mean(({ at }) => (at - meanAt) ** 2);
  const seconds = half.at(-1).at - half[0].at;
  return variance === 0 ? 0 : (covariance / variance) * seconds;
}
