// Takes the figures: each peer started anew, then all of them side by side with the same jobs in turns (A B C … A B C …), then each
// with more runs than a small machine serves. What a peer cannot do is a reason in the place of a figure, and the others go on.

import { commandLine, family, pssMb } from '../bench/processes.mjs';
import { pidsCounted, processorTime, whyNotCounted } from '../bench/processor.mjs';
import { pause, timeWork } from '../bench/stage.mjs';
import { JOBS, mustBeDone } from './jobs.mjs';
import { offer } from './rate.mjs';

/**
 * @typedef {import('./place.mjs').Peer} Peer
 * @typedef {import('./place.mjs').Place} Place
 * @typedef {import('./place.mjs').Running} Running
 * @typedef {import('./jobs.mjs').Job} Job
 */

/** One job done once. @typedef {{ peer: string, job: Job, round: number, ms: number, cpuMs?: number, chars: number }} Sample */
/** One start. @typedef {{ peer: string, round: number, startMs: number, firstMs: number, cpuMs?: number, mb?: number }} Start */
/** A reason in place of a figure. @typedef {{ peer: string, job?: Job | 'rate', why: string }} Gap */
/** @typedef {import('./rate.mjs').Rate & { peer: string, cpuMs?: number }} PeerRate */

const JOB_WITHIN_MS = 90_000;
/** What a peer loads after its first call is there by then. */
const SETTLE_MS = 2_000;
/** Where processor time cannot be counted, nobody sees when a call has left nothing to do. */
const BLIND_PAUSE_MS = 1_000;

/** The figures of one run, as its file has them. */
export class Figures {
  /** @type {Sample[]} */ samples = [];
  /** @type {Start[]} */ starts = [];
  /** @type {PeerRate[]} */ rates = [];
  /** @type {Gap[]} */ gaps = [];
  /** @type {Record<string, number>} */ definitionChars = {};
}

/**
 * Those that could be installed; the others are gaps.
 *
 * @param {readonly Peer[]} peers
 * @param {Place} place
 * @param {Figures} figures
 * @param {(words: string) => void} tell
 */
export async function installPeers(peers, place, figures, tell) {
  const installed = [];
  for (const peer of peers) {
    tell(`install ${peer.name}`);
    if (await went(peer, undefined, figures, () => peer.install(place))) installed.push(peer);
  }
  return installed;
}

/**
 * Starts each peer anew, asks it for its first job, and ends it; the first round is for what is written once on a machine.
 *
 * @param {readonly Peer[]} peers
 * @param {Place} place
 * @param {number} rounds
 * @param {Figures} figures
 * @param {(words: string) => void} tell
 * @returns {Promise<readonly Peer[]>}  those that started each time
 */
export async function measureStarts(peers, place, rounds, figures, tell) {
  let running = peers;
  for (let round = 0; round <= rounds; round++) {
    const still = [];
    for (const peer of running) {
      tell(`start ${round === 0 ? 'for the first time' : round} ${peer.name}`);
      const work = () => startOnce(peer, place, round, figures);
      if (await went(peer, undefined, figures, work)) still.push(peer);
    }
    running = still;
  }
  return running;
}

/** @param {Peer} peer @param {Place} place @param {number} round @param {Figures} figures */
async function startOnce(peer, place, round, figures) {
  const before = new Set(pidsCounted());
  /** @type {Running | undefined} */
  let running;
  let [startMs, firstMs] = [0, 0];
  try {
    const cpuMs = await counted(async () => {
      const opened = await timeWork(() => peer.open(place));
      running = opened.value;
      startMs = opened.ms;
      firstMs = (await doJob(opened.value, 'hello')).ms;
    });
    if (round === 0) return;
    await pause(SETTLE_MS);
    const mb = whyNotCounted() === undefined ? memoryMb(before) : undefined;
    figures.starts.push({ peer: peer.name, round, startMs, firstMs, ...given({ cpuMs, mb }) });
    const chars = /** @type {Running} */ (running).definitionChars;
    if (chars !== undefined) figures.definitionChars[peer.name] = chars;
  } finally {
    await running?.close();
  }
}

/** Proportional share of what runs and did not before, without the servers, which all peers have alike. @param {ReadonlySet<number>} before */
function memoryMb(before) {
  const own = new Set(family(process.pid).filter((pid) => before.has(pid)));
  return pidsCounted()
    .filter((pid) => !before.has(pid) && !own.has(pid) && !isServer(pid))
    .reduce((sum, pid) => sum + (pssMb(pid) ?? 0), 0);
}

