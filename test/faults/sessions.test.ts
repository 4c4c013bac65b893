// Sessions of run_python that are broken from outside or by their own code, while they stand still and while a call is under
// way: what the next call says on its first line, that no name leads to an empty interpreter without a word, that nothing stays.

import { readFileSync } from 'node:fs';
import { describe, expect } from 'vitest';
import { SessionFiles } from '../../src/run/sessions/session-file.js';
import { REACH_SECONDS } from '../front-door/reached.js';
import { runningSandboxes } from '../support/nothing-left.js';
import { isHeld } from '../support/processes.js';
import type { TestBridge } from '../support/start-bridge.js';
import { eventually } from '../support/time.js';
import { amount } from './ledger.js';
import type { RawBridge } from './raw-bridge.js';
import { fault, type Stage } from './stage.js';

/** How often each kill is injected. */
const KILLS = amount('FAULT_SESSION_KILLS', 1);
const CROWD = amount('FAULT_SESSION_CROWD', 7);
const MOST = 4;

/** Each fault begins with a session in which this was run. */
const MARK = 'mark = 42';
const LOOK = 'print(globals().get("mark", "no mark"))';
const BUSY = 'while True: pass';
const BUSY_SECONDS = 60;

let names = 0;
/** Names of one file: its bridges share a state directory with those of others. */
const newName = (): string => `data-${process.pid}-${++names}`;

type Asked = { readonly session: string; readonly require_session?: boolean; readonly timeout?: number };
/** An answer as the model reads it. */
type Said = { readonly first: string; readonly text: string };
type Caller = Pick<TestBridge, 'stateDir'> & { readonly say: (code: string, asked: Asked) => Promise<Said> };
type Parts = ReadonlyArray<{ readonly text?: unknown }>;

function saidIn(parts: Parts): Said {
  const text = parts.map((part) => part.text ?? '').join('\n');
  return { first: text.split('\n')[0] ?? '', text };
}

const through = ({ call, stateDir }: TestBridge): Caller => ({
  stateDir,
  say: async (code, asked) => saidIn((await call({ code, ...asked })).content as Parts),
});

/** The same for a bridge that is to be killed. */
const throughRaw = (bridge: RawBridge): Caller => ({
  stateDir: bridge.stateDir,
  say: async (code, asked) => {
    const { result } = await bridge.answer(bridge.call(code, asked));
    return saidIn((result?.['content'] ?? []) as Parts);
  },
});

const recordsOf = ({ stateDir }: Pick<TestBridge, 'stateDir'>, some: readonly string[]) =>
  new SessionFiles(stateDir).all().filter(({ name }) => some.includes(name));

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    // It has ended.
    return '';
  }
}

/** What follows the name in /proc/PID/stat, beginning with the state. */
const statOf = (pid: number): readonly string[] =>
  read(`/proc/${pid}/stat`)
    .replace(/^.*\) /s, '')
    .split(' ');

const childrenOf = (pid: number): readonly number[] =>
  read(`/proc/${pid}/task/${pid}/children`).split(' ').filter(Boolean).map(Number);

type Processes = { readonly guest: number; readonly supervisor: number; readonly monitor: number };

function processesOf(caller: Caller, name: string): Processes {
  const supervisor = recordsOf(caller, [name])[0]?.process?.pid ?? 0;
  const [guest = 0] = childrenOf(supervisor);
  const found = { guest, supervisor, monitor: Number(statOf(supervisor)[1] ?? 0) };
  // What is no pid of a container must not be sent a signal.
  for (const pid of Object.values(found))
    if (!(pid > 1)) throw new Error(`of ${name}: ${JSON.stringify(found)}`);
  return found;
}

async function begin(stage: Stage, caller: Caller, name: string, code = MARK): Promise<void> {
  const { first } = await stage.answered(caller.say(code, { session: name }));
  expect(first).toMatch(/^\[session [^ ]+ \(s-[a-z0-9]{16}\): new\]$/);
}

/** Resolves when everything in its container but the first process is held. */
async function freezeProcesses(caller: Caller, name: string): Promise<void> {
  const { supervisor } = processesOf(caller, name);
  const isStill = () => childrenOf(supervisor).every(isHeld);
  expect(await eventually(isStill), 'it stands still').toBe(true);
}

