// Processes that have to stand still, here as there are in a container: real ones, below a first one that goes on. By signals, and by the
// freezer where this machine lets us have a control group of version 2.

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, type TestContext, vi } from 'vitest';
import { readText } from '../../src/base/files/read-text.js';
import { MAX_WAKES, SandboxFreeze } from '../../src/sandbox/conversation/sandbox-freeze.js';
import { ENTRYPOINT } from '../../src/sandbox/spec/harness-files.js';
import { pause, until } from '../support/time.js';

/** A first process that starts what it is told to, says its pid, and answers whatever else it hears. */
const FIRST = `
const { spawn } = require("node:child_process");
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  if (!line.startsWith("{")) return console.log("heard " + line);
  const { command, args, uid } = JSON.parse(line);
  console.log("started " + spawn(command, args, { stdio: "ignore", uid }).pid);
}).on("close", () => process.exit());`;

const NODE = process.execPath;
/** One that is about all the time. */
const TICKING = { command: NODE, args: ['-e', 'setInterval(() => {}, 5)'] };
/** One that computes. */
const BUSY = { command: NODE, args: ['-e', 'for (;;);'] };
/** Forks all the time. What has lost its parent would not be below the first one, which is the first of a container only in a container. */
const FORKING = { command: '/bin/sh', args: ['-c', 'while :; do (:) & (sleep 0.01) & wait; done'] };

class First implements AsyncDisposable {
  readonly process: ChildProcess;
  readonly pid: number;
  #said = '';

  constructor() {
    this.process = spawn(NODE, ['-e', FIRST, '--', ENTRYPOINT], { stdio: ['pipe', 'pipe', 'inherit'] });
    this.pid = this.process.pid ?? 0;
    this.process.stdout?.on('data', (chunk) => {
      this.#said += chunk;
    });
  }

  /** What it says next that begins so. */
  async says(word: string): Promise<string> {
    const found = () => new RegExp(`^${word} (.*)\n`, 'm').exec(this.#said);
    await until(() => found() !== null, word);
    const said = found();
    this.#said = this.#said.replace(said?.[0] ?? '', '');
    return said?.[1] ?? '';
  }

  async start(what: object): Promise<number> {
    this.process.stdin?.write(`${JSON.stringify(what)}\n`);
    return Number(await this.says('started'));
  }

  async goesOn(): Promise<boolean> {
    this.process.stdin?.write('hello\n');
    return (await this.says('heard')) === 'hello';
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const each of below(this.pid)) kill(each, 'SIGKILL');
    this.process.kill('SIGKILL');
    await until(() => this.process.exitCode !== null || this.process.signalCode !== null);
  }
}

const kill = (pid: number, signal: NodeJS.Signals): void => {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended.
  }
};
const stateOf = (pid: number): string =>
  (readText(`/proc/${pid}/stat`) ?? '').replace(/^.*\) /s, '').charAt(0);
const below = (pid: number): readonly number[] => {
  const children = (readText(`/proc/${pid}/task/${pid}/children`) ?? '')
    .split(' ')
    .filter(Boolean)
    .map(Number);
  return children.flatMap((child) => [child, ...below(child)]);
};
const processorTime = (pid: number): number => {
  const [, , , , , , , , , , , user = 0, system = 0] = (readText(`/proc/${pid}/stat`) ?? '')
    .replace(/^.*\) /s, '')
    .split(' ')
    .map(Number);
  return user + system;
};
const bySignals = () => undefined;

