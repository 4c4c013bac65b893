// `npm run load`: many clients of many principals at one bridge over HTTP, in all manners, beside a neighbour that floods, and
// while the bridge is killed; with --attack, a few principals beside attackers. --help says how. Exits with 1 where a bound is broken.

import { writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import Table from 'cli-table3';
import { ATTACK_NAMES } from './load/attackers.mjs';
import { BridgeUnderLoad, pause } from './load/bridge.mjs';
import { LoadClient, WAYS } from './load/client.mjs';
import { Ledger } from './load/ledger.mjs';
import { floodBeside, kills, measureAlone, paceCrew, storm } from './load/phases.mjs';
import { bounds, latencies } from './load/report.mjs';
import { besiegedOptions, printAttacks, underAttack } from './load/under-attack.mjs';
import { Work } from './load/work.mjs';
import { leaveWrong, takeOptions } from './options.mjs';

/** Of all runs, those of the two measured phases; the rest are the storm's. */
const MEASURED_SHARE = 0.2;
/** Descriptors that may stay open at rest: servers of principals that were not there before. */
const DESCRIPTORS_OF_A_SERVER = 8;
const PLAIN = { head: [], border: [] };
const REST_MS = 20_000;
const STEADY_MS = 6_000;
const CLEAN_MS = 60_000;
const SECONDS = { load: 2_100, attack: 240 };

const count = (says, usual) => ({ value: 'N', kind: 'count', says, default: usual });
const values = takeOptions({
  command: 'npm run load --',
  about:
    'Puts a bridge that serves over HTTP under load, with containers, or has it attacked, and says which bounds it keeps.',
  options: {
    clients: count('clients', 200),
    principals: count('principals, of which one floods', 20),
    runs: count('runs of code', 4_000),
    calls: count('tool calls, those of runs among them', 20_000),
    kills: count('times that the bridge is killed', 50),
    seconds: count(
      `after so long no phase begins anything more, and so long all attacks take (without it: ${SECONDS.load}; with --attack: ${SECONDS.attack})`,
    ),
    'without-containers': { says: 'hands all calls to a server; a run is so many calls' },
    'without-kills': { says: 'does not kill the bridge' },
    attack: { says: 'has principals and servers attack it instead, and measures others beside them' },
    only: { value: 'NAMES', says: 'with --attack: only these attacks', among: ATTACK_NAMES },
    json: { value: 'FILE', says: 'write the whole report there' },
  },
});
if (values.principals < 2) leaveWrong('--principals: one floods and another is measured, so 2 at least.');
if (values.clients < values.principals)
  leaveWrong(`--clients: each of the ${values.principals} principals has one at least.`);

const withContainers = !values['without-containers'];
const wantedKills = values['without-kills'] ? 0 : values.kills;
const beganAt = performance.now();
const seconds = values.seconds ?? (values.attack ? SECONDS.attack : SECONDS.load);
const isOver = () => performance.now() - beganAt > seconds * 1000;
const tell = (text) =>
  console.error(`${((performance.now() - beganAt) / 1000).toFixed(0).padStart(5)} s  ${text}`);

const names = Array.from({ length: values.principals }, (_, at) => `p${String(at + 1).padStart(2, '0')}`);
const bridge = await BridgeUnderLoad.open(
  values.attack ? besiegedOptions(withContainers) : { principals: names, withContainers },
);
for (const signal of ['SIGINT', 'SIGTERM'])
  process.once(signal, async () => {
    await bridge.stop();
    bridge.remove();
    process.exit(1);
  });
let report;
try {
  report = values.attack
    ? await underAttack({ bridge, names: values.only, seconds, withContainers, tell })
    : await load();
} finally {
  await bridge.stop();
  bridge.remove();
}
(values.attack ? printAttacks : print)(report);
if (values.json !== undefined) writeFileSync(resolve(values.json), `${JSON.stringify(report, null, 2)}\n`);
process.exitCode = report.bounds.every(({ isKept }) => isKept) ? 0 : 1;

async function load() {
  const ledger = new Ledger();
  const work = new Work({ ledger, withContainers });
  const crew = names.map((principal, at) => ({ principal, clients: clientsOf(principal, at) }));
  const [neighbour, ...others] = crew;
  if (withContainers) bridge.watchContainers();
  const slots = availableParallelism();

  tell('alone');
  const aloneMs = await measureAlone(work, others[0].clients[0]);
  const memory = { before: await restingMemory(), idle: 0 };
  // Each principal has its server from here on.
  for (const { clients, principal } of crew) await work.run(clients[0], principal);
  memory.idle = await restingMemory();
  const atRest = {
    before: await restingDescriptors(),
    after: 0,
    allowed: DESCRIPTORS_OF_A_SERVER * names.length,
  };

  const runs = Math.max(1, Math.floor((values.runs * MEASURED_SHARE) / 2 / others.length));
  const measured = { crew: others, work, ledger, runs, aloneMs, slots, isOver };
  tell(`calm: ${runs} runs of each of ${others.length} principals; one alone takes ${aloneMs.toFixed(0)} ms`);
  await paceCrew({ ...measured, phase: 'calm' });
  tell('the same beside a neighbour that floods');
  await floodBeside({ neighbour, work, during: () => paceCrew({ ...measured, phase: 'flooded' }) });

  const left = {
    runs: Math.max(0, values.runs - ledger.runs),
    calls: Math.max(0, values.calls - ledger.toolCalls),
  };
  tell(`storm: ${left.runs} runs and ${left.calls} tool calls by ${values.clients} clients`);
  const samples = await storm({ crew, work, ledger, ...left, isOver, bridge });
  for (const { clients } of crew) for (const client of clients) client.close();
  atRest.after = await restingDescriptors();

  tell(`${wantedKills} kills`);
  const killed = await kills({ crew, work, bridge, times: wantedKills, isOver });
  for (const { clients } of crew) for (const client of clients) client.close();
  tell('the end');
  const endedByItself = await bridge.stop();
  const found = {
    ledger,
    rows: latencies(ledger),
    samples,
    atRest,
    kills: { killed, retries: work.retries },
    wanted: { kills: wantedKills },
    left: await bridge.leftoversAfter(CLEAN_MS),
    crashes: bridge.crashes,
    endedByItself,
  };
  return {
    seconds: (performance.now() - beganAt) / 1000,
    clients: values.clients,
    withContainers,
    done: { runs: ledger.runs, toolCalls: ledger.toolCalls },
    flood: ledger.flood,
    memory: { ...memory, most: Math.max(memory.idle, ...samples.map(({ bytes }) => bytes)) },
    answers: { answered: ledger.answered, refused: ledger.refused, left: ledger.left },
    latencies: found.rows,
    bounds: [
      ...bounds(found),
      atLeastBound('runs', ledger.runs, values.runs),
      atLeastBound('tool calls', ledger.toolCalls, values.calls),
    ],
    samples,
    log: bridge.log,
  };
}

function atLeastBound(what, found, wanted) {
  return { bound: `${wanted} ${what}`, found: `${found}`, isKept: found >= wanted };
}

/** Clients of all ways are with each principal. */
function clientsOf(principal, at) {
  const { port, tokens } = bridge;
  const from = Math.floor((values.clients * at) / names.length);
  const to = Math.floor((values.clients * (at + 1)) / names.length);
  return Array.from({ length: to - from }, (_, own) => {
    return new LoadClient({ port, token: tokens.get(principal), way: WAYS[own % WAYS.length] });
  });
}

/** Resident bytes, when what a run leaves has been tidied away. */
async function restingMemory() {
  await pause(STEADY_MS);
  return bridge.sample()?.bytes ?? 0;
}

/** When connections and what ends behind an answer are gone: the least there is before it has been the same for a while. */
async function restingDescriptors() {
  const end = performance.now() + REST_MS;
  let least = Number.POSITIVE_INFINITY;
  let leastAt = performance.now();
  while (performance.now() < Math.min(end, leastAt + STEADY_MS)) {
    const { descriptors = Number.POSITIVE_INFINITY } = bridge.sample() ?? {};
    if (descriptors < least) [least, leastAt] = [descriptors, performance.now()];
    await pause(250);
  }
  return least;
}

function print({ latencies: rows, bounds: kept, done, flood, answers, seconds, memory }) {
  const ms = (summary) =>
    summary === undefined ? '' : `${summary.p50.toFixed(0)} / ${summary.p95.toFixed(0)}`;
  const head = ['principal', 'run, calm', 'run, flood', 'run, storm', 'call, calm', 'call, flood'];
  const times = new Table({ head, style: PLAIN });
  for (const { principal, runs, calls } of rows)
    times.push([principal, ...[runs.calm, runs.flooded, runs.storm, calls.calm, calls.flooded].map(ms)]);
  console.log(
    'Time of a run and of a call, p50 / p95 in ms, in the calm, beside a neighbour that floods, in the storm:',
  );
  console.log(times.toString());
  const table = new Table({
    head: ['bound', 'found', ''],
    style: PLAIN,
    colWidths: [60, 60, 8],
    wordWrap: true,
  });
  for (const { bound, found, isKept } of kept) table.push([bound, found, isKept ? 'kept' : 'BROKEN']);
  console.log(table.toString());
  const { answered, refused, left } = answers;
  console.log(
    `${done.runs} runs and ${done.toolCalls} tool calls in ${seconds.toFixed(0)} s: ${answered} answers, ${refused} refusals that say when to come back, ${left} calls that their clients left. The flood was ${flood.runs} runs and ${flood.toolCalls} tool calls besides.`,
  );
  const megabytes = (bytes) => `${(bytes / 2 ** 20).toFixed(1)} MB`;
  const { before, idle, most } = memory;
  const each = (bytes) => megabytes((bytes - before) / values.principals);
  console.log(
    `Memory of the bridge: ${megabytes(before)} with one principal, ${megabytes(idle)} when each of ${values.principals} has had a run (${each(idle)} for each), at most ${megabytes(most)} in the storm (${each(most)} for each). Their servers' processes have their own.`,
  );
}