/** Begins a call that does not end by itself, and resolves when its code is at work. */
async function occupy(
  caller: Caller,
  name: string,
  timeout = BUSY_SECONDS,
): Promise<{ readonly answer: Promise<Said> }> {
  const { guest } = processesOf(caller, name);
  // In the mode of a user, in hundredths of a second.
  const used = () => Number(statOf(guest)[11] ?? 0);
  const before = used();
  const answer = caller.say(BUSY, { session: name, timeout });
  answer.catch(() => {});
  expect(await eventually(() => used() >= before + 10), 'its code is at work').toBe(true);
  return { answer };
}

/** The reason is said where the session is demanded, and on the first line where it is begun anew: there it is empty. */
async function saysWhy(stage: Stage, caller: Caller, name: string, why: RegExp): Promise<void> {
  const demanded = () => stage.answered(caller.say(LOOK, { session: name, require_session: true }));
  let refused = await demanded();
  if (refused.first.includes('it has ended with this call')) {
    // Its end was not seen before somebody asked for it.
    expect(refused.first).toMatch(why);
    refused = await demanded();
  }
  expect(refused.text).toContain(`there is no session '${name}': it has ended: `);
  expect(refused.text).toMatch(why);
  const { first, text } = await stage.answered(caller.say(LOOK, { session: name }));
  expect(first).toContain('): new and empty; the one before has ended: ');
  expect(first).toMatch(why);
  expect(text).toContain('no mark');
}

/** It is as it was, or the next call says that it is not. */
async function isKeptOrSaysSo(stage: Stage, caller: Caller, name: string): Promise<void> {
  const { first, text } = await stage.answered(caller.say(LOOK, { session: name, timeout: 100 }));
  if (/: call \d+\]$/.test(first)) expect(text).toContain('42');
  else expect(first).toMatch(/it has ended with this call: |: new and empty; the one before has ended: /);
}

type Kill = readonly [row: string, what: keyof Processes, why: RegExp];
const KILLED: readonly Kill[] = [
  ['S01', 'guest', /its interpreter was ended by SIGKILL/],
  ['S02', 'supervisor', /its container is gone: /],
];

describe('killed from outside', () => {
  for (const [row, what, why] of KILLED) {
    fault(
      row,
      `its ${what} is killed while it stands still`,
      async (stage) => {
        const caller = through(await stage.bridge());
        for (stage.injected = 0; stage.injected < KILLS; stage.injected++) {
          const name = newName();
          await begin(stage, caller, name);
          await freezeProcesses(caller, name);
          process.kill(processesOf(caller, name)[what], 'SIGKILL');
          await saysWhy(stage, caller, name, why);
        }
      },
      { rounds: KILLS },
    );

    fault(
      row,
      `its ${what} is killed in a call`,
      async (stage) => {
        const caller = through(await stage.bridge());
        for (stage.injected = 0; stage.injected < KILLS; stage.injected++) {
          const name = newName();
          await begin(stage, caller, name);
          const { answer } = await occupy(caller, name);
          process.kill(processesOf(caller, name)[what], 'SIGKILL');
          const { first } = await stage.answered(answer);
          expect(first).toContain(': call 2; it has ended with this call: ');
          expect(first).toMatch(why);
          await saysWhy(stage, caller, name, why);
        }
      },
      { rounds: KILLS },
    );
  }

  // Its streams are the bridge's own, and nothing else that it needs goes through its monitor.
  for (const isBusy of [false, true]) {
    fault(
      'S03',
      `its monitor is killed ${isBusy ? 'in a call' : 'while it stands still'}`,
      async (stage) => {
        const caller = through(await stage.bridge());
        for (stage.injected = 0; stage.injected < KILLS; stage.injected++) {
          const name = newName();
          await begin(stage, caller, name);
          const call = isBusy ? await occupy(caller, name, 3) : undefined;
          if (call === undefined) await freezeProcesses(caller, name);
          process.kill(processesOf(caller, name).monitor, 'SIGKILL');
          if (call !== undefined) {
            const { first } = await stage.answered(call.answer);
            expect(first).toMatch(
              /: call 2; (interrupted; its state is kept|it has ended with this call: .+)\]$/,
            );
          }
          await isKeptOrSaysSo(stage, caller, name);
        }
      },
      { rounds: KILLS },
    );
  }

  for (const isBusy of [false, true]) {
    fault(
      'S04',
      `its bridge is killed ${isBusy ? 'in a call' : 'while it stands still'}`,
      async (stage) => {
        for (stage.injected = 0; stage.injected < KILLS; stage.injected++) {
          const [name, other] = [newName(), newName()];
          const bridge = await stage.raw();
          const caller = throughRaw(bridge);
          await Promise.all([begin(stage, caller, name), begin(stage, caller, other)]);
          if (isBusy) await occupy(caller, name);
          else await freezeProcesses(caller, name);
          process.kill(bridge.pid, 'SIGKILL');
          await bridge.exited;
          // The same program again: what another one had is none of its business.
          await using again = await stage.raw();
          const next = throughRaw(again);
          const why =
            /the bridge that ran it is gone; its last call was at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC/;
          await saysWhy(stage, next, name, why);
          await saysWhy(stage, next, other, why);
        }
        // A container that was still being made when that program looked is left to the one after it.
        await stage.nextStartSweeps();
      },
      { rounds: KILLS },
    );
  }
});

