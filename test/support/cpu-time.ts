// How long work takes where it is let be: what else the machine is doing shall not make a test fail.

/**
 * Milliseconds of a processor, not of a clock, in the fastest of a few tries; the first that takes no more than `enoughMs`
 * is the last.
 */
export function leastCpuMs(work: () => void, enoughMs: number, tries = 4): number {
  let least = Number.POSITIVE_INFINITY;
  for (let tried = 0; tried < tries && least > enoughMs; tried++) {
    const before = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(before);
    least = Math.min(least, (user + system) / 1000);
  }
  return least;
}

/** Fewest milliseconds of a clock, for work that mostly waits: `measure` gives the milliseconds of one try. */
export async function leastMs(measure: () => Promise<number>, enoughMs: number, tries = 4): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let tried = 0; tried < tries && least > enoughMs; tried++) least = Math.min(least, await measure());
  return least;
}

/** Bound that `growth` stays below where time grows with the size. */
export const LINEAR = 8;
/** Work that takes less of a processor is too short to be compared: the process has other work of its own. */
const MEASURABLE_MS = 1;

/**
 * How many times as much of a processor `work` takes for one text, list or the like of `size * times` as for `times` of them
 * of `size`: about one where the time grows with the size, and about `times` where it grows with its square.
 */
export function growth(work: (size: number) => unknown, size: number, times = 64): number {
  const apart = leastCpuMs(
    () => {
      for (let done = 0; done < times; done++) work(size);
    },
    0,
    2,
  );
  const compared = Math.max(apart, MEASURABLE_MS);
  return leastCpuMs(() => void work(size * times), LINEAR * compared) / compared;
}
