// The attack table: every attack is tried in a sandbox of the real bridge, and once more with the defence off, where
// it must get through. `npm run walls` runs this file and prints the table.

import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isFromTemplate } from '../front-door/from-template.js';
import { whyLeftOut } from '../remote/left-out.js';
import { engineUnderTest } from '../support/engine-under-test.js';
import { descendants, filesBelow, isOfTemplate, ourSandboxes } from '../support/nothing-left.js';
import { bridgeEnv, startBridge, type TestBridge, tempHome } from '../support/start-bridge.js';
import { eventually, HANGS_MS, until } from '../support/time.js';
import { attacks } from './attacks/all.js';
import { type Controls, RawContainers } from './raw-container.js';
import { RawPods } from './raw-pod.js';
import { isFailure, type Judged, judge, summarize, summaryLine } from './report.js';
import { runAttacks } from './table.js';
import { World } from './world.js';

const { WALLS_ONLY, WALLS_JSON, WALLS_RUNTIME, WALLS_LAUNCH = 'auto' } = process.env;
/** Of limits that nothing enforces; also where the engine under test has none to give. */
const WALLS_ACCEPT =
  process.env['WALLS_ACCEPT'] ?? engineUnderTest.environment['MCP_BRIDGE_ACCEPT_UNENFORCED'];
const FILE = fileURLToPath(import.meta.url);

const isGvisor = WALLS_RUNTIME?.includes('runsc') ?? false;

/**
 * No sandbox waits, so that none may be there after a run; small limits are reached sooner. gVisor's own kernel lives
 * within the limits of its container: each process inside costs several threads of it.
 */
const SETTINGS = {
  MCP_BRIDGE_WARM: '0',
  MCP_BRIDGE_MEMORY: isGvisor ? '384m' : '192m',
  MCP_BRIDGE_PIDS: isGvisor ? '192' : '64',
  MCP_BRIDGE_LOG_LEVEL: 'info',
  MCP_BRIDGE_CONCURRENCY: '4',
  // A batch runs many probes, one after the other.
  MCP_BRIDGE_MAX_TIMEOUT: '250',
  MCP_BRIDGE_LAUNCH: WALLS_LAUNCH,
  ...(WALLS_RUNTIME === undefined ? {} : { MCP_BRIDGE_OCI_RUNTIME: WALLS_RUNTIME }),
  ...(WALLS_ACCEPT === undefined ? {} : { MCP_BRIDGE_ACCEPT_UNENFORCED: WALLS_ACCEPT }),
};

const wanted = attacks
  .filter(({ id }) => WALLS_ONLY === undefined || new RegExp(WALLS_ONLY).test(id))
  // Where limits are accepted to be without effect, trying them would only take the machine's memory.
  .filter(({ group }) => WALLS_ACCEPT === undefined || group !== 'resources');
const groups = [...new Set(wanted.map(({ group }) => group))];

let world: World;
let containers: Controls;
let bridge: TestBridge;
let descriptors = 0;
/** Whether sandboxes come from a template, which is known once one does, or the bridge has said why none will. */
let comeFromTemplate = false;
const judged: Judged[] = [];

const openDescriptors = (): number => readdirSync(`/proc/${bridge.pid}/fd`).length;

beforeAll(async () => {
  world = await World.open();
  const env = bridgeEnv(tempHome(), { ...SETTINGS, ...world.dataSetting });
  containers = await (engineUnderTest.kind === 'kubernetes' ? RawPods : RawContainers).open(env, world);
  bridge = await startBridge(world.downstream, {
    env: { ...SETTINGS, ...world.environment, ...world.dataSetting },
  });
  // Both servers are up from here on.
  await bridge.run('1', { servers: ['open', 'shut'] });
  if (WALLS_LAUNCH !== 'engine' && engineUnderTest.kind === 'local') await until(knowsLaunch);
  if (WALLS_LAUNCH === 'template') expect(comeFromTemplate).toBe(true);
  await eventually(() => ourSandboxes().length === 0);
  // How many pipes wait for containers (stdio-pipes.ts) depends on how many have been started; of the first one most are left.
  descriptors = openDescriptors() + (comeFromTemplate ? 9 : 0);
});

afterAll(async () => {
  await bridge[Symbol.asyncDispose]();
  containers.close();
  await world[Symbol.asyncDispose]();
  const summary = summarize(judged, containers.setting);
  const line = summaryLine(summary);
  if (WALLS_JSON === undefined) console.log(line);
  else writeFileSync(WALLS_JSON, JSON.stringify({ line, summary, attacks: judged }));
});

it('has no two attacks of one name', () => {
  expect(attacks.map(({ id }) => id).filter((id, at, ids) => ids.indexOf(id) !== at)).toEqual([]);
});

describe.each(groups)('%s', (group) => {
  const own = wanted.filter((attack) => attack.group === group);
  const results = new Map<string, Judged>();

  beforeAll(async () => {
    const held = own.filter(
      ({ id }) => whyLeftOut(engineUnderTest.kind, FILE, `${group} ${id}`) === undefined,
    );
    for (const result of await runAttacks(held, { bridge, containers, world })) {
      const one = judge(result, containers.setting);
      results.set(one.id, one);
      judged.push(one);
    }
  }, own.length * HANGS_MS);

  for (const { id } of own) {
    it(id, ({ skip }) => {
      const result = results.get(id);
      if (result === undefined) throw new Error('it was not run');
      if (result.state !== 'contained' && !isFailure(result)) skip(`${result.state}: ${result.reason}`);
      expect(isFailure(result), JSON.stringify(result, null, 2)).toBe(false);
    });
  }

  it('leaves nothing behind, and the next run is well', async () => {
    expect(await bridge.run('6 * 7')).toMatchObject({ status: 'success', result: 42 });
    expect(await isFromTemplate(bridge)).toBe(comeFromTemplate);
    await eventually(() => ourSandboxes().length === 0);
    expect(ourSandboxes()).toEqual([]);
    const servers = (line: string) => line.includes('marking-server');
    await eventually(() => descendants(bridge.pid).filter((line) => !servers(line)).length === 0);
    expect(descendants(bridge.pid).filter((line) => !servers(line))).toEqual([]);
    await eventually(() => openDescriptors() <= descriptors);
    expect(openDescriptors()).toBeLessThanOrEqual(descriptors);
    // A client that is gone is noticed a moment later, and only then are its container's files removed.
    await eventually(() => runFiles().length === 0);
    expect(runFiles()).toEqual([]);
    expect(bridge.stderr()).not.toContain(world.token);
  });
});

async function knowsLaunch(): Promise<boolean> {
  comeFromTemplate = await isFromTemplate(bridge);
  return comeFromTemplate || bridge.stderr().includes("started by the engine's client");
}

/** What the bridge keeps of containers on disk: their ids and pids, for as long as they live. */
function runFiles(): string[] {
  const dir = join(bridge.stateDir, 'run');
  if (!existsSync(dir)) return [];
  return filesBelow(dir)
    .map((path) => basename(path))
    .filter((name) => /\.(cid|pid)$/.test(name) && !isOfTemplate(name));
}
