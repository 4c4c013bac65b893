// The container tests that hold in a Kubernetes cluster, and those of the chart, `npm run test:cluster`; --help says how. Brings a
// cluster up on this machine, runs them with its pods as sandboxes, and takes it down. Needs root, a built bridge and its base image,
// and what `scripts/setup --with cluster` installs. Exits with 3, and what is missing, where a machine cannot have a cluster.

import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { leaveWrong, takeOptions } from './options.mjs';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
/** Files that were seen to hold there. Each is run for itself, in this order: those that break the cluster come last. */
const FILES = [
  'test/cluster/cluster.test.ts',
  'test/front-door/main-job.test.ts',
  'test/front-door/files.test.ts',
  'test/front-door/sessions.test.ts',
  'test/front-door/approvals.test.ts',
  'test/front-door/errors-at-limits.test.ts',
  'test/faults/cancellation.test.ts',
  'test/walls/walls.test.ts',
  'test/cluster/agent-sandbox.test.ts',
  'test/cluster/chart.test.ts',
  'test/cluster/faults.test.ts',
];
/** From here on, the cluster has agent-sandbox; the files before it show that it is not needed. */
const ON_CLAIMS = /agent-sandbox/;
/** Attacks, whose host is a node: they run in its network, and all pods with them on that node. */
const ON_NODE = /\/walls\//;
/** The bridge itself, as an image of this build that the nodes are given. */
const BRIDGE_IMAGE = 'localhost/mcp-sandbox-bridge:of-this-build';

// Another cluster than the one that a person may have brought up, which goes on.
process.env['CLUSTER_OF'] = 'tests';
const { endCluster, startCluster } = await import('./cluster/cluster.mjs');
const { inNetwork, KUBECONFIG, NODES, whyNoCluster } = await import('./cluster/place.mjs');
const { kubeconfigOf } = await import('./cluster/keys.mjs');
const { pidOf } = await import('./cluster/processes.mjs');
const { CONTROLLER, preparePrograms, whyNotBuilt } = await import('./cluster/programs.mjs');
const { startController } = await import('./cluster/agent-sandbox.mjs');

const { only, image, kills } = takeOptions({
  command: 'npm run test:cluster --',
  about:
    'Runs container tests with the pods of a real Kubernetes cluster as sandboxes. Takes a quarter of an hour, and root.',
  options: {
    only: { value: 'PATTERN', says: 'only files whose path fits this regular expression' },
    image: { value: 'IMAGE', says: "of this machine's podman, besides the base image", multiple: true },
    kills: { value: 'NUMBER', says: 'how many bridges the test of faults kills; 20 where not said' },
  },
});
const files = FILES.filter((file) => new RegExp(only ?? '').test(file));
if (files.length === 0) leaveWrong(`--only: no file fits '${only}'. There is: ${FILES.join(', ')}.`);
const extras = files.some((file) => ON_CLAIMS.test(file)) ? [CONTROLLER] : [];
const why = whyNoCluster() ?? whyNotBuilt(...extras);
if (why !== undefined) {
  console.error(`There can be no cluster here: ${why}.`);
  process.exit(3);
}

const [first, ...others] = NODES;
if (first === undefined) throw new Error('the cluster has no node');
const node = first;
// Its end is the cluster's: an interruption goes to the tests, and what follows is done.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {});
const say = (/** @type {string} */ line) => console.error(line);
const { localImageName, readRecipe } = await import(join(ROOT, 'dist/engine/images/recipe.js'));
const { VERSION } = await import(join(ROOT, 'dist/base/version.js'));
const ofBridge = files.some((file) => file.includes('/chart')) ? [BRIDGE_IMAGE] : [];
// A suite looks at the end for what is left among the temporary files, and others on this machine have some.
const folder = mkdtempSync(join(tmpdir(), 'cluster-'));
try {
  for (const tag of ofBridge)
    execFileSync(process.execPath, [join(ROOT, 'scripts/bridge-image.mjs'), `--tag=${tag}`], {
      stdio: 'inherit',
    });
  const kubectl = await startCluster(
    [localImageName(readRecipe('base'), VERSION), ...ofBridge, ...(image ?? [])],
    say,
  );
  const programs = (await preparePrograms(say, extras)).join(':');
  const failed = [];
  for (const file of files) {
    if (ON_CLAIMS.test(file)) await startController(kubectl, `${programs}:${process.env['PATH']}`, say);
    if (ON_NODE.test(file)) kubectl(['cordon', ...others.map(({ name }) => name)]);
    if ((await runTests(programs, file)) !== 0) failed.push(file);
    if (ON_NODE.test(file)) kubectl(['uncordon', ...others.map(({ name }) => name)]);
  }
  say(failed.length === 0 ? `all of ${files.length} files passed` : `failed: ${failed.join(', ')}`);
  process.exitCode = failed.length === 0 ? 0 : 1;
} finally {
  await endCluster();
  rmSync(folder, { recursive: true, force: true });
}

/** The process of the node's that is the first one of its namespace. */
function firstProcessOf(/** @type {number | undefined} */ pid) {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')[0];
}

/** Resolves with the exit code. */
function runTests(/** @type {string} */ programs, /** @type {string} */ file) {
  const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs');
  const isOnNode = ON_NODE.test(file);
  const [program = '', ...args] = [
    ...(isOnNode ? inNetwork(node.netns) : []),
    ...[process.execPath, vitest, 'run', '--project=containers', file],
  ];
  const child = spawn(program, args, {
    cwd: ROOT,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: {
      ...process.env,
      TMPDIR: folder,
      PATH: `${process.env['PATH']}:${programs}`,
      KUBECONFIG: isOnNode ? kubeconfigOf('admin') : KUBECONFIG,
      ...(isOnNode
        ? {
            TEST_CLUSTER_INSIDE: JSON.stringify([
              'nsenter',
              `--target=${firstProcessOf(pidOf(node.name))}`,
              '--pid',
              '--mount',
            ]),
          }
        : {}),
      TEST_REMOTE_ENGINE: 'kubernetes',
      ...(ON_CLAIMS.test(file) ? { CLUSTER_AGENT_SANDBOX: 'yes' } : {}),
      ...(kills === undefined ? {} : { CLUSTER_KILLS: kills }),
      TEST_BRIDGE_IMAGE: BRIDGE_IMAGE,
    },
  });
  return new Promise((resolve) => child.once('exit', (code) => resolve(code ?? 1)));
}
