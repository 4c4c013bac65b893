// Calls without a pause, so that the pool runs dry and only what a machine sustains counts; beside as many bare
// containers at the same time, in turns.

import { pause } from './stage.mjs';
import { figure } from './statistics.mjs';

const CONCURRENCIES = [2, 8];
const SETTLE_MS = 1_000;

export async function backToBack(stage, bare) {
  const rows = [];
  for (const inFlight of CONCURRENCIES) rows.push(await sideBySide(stage, bare, inFlight));
  return rows;
}

async function sideBySide(stage, bare, inFlight) {
  const calls = stage.times(24, 8);
  const bridged = [];
  const podman = [];
  await stage.withBridge({ env: { MCP_BRIDGE_CONCURRENCY: String(inFlight) } }, async (bridge) => {
    for (let round = 0; round < stage.times(2, 1); round++) {
      await pause(SETTLE_MS);
      bridged.push(await sustainedRate(inFlight, calls, () => bridge.run('print(1)')));
      await pause(SETTLE_MS);
      podman.push(await sustainedRate(inFlight, calls, () => bare.run()));
    }
  });
  const ours = figure('calls without a pause', bridged, { moreIsBetter: true });
  const theirs = figure(`bare ${bare.engine.name} run, ${inFlight} at once`, podman, { moreIsBetter: true });
  const ratio = ours.p50 / theirs.p50;
  return {
    measure: `calls without a pause, ${inFlight} at once`,
    unit: '/s',
    ours,
    theirs,
    ratio,
    target: '>= 2, aim 3',
    met: ratio >= 2,
  };
}

/** Calls a second, counted from when the first `inFlight` have ended: what waited ready is used up by then. */
export async function sustainedRate(inFlight, calls, callOnce) {
  let begun = 0;
  let ended = 0;
  let startedAt = 0;
  const worker = async () => {
    while (begun < inFlight + calls) {
      begun++;
      await callOnce();
      if (++ended === inFlight) startedAt = performance.now();
    }
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
  return calls / ((performance.now() - startedAt) / 1000);
}