describe.skipIf(process.platform !== 'linux')('by signals', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] }));
  afterEach(() => void vi.useRealTimers());
  /** Time goes by for so many. */
  const looks = (count: number) => vi.advanceTimersByTime(count * 1_000);

  it('all but the first stand, and go on', async () => {
    await using first = new First();
    const pids = [await first.start(TICKING), await first.start(TICKING)];
    using still = new SandboxFreeze({ pid: first.pid, onRestless: () => {}, freeze: bySignals });
    expect(still.begin()).toBe(true);
    await until(() => pids.every((pid) => stateOf(pid) === 'T'));
    expect(await first.goesOn()).toBe(true);
    still.end();
    await until(() => pids.every((pid) => stateOf(pid) !== 'T'));
  });

  it('what wakes is stopped again, and is told of when it has done so too often', async () => {
    await using first = new First();
    const pid = await first.start(TICKING);
    const onRestless = vi.fn();
    using still = new SandboxFreeze({ pid: first.pid, onRestless, freeze: bySignals });
    let wakes = 0;
    // In a run that asks many questions they are counted together.
    while (onRestless.mock.calls.length === 0) {
      still.end();
      still.begin();
      await until(() => stateOf(pid) === 'T');
      wakes++;
      kill(pid, 'SIGCONT');
      looks(1);
      await until(() => stateOf(pid) === 'T');
    }
    expect(wakes).toBe(MAX_WAKES + 1);
  });

  it('what stops itself ahead of each look has woken too', async () => {
    await using first = new First();
    const pid = await first.start(BUSY);
    const onRestless = vi.fn();
    using still = new SandboxFreeze({ pid: first.pid, onRestless, freeze: bySignals });
    still.begin();
    await until(() => stateOf(pid) === 'T');
    let naps = 0;
    while (onRestless.mock.calls.length === 0) {
      naps++;
      const before = processorTime(pid);
      kill(pid, 'SIGCONT');
      await until(() => processorTime(pid) > before + 10);
      kill(pid, 'SIGSTOP');
      await until(() => stateOf(pid) === 'T');
      looks(1);
    }
    expect(naps).toBe(MAX_WAKES + 1);
  });

  it('what stays at rest is never told of', async () => {
    await using first = new First();
    const pid = await first.start(TICKING);
    const onRestless = vi.fn();
    using still = new SandboxFreeze({ pid: first.pid, onRestless, freeze: bySignals });
    still.begin();
    await until(() => stateOf(pid) === 'T');
    looks(MAX_WAKES + 1);
    expect(onRestless).not.toHaveBeenCalled();
  });

  it('what forks all the time stands after a few looks or is told of', async () => {
    await using first = new First();
    await first.start(FORKING);
    const onRestless = vi.fn();
    using still = new SandboxFreeze({ pid: first.pid, onRestless, freeze: bySignals });
    still.begin();
    const stands = () => below(first.pid).every((pid) => 'TZ'.includes(stateOf(pid)));
    await until(() => {
      looks(1);
      return stands() || onRestless.mock.calls.length > 0;
    });
  });

  it('another user’s cannot be stopped, and nothing is then', async (context) => {
    if (process.getuid?.() !== 0) return context.skip('needs root, to be another user');
    await using first = new First();
    const pids = [
      await first.start(TICKING),
      await first.start({ command: '/bin/sleep', args: ['600'], uid: 65_533 }),
    ];
    using still = new SandboxFreeze({ pid: first.pid, onRestless: () => {}, freeze: bySignals });
    process.seteuid?.(65_534);
    const begins = still.begin();
    process.seteuid?.(0);
    expect(begins).toBe(false);
    expect(pids.map(stateOf)).not.toContain('T');
  });

  it('a process that is no sandbox is left alone', async () => {
    const process = spawn(NODE, ['-e', 'setInterval(() => {}, 5)'], { stdio: 'ignore' });
    onTestFinished(() => void process.kill('SIGKILL'));
    using still = new SandboxFreeze({ pid: process.pid ?? 0, onRestless: () => {}, freeze: bySignals });
    expect(still.begin()).toBe(false);
  });
});