const EAT = 'held = []\nwhile True: held.append(b"x" * (1 << 20))';
const MEMORY = { MCP_BRIDGE_MEMORY: '128m' };
const EATEN = /memory limit \d+ MB exceeded/;

describe('its own code', () => {
  fault('S05', 'takes all memory in a call', async (stage) => {
    const caller = through(await stage.bridge({}, MEMORY));
    const name = newName();
    await begin(stage, caller, name);
    const { first } = await stage.answered(caller.say(EAT, { session: name, timeout: 100 }));
    expect(first).toMatch(EATEN);
    await saysWhy(stage, caller, name, EATEN);
  });

  fault('S05', 'takes all memory between two calls', async (stage) => {
    const caller = through(await stage.bridge({}, MEMORY));
    const name = newName();
    const later = EAT.replaceAll('\n', '\n    ');
    const code = `${MARK}\nimport threading, time\nfrom mcp import runtime\nruntime.keep_running()\ndef eat():\n    time.sleep(${REACH_SECONDS})\n    ${later}\nthreading.Thread(target=eat).start()`;
    await begin(stage, caller, name, code);
    expect(await eventually(() => recordsOf(caller, [name]).length === 0), 'it has ended').toBe(true);
    await saysWhy(stage, caller, name, EATEN);
  });

  fault('S06', 'is a fork bomb', async (stage) => {
    const bridge = await stage.bridge();
    const caller = through(bridge);
    const name = newName();
    await begin(stage, caller, name);
    const bomb = 'import os\nwhile True:\n    try: os.fork()\n    except OSError: pass';
    const { first } = await stage.answered(caller.say(bomb, { session: name, timeout: 2 }));
    expect(first).toMatch(/: call 2; (interrupted; its state is kept|it has ended with this call: .+)\]$/);
    await stage.stillWorks(bridge);
    await isKeptOrSaysSo(stage, caller, name);
  });
});

describe('more than there may be', () => {
  fault(
    'S07',
    `${CROWD} sessions where there may be ${MOST}: the longest idle goes, and its next call says so`,
    async (stage) => {
      stage.injected = CROWD;
      const bridge = await stage.bridge({}, { MCP_BRIDGE_SESSIONS: String(MOST) });
      const caller = through(bridge);
      const all = Array.from({ length: CROWD }, newName);
      for (const name of all) {
        await begin(stage, caller, name);
        expect(recordsOf(caller, all).length).toBeLessThanOrEqual(MOST + 1);
      }
      const running = () => runningSandboxes().length;
      expect(await eventually(() => running() <= MOST), 'the others are gone').toBe(true);
      const why = new RegExp(`only ${MOST} sessions may exist at once .*, and it was idle for longest`);
      for (const name of all.slice(0, -MOST)) {
        const { text } = await stage.answered(caller.say(LOOK, { session: name, require_session: true }));
        expect(text).toMatch(why);
      }
      for (const name of all.slice(-MOST)) {
        const { first, text } = await stage.answered(caller.say(LOOK, { session: name }));
        expect(first).toMatch(/: call 2\]$/);
        expect(text).toContain('42');
      }
      await bridge[Symbol.asyncDispose]();
      // What is on record of them is for the next bridge, and says that they have ended.
      const haveEnded = () => recordsOf(caller, all).every(({ ended }) => ended !== null);
      expect(await eventually(haveEnded), 'none is on record as living').toBe(true);
    },
    { rounds: CROWD },
  );
});
