// Runs offered at a steady pace, whether or not the earlier ones have ended, as many users at one program would.

import { percentile } from '../bench/statistics.mjs';

/**
 * What became of the runs that were offered. A run that has no answer in time is late; one that was answered with an error, or could not
 * even be begun since so many were under way, is refused.
 *
 * @typedef {object} Rate
 * @property {number} offered
 * @property {number} served
 * @property {number} refused
 * @property {number} late
 * @property {number} [p50]  milliseconds of those that were served
 * @property {number} [p95]
 * @property {string} [refusal]  the first one
 */

/** @typedef {{ readonly ms: number, readonly refusal?: string, readonly isLate?: boolean }} Outcome */

/** Whoever calls a program has an end of patience. */
const PATIENCE_MS = 30_000;
/** More processes than this at once and the machine itself is what is measured. */
const MOST_AT_ONCE = 100;

/**
 * Offers `perSecond` calls a second for `seconds`, and waits for the last one.
 *
 * @param {() => Promise<unknown>} call
 * @param {{ readonly perSecond: number, readonly seconds: number }} pace
 * @returns {Promise<Rate>}
 */
export async function offer(call, { perSecond, seconds }) {
  /** @type {Promise<Outcome>[]} */
  const all = [];
  let underWay = 0;
  const once = async () => {
    if (underWay >= MOST_AT_ONCE) return { ms: 0, refusal: `${MOST_AT_ONCE} runs were under way` };
    underWay++;
    try {
      return await outcomeOf(call);
    } finally {
      underWay--;
    }
  };
  const begunAt = performance.now();
  for (let count = 0; count < perSecond * seconds; count++) {
    const wait = begunAt + (count * 1000) / perSecond - performance.now();
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
    all.push(once());
  }
  return rateOf(await Promise.all(all));
}

/** @param {() => Promise<unknown>} call @returns {Promise<Outcome>} */
async function outcomeOf(call) {
  const begunAt = performance.now();
  const since = () => performance.now() - begunAt;
  try {
    await call();
    return { ms: since(), isLate: since() > PATIENCE_MS };
  } catch (thrown) {
    return { ms: since(), refusal: /** @type {Error} */ (thrown).message };
  }
}

/** Counts outcomes. Pure. @param {readonly Outcome[]} outcomes @returns {Rate} */
export function rateOf(outcomes) {
  const refusals = outcomes.flatMap(({ refusal }) => (refusal === undefined ? [] : [refusal]));
  const late = outcomes.filter(({ isLate }) => isLate).length;
  const served = outcomes.filter(({ refusal, isLate }) => refusal === undefined && !isLate);
  const times = served.map(({ ms }) => ms);
  return {
    offered: outcomes.length,
    served: served.length,
    refused: refusals.length,
    late,
    ...(times.length === 0 ? {} : { p50: percentile(times, 0.5), p95: percentile(times, 0.95) }),
    ...(refusals[0] === undefined ? {} : { refusal: refusals[0] }),
  };
}
