// Containers that are killed, stopped or orphaned from outside, and code that will not end when its run does: the
// call is answered with the cause, the container goes, and the next call is served.

import { execFileSync, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect } from 'vitest';
import { MAX_FILE_BYTES } from '../../src/wire/frames.js';
import { REACH_SECONDS } from '../front-door/reached.js';
import { runningSandboxes } from '../support/nothing-left.js';
import type { Payload, TestBridge } from '../support/start-bridge.js';
import { coldSandboxes, eventually, pause, until } from '../support/time.js';
import { amount } from './ledger.js';
import { fault, type Stage } from './stage.js';

const podman = (...args: string[]) =>
  execFileSync('podman', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });

type Processes = { readonly name: string; readonly first: number; readonly monitor: number };

/** The one container that runs now, by the pids of its first process and its monitor. */
async function theContainer(): Promise<Processes> {
  let found: Processes | undefined;
  const look = () => {
    // Not the one in which an OCI runtime is tried.
    const name = runningSandboxes().find((each) => !each.includes('-try-')) ?? '';
    if (name === '') return false;
    try {
      const [first = 0, monitor = 0] = podman('inspect', '--format={{.State.Pid}} {{.State.ConmonPid}}', name)
        .split(' ')
        .map(Number);
      found = { name, first, monitor };
      return first > 0;
    } catch {
      return false;
    }
  };
  expect(await eventually(look)).toBe(true);
  if (found === undefined) throw new Error('no container');
  return found;
}

const childrenOf = (pid: number): number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((each) => {
      try {
        return readFileSync(`/proc/${each}/status`, 'utf8').includes(`\nPPid:\t${pid}\n`);
      } catch {
        return false;
      }
    });

/** So that the container is struck before. */
const SECONDS = 2 * REACH_SECONDS;
const TIMED_OUT = new RegExp(`Timed out after ${SECONDS} s`);
const KILLS: ReadonlyArray<readonly [string, (container: Processes) => void, RegExp]> = [
  ['its first process killed', ({ first }) => process.kill(first, 'SIGKILL'), /vanished/],
  ['killed through the engine', ({ name }) => podman('kill', name), /vanished/],
  ['removed through the engine', ({ name }) => podman('rm', '--force', '--time=0', name), /vanished/],
  ['its monitor killed', ({ monitor }) => process.kill(monitor, 'SIGKILL'), /vanished|Timed out/],
  [
    'its monitor and first process killed',
    ({ monitor, first }) => {
      process.kill(monitor, 'SIGKILL');
      process.kill(first, 'SIGKILL');
    },
    /vanished|Timed out/,
  ],
  [
    'the code killed',
    ({ first }) => {
      for (const guest of childrenOf(first)) process.kill(guest, 'SIGKILL');
    },
    /SIGKILL/,
  ],
  ['its first process stopped', ({ first }) => process.kill(first, 'SIGSTOP'), TIMED_OUT],
  ['its monitor stopped', ({ monitor }) => process.kill(monitor, 'SIGSTOP'), TIMED_OUT],
  [
    'everything in it stopped',
    ({ first }) => {
      for (const pid of [first, ...childrenOf(first)]) process.kill(pid, 'SIGSTOP');
    },
    TIMED_OUT,
  ],
];

describe('a container in mid-run', () => {
  for (const [title, strike, says] of KILLS) {
    fault('L04', title, async (stage) => {
      const bridge = await stage.bridge();
      let isGoing = false;
      const code = 'import time\nruntime.progress(1)\nwhile True: time.sleep(0.05)';
      const call = bridge.run(code, {
        timeout: says.source.includes('Timed out') ? SECONDS : 60,
        onprogress: () => {
          isGoing = true;
        },
      });
      call.catch(() => {});
      await until(() => isGoing);
      const container = await theContainer();
      strike(container);
      const payload = await stage.answered(call);
      expect(payload.status).not.toBe('success');
      expect(payload.error).toMatch(says);
      await stage.stillWorks(bridge);
    });
  }
});

const IDLE: ReadonlyArray<readonly [string, (container: Processes) => void]> = [
  ['dies', ({ first }) => process.kill(first, 'SIGKILL')],
  ['loses its monitor', ({ monitor }) => process.kill(monitor, 'SIGKILL')],
  ['is removed', ({ name }) => podman('rm', '--force', '--time=0', name)],
];

