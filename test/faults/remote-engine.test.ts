// The engine runs elsewhere, and the way to it breaks: cut or held up at each moment of a run's life, its service killed and
// started again, its disk full, and the bridge killed. Every call is answered, and once all is well again nothing is left.

import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { imageOf, isBuilt } from '../support/built-image.js';
import { Relay } from '../support/relay.js';
import { openRemoteEngine, type RemoteEngine, whyNoRemoteEngine } from '../support/remote-engine.js';
import { hostileServer, type Payload, tempHome } from '../support/start-bridge.js';
import { eventually, pause } from '../support/time.js';
import { amount } from './ledger.js';
import type { RawBridge } from './raw-bridge.js';
import { fault, type Stage } from './stage.js';

const KIND = 'podman-unix';
const why = whyNoRemoteEngine(KIND) ?? (isBuilt('base') ? undefined : 'there is no image to give it');
const KILLS = amount('FAULT_REMOTE_KILLS', 5);
const SERVERS = { h: hostileServer() };
/** A user's podman is given no control groups there. */
const ACCEPTED = { MCP_BRIDGE_ACCEPT_UNENFORCED: 'memory,pids,cpu' };

/**
 * What is found by its command line alone may be anybody's on this machine. Clients of this test's bridges are found by their
 * homes too, and told with their pid; containers of the engine are asked of it.
 */
const mayStay = (left: string): boolean => /^(?:podman|python3?|\/usr\/bin\/conmon) /.test(left);

