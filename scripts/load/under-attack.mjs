// `npm run load -- --attack`: each attack in turn, on and off, beside principals that work at an even pace; what it does to their
// calls, and to the bridge's memory and processor.

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism, loadavg } from 'node:os';
import { fileURLToPath } from 'node:url';
import Table from 'cli-table3';
import { ASKS, ATTACKS, rulesFor } from './attackers.mjs';
import { pause } from './bridge.mjs';
import { LoadClient, WAYS } from './client.mjs';
import { Ledger } from './ledger.mjs';
import { measureAlone, paceCrew, runsWithin } from './phases.mjs';
import { isSlower, MAX_SLOWDOWN, NOISE_MS, summary } from './report.mjs';
import { Work } from './work.mjs';

const ATTACKER = fileURLToPath(new URL('attacker.mjs', import.meta.url));
const OTHERS = ['ann', 'ben', 'eva'];
/** An attack is on so often, each time after as long a time without it: what else the machine does meets both. */
const ROUNDS = 2;
const SAMPLE_MS = 100;
/** Whoever has hung up is noticed by then. */
const SETTLE_MS = 2_000;
/** And what an attack leaves is gone. */
const GONE_WITHIN_MS = 20_000;
const TOLD_WITHIN_MS = 240_000;
const MB_BYTES = 2 ** 20;
/** Bodies of one principal that may be under way: four times the largest one. */
const MAX_HELD_MB = 256;
/** What an attack may leave, since a heap is never the same twice. */
const MAX_LEFT_MB = 8;
/** Of fewer a p95 is that of one. */
const MIN_SAMPLES = 20;
const EXAMPLES = 3;

/** What a bridge is to be opened with for these attacks. */
export const besiegedOptions = (withContainers) => ({
  principals: [...OTHERS, ...ATTACKS.flatMap(({ by }) => Object.keys(by))],
  withContainers,
  files: { 'principals.json': rulesFor(OTHERS), 'asks.json': ASKS },
  isWeighed: true,
});

/** Makes the attacks of these names, which all take `seconds` together. */
export async function underAttack({ bridge, names, seconds, withContainers, tell }) {
  const ledger = new Ledger();
  const work = new Work({ ledger, withContainers });
  const { port, tokens } = bridge;
  const clientOf = (principal) => (way) => new LoadClient({ port, token: tokens.get(principal), way });
  const crew = OTHERS.map((principal) => ({ principal, clients: WAYS.map(clientOf(principal)) }));
  for (const { clients, principal } of crew) await work.run(clients[0], principal);
  const pace = {
    aloneMs: await measureAlone(work, crew[0].clients[0]),
    others: crew.length,
    slots: availableParallelism(),
  };
  const wanted = ATTACKS.filter(({ name }) => names.includes(name));
  const windowMs = (seconds * 1000) / wanted.length / ROUNDS / 2;
  const runs = Math.max(Math.ceil(MIN_SAMPLES / crew.length / ROUNDS), runsWithin(windowMs, pace));
  const attacks = [];
  for (const attack of wanted) {
    if (attack.inCode && !withContainers) {
      attacks.push({ ...attack, missing: 'it needs containers: leave out --without-containers' });
      continue;
    }
    tell(`${attack.name}: ${attack.says}`);
    const window = (phase) => paceCrew({ phase, crew, work, ledger, runs, isOver: () => false, ...pace });
    attacks.push({ ...attack, ...(await measureAttack(attack, { bridge, ledger, window })) });
  }
  for (const { clients } of crew) for (const client of clients) client.close();
  const { lost, failed, mixedUp } = ledger;
  return {
    seconds,
    withContainers,
    attacks,
    bounds: [
      ...attacks.filter(({ missing }) => missing === undefined).flatMap(boundsOf),
      noneBound('calls of the others lost', lost),
      noneBound('answered wrongly', [...failed, ...mixedUp]),
      {
        bound: 'no end of the bridge',
        found: `${bridge.crashes}`,
        isKept: bridge.crashes === 0,
      },
    ],
    log: bridge.log,
  };
}

