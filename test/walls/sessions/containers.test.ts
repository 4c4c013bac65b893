// The walls between the calls of a session: what one has left cannot have the host believe anything of a later one, and uses no
// processor while it stands still.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { engineUnderTest } from '../../support/engine-under-test.js';
import { hostileServer, startBridge, type TestBridge } from '../../support/start-bridge.js';
import { attacks } from './attacks.js';
import { pause, sessionIn } from './world.js';

let bridge: TestBridge;
beforeAll(async () => {
  bridge = await startBridge(
    { open: hostileServer() },
    { env: { MCP_BRIDGE_SESSIONS: '100', MCP_BRIDGE_DENY: 'open.denied' } },
  );
});
afterAll(() => bridge[Symbol.asyncDispose]());

describe.each(attacks)('$id: $tries', ({ attempt, control }) => {
  it('is held', async () => {
    expect(await attempt(bridge)).toBeUndefined();
  });

  it('gets through where nothing stands in its way', async () => {
    expect(await control(bridge)).toEqual(expect.any(String));
  });
});

describe.skipIf(engineUnderTest.kind !== 'local')('what stands still', () => {
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

  /** Processor seconds of all processes of a container: two numbers of `stat`, in hundredths. */
  function usedBelow(pid: number): number {
    const [, , , , , , , , , , , user = 0, system = 0] = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /, '')
      .split(' ')
      .map(Number);
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean);
    return (user + system) / 100 + children.reduce((sum, child) => sum + usedBelow(Number(child)), 0);
  }

  const WORK = `import threading
def work():
    while True: pass
for _ in range(3): threading.Thread(target=work, daemon=True).start()`;

  /** What a busy session uses in two seconds, from one second after its answer. */
  async function used(code: string): Promise<number> {
    const session = await sessionIn(bridge);
    await session.call(code);
    const pid = firstProcessOf(session.name);
    await pause(1_000);
    const before = usedBelow(pid);
    await pause(2_000);
    const after = usedBelow(pid);
    await session.call('import os\nos._exit(0)');
    return after - before;
  }

  it('uses no processor time, whatever it has left running', async () => {
    // The looks of its first process are a millisecond or two.
    expect(await used(WORK)).toBeLessThan(0.05);
    expect(await used(`${WORK}\nruntime.keep_running()`)).toBeGreaterThan(0.3);
  });
});
