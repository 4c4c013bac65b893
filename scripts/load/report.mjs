// What the load comes to: figures, and which bounds they keep.

import { percentile } from '../bench/statistics.mjs';
import { growth, MAX_GROWTH_BYTES, MAX_GROWTH_DESCRIPTORS, MAX_GROWTH_SHARE } from './growth.mjs';

/** How many times as long the slowest runs of a principal may take beside a neighbour that floods. */
export const MAX_SLOWDOWN = 2;
/**
 * With fewer samples of a principal its p95 is that of its two or three slowest runs: a cold start more or less would decide. All
 * of them together are judged in any case, and the table shows each.
 */
const MIN_SAMPLES = 60;
/** What a machine does by itself in between. */
export const NOISE_MS = 25;
const EXAMPLES = 5;

/** Undefined where there are no times. */
export const summary = (times) =>
  times === undefined || times.length === 0
    ? undefined
    : { runs: times.length, p50: percentile(times, 0.5), p95: percentile(times, 0.95) };

/** Times of one principal after the other, and of all together. */
export function latencies({ times }) {
  const names = [...new Set([...times.values()].flatMap((byPrincipal) => [...byPrincipal.keys()]))].sort();
  const of = (phase, name) => summary(times.get(phase)?.get(name));
  const all = (phase) => summary([...(times.get(phase)?.values() ?? [])].flat());
  const row = (principal, found) => ({
    principal,
    runs: { calm: found('calm'), flooded: found('flooded'), storm: found('storm') },
    calls: { calm: found('calm call'), flooded: found('flooded call') },
  });
  return [...names.map((name) => row(name, (phase) => of(phase, name))), row('all', all)];
}

/** Whether the slowest are slower by more than they may be. */
export const isSlower = (calm, beside) => beside.p95 > MAX_SLOWDOWN * calm.p95 + NOISE_MS;

/** Whether a flood has slowed what one principal, or all together, did; not where a p95 would be that of one sample. */
const isSlowed = ({ calm, flooded }, isOfAll) =>
  calm !== undefined &&
  flooded !== undefined &&
  (isOfAll || Math.min(calm.runs, flooded.runs) >= MIN_SAMPLES) &&
  isSlower(calm, flooded);

function slowedIn(rows, what) {
  const slowed = rows.filter((row) => isSlowed(row[what], row.principal === 'all'));
  return {
    bound: `p95 of ${what} of the others beside a flood at most ${MAX_SLOWDOWN} times that of the calm`,
    found: slowed.length === 0 ? 'none slower' : slowed.map(({ principal }) => principal).join(', '),
    isKept: slowed.length === 0,
  };
}

/** Each bound with what was found; `isKept` false makes the whole fail. */
export function bounds({ ledger, rows, samples, atRest, kills, wanted, left, crashes, endedByItself }) {
  const count = (what, list) => ({
    bound: `0 ${what}`,
    found: list.length === 0 ? '0' : `${list.length}: ${list.slice(0, EXAMPLES).join('; ')}`,
    isKept: list.length === 0,
  });
  const memory = growth(samples.map(({ at, bytes }) => ({ at, value: bytes })));
  const memoryBound = Math.max(MAX_GROWTH_BYTES, MAX_GROWTH_SHARE * (samples.at(-1)?.bytes ?? 0));
  const descriptors = growth(samples.map(({ at, descriptors: value }) => ({ at, value })));
  const megabytes = (bytes) => `${(bytes / 2 ** 20).toFixed(1)} MB`;
  return [
    count('lost', ledger.lost),
    count('mixed up', ledger.mixedUp),
    count('answered wrongly', ledger.failed),
    count('left behind', left),
    slowedIn(rows, 'runs'),
    slowedIn(rows, 'calls'),
    {
      bound: `memory over the last half of the storm grows by at most ${megabytes(memoryBound)}`,
      found: megabytes(memory),
      isKept: memory <= memoryBound,
    },
    {
      bound: `descriptors over the last half of the storm grow by at most ${MAX_GROWTH_DESCRIPTORS}`,
      found: descriptors.toFixed(1),
      isKept: descriptors <= MAX_GROWTH_DESCRIPTORS,
    },
    {
      bound: 'descriptors at rest as many as before',
      found: `${atRest.before} before, ${atRest.after} after`,
      isKept: atRest.after <= atRest.before + atRest.allowed,
    },
    {
      bound: `${wanted.kills} kills, and retries succeed`,
      found: `${kills.killed} kills, ${kills.retries} retries`,
      isKept: kills.killed === wanted.kills,
    },
    { bound: 'no end of the bridge besides', found: `${crashes}`, isKept: crashes === 0 },
    { bound: 'it ends when it is told to', found: endedByItself ? 'yes' : 'no', isKept: endedByItself },
  ];
}
