// A call that finds no sandbox waiting, beside the engine's own command line with the same flags. The bridge answers
// when the code has ended and removes the container afterwards; the command line returns when it is removed.

import { processorRow } from './processor.mjs';
import { pause, timeWork } from './stage.mjs';
import { figure } from './statistics.mjs';

/** Long enough for a container's removal to be over. */
const SETTLE_MS = 400;

export async function coldCall(stage, bare) {
  const cold = [];
  const podman = [];
  const processor = await stage.withBridge({ env: { MCP_BRIDGE_WARM: '0' } }, async (bridge) => {
    for (let round = 0; round < stage.times(24, 6); round++) {
      await pause(SETTLE_MS);
      cold.push((await timeWork(() => bridge.run('print(1)'))).ms);
      await pause(SETTLE_MS);
      podman.push(await bare.run());
    }
    return processorRow(stage, bare, 'cold call of print(1)', () => bridge.run('print(1)'));
  });
  const ours = figure('cold call of print(1)', cold);
  const theirs = figure(`bare ${bare.engine.name} run, same flags`, podman);
  const ratio = ours.p50 / theirs.p50;
  return [
    {
      measure: 'cold call of print(1)',
      unit: 'ms',
      ours,
      theirs,
      ratio,
      target: '<= 0.5, aim 0.3',
      met: ratio <= 0.5,
    },
    processor,
  ];
}
