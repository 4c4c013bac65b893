// Calls with the pods of a cluster as sandboxes, beside this machine's own engine and beside `kubectl run` of the same image, in turns;
// what is offered to it faster than it can serve; and what waiting pods take. Needs the cluster that `node scripts/cluster.mjs up` starts.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { kubectlWith } from '../cluster/cluster.mjs';
import { giveImage } from '../cluster/node.mjs';
import { isThere, KUBECONFIG } from '../cluster/place.mjs';
import { pidOf, started } from '../cluster/processes.mjs';
import { preparePrograms } from '../cluster/programs.mjs';
import { prints } from './bare.mjs';
import { family, rssMb } from './processes.mjs';
import { echoServer, pause, timeWork } from './stage.mjs';
import { figure } from './statistics.mjs';
import { CALLS_FROM_INSIDE } from './tool-call.mjs';

/** A pod needs a second or two, so that one waits again by the next call. */
const THINK_MS = 4_000;
/** Made for the measurement and deleted after it. */
const NAMESPACE = 'bench';
const OFFERED_PER_SECOND = 10;
const WAITING = [1, 8, 32];
const GROWS_WITHIN_MS = 120_000;
const TIMES_LOCAL = 1.5;

export async function measureCluster(stage, bare) {
  if (!isThere())
    return [
      {
        measure: 'calls in a cluster',
        skipped: 'no cluster is up: `node scripts/cluster.mjs up` starts one',
      },
    ];
  const { image } = bare.choice;
  giveImage(image);
  const path = [process.env.PATH, ...(await preparePrograms(() => {}))].join(':');
  const there = {
    ...{ MCP_BRIDGE_RUNTIME: 'kubernetes', MCP_BRIDGE_ENGINE_URL: `kubernetes:///${NAMESPACE}` },
    ...{ MCP_BRIDGE_IMAGE: image, KUBECONFIG },
  };
  const kubectl = kubectlWith(path);
  const cluster = { image, path, there, kubectl };
  kubectl(['create', 'namespace', NAMESPACE]);
  try {
    return [
      ...(await ofCalls(stage, cluster)),
      await ofColdCalls(stage, cluster),
      await ofToolCalls(stage, cluster),
      await whatIsOffered(stage, cluster),
      ...(await growth(stage, cluster)),
    ];
  } finally {
    kubectl(['delete', 'namespace', NAMESPACE, '--wait=false']);
  }
}

/**
 * Milliseconds that `kubectl run` of the same image takes for `print(1)`, with the end of its pod; undefined where kubectl came too late
 * to hear it, although the program waits a second for that, which is not counted.
 */
const kubectlRun = ({ image, path }) =>
  prints(
    '1\n',
    'env',
    [
      ...[
        `PATH=${path}`,
        `KUBECONFIG=${KUBECONFIG}`,
        'kubectl',
        `--namespace=${NAMESPACE}`,
        'run',
        `bench-${Date.now()}`,
      ],
      ...[`--image=${image}`, '--image-pull-policy=Never', '--restart=Never', '--rm', '--stdin', '--quiet'],
      ...['--command', '--', 'python3', '-c', 'import time\ntime.sleep(1)\nprint(1)'],
    ],
    '/',
  ).then(
    (ms) => ms - 1000,
    () => undefined,
  );

const heard = (times) => times.filter((ms) => ms !== undefined);

const besides = (measure, ours, theirs, label, more = {}) => {
  const [here, there] = [figure('in the cluster', ours), figure(label, theirs)];
  return { measure, unit: 'ms', ours: here, theirs: there, ratio: here.p50 / there.p50, ...more };
};

async function ofCalls(stage, cluster) {
  const local = { warm: [], session: [] };
  const remote = { warm: [], session: [] };
  const plain = [];
  const call = async (bridge, into) => {
    await pause(THINK_MS);
    into.warm.push((await timeWork(() => bridge.run('print(1)'))).ms);
    // Behind that call a pod ends and another one starts, on the processors of this machine.
    await pause(THINK_MS);
    into.session.push((await timeWork(() => bridge.run('print(1)', { session: 'bench' }))).ms);
  };
  await stage.withBridge({}, (here) =>
    stage.withBridge({ env: cluster.there }, async (there) => {
      for (const bridge of [here, there]) await bridge.run('print(1)', { session: 'bench' });
      for (let round = 0; round < stage.times(12, 4); round++) {
        await call(there, remote);
        await call(here, local);
        plain.push(await kubectlRun(cluster));
      }
    }),
  );
  const trip = await roundTrip(cluster);
  const warm = besides('warm call in a cluster', remote.warm, local.warm, 'this machine');
  const allowed = TIMES_LOCAL * warm.theirs.p50 + trip;
  return [
    {
      ...warm,
      target: `<= ${TIMES_LOCAL} of local + ${trip.toFixed(1)} ms round trip`,
      met: warm.ours.p50 <= allowed,
    },
    besides(
      'warm call in a cluster beside kubectl run',
      remote.warm,
      heard(plain),
      'kubectl run of the image',
    ),
    besides('call of a session in a cluster', remote.session, local.session, 'this machine'),
  ];
}