describe('a sandbox that waits', () => {
  for (const [title, strike] of IDLE) {
    fault('L16', `${title} before it is taken`, async (stage) => {
      const bridge = await warm(stage);
      strike(await theContainer());
      await stage.stillWorks(bridge);
      await stage.stillWorks(bridge);
    });
  }

  fault('L16', 'is stopped before it is taken', async (stage) => {
    const bridge = await warm(stage);
    const { first } = await theContainer();
    process.kill(first, 'SIGSTOP');
    const payload = await stage.answered(bridge.run('6 * 7', { timeout: 3 }));
    expect(payload.status).toBe('timeout');
    await stage.stillWorks(bridge);
  });

  fault('L16', 'serves one run only, also when more are wanted than wait', async (stage) => {
    const bridge = await warm(stage, { MCP_BRIDGE_CONCURRENCY: '2' });
    const code = 'import os\nold = os.path.exists("/tmp/t")\nopen("/tmp/t", "w").close()\nold';
    const rounds = amount('FAULT_ROUNDS', 6);
    stage.injected = rounds;
    for (let round = 0; round < rounds; round++) {
      const both = await Promise.all([bridge.run(code), bridge.run(code)].map((run) => stage.answered(run)));
      for (const { result } of both) expect(result).toBe(false);
    }
  });
});

async function warm(stage: Stage, env: Record<string, string> = {}): Promise<TestBridge> {
  const bridge = await stage.bridge({}, { MCP_BRIDGE_WARM: '1', ...env });
  await bridge.client.listTools();
  await theContainer();
  // Started is not yet greeted.
  await pause(coldSandboxes(2));
  return bridge;
}

const FLOOD_MB = amount('FAULT_FLOOD_MB', 60);

type Code = readonly [row: string, title: string, code: string, expected: Partial<Payload>];
const STUBBORN: readonly Code[] = [
  [
    'R11',
    'a daemon that holds stdout open',
    'import os, time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0: time.sleep(60)\n    os._exit(0)\n"over"',
    { status: 'success', result: 'over' },
  ],
  [
    'R11',
    'a subprocess that ignores its end',
    'import subprocess\np = subprocess.Popen(["python3", "-c", "import signal,time; [signal.signal(n, signal.SIG_IGN) for n in (1,2,15)]; time.sleep(60)"])\n"over"',
    { status: 'success', result: 'over' },
  ],
  [
    'R12',
    'a flood at exit',
    'import atexit\natexit.register(lambda: [print("x" * 1000) for _ in range(20000)])\n1',
    { status: 'success' },
  ],
  [
    'R12',
    'a flood through the deadline',
    'import threading\ndef flood():\n    while True: print("y" * 1000)\nthreading.Thread(target=flood).start()\nflood()',
    { status: 'timeout' },
  ],
  [
    'R12',
    'an exit handler that never ends',
    'import atexit, time\natexit.register(time.sleep, 60)\n1',
    { status: 'timeout' },
  ],
  [
    'R13',
    `${FLOOD_MB} MB of output leave nothing in the engine's store, and in ours what is kept of one stream`,
    `import sys\nfor _ in range(${FLOOD_MB}): sys.stdout.write("z" * (1 << 20))\nimport os\nos._exit(0)`,
    { status: 'success' },
  ],
];

describe('code that will not end', () => {
  for (const [row, title, code, expected] of STUBBORN) {
    fault(row, title, async (stage) => {
      const bridge = await stage.bridge();
      // Whatever holds its answer up has it end at its deadline.
      const timeout = expected.status === 'timeout' ? REACH_SECONDS : 60;
      const before = row === 'R13' ? bytesWritten(bridge) : NOTHING_WRITTEN;
      const result = await stage.answered(bridge.call({ code, timeout }));
      expect(result.structuredContent).toMatchObject(expected);
      // What the model reads is bounded, whatever was printed.
      expect(JSON.stringify(result).length).toBeLessThan(300_000);
      if (row === 'R13') {
        const { store, state } = bytesWritten(bridge);
        expect(store - before.store).toBeLessThan(1 << 20);
        expect(state - before.state).toBeLessThan(MAX_FILE_BYTES + (1 << 20));
      }
      await stage.stillWorks(bridge);
    });
  }
});

const NOTHING_WRITTEN = { store: 0, state: 0 };

/** In the engine's store, and in the state directory. */
function bytesWritten({ stateDir }: TestBridge): typeof NOTHING_WRITTEN {
  const stores = podman('info', '--format={{.Store.GraphRoot}} {{.Store.RunRoot}}').trim().split(' ');
  return { store: bytesIn(stores), state: bytesIn([stateDir]) };
}

function bytesIn(folders: readonly string[]): number {
  // Files come and go meanwhile, which du calls a failure.
  const { stdout } = spawnSync('du', ['--bytes', '--summarize', ...folders], { encoding: 'utf8' });
  return stdout
    .split('\n')
    .map((line) => Number.parseInt(line, 10) || 0)
    .reduce((sum, each) => sum + each, 0);
}
