// Both ways to start a sandbox beside each other (MCP_BRIDGE_LAUNCH): a cold call from a template and one by the engine, in turns,
// by the clock and by the processor time of everything that each makes run. Two bridges stay open, and one rests while the other works.

import { PRINT_STARTER } from '../from-template.mjs';
import { processorTime, whyNotCounted } from './processor.mjs';
import { pause, timeWork } from './stage.mjs';
import { figure } from './statistics.mjs';

/** @param {'template' | 'engine'} launch */
const coldBy = (launch) => ({ env: { MCP_BRIDGE_WARM: '0', MCP_BRIDGE_LAUNCH: launch } });
/** Long enough for a sandbox's removal to be over. */
const SETTLE_MS = 400;
/** A template is made behind a bridge's second sandbox. */
const TRIES = 20;
const [COLD, PROCESSOR] = [
  'cold call from a template, beside one by the engine',
  'its processor time, with its sandbox',
];
const NONE = 'no sandbox came from a template here; `doctor` says why';

/** @typedef {{ run: (code: string) => Promise<{ stdout?: readonly string[] }> }} Bridge */

/**
 * @param {{
 *   times: (full: number, quick: number) => number,
 *   withBridge: <T>(settings: { env: Record<string, string> }, work: (bridge: Bridge) => Promise<T>) => Promise<T>,
 * }} stage
 */
export async function launches(stage) {
  return await stage.withBridge(coldBy('template'), (ours) =>
    stage.withBridge(coldBy('engine'), async (theirs) => {
      if (!(await comesFromTemplate(ours)))
        return [COLD, PROCESSOR].map((measure) => ({ measure, skipped: NONE }));
      const clock = await inTurns(
        stage.times(24, 6),
        ours,
        theirs,
        async (call) => (await timeWork(call)).ms,
      );
      const rows = [rowOf(COLD, clock, 0.6)];
      const skipped = whyNotCounted();
      if (skipped !== undefined) return [...rows, { measure: PROCESSOR, skipped }];
      return [...rows, rowOf(PROCESSOR, await inTurns(stage.times(12, 3), ours, theirs, processorTime), 0.6)];
    }),
  );
}

/** @param {Bridge} bridge */
async function comesFromTemplate(bridge) {
  for (let tries = 0; tries < TRIES; tries++) {
    const { stdout = [] } = await bridge.run(PRINT_STARTER);
    if (stdout.join('') === 'template') return true;
    await pause(SETTLE_MS);
  }
  return false;
}

/**
 * @param {number} rounds
 * @param {Bridge} ours
 * @param {Bridge} theirs
 * @param {(call: () => Promise<unknown>) => Promise<number>} measure
 */
async function inTurns(rounds, ours, theirs, measure) {
  const taken = /** @type {[number[], number[]]} */ ([[], []]);
  for (let round = 0; round < rounds; round++)
    for (const [index, bridge] of [ours, theirs].entries()) {
      await pause(SETTLE_MS);
      taken[index]?.push(await measure(() => bridge.run('print(1)')));
    }
  return taken;
}

/**
 * @param {string} measure
 * @param {[number[], number[]]} taken
 * @param {number} most
 */
function rowOf(measure, [template, engine], most) {
  const [ours, theirs] = [figure('from a template', template), figure('by the engine', engine)];
  const ratio = ours.p50 / theirs.p50;
  return {
    measure,
    unit: 'ms',
    ours,
    theirs,
    ratio,
    target: `<= ${most}`,
    met: ratio <= most,
    plotted: false,
  };
}
