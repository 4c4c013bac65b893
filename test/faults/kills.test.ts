// The bridge is killed without warning, at random moments of its life and whatever it was doing. What its sandboxes
// do not notice by themselves, the next start's sweep removes.

import { expect } from 'vitest';
import { processesWith } from '../support/nothing-left.js';
import { hostileServer } from '../support/start-bridge.js';
import { coldSandboxes, eventually, pause } from '../support/time.js';
import { amount } from './ledger.js';
import { RawBridge } from './raw-bridge.js';
import { fault } from './stage.js';

const KILLS = amount('FAULT_KILLS', 12);
/** From the greeting to the middle of a run. */
const MOST_DELAY_MS = coldSandboxes(2);

const WORK: readonly string[] = [
  'while True: pass',
  'import time; time.sleep(60)',
  'await mcp_h.hang()',
  'while True: print("x" * 500)',
  'import os, time\nif os.fork() == 0: os.setsid()\ntime.sleep(60)',
  'import signal\nfor n in (1, 2, 15): signal.signal(n, signal.SIG_IGN)\nwhile True: pass',
  '1',
];

/** A small generator of its own, so that a run can be repeated: mulberry32. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

fault(
  'L06',
  'SIGKILL at random moments',
  async (stage) => {
    const seed = amount('FAULT_SEED', Date.now() % 1_000_000);
    console.log(`seed ${seed}`);
    const random = randomFrom(seed);
    const servers = { h: hostileServer() };
    for (let n = 0; n < KILLS; n++) {
      const warm = random() < 0.3 ? '1' : '0';
      const bridge = await RawBridge.open({ servers, env: { MCP_BRIDGE_WARM: warm } });
      if (warm === '1') bridge.request('tools/list');
      bridge.call(WORK[Math.floor(random() * WORK.length)] ?? '1', { servers: ['h'], timeout: 60 });
      await pause(random() * MOST_DELAY_MS);
      process.kill(bridge.pid, 'SIGKILL');
      await bridge[Symbol.asyncDispose]();
      stage.injected++;
    }
    await stage.nextStartSweeps();
    // Other tests, which go on beside these, have such servers as well.
    const root = process.env['TEST_ROOT'];
    expect(await eventually(() => processesWith('hostile-server.mjs', root).length === 0)).toBe(true);
  },
  { rounds: KILLS },
);
