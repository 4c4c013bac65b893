// Takes the figures: each peer started anew, then all of them side by side with the same jobs in turns (A B C … A B C …), then each
// with more runs than a small machine serves. What a peer cannot do is a reason in the place of a figure, and the others go on.

import { commandLine, pssMb } from '../bench/processes.mjs';
import { pidsCounted, processorTime, whyNotCounted } from '../bench/processor.mjs';
import { pause, timeWork } from '../bench/stage.mjs';
import { JOBS, mustBeDone } from './jobs.mjs';
import { offer } from './rate.mjs';

/**
 * @typedef {import('./place.mjs').Peer} Peer
 * @typedef {import('./place.mjs').Running} Running
 * @typedef {import('./jobs.mjs').Job} Job
 * @typedef {import('./rate.mjs').Rate} Rate
 */

/**
 * What a run has found, as its file has it. A gap is a reason in the place of a figure: of a job, of the steady pace, or of all.
 *
 * @typedef {object} Figures
 * @property {{ peer: string, job: Job, round: number, ms: number, cpuMs?: number, chars: number }[]} samples
 * @property {{ peer: string, round: number, startMs: number, firstMs: number, cpuMs?: number, mb?: number }[]} starts
 * @property {(Rate & { peer: string, cpuMs?: number })[]} rates
 * @property {{ peer: string, job?: Job | 'rate', why: string }[]} gaps
 * @property {Record<string, number>} definitionChars
 */

const JOB_WITHIN_MS = 60_000;
/** What a peer loads after its first call is there by then. */
const SETTLE_MS = 2_000;
/** Where processor time cannot be counted, nobody sees when a call has left nothing to do. */
const BLIND_PAUSE_MS = 1_000;

/** Processor milliseconds of `work` with all that it leaves to do; undefined where they cannot be counted. @param {() => Promise<void>} work */
async function countHere(work) {
  if (whyNotCounted() === undefined) return processorTime(work);
  await work();
  await pause(BLIND_PAUSE_MS);
  return undefined;
}

export class Comparison {
  #place;
  #tell;
  #count;
  /** @type {Figures} */
  figures = { samples: [], starts: [], rates: [], gaps: [], definitionChars: {} };

  /**
   * @param {import('./place.mjs').Place} place
   * @param {(words: string) => void} tell  how far it is
   * @param {typeof countHere} count
   */
  constructor(place, tell, count = countHere) {
    this.#place = place;
    this.#tell = tell;
    this.#count = count;
  }

  /** Those that could be installed. @param {readonly Peer[]} peers */
  install(peers) {
    return this.#those(peers, 'install', (peer) => peer.install(this.#place));
  }

  /** Takes away what they have put elsewhere than into their folders. @param {readonly Peer[]} peers */
  remove(peers) {
    return this.#those(peers, 'remove', async (peer) => peer.remove?.(this.#place));
  }

  /**
   * Starts each peer anew in each round, asks it for its first job, and ends it. A round before them is for what a peer writes once
   * on a machine. Gives those that started each time.
   *
   * @param {readonly Peer[]} peers
   * @param {number} rounds
   */
  async measureStarts(peers, rounds) {
    let able = peers;
    for (let round = 0; round <= rounds; round++)
      able = await this.#those(able, `start ${round} of ${rounds}`, (peer) => this.#startOnce(peer, round));
    return able;
  }