describe.skipIf(process.platform !== 'linux')('by the freezer', () => {
  /** A group of version 2 that is ours to fill. */
  function groupFor(context: TestContext, name: string): string {
    const mount = /^\S+ \S+ \S+ \/ (\S+) .* - cgroup2 /m.exec(readText('/proc/self/mountinfo') ?? '')?.[1];
    const group = join(mount ?? '/nowhere', `standstill-${process.pid}-${name}`);
    try {
      mkdirSync(group);
    } catch {
      context.skip('no control group of version 2 can be made here');
    }
    return group;
  }

  /** A first process in a group of its own, as in a container. */
  async function firstIn(group: string): Promise<First> {
    const first = new First();
    writeFileSync(join(group, 'cgroup.procs'), String(first.pid));
    onTestFinished(async () => {
      await first[Symbol.asyncDispose]();
      for (const each of [join(group, 'still'), group]) await until(() => isRemoved(each));
    });
    return first;
  }

  const isRemoved = (group: string): boolean => {
    try {
      rmdirSync(group);
      return true;
    } catch (thrown) {
      return (thrown as NodeJS.ErrnoException).code === 'ENOENT';
    }
  };
  const isFrozen = (group: string) =>
    readFileSync(join(group, 'still/cgroup.events'), 'utf8').includes('frozen 1');
  const isWhollyFrozen = (group: string) =>
    readFileSync(join(group, 'cgroup.events'), 'utf8').includes('frozen 1');
  it('all but the first stand, whatever signal wakes them, and go on', async (context) => {
    const group = groupFor(context, 'a');
    const first = await firstIn(group);
    const [pid, control] = [await first.start(BUSY), spawn(NODE, BUSY.args, { stdio: 'ignore' })];
    onTestFinished(() => void control.kill('SIGKILL'));
    using still = new SandboxFreeze({ pid: first.pid, onRestless: () => {} });
    expect(still.begin()).toBe(true);
    await until(() => isFrozen(group));
    expect(isWhollyFrozen(group)).toBe(false);
    const before = { held: processorTime(pid), control: processorTime(control.pid ?? 0) };
    const usedByControl = () => processorTime(control.pid ?? 0) - before.control;
    await until(() => {
      kill(pid, 'SIGCONT');
      return usedByControl() > 40;
    });
    expect(processorTime(pid) - before.held).toBeLessThan(usedByControl() / 20);
    expect(await first.goesOn()).toBe(true);
    still.end();
    await until(() => processorTime(pid) > before.held + 10);
  });

  it('what forks all the time is held at once', async (context) => {
    const group = groupFor(context, 'b');
    const first = await firstIn(group);
    await first.start(FORKING);
    using still = new SandboxFreeze({ pid: first.pid, onRestless: () => {} });
    expect(still.begin()).toBe(true);
    await until(() => isFrozen(group));
    const members = () => readFileSync(join(group, 'still/cgroup.procs'), 'utf8');
    const before = members();
    await pause(500);
    expect([members(), readFileSync(join(group, 'cgroup.procs'), 'utf8')]).toEqual([
      before,
      `${first.pid}\n`,
    ]);
  });

  it('stands again, with what was started meanwhile', async (context) => {
    const group = groupFor(context, 'c');
    const first = await firstIn(group);
    const starter = { command: '/bin/sh', args: ['-c', 'while :; do sleep 0.01; done'] };
    await first.start(starter);
    using still = new SandboxFreeze({ pid: first.pid, onRestless: () => {} });
    still.begin();
    await until(() => isFrozen(group));
    still.end();
    await first.start(TICKING);
    still.begin();
    await until(() => isFrozen(group));
    expect(readFileSync(join(group, 'cgroup.procs'), 'utf8')).toBe(`${first.pid}\n`);
  });

  it('what is held dies when it is killed', async (context) => {
    const group = groupFor(context, 'd');
    const first = await firstIn(group);
    const pid = await first.start(TICKING);
    using still = new SandboxFreeze({ pid: first.pid, onRestless: () => {} });
    still.begin();
    await until(() => isFrozen(group));
    kill(pid, 'SIGKILL');
    await until(() => ['Z', ''].includes(stateOf(pid)));
  });
});