/** @param {number} pid */
const isServer = (pid) =>
  /server-(?:everything|filesystem)\/dist/.test(commandLine(pid).split(' ').slice(0, 2).join(' '));

/**
 * All peers side by side, then each by itself under more runs than it may serve.
 *
 * @param {readonly Peer[]} peers
 * @param {Place} place
 * @param {{ readonly rounds: Readonly<Record<Job, number>>, readonly pace: { readonly perSecond: number, readonly seconds: number } }} how
 * @param {Figures} figures
 * @param {(words: string) => void} tell
 */
export async function measureJobs(peers, place, how, figures, tell) {
  /** @type {Map<Peer, Running>} */
  const open = new Map();
  try {
    for (const peer of peers)
      await went(peer, undefined, figures, async () => {
        open.set(peer, await peer.open(place));
      });
    for (const job of JOBS) await takeTurns(open, job, how.rounds[job], figures, tell);
    for (const [peer, running] of open) {
      tell(`rate ${peer.name}`);
      await went(peer, 'rate', figures, () => measureRate(peer, running, how.pace, figures));
    }
  } finally {
    for (const running of open.values()) await running.close();
  }
}

/**
 * @param {ReadonlyMap<Peer, Running>} open
 * @param {Job} job
 * @param {number} rounds
 * @param {Figures} figures
 * @param {(words: string) => void} tell
 */
async function takeTurns(open, job, rounds, figures, tell) {
  let able = [...open].filter(([, { jobs }]) => jobs[job] !== undefined);
  // The first round is for what a peer does once: servers that start, code that is compiled.
  for (let round = 0; round <= rounds; round++) {
    tell(`${job} ${round === 0 ? 'once before' : `${round} of ${rounds}`}`);
    const still = [];
    for (const [peer, running] of able) {
      const work = async () => {
        let done = { ms: 0, chars: 0 };
        const cpuMs = await counted(async () => {
          done = await doJob(running, job);
        });
        if (round > 0) figures.samples.push({ peer: peer.name, job, round, ...done, ...given({ cpuMs }) });
      };
      if (await went(peer, job, figures, work)) still.push(/** @type {const} */ ([peer, running]));
    }
    able = still.map(([peer, running]) => [peer, running]);
  }
}

/** @param {Peer} peer @param {Running} running @param {Parameters<typeof offer>[1]} pace @param {Figures} figures */
async function measureRate(peer, running, pace, figures) {
  /** @type {import('./rate.mjs').Rate | undefined} */
  let rate;
  const cpuMs = await counted(async () => {
    rate = await offer(() => doJob(running, 'hello'), pace);
  });
  if (rate !== undefined) figures.rates.push({ peer: peer.name, ...rate, ...given({ cpuMs }) });
}

/** Does a job and judges its answer. @param {Running} running @param {Job} job */
async function doJob(running, job) {
  const work = running.jobs[job];
  if (work === undefined) throw new Error('it has no way to do this');
  const { value: text, ms } = await timeWork(() => withinTime(work()));
  mustBeDone(job, text);
  return { ms, chars: text.length };
}

/** @template T @param {Promise<T>} promise @returns {Promise<T>} */
async function withinTime(promise) {
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer after ${JOB_WITHIN_MS / 1000} s`)), JOB_WITHIN_MS);
  });
  try {
    return await Promise.race([promise, /** @type {Promise<never>} */ (late)]);
  } finally {
    clearTimeout(timer);
  }
}

/** Processor milliseconds of `work` with all that it leaves to do; undefined where that cannot be counted. @param {() => Promise<void>} work */
async function counted(work) {
  if (whyNotCounted() === undefined) return processorTime(work);
  await work();
  await pause(BLIND_PAUSE_MS);
  return undefined;
}

/** Fields without those that are undefined. @param {Record<string, number | undefined>} fields */
const given = (fields) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));

/**
 * Whether it went well; else its reason is a gap.
 *
 * @param {Peer} peer
 * @param {Gap['job']} job
 * @param {Figures} figures
 * @param {() => Promise<void>} work
 */
async function went(peer, job, figures, work) {
  try {
    await work();
    return true;
  } catch (thrown) {
    const why = /** @type {Error} */ (thrown).message;
    figures.gaps.push({ peer: peer.name, ...(job === undefined ? {} : { job }), why });
    return false;
  }
}