async function measureAttack(attack, { bridge, ledger, window }) {
  const load = loadavg()[0];
  const before = await bridge.heldBytes();
  const resident = bridge.sample()?.bytes ?? 0;
  const calm = new Watched(bridge);
  const beside = new Watched(bridge);
  let held = before;
  const came = { answered: 0, refused: 0 };
  for (let round = 0; round < ROUNDS; round++) {
    await calm.measureDuring(() => window(`${attack.name} calm`));
    const attacker = await Attacker.begin(attack, bridge);
    await beside.measureDuring(() => window(`${attack.name} beside`));
    held = Math.max(held, await bridge.heldBytes());
    const { answered, refused } = await attacker.stop();
    came.answered += answered;
    came.refused += refused;
    await pause(SETTLE_MS);
  }
  const after = await heldAfter(bridge, before);
  const times = (phase) => summary([...(ledger.times.get(`${attack.name} ${phase}`)?.values() ?? [])].flat());
  return {
    load,
    calls: { calm: times('calm call'), beside: times('beside call') },
    runs: { calm: times('calm'), beside: times('beside') },
    processor: { calm: calm.processorShare, beside: beside.processorShare },
    memory: {
      before,
      held,
      after,
      resident,
      mostResident: beside.mostBytes,
      residentAfter: bridge.sample()?.bytes ?? 0,
    },
    came,
  };
}

/** When what an attack leaves is gone, or in some seconds. */
async function heldAfter(bridge, before) {
  for (const end = performance.now() + GONE_WITHIN_MS; ; await pause(1_000)) {
    const held = await bridge.heldBytes();
    if (held - before <= MAX_LEFT_MB * MB_BYTES || performance.now() > end) return held;
  }
}

/** What the bridge's process has and uses, over several spans of time together. */
class Watched {
  mostBytes = 0;
  #bridge;
  #seconds = 0;
  #used = 0;

  constructor(bridge) {
    this.#bridge = bridge;
  }

  async measureDuring(work) {
    const beganAt = performance.now();
    const before = this.#bridge.processorSeconds();
    const sampling = setInterval(() => {
      this.mostBytes = Math.max(this.mostBytes, this.#bridge.sample()?.bytes ?? 0);
    }, SAMPLE_MS);
    await work();
    clearInterval(sampling);
    this.#used += this.#bridge.processorSeconds() - before;
    this.#seconds += (performance.now() - beganAt) / 1000;
  }

  /** Of one processor; NaN where its process cannot be seen. */
  get processorShare() {
    return this.#used / this.#seconds;
  }
}

/** The process of the attackers. */
class Attacker {
  #child;
  #ended;

  static async begin({ name, by }, { port, tokens }) {
    const attacker = new Attacker();
    attacker.#child = fork(ATTACKER, [name], { execArgv: [] });
    attacker.#ended = once(attacker.#child, 'exit');
    await attacker.#tellChild({ port, tokens: Object.keys(by).map((principal) => tokens.get(principal)) });
    return attacker;
  }

  /** What became of its calls. */
  async stop() {
    const came = await this.#tellChild('stop');
    await this.#ended;
    return came;
  }