describe.skipIf(why !== undefined)(
  `an engine elsewhere${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    let engine: RemoteEngine;
    let relay: Relay;
    let stateDir: string;

    beforeAll(async () => {
      engine = await openRemoteEngine(KIND);
      await engine.load(imageOf('base'));
      relay = await Relay.open(engine.address, join(engine.machine.shared, 'relay.sock'));
      stateDir = join(tempHome(), 'state');
    });
    afterAll(async () => {
      await relay?.[Symbol.asyncDispose]();
      await engine?.close();
    });

    const env = (more: Readonly<Record<string, string>> = {}) => ({
      ...engine.environment(relay.address),
      ...ACCEPTED,
      MCP_BRIDGE_STATE_DIR: stateDir,
      ...more,
    });

    /** A bridge that has chosen its engine and its image. */
    async function ready(stage: Stage, more: Readonly<Record<string, string>> = {}): Promise<RawBridge> {
      const bridge = await stage.raw({ servers: SERVERS, env: env(more) });
      await stage.stillWorks(bridge);
      await nothingThere();
      return bridge;
    }

    const containersThere = async () => (await engine.containers()).filter((name) => !name.includes('-try-'));
    const isRunning = async () =>
      (await engine.command(['ps', '--filter=status=running', '--format={{.Names}}'])).output.includes(
        'mcp-sandbox-bridge-',
      );

    async function nothingThere(): Promise<void> {
      await eventually(async () => (await containersThere()).length === 0);
      expect(await containersThere(), 'containers of the engine').toEqual([]);
    }

    type Moment = {
      readonly title: string;
      readonly code: string;
      readonly timeout?: number;
      /** Resolves at the moment. */
      readonly reach: (before: {
        readonly connections: number;
        readonly answered: number;
      }) => Promise<unknown>;
    };
    const running = () => eventually(isRunning);
    const printed = 'print("x", flush=True)\n';
    const MOMENTS: readonly Moment[] = [
      {
        title: 'while a container is asked for',
        code: '1',
        reach: ({ connections }) => eventually(() => relay.connections > connections),
      },
      {
        title: 'while a container is being made',
        code: '1',
        reach: ({ connections }) => eventually(() => relay.connections > connections + 1),
      },
      { title: 'while its code is checked', code: `x = [${'[1, 2], '.repeat(200_000)}]\n1`, reach: running },
      {
        title: 'in its code',
        code: `${printed}import time; time.sleep(20)`,
        timeout: 30,
        reach: () => running().then(() => pause(500)),
      },
      {
        title: 'in a tool call',
        code: 'await mcp_h.hang()',
        timeout: 30,
        reach: () => running().then(() => pause(500)),
      },
      {
        title: 'in its output',
        code: 'while True: print("x" * 1000)',
        timeout: 20,
        reach: ({ answered }) => eventually(() => relay.answered > answered + 3_000_000),
      },
      {
        title: 'while its files come back',
        code: 'import os\nos.makedirs("/workspace/out", exist_ok=True)\nfor n in range(8): open(f"/workspace/out/{n}.bin", "wb").write(os.urandom(5_000_000))',
        reach: ({ answered }) => eventually(() => relay.answered > answered + 2_000_000),
      },
      {
        title: 'while it is ended at its deadline',
        code: 'import signal\nfor n in (1, 2, 15): signal.signal(n, signal.SIG_IGN)\nwhile True: pass',
        timeout: 2,
        reach: () => running().then(() => pause(1_950)),
      },
    ];

    for (const how of ['cut', 'stall'] as const)
      for (const { title, code, timeout = 10, reach } of MOMENTS)
        fault(
          how === 'cut' ? 'E01' : 'E02',
          `the way is ${how === 'cut' ? 'cut' : 'held up'} ${title}`,
          async (stage) => {
            const bridge = await ready(stage);
            const { connections, answered } = relay;
            const id = bridge.call(code, { servers: ['h'], timeout });
            try {
              await reach({ connections, answered });
              relay[how]();
              // One that is only held up goes on afterwards, if its time is not over by then.
              if (how === 'stall') await pause(3_000);
              else await stage.answered(bridge.answer(id));
            } finally {
              relay.resume();
            }
            const { result } = await stage.answered(bridge.answer(id));
            const payload = result?.structuredContent as Payload;
            expect(payload.error ?? '').not.toContain('E_INTERNAL');
            await stage.stillWorks(bridge);
            await nothingThere();
          },
          { mayStay },
        );

    fault(
      'E01',
      'the way is cut while nobody asks for anything',
      async (stage) => {
        const bridge = await ready(stage);
        relay.cut();
        await pause(300);
        relay.resume();
        await stage.stillWorks(bridge);
        await nothingThere();
      },
      { mayStay },
    );

    fault(
      'E01',
      'there is no way from the start, and then there is',
      async (stage) => {
        relay.cut();
        const bridge = await stage.raw({ env: env({ MCP_BRIDGE_STATE_DIR: join(tempHome(), 'state') }) });
        try {
          const { result } = await stage.answered(bridge.answer(bridge.call('1')));
          expect(result?.structuredContent).toMatchObject({
            status: 'error',
            remedy: expect.stringMatching(/\w/),
          });
        } finally {
          relay.resume();
        }
        await stage.stillWorks(bridge);
        await nothingThere();
      },
      { mayStay },
    );

    fault(
      'E01',
      'the way is cut while a sandbox waits',
      async (stage) => {
        const bridge = await stage.raw({ servers: SERVERS, env: env({ MCP_BRIDGE_WARM: '1' }) });
        bridge.request('tools/list');
        expect(await running()).toBe(true);
        // It has greeted by then, too.
        await pause(1_000);
        relay.cut();
        await pause(300);
        relay.resume();
        await stage.stillWorks(bridge);
        await bridge[Symbol.asyncDispose]();
        await nothingThere();
      },
      { mayStay },
    );

    fault(
      'E01',
      'the way is cut while the bridge ends',
      async (stage) => {
        const bridge = await ready(stage);
        const id = bridge.call(`${printed}import time; time.sleep(60)`, { timeout: 60 });
        bridge.answer(id).catch(() => {});
        expect(await running()).toBe(true);
        relay.cut();
        try {
          bridge.child.stdin.end();
          const ended = await stage.answered(bridge.exited);
          expect(ended.signal).toBeNull();
        } finally {
          relay.resume();
        }
        await stage.stillWorks(await stage.raw({ env: env() }));
        await nothingThere();
      },
      { mayStay },
    );

    fault(
      'E03',
      'its service is killed in a run, and started again',
      async (stage) => {
        const bridge = await ready(stage);
        const id = bridge.call(`${printed}import time; time.sleep(30)`, { timeout: 40 });
        expect(await running()).toBe(true);
        await engine.kill();
        try {
          const { result } = await stage.answered(bridge.answer(id));
          expect(result?.structuredContent?.status).toBe('error');
          // As long as there is none, that is what is said.
          const { result: without } = await stage.answered(bridge.answer(bridge.call('1')));
          expect(without?.structuredContent?.status).toBe('error');
        } finally {
          await engine.start();
        }
        await stage.stillWorks(bridge);
        await nothingThere();
      },
      { mayStay },
    );

    fault(
      'E04',
      'its disk is full, and has room again',
      async (stage) => {
        const bridge = await ready(stage);
        await engine.fillDisk();
        try {
          const { result } = await stage.answered(bridge.answer(bridge.call('1')));
          expect(result?.structuredContent).toMatchObject({
            status: 'error',
            error: expect.stringContaining('no space left on device'),
          });
        } finally {
          await engine.emptyDisk();
        }
        await stage.stillWorks(bridge);
        await nothingThere();
      },
      { mayStay },
    );

    fault(
      'E05',
      'SIGKILL of the bridge at random moments',
      async (stage) => {
        for (let n = 0; n < KILLS; n++) {
          const bridge = await stage.raw({
            servers: SERVERS,
            env: env({ MCP_BRIDGE_WARM: n % 3 === 0 ? '1' : '0' }),
          });
          if (n % 3 === 0) bridge.request('tools/list');
          const id = bridge.call(MOMENTS[(n * 3) % MOMENTS.length]?.code ?? '1', {
            servers: ['h'],
            timeout: 60,
          });
          bridge.answer(id).catch(() => {});
          await pause((n * 379) % 1_500);
          process.kill(bridge.pid, 'SIGKILL');
          await bridge[Symbol.asyncDispose]();
          stage.injected++;
        }
        await stage.stillWorks(await stage.raw({ env: env() }));
        await nothingThere();
        // Its own folder is left, and those of the killed ones are swept away.
        const folders = () => readdirSync(join(stateDir, 'run'));
        await eventually(() => folders().length <= 1);
        expect(folders().length).toBe(1);
      },
      { rounds: KILLS, mayStay },
    );
  },
);
