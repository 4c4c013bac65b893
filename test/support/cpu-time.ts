// How long work takes where it is let be: what else the machine is doing shall not make a test fail.

/** Milliseconds of a processor, not of a clock, in the fastest of a few tries; the first that takes no more than `enoughMs` is the last. */
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

/** The same of a clock, for what mostly waits: `measure` gives the milliseconds of one try. */
export async function leastMs(measure: () => Promise<number>, enoughMs: number, tries = 4): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let tried = 0; tried < tries && least > enoughMs; tried++) least = Math.min(least, await measure());
  return least;
}
