// A Kubernetes cluster of two nodes on this machine, for tests and to try things: `up`, `down`, `status`, `load`; --help says how. Needs
// root, and what `scripts/setup --with cluster` installs; Go builds its programs the first time. Exits with 3, and what is missing,
// where a machine cannot have one.

import { endCluster, startCluster } from './cluster/cluster.mjs';
import { giveImage } from './cluster/node.mjs';
import { DOOR, isThere, KUBECONFIG, RUNNING, whyNoCluster } from './cluster/place.mjs';
import { CONTROLLER, missingPrograms, whyNotBuilt } from './cluster/programs.mjs';
import { leaveWrong, takeOptions } from './options.mjs';

const [verb] = process.argv[2]?.startsWith('-') === false ? process.argv.splice(2, 1) : [];
const { image: images, 'agent-sandbox': hasAgentSandbox = false } = takeOptions({
  command: 'node scripts/cluster.mjs up|down|status|load',
  about:
    'Starts (up) or ends (down) a Kubernetes cluster of two nodes on this machine, or says whether one is there (status).\nOne that is up is given further images by load. Its only port is one of the loopback, and all of it goes with `down`. It has the priority of the command that starts it: `nice -n 19 node scripts/cluster.mjs up` spares the machine.',
  options: {
    image: { value: 'IMAGE', says: "of this machine's podman, to be given to the nodes", multiple: true },
    'agent-sandbox': { says: 'with the controller of agent-sandbox and its kinds of resources' },
  },
});

const extras = hasAgentSandbox ? [CONTROLLER] : [];
const why = whyNoCluster() ?? (verb === 'up' ? whyNotBuilt(...extras) : undefined);
if (why !== undefined) {
  console.error(`There can be no cluster here: ${why}.`);
  process.exit(3);
}
const say = (/** @type {string} */ line) => console.error(line);
if (verb === 'up') await up();
else if (verb === 'down') await endCluster();
else if (verb === 'status') status();
else if (verb === 'load') for (const image of images ?? []) giveImage(image);
else leaveWrong(`'${verb ?? ''}' is none of up, down, status and load.`);

async function up() {
  try {
    await startCluster(images ?? [], say, { hasAgentSandbox });
  } catch (thrown) {
    console.error(thrown instanceof Error ? thrown.message : thrown);
    process.exit(1);
  }
  console.log(`export KUBECONFIG='${KUBECONFIG}'`);
}

function status() {
  const missing = missingPrograms();
  console.log(isThere() ? `up, at https://${DOOR.host}:${DOOR.port}; its files are in ${RUNNING}` : 'down');
  console.log(missing.length === 0 ? 'its programs are built' : `to be built: ${missing.join(', ')}`);
}
