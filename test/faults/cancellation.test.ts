// Cancelled at every point of a run's life, and cancelled twice: no answer comes after the cancellation, the container
// is gone, and the next call is served.

import { describe, expect } from 'vitest';
import { ourSandboxes, runningSandboxes } from '../support/nothing-left.js';
import { hostileServer } from '../support/start-bridge.js';
import { coldSandboxes, eventually, pause, until } from '../support/time.js';
import { amount } from './ledger.js';
import type { RawBridge } from './raw-bridge.js';
import { fault } from './stage.js';

const running = async (bridge: RawBridge) => {
  const name = () => runningSandboxes().some((each) => !each.includes('-try-'));
  expect(await eventually(name)).toBe(true);
  expect(bridge.child.exitCode).toBeNull();
  await pause(250);
};

type Point = {
  readonly title: string;
  readonly code: string;
  readonly servers?: readonly string[];
  /** Brings the call to the point. */
  readonly reach?: (bridge: RawBridge, id: number) => Promise<unknown>;
  readonly answered?: true;
};

const POINTS: readonly Point[] = [
  { title: 'before it started', code: 'while True: pass' },
  {
    title: 'while a container is being made',
    code: 'while True: pass',
    reach: () => pause(coldSandboxes(0.05 + Math.random() / 2)),
  },
  { title: 'in its code', code: 'while True: pass', reach: running },
  {
    title: 'in code that takes no signal',
    code: 'import signal, time\nfor n in (1, 2, 15): signal.signal(n, signal.SIG_IGN)\ntime.sleep(60)',
    reach: running,
  },
  {
    title: 'in a tool call',
    code: 'await mcp_h.hang()',
    servers: ['h'],
    reach: (bridge, id) =>
      until(() =>
        bridge.received.some(
          ({ params }) =>
            params?.['progressToken'] === id && /in flight: h\.hang/.test(`${params['message']}`),
        ),
      ),
  },
  { title: 'while a server starts', code: '1', servers: ['slow'], reach: () => pause(300) },
  {
    title: 'in its clean-up',
    code: 'import atexit, time\natexit.register(time.sleep, 60)\n"over"',
    reach: running,
  },
  {
    title: 'after its answer',
    code: '1',
    reach: (bridge, id) => bridge.answer(id),
    answered: true,
  },
];

const rounds = amount('FAULT_ROUNDS', 1);
const slow = Object.fromEntries(
  Array.from({ length: rounds }, (_, n) => [`slow${n}`, hostileServer('slow-start=5000', `number=${n}`)]),
);

describe('cancellation', () => {
  for (const { title, code, servers = [], reach, answered } of POINTS) {
    for (const times of [1, 2]) {
      fault('L08', `${title}, ${times === 1 ? 'once' : 'twice'}`, async (stage) => {
        stage.injected = rounds;
        const bridge = await stage.raw({
          servers: { h: hostileServer(), ...slow },
          env: { MCP_BRIDGE_CONCURRENCY: '2' },
        });
        // Engine and OCI runtime are chosen, and the server is up, before anything is measured.
        await stage.answered(bridge.run('1', { servers: ['h'] }));
        for (let round = 0; round < rounds; round++) {
          expect(await eventually(() => ourSandboxes().length === 0)).toBe(true);
          // One that has started once is there at once: each round has its own.
          const wanted = servers.map((name) => (name === 'slow' ? `slow${round}` : name));
          const id = bridge.call(code, { servers: wanted, timeout: 60, progress: true });
          await reach?.(bridge, id);
          const before = bridge.received.length;
          for (let n = 0; n < times; n++) bridge.cancel(id);
          if (reach !== undefined) {
            expect(await eventually(() => ourSandboxes().length === 0)).toBe(true);
          }
          if (title === 'in a tool call') {
            const told = await stage.answered(
              bridge.run('len((await mcp_h.cancelled())["ids"])', { servers }),
            );
            expect(told.result).toBe(round + 1);
          } else {
            await stage.stillWorks(bridge);
          }
          const after = bridge.received.slice(before).filter((message) => message.id === id);
          expect(after).toEqual([]);
          expect(bridge.received.some((message) => message.id === id)).toBe(answered === true);
        }
      });
    }
  }

  fault('L08', 'in the queue: it never runs, and those behind it move up', async (stage) => {
    const bridge = await stage.raw({ env: { MCP_BRIDGE_CONCURRENCY: '1' } });
    const first = bridge.call('import time; time.sleep(5); "first"');
    const queued = bridge.call('"never"');
    const third = bridge.call('"third"');
    bridge.cancel(queued);
    for (const [id, value] of [
      [first, 'first'],
      [third, 'third'],
    ] as const) {
      const { result } = await stage.answered(bridge.answer(id));
      expect(result?.structuredContent?.result).toBe(value);
    }
    await pause(300);
    expect(bridge.received.some(({ id }) => id === queued)).toBe(false);
  });
});
