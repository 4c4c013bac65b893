// One folder for everything that a suite writes, and the proof, after the last test, that nothing of it is left:
// no container with our label, no process that a test started, no folder of ours among the temporary files. Where the suite
// is to run against an engine that runs elsewhere, that is started here, and ended.

import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { measureUnits } from '../../scripts/suite/machine-units.mjs';
import type { EngineUnderTest } from './engine-under-test.js';
import { openRemoteEngine, REMOTE_KINDS, type RemoteEngine } from './remote-engine.js';
import { eventually } from './time.js';

const PREFIX = 'mcp-sandbox-bridge-test-';

const IMAGES = ['base', 'bash'];
/** A user's podman is given no control groups there, and the bridge cannot watch processes of another machine's. */
const ACCEPTED = { podman: { MCP_BRIDGE_ACCEPT_UNENFORCED: 'memory,pids,cpu' }, docker: {} } as const;

const before = new Set(readdirSync(tmpdir()));
let root = '';
let remote: RemoteEngine | undefined;

export async function setup(): Promise<void> {
  root = mkdtempSync(join(tmpdir(), PREFIX));
  process.env['TEST_ROOT'] = root;
  process.env['TEST_STATE_DIR'] = join(root, 'state');
  process.env['TEST_FIRST_STATE_DIR'] = join(root, 'state');
  measureUnits({ withSandbox: true });
  const wanted = process.env['TEST_REMOTE_ENGINE'];
  if (wanted === 'kubernetes') useCluster();
  else if (wanted !== undefined) remote = await startRemote(wanted);
}

/** The cluster that `npm run test:cluster` has started. */
function useCluster(): void {
  const { KUBECONFIG } = process.env;
  if (KUBECONFIG === undefined) throw new Error('TEST_REMOTE_ENGINE=kubernetes: run `npm run test:cluster`');
  const told: EngineUnderTest = {
    kind: 'kubernetes',
    client: [
      process.execPath,
      fileURLToPath(new URL('../../scripts/cluster/as-client.mjs', import.meta.url)),
    ],
    environment: { MCP_BRIDGE_RUNTIME: 'kubernetes', KUBECONFIG },
    shared: undefined,
    // What attacks look for lies on a node, where the cluster has one of its own for that.
    inside: JSON.parse(process.env['TEST_CLUSTER_INSIDE'] ?? '[]'),
    uid: 0,
  };
  process.env['TEST_ENGINE'] = JSON.stringify(told);
}

/** With the images of ours that this machine has and tests use, and with what is said of it in the environment. */
async function startRemote(wanted: string): Promise<RemoteEngine> {
  const kind = REMOTE_KINDS.find((name) => name === wanted);
  if (kind === undefined) throw new Error(`TEST_REMOTE_ENGINE: there is no ${wanted}`);
  const engine = await openRemoteEngine(kind);
  try {
    const { isBuilt, imageOf } = await import('./built-image.js');
    for (const profile of IMAGES) if (isBuilt(profile)) await engine.load(imageOf(profile));
  } catch (thrown) {
    await engine.close();
    throw thrown;
  }
  const { MCP_BRIDGE_RUNTIME, MCP_BRIDGE_ENGINE_URL, ...ofClient } = engine.environment();
  const told: EngineUnderTest = {
    kind,
    client: engine.client(),
    environment: { ...engine.environment(), ...ACCEPTED[engine.binary] },
    shared: engine.machine.shared,
    inside: engine.machine.argvInside(),
    uid: engine.uid,
  };
  // The client is also started by tests themselves, which pass on what they have.
  Object.assign(process.env, ofClient, { TEST_ENGINE: JSON.stringify(told) });
  return engine;
}

export async function teardown(): Promise<void> {
  try {
    await nothingLeft();
  } finally {
    rmSync(root, { recursive: true, force: true });
    await remote?.close();
  }
}

async function nothingLeft(): Promise<void> {
  // Only by now is it known which engine is asked.
  const { networkHelpers, ourContainers, processesWith } = await import('./nothing-left.js');
  const containers = () => {
    try {
      return ourContainers();
    } catch {
      // Without podman no test can have left a container.
      return [];
    }
  };
  const noContainer = await eventually(() => containers().length === 0);
  const noProcess = await eventually(() => processesWith(root).length === 0);
  const noNetworkHelper = await eventually(() => networkHelpers().length === 0);
  const left = [
    ...(noContainer ? [] : containers()),
    ...(noProcess ? [] : processesWith(root)),
    ...(noNetworkHelper ? [] : networkHelpers()),
  ];
  rmSync(root, { recursive: true, force: true });
  const folders = readdirSync(tmpdir()).filter(
    (name) => name.startsWith('mcp-sandbox-bridge') && !before.has(name),
  );
  const found = [...left, ...folders];
  if (found.length > 0) throw new Error(`the suite left behind:\n${found.join('\n')}`);
}
