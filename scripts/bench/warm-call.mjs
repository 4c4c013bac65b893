// One call after a pause, as an agent makes them: through a real client to a waiting sandbox, beside a Python process
// on the host and a container made for the purpose. Each gets a pause of its own, so that none pays for another.

import { hostPython } from './bare.mjs';
import { processorRow } from './processor.mjs';
import { pause, timeWork } from './stage.mjs';
import { figure, median, percentile } from './statistics.mjs';

const THINK_MS = 500;
const ROUNDS_PER_CONTAINER = 4;
const WARM = 'warm call of print(1)';
const PYTHON = "python3 -c 'print(1)' on the host";
const NO_PYTHON = 'the host has no python3 to compare with';

export async function warmCall(stage, bare) {
  const warm = [];
  const python = [];
  const podman = [];
  const processor = await stage.withBridge({}, async (bridge) => {
    // The bridge has more to do in its first seconds than later: it sweeps, and fills the pool.
    await pause(3_000);
    for (let round = 0; round < stage.times(50, 8); round++) {
      await pause(THINK_MS);
      warm.push((await timeWork(() => bridge.run('print(1)'))).ms);
      await pause(THINK_MS);
      const ms = await hostPython();
      if (ms !== undefined) python.push(ms);
      if (round % ROUNDS_PER_CONTAINER === 0) podman.push(await bare.run());
    }
    return processorRow(stage, bare, 'warm call of print(1)', () => bridge.run('print(1)'));
  });
  return [...besidePython(warm, python), besidePodman(warm, podman, bare), processor];
}

function besidePython(warm, python) {
  const ours = figure(WARM, warm);
  if (python.length === 0)
    return [{ measure: WARM, unit: 'ms', ours, target: '<= host python3', note: NO_PYTHON }];
  const theirs = figure(PYTHON, python);
  const ratio = ours.p50 / theirs.p50;
  const worst = percentile(warm, 0.95);
  const worstRatio = worst / theirs.p50;
  return [
    { measure: WARM, unit: 'ms', ours, theirs, ratio, target: '<= 0.6, aim 0.3', met: ratio <= 0.6 },
    {
      measure: 'warm call, its p95 against the same p50',
      unit: 'ms',
      ours: { label: 'p95', p50: worst },
      theirs: { label: PYTHON, p50: theirs.p50 },
      ratio: worstRatio,
      target: '<= 2',
      met: worstRatio <= 2,
      plotted: false,
    },
  ];
}

function besidePodman(warm, podman, bare) {
  const ratio = median(podman) / median(warm);
  return {
    measure: 'warm call against a container of its own',
    unit: 'ms',
    ours: figure(WARM, warm),
    theirs: figure(`bare ${bare.engine.name} run, same flags`, podman),
    ratio,
    target: '>= 20 times faster',
    met: ratio >= 20,
    plotted: false,
  };
}