  /** @param {Peer} peer @param {number} round */
  async #startOnce(peer, round) {
    const before = new Set(pidsCounted());
    /** @type {Running | undefined} */
    let running;
    let [startMs, firstMs] = [0, 0];
    try {
      const cpuMs = await this.#count(async () => {
        const opened = await timeWork(() => peer.open(this.#place));
        running = opened.value;
        startMs = opened.ms;
        firstMs = (await doJob(opened.value, 'hello')).ms;
      });
      if (round === 0) return;
      await pause(SETTLE_MS);
      const mb = before.size === 0 ? undefined : memoryMb(before);
      this.figures.starts.push({ peer: peer.name, round, startMs, firstMs, ...given({ cpuMs, mb }) });
      const chars = /** @type {Running} */ (running).definitionChars;
      if (chars !== undefined) this.figures.definitionChars[peer.name] = chars;
    } finally {
      await running?.close();
    }
  }

  /**
   * All peers side by side, job by job and round by round; then each by itself under a steady pace of runs.
   *
   * @param {readonly Peer[]} peers
   * @param {Readonly<Record<Job, number>>} rounds
   * @param {{ readonly perSecond: number, readonly seconds: number }} pace
   */
  async measureJobs(peers, rounds, pace) {
    /** @type {Map<Peer, Running>} */
    const running = new Map();
    try {
      const open = async (/** @type {Peer} */ peer) => {
        running.set(peer, await peer.open(this.#place));
      };
      const opened = await this.#those(peers, 'open', open);
      for (const job of JOBS) {
        const able = opened.filter((peer) => running.get(peer)?.jobs[job] !== undefined);
        await this.#takeTurns(able, running, job, rounds[job]);
      }
      await this.#those(opened, 'rate', (peer) => this.#offerTo(peer, running, pace), 'rate');
    } finally {
      for (const one of running.values()) await one.close();
    }
  }

  /** @param {readonly Peer[]} peers @param {Map<Peer, Running>} running @param {Job} job @param {number} rounds */
  async #takeTurns(peers, running, job, rounds) {
    let able = peers;
    // A round before them is for what a peer does once: servers that start, code that is compiled.
    for (let round = 0; round <= rounds; round++) {
      const work = async (/** @type {Peer} */ peer) => {
        let done = { ms: 0, chars: 0 };
        const cpuMs = await this.#count(async () => {
          done = await this.#doJobOrOpenAnew(peer, running, job);
        });
        if (round > 0)
          this.figures.samples.push({ peer: peer.name, job, round, ...done, ...given({ cpuMs }) });
      };
      able = await this.#those(able, `${job} ${round} of ${rounds}`, work, job);
    }
  }

  /** A peer that did not do a job may have ended with it, or still be at it: it gets a new start for the next one. @param {Peer} peer @param {Map<Peer, Running>} running @param {Job} job */
  async #doJobOrOpenAnew(peer, running, job) {
    try {
      return await doJob(running.get(peer), job);
    } catch (thrown) {
      await running.get(peer)?.close();
      running.set(peer, await peer.open(this.#place));
      throw thrown;
    }
  }

  /** @param {Peer} peer @param {ReadonlyMap<Peer, Running>} running @param {Parameters<typeof offer>[1]} pace */
  async #offerTo(peer, running, pace) {
    /** @type {Rate | undefined} */
    let rate;
    const cpuMs = await this.#count(async () => {
      rate = await offer(() => doJob(running.get(peer), 'hello'), pace);
    });
    if (rate !== undefined) this.figures.rates.push({ peer: peer.name, ...rate, ...given({ cpuMs }) });
  }

  /**
   * Does `work` for one peer after the other, and gives those for which it went well; the others have a gap.
   *
   * @param {readonly Peer[]} peers
   * @param {string} words
   * @param {(peer: Peer) => Promise<unknown>} work
   * @param {Job | 'rate'} [job]
   */
  async #those(peers, words, work, job) {
    const went = [];
    for (const peer of peers) {
      this.#tell(`${words} ${peer.name}`);
      try {
        await work(peer);
        went.push(peer);
      } catch (thrown) {
        const why = /** @type {Error} */ (thrown).message;
        this.figures.gaps.push({ peer: peer.name, ...(job === undefined ? {} : { job }), why });
      }
    }
    return went;
  }
}

/** Does a job and judges its answer. @param {Running | undefined} running @param {Job} job */
async function doJob(running, job) {
  const work = running?.jobs[job];
  if (work === undefined) throw new Error('it has no way to do this');
  const { value: text, ms } = await timeWork(() => withinTime(work()));
  mustBeDone(job, text);
  return { ms, chars: text.length };
}

/** @param {Promise<string>} promise */
async function withinTime(promise) {
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  /** @type {Promise<never>} */
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer after ${JOB_WITHIN_MS / 1000} s`)), JOB_WITHIN_MS);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Proportional share of all that runs and did not before, without the two servers, which all peers have alike. @param {ReadonlySet<number>} before */
function memoryMb(before) {
  return pidsCounted()
    .filter((pid) => !before.has(pid) && !isServer(pid))
    .reduce((sum, pid) => sum + (pssMb(pid) ?? 0), 0);
}

/** @param {number} pid */
const isServer = (pid) => /^\S+ \S*\/server-(?:everything|filesystem)\//.test(commandLine(pid));

/** Fields without those that are undefined. @param {Record<string, number | undefined>} fields */
const given = (fields) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
