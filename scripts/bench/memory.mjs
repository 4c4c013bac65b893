// What waiting costs: the resident memory of an idle bridge, and the proportional share of one waiting sandbox with
// the conmon that watches it. The engine's client, where one stays as long as the container, is a row of its own.

import { readFileSync } from 'node:fs';
import { commandLine, family, parentOf, pssMb, rssMb } from './processes.mjs';
import { pause } from './stage.mjs';
import { figure } from './statistics.mjs';

/** The harness loads what most programs import only after its greeting. */
const SETTLE_MS = 2_000;
const BRIDGE_MAX_MB = 100;
const SANDBOX_MAX_MB = 25;

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
    const first = Number(readFileSync(bare.pidFile(sandbox.name), 'utf8'));
    const conmon = parentOf(first);
    const watched = commandLine(conmon).includes('conmon');
    const client = family(process.pid).find((pid) => commandLine(pid).includes(sandbox.name));
    const inside = sum(family(first));
    const watcher = sum(watched ? [conmon] : []);
    const total = inside.mb + watcher.mb;
    return [
      {
        measure: `memory of a waiting sandbox with its conmon (${inside.kind})`,
        unit: 'MB',
        ours: figure('sandbox', [total]),
        target: `<= ${SANDBOX_MAX_MB} MB`,
        met: total <= SANDBOX_MAX_MB,
        note: `${inside.mb.toFixed(1)} MB inside, ${watcher.mb.toFixed(1)} MB conmon`,
      },
      ...(client === undefined
        ? []
        : [
            {
              measure: `memory of the engine's client beside it (${inside.kind})`,
              unit: 'MB',
              ours: figure('client', [sum([client]).mb]),
            },
          ]),
    ];
  } finally {
    await sandbox[Symbol.asyncDispose]();
  }
}

/** Memory of processes: PSS, or RSS where the shares of another user's processes are not ours to see. */
function sum(pids) {
  const shares = pids.map(pssMb);
  const total = (values) => values.reduce((all, one) => all + one, 0);
  return shares.includes(undefined)
    ? { kind: 'RSS', mb: total(pids.map(rssMb)) }
    : { kind: 'PSS', mb: total(shares) };
}
