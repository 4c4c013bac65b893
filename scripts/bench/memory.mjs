// What waiting costs: the resident memory of an idle bridge, and the proportional share of one waiting sandbox with
// the conmon that watches it. The engine's client, where one stays as long as the container, is a row of its own.

import { commandLine, family, parentOf, pssMb, rssMb } from './processes.mjs';
import { pause } from './stage.mjs';
import { figure } from './statistics.mjs';

/** The harness loads what most programs import only after its greeting. */
const SETTLE_MS = 2_000;
const BRIDGE_MAX_MB = 100;
const SANDBOX_MAX_MB = 20;

export async function memory(stage, bare, signal) {
  const bridge = await stage.withBridge({}, async ({ pid }) => {
    await pause(SETTLE_MS);
    return rssMb(pid);
  });
  return [
    {
      measure: 'memory of the idle bridge (RSS)',
      unit: 'MB',
      ours: figure('bridge', [bridge]),
      target: `<= ${BRIDGE_MAX_MB} MB`,
      met: bridge <= BRIDGE_MAX_MB,
    },
    ...(await ofSandbox(bare, signal)),
  ];
}

async function ofSandbox(bare, signal) {
  const sandbox = await bare.sandbox(signal);
  try {
    await pause(SETTLE_MS);
    const client = family(process.pid).find((pid) => commandLine(pid).includes(sandbox.name));
    if (sandbox.pid === undefined)
      return [
        {
          measure: 'memory of a waiting sandbox',
          skipped: 'its first process cannot be seen from here: the engine is elsewhere',
        },
      ];
    const { mb, kind, note } = watchedMemory(sandbox.pid);
    return [
      {
        measure: `memory of a waiting sandbox with its conmon (${kind})`,
        unit: 'MB',
        ours: figure('sandbox', [mb]),
        target: `<= ${SANDBOX_MAX_MB} MB`,
        met: mb <= SANDBOX_MAX_MB,
        note,
      },
      ...(client === undefined
        ? []
        : [
            {
              measure: `memory of the engine's client beside it (${kind})`,
              unit: 'MB',
              ours: figure('client', [sum([client]).mb]),
            },
          ]),
    ];
  } finally {
    await sandbox[Symbol.asyncDispose]();
  }
}

/** Memory of a container and of the conmon that watches it: { mb, kind, note }. `first` is the pid of its first process. */
export function watchedMemory(first) {
  const conmon = parentOf(first);
  const isWatched = commandLine(conmon).includes('conmon');
  const inside = sum(family(first));
  const watcher = sum(isWatched ? [conmon] : []);
  const note = `${inside.mb.toFixed(1)} MB inside, ${watcher.mb.toFixed(1)} MB conmon`;
  return { mb: inside.mb + watcher.mb, kind: inside.kind, note };
}

/** Memory of processes: PSS, or RSS where the shares of another user's processes are not ours to see. */
function sum(pids) {
  const shares = pids.map(pssMb);
  const total = (values) => values.reduce((all, one) => all + one, 0);
  return shares.includes(undefined)
    ? { kind: 'RSS', mb: total(pids.map(rssMb)) }
    : { kind: 'PSS', mb: total(shares) };
}
