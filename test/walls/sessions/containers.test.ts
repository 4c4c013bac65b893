// The walls between the calls of a session: what one has left cannot have the host believe anything of a later one, and uses no
// processor while it stands still.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { engineUnderTest } from '../../support/engine-under-test.js';
import { isHeld } from '../../support/processes.js';
import { hostileServer, startBridge, type TestBridge } from '../../support/start-bridge.js';
import { until } from '../../support/time.js';
import { attacks } from './attacks.js';
import { sessionIn } from './world.js';

/** As for the table of a run. */
const { WALLS_RUNTIME } = process.env;
const isGvisor = WALLS_RUNTIME?.includes('runsc') ?? false;
const SETTINGS = {
  MCP_BRIDGE_SESSIONS: '100',
  MCP_BRIDGE_DENY: 'open.denied',
  ...(WALLS_RUNTIME === undefined ? {} : { MCP_BRIDGE_OCI_RUNTIME: WALLS_RUNTIME }),
};

let bridge: TestBridge;
beforeAll(async () => {
  bridge = await startBridge({ open: hostileServer() }, { env: SETTINGS });
});
afterAll(() => bridge[Symbol.asyncDispose]());

describe.each(attacks)('$id: $tries', ({ attempt, control, gvisor }) => {
  it('is held', async ({ skip }) => {
    if (isGvisor && gvisor !== undefined) skip(gvisor);
    expect(await attempt(bridge)).toBeUndefined();
  });

  it('gets through where nothing stands in its way', async () => {
    expect(await control(bridge)).toEqual(expect.any(String));
  });
});

// gVisor's processes are not the host's.
describe.skipIf(engineUnderTest.kind !== 'local' || isGvisor)('what stands still', () => {
  /** First process of the container of a session. */
  function firstProcessOf(name: string): number {
    const folder = join(bridge.stateDir, 'sessions');
    for (const file of readdirSync(folder).filter((each) => each.endsWith('.json'))) {
      const record = JSON.parse(readFileSync(join(folder, file), 'utf8')) as {
        readonly name: string;
        readonly process: { readonly pid: number } | null;
      };
      if (record.name === name && record.process !== null) return record.process.pid;
    }
    throw new Error(`no record of ${name}`);
  }

  const childrenOf = (pid: number): string[] =>
    readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean);

  /** Processor seconds of all processes of a container: two numbers of `stat`, in hundredths. */
  function usedBelow(pid: number): number {
    const [, , , , , , , , , , , user = 0, system = 0] = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /, '')
      .split(' ')
      .map(Number);
    return (user + system) / 100 + childrenOf(pid).reduce((sum, child) => sum + usedBelow(Number(child)), 0);
  }

  const WORK = `import threading
def work():
    while True: pass
for _ in range(3): threading.Thread(target=work, daemon=True).start()`;

  /** A session with threads that work, and its first process. */
  async function working(more = '') {
    const session = await sessionIn(bridge);
    await session.call(`${WORK}${more}`);
    return { session, pid: firstProcessOf(session.name) };
  }

  const standsStill = (pid: number) =>
    childrenOf(pid).length > 0 && childrenOf(pid).every((child) => isHeld(Number(child)));

  it('uses no processor time, whatever it has left running', async () => {
    const [still, going] = [await working(), await working('\nruntime.keep_running()')];
    await until(() => standsStill(still.pid));
    const before = { still: usedBelow(still.pid), going: usedBelow(going.pid) };
    const used = () => usedBelow(going.pid) - before.going;
    await until(() => used() > 1);
    // The looks of its first process are a millisecond or two each.
    expect(usedBelow(still.pid) - before.still).toBeLessThan(used() / 5);
    for (const { session } of [still, going]) await session.call('import os\nos._exit(0)');
  });
});
