// The phases of the load: calm, beside a neighbour that floods, a storm of all manners, and kills. Each takes as much of the
// work as it is given, and ends early when the time is over.

import { pause } from './bridge.mjs';
import { CALLS_OF_A_RUN, workRepeatedly } from './work.mjs';

/** How much of what the bridge can do the calm phases ask for, so that a queue is not what is measured. */
const CALM_SHARE = 0.4;
/** A call comes after a run within this part of the time between two runs. */
const CALL_SHARE = 0.5;
/** How many runs the neighbour has under way or waiting all the time, and how many calls. */
const FLOOD_OF_RUNS = 24;
const FLOOD_OF_CALLS = 24;
const SAMPLE_MS = 250;
const MIN_KILL_MS = 1_000;
const KILL_SPREAD_MS = 2_000;

/** Middle time of a run when nothing else is done, in ms. */
export async function measureAlone(work, client) {
  const times = [];
  for (let at = 0; at < 7; at++) times.push(await work.run(client, 'alone'));
  return times.sort((one, other) => one - other)[3];
}

/** Mean time between two runs of one of `others` principals, in ms, which leaves the bridge mostly idle. */
const meanMsBetween = ({ aloneMs, others, slots }) => (aloneMs * others) / (slots * CALM_SHARE);

/** How many runs each makes in `ms`, as `paceCrew` paces them. */
export const runsWithin = (ms, pace) =>
  Math.max(1, Math.floor(ms / ((1 + CALL_SHARE / 2) * meanMsBetween(pace))));

/**
 * Each principal but the neighbour makes `runs` runs, at random moments whose mean distance leaves the bridge mostly idle, and as many
 * calls besides. Their times are noted under `phase`.
 */
export async function paceCrew({ phase, crew, work, ledger, runs, aloneMs, slots, isOver }) {
  const meanMs = meanMsBetween({ aloneMs, others: crew.length, slots });
  await Promise.all(
    crew.map(async ({ principal, clients }) => {
      const pending = [];
      for (let at = 0; at < runs && !isOver(); at++) {
        await pause(-Math.log(1 - Math.random()) * meanMs);
        const client = clients[at % clients.length];
        pending.push(work.run(client, principal).then((ms) => ledger.time(phase, principal, ms)));
        await pause(Math.random() * meanMs * CALL_SHARE);
        pending.push(work.call(client, principal).then((ms) => ledger.time(`${phase} call`, principal, ms)));
      }
      await Promise.all(pending);
    }),
  );
}

/** Runs and calls of the neighbour, each as soon as the one before it has ended, while `during` goes on. */
export async function floodBeside({ neighbour, work, during }) {
  let isOver = false;
  const about = `${neighbour.principal} flood`;
  const manner = { isFlood: true };
  const floodOf = (length, send) =>
    Array.from({ length }, async (_, at) => {
      const client = neighbour.clients[at % neighbour.clients.length];
      while (!isOver) await send(client);
    });
  const flooding = Promise.all([
    ...floodOf(FLOOD_OF_RUNS, (client) => work.run(client, about, manner)),
    ...floodOf(FLOOD_OF_CALLS, (client) => work.call(client, about, manner)),
  ]);
  await during();
  isOver = true;
  await flooding;
}

/** Every client at once, in all manners, until so many runs and calls are done. */
export async function storm({ crew, work, ledger, runs, calls, isOver, bridge }) {
  const samples = [];
  const sampling = setInterval(() => {
    const sample = bridge.sample();
    if (sample !== undefined) samples.push({ at: performance.now() / 1000, ...sample });
  }, SAMPLE_MS);
  let runsLeft = runs;
  let callsLeft = calls - runs * CALLS_OF_A_RUN;
  const clients = crew.flatMap(({ principal, clients: own }) => own.map((client) => ({ client, principal })));
  const isDone = () => isOver() || (runsLeft <= 0 && callsLeft <= 0);
  await workRepeatedly(clients, isDone, async ({ client, principal }) => {
    const manner = mannerOf(Math.random());
    if (runsLeft > 0 && (callsLeft <= 0 || Math.random() < 0.3)) {
      runsLeft--;
      ledger.time('storm', principal, await work.run(client, principal, manner));
    } else if (callsLeft > 0) {
      callsLeft--;
      if (Math.random() < 0.05) await work.callLarge(client, principal, manner);
      else await work.call(client, principal, manner);
    }
  });
  clearInterval(sampling);
  return samples;
}

function mannerOf(chance) {
  if (chance < 0.05) return { manner: 'cancels', afterMs: 30 + Math.random() * 400 };
  if (chance < 0.1) return { manner: 'leaves', afterMs: Math.random() * 400 };
  return chance < 0.13 ? { manner: 'slow' } : {};
}

/** All clients go on while the bridge is killed so often; each call is sent again until it is answered. */
export async function kills({ crew, work, bridge, times, isOver }) {
  let isKilling = true;
  work.mayLose = true;
  const clients = crew.flatMap(({ principal, clients: own }) => own.map((client) => ({ client, principal })));
  const going = workRepeatedly(
    clients,
    () => !isKilling,
    async ({ client, principal }) => {
      if (Math.random() < 0.3) await work.run(client, `${principal}, kills`);
      else await work.call(client, `${principal}, kills`);
    },
  );
  let killed = 0;
  for (; killed < times && !isOver(); killed++) {
    await pause(MIN_KILL_MS + Math.random() * KILL_SPREAD_MS);
    const before = bridge.starts;
    bridge.kill();
    const end = performance.now() + 60_000;
    while (bridge.starts === before && performance.now() < end) await pause(50);
  }
  isKilling = false;
  await going;
  work.mayLose = false;
  return killed;
}