/** Milliseconds of a line to a pod and back, by kubectl: the median of many. */
async function roundTrip({ image, path }) {
  const args = [
    `--namespace=${NAMESPACE}`,
    'run',
    'bench-echo',
    `--image=${image}`,
    '--image-pull-policy=Never',
    '--restart=Never',
    '--rm',
  ];
  const child = spawn('kubectl', [...args, '--stdin', '--quiet', '--command', '--', 'cat'], {
    env: { ...process.env, PATH: path, KUBECONFIG },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const times = [];
  for (let line = 0; line < 60; line++)
    times.push(
      (
        await timeWork(async () => {
          child.stdin.write(`${line}\n`);
          await once(child.stdout, 'data');
        })
      ).ms,
    );
  child.stdin.end();
  await once(child, 'exit');
  // The first ones wait for the pod.
  return figure('round trip', times.slice(10)).p50;
}

async function ofColdCalls(stage, cluster) {
  const [ours, plain] = [[], []];
  await stage.withBridge({ env: { ...cluster.there, MCP_BRIDGE_WARM: '0' } }, async (bridge) => {
    for (let round = 0; round < stage.times(10, 4); round++) {
      ours.push((await timeWork(() => bridge.run('print(1)'))).ms);
      plain.push(await kubectlRun(cluster));
    }
  });
  return besides('cold call in a cluster', ours, heard(plain), 'kubectl run of the image');
}

async function ofToolCalls(stage, cluster) {
  const [here, there] = [[], []];
  const servers = { echo: echoServer };
  await stage.withBridge({ servers }, (local) =>
    stage.withBridge({ servers, env: cluster.there }, async (remote) => {
      for (let round = 0; round < stage.times(6, 2); round++) {
        there.push(...(await remote.run(CALLS_FROM_INSIDE)).result);
        here.push(...(await local.run(CALLS_FROM_INSIDE)).result);
      }
    }),
  );
  return besides('tool call from inside, in a cluster', there, here, 'this machine');
}

/** Runs begin at the same rate whatever becomes of them. */
async function whatIsOffered(stage, cluster) {
  const served = [];
  const others = [];
  // A call that waits for long would be answered with a handle, which is neither of them.
  const env = { ...cluster.there, MCP_BRIDGE_PATIENCE: '0' };
  await stage.withBridge({ env }, async ({ client }) => {
    const all = [];
    for (let count = 0; count < OFFERED_PER_SECOND * stage.times(60, 15); count++) {
      const request = { name: 'run_python', arguments: { code: 'print(1)' } };
      const options = { timeout: GROWS_WITHIN_MS };
      all.push(
        timeWork(() => client.callTool(request, undefined, options)).then(
          ({ ms, value }) =>
            value.structuredContent.status === 'success'
              ? served.push(ms)
              : others.push(value.structuredContent.errorType ?? value.structuredContent.status),
          (thrown) => others.push(thrown.message),
        ),
      );
      await pause(1000 / OFFERED_PER_SECOND);
    }
    await Promise.all(all);
  });
  const why = [...new Set(others)].map((word) => `${others.filter((each) => each === word).length} ${word}`);
  const note = `${served.length} served, ${others.length} refused${why.length === 0 ? '' : ` (${why.join(', ')})`}`;
  const measure = `${OFFERED_PER_SECOND} calls a second offered to a cluster`;
  return served.length === 0
    ? { measure, failed: note }
    : { measure, unit: 'ms', ours: figure('served', served), note };
}

async function growth(stage, cluster) {
  const rows = [];
  for (const count of WAITING) rows.push(await waiting(count, stage, cluster));
  return rows;
}

/** A cluster without room for so many says so: what there is then is told. */
async function waiting(count, stage, { there, kubectl }) {
  const running = () =>
    kubectl([
      ...[
        `--namespace=${NAMESPACE}`,
        'get',
        'pods',
        '--selector=mcp-sandbox-bridge',
        '--field-selector=status.phase=Running',
      ],
      '--output=name',
    ])
      .split('\n')
      .filter(Boolean).length;
  return await stage.withBridge({ env: { ...there, MCP_BRIDGE_WARM: String(count) } }, async ({ pid }) => {
    const since = performance.now();
    while (running() < count && performance.now() - since < GROWS_WITHIN_MS) await pause(500);
    const found = running();
    const seconds = (performance.now() - since) / 1000;
    const clusterMb = started()
      .flatMap((name) => family(pidOf(name)))
      .reduce((sum, each) => sum + rssMb(each), 0);
    return {
      measure: `bridge with ${count} waiting pods`,
      unit: 'MB',
      ours: figure('bridge', [rssMb(pid)]),
      note: `${found} were there after ${seconds.toFixed(0)} s; the cluster with its pods has ${Math.round(clusterMb)} MB resident`,
    };
  });
}