  async #tellChild(message) {
    this.#child.send(message);
    const signal = AbortSignal.timeout(TOLD_WITHIN_MS);
    const gone = this.#ended.then(([code]) => {
      throw new Error(`The attackers have ended with ${code}.`);
    });
    const [answer] = await Promise.race([once(this.#child, 'message', { signal }), gone]);
    return answer;
  }
}

function noneBound(what, list) {
  return {
    bound: `0 ${what}`,
    found: list.length === 0 ? '0' : `${list.length}: ${list.slice(0, EXAMPLES).join('; ')}`,
    isKept: list.length === 0,
  };
}

function boundsOf({ name, calls, runs, memory }) {
  const grown = (bytes) => (bytes - memory.before) / MB_BYTES;
  const noMore = (bound, mb, most) => ({
    bound: `${name}: ${bound} at most ${most} MB`,
    found: `${mb.toFixed(1)} MB`,
    isKept: mb <= most,
  });
  return [
    ...[
      ['calls', calls],
      ['runs', runs],
    ].map(([what, { calm, beside }]) => ({
      bound: `${name}: p95 of the others' ${what} at most ${MAX_SLOWDOWN} times that without it, and ${NOISE_MS} ms`,
      ...slowdown(calm, beside),
    })),
    noMore('what the bridge holds more during the attack', grown(memory.held), MAX_HELD_MB),
    noMore('what it holds more afterwards', grown(memory.after), MAX_LEFT_MB),
  ];
}

function slowdown(calm, beside) {
  const samples = Math.min(calm?.runs ?? 0, beside?.runs ?? 0);
  if (samples < MIN_SAMPLES)
    return {
      found: `not judged: ${samples} of them are too few, so give it more --seconds`,
      isKept: true,
      isMissing: true,
    };
  return { found: `${timesAs(calm, beside)} times`, isKept: !isSlower(calm, beside) };
}

const timesAs = (calm, beside) =>
  calm === undefined || beside === undefined ? '?' : (beside.p95 / calm.p95).toFixed(1);

export function printAttacks({ attacks, bounds, seconds, withContainers }) {
  const ms = ({ calm, beside }) =>
    `${calm?.p95.toFixed(0) ?? '?'} -> ${beside?.p95.toFixed(0) ?? '?'} (${timesAs(calm, beside)}x)`;
  const mb = (bytes) => (bytes === 0 ? 'unseen' : `${Math.round(bytes / MB_BYTES)}`);
  const percent = (share) => (Number.isNaN(share) ? 'unseen' : `${Math.round(100 * share)} %`);
  const head = ['attack', 'call, p95 ms', 'run, p95 ms', 'processor', 'holds MB', 'resident MB', 'its calls'];
  const table = new Table({ head, style: { head: [], border: [] } });
  for (const { name, missing, calls, runs, processor, memory, came } of attacks)
    table.push(
      missing === undefined
        ? [
            name,
            ms(calls),
            withContainers ? ms(runs) : 'no containers',
            `${percent(processor.calm)} -> ${percent(processor.beside)}`,
            `${mb(memory.before)} -> ${mb(memory.held)} -> ${mb(memory.after)}`,
            `${mb(memory.resident)} -> ${mb(memory.mostResident)} -> ${mb(memory.residentAfter)}`,
            `${came.answered}, ${came.refused} refused`,
          ]
        : [name, { content: `not made: ${missing}`, colSpan: head.length - 1 }],
    );
  console.log(table.toString());
  for (const { name, says, load, calls, runs } of attacks)
    console.log(
      `${name}: ${says}${calls === undefined ? '' : `; ${calls.calm?.runs ?? 0} and ${calls.beside?.runs ?? 0} calls, ${runs.calm?.runs ?? 0} and ${runs.beside?.runs ?? 0} runs of the others; load of the machine before it ${load.toFixed(1)}`}.`,
    );
  console.log(
    `Of the others beside each attack, in turn with times without it (${seconds} s in all): without -> with. Memory of the bridge before -> at the most -> afterwards; what it holds is its heap and its buffers when garbage is gone.`,
  );
  for (const { bound, found, isKept, isMissing } of bounds)
    if (!isKept || isMissing) console.log(`${isKept ? '?     ' : 'BROKEN'}  ${bound}: ${found}`);
  const kept = bounds.filter(({ isKept, isMissing }) => isKept && !isMissing);
  console.log(`${kept.length} of ${bounds.length} bounds kept.`);
}
