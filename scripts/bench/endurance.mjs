// A thousand calls, four at once: whether memory, open files, processes and latency of the bridge stay what they were.

import { family, openFiles, pidsMentioning, rssMb } from './processes.mjs';
import { timeWork } from './stage.mjs';
import { figure, median } from './statistics.mjs';

const IN_FLIGHT = 4;
/** A run allocates a few MB that the collector takes back when it likes; a leak of 50 kB a call would show. */
const FLAT_WITHIN = 1.25;
/** Containers that are just starting or ending. */
const COMING_AND_GOING = 4;

export async function endurance(stage) {
  const calls = stage.times(1000, 60);
  const every = stage.times(50, 5);
  const latencies = [];
  const samples = [];
  const env = { MCP_BRIDGE_CONCURRENCY: String(IN_FLIGHT) };
  await stage.withBridge({ env }, async (bridge) => {
    let begun = 0;
    const worker = async () => {
      while (begun++ < calls) {
        latencies.push((await timeWork(() => bridge.run('print(1)'))).ms);
        if (latencies.length % every === 0) samples.push(look(stage, bridge.pid));
      }
    };
    await Promise.all(Array.from({ length: IN_FLIGHT }, worker));
  });
  const title = `${calls} calls, ${IN_FLIGHT} at once`;
  const count = Math.min(100, Math.floor(calls / 3));
  const slack = (before) => before + COMING_AND_GOING * 3;
  return [
    comparisonRow(
      `${title}: latency`,
      'ms',
      latencies.slice(-count),
      latencies.slice(0, count),
      (before) => before * FLAT_WITHIN,
      {
        label: `the first ${count}`,
      },
    ),
    growthRow(`${title}: memory (RSS)`, 'MB', samples, 'rssMb', (before) => before * FLAT_WITHIN),
    growthRow(`${title}: open files`, '', samples, 'files', slack),
    growthRow(`${title}: processes`, '', samples, 'processes', slack),
  ];
}

/** The bridge's own memory and files, and every process that is there for its sake. */
const look = (stage, pid) => ({
  rssMb: rssMb(pid),
  files: openFiles(pid),
  // conmon is no child of ours, but its command line names a file in the state directory.
  processes: new Set([...family(pid), ...pidsMentioning(stage.stateDir)]).size,
});

/** The last fifth of the samples beside the second: in the first the heap and the pool still fill. */
function growthRow(measure, unit, samples, key, most) {
  const values = samples.map((sample) => sample[key]);
  const fifth = Math.max(1, Math.floor(values.length / 5));
  return comparisonRow(measure, unit, values.slice(-fifth), values.slice(fifth, 2 * fifth), most, {
    label: 'near the beginning',
    all: values,
  });
}

function comparisonRow(
  measure,
  unit,
  late,
  early,
  most,
  /** @type {{ label: string, all?: unknown }} */ { label, all },
) {
  const ours = figure('at the end', late);
  const theirs = figure(label, early);
  return {
    measure,
    unit,
    ours,
    theirs,
    ratio: theirs.p50 === 0 ? undefined : ours.p50 / theirs.p50,
    target: 'flat',
    plotted: false,
    met: ours.p50 <= most(median(early)),
    ...(all === undefined ? {} : { all }),
  };
}
