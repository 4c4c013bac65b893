// The machine's life against a fake podman that records what it was asked.

import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { BridgeError } from '../../src/base/errors.js';
import type { MachineLease } from '../../src/engine/engine.js';
import { needsMachine, PodmanMachine } from '../../src/engine/machine/podman-machine.js';
import { HANGS_MS, NEVER, nodeStarts, PATIENTLY, pause } from '../support/time.js';

const FAKE = fileURLToPath(new URL('../fixtures/fake-podman.mjs', import.meta.url));
const stopped = { Name: 'mine', Default: true, Running: false };

/** Each machine has a folder with a world of its own, so that tests wait side by side. */
const folders = new Map<PodmanMachine, string>();

afterAll(async () => {
  for (const [machine, dir] of folders) {
    await machine[Symbol.asyncDispose]();
    rmSync(dir, { recursive: true, force: true });
  }
});

function machineIn(
  world: object,
  options: Partial<ConstructorParameters<typeof PodmanMachine>[0]> = {},
): PodmanMachine {
  const dir = mkdtempSync(join(tmpdir(), 'podman-machine-test-'));
  symlinkSync(FAKE, join(dir, 'podman'));
  writeFileSync(join(dir, 'world.json'), JSON.stringify({ machines: [], ...world }));
  const machine = new PodmanMachine({
    binary: join(dir, 'podman'),
    idleMs: 60_000,
    letGo: () => {},
    onProgress: () => {},
    ...options,
    timeouts: { queryMs: HANGS_MS, lastLookMs: HANGS_MS, ...options.timeouts },
  });
  folders.set(machine, dir);
  return machine;
}

const fileOf = (machine: PodmanMachine, name: string) => join(folders.get(machine) ?? '', name);

/** The argv of every call so far, joined by spaces. */
function callsOf(machine: PodmanMachine): string[] {
  const lines = readFileSync(fileOf(machine, 'calls.jsonl'), 'utf8').trim().split('\n');
  return lines.map((line) => (JSON.parse(line) as string[]).join(' '));
}

async function failure(promise: Promise<unknown>): Promise<BridgeError> {
  const thrown = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (thrown instanceof BridgeError) return thrown;
  throw new Error(`expected a BridgeError, got ${String(thrown)}`);
}

const LIST = 'machine list --format json';

describe.concurrent('a podman machine', () => {
  it('is needed on macOS and Windows only', () => {
    expect((['darwin', 'win32', 'linux'] as const).map(needsMachine)).toEqual([true, true, false]);
  });

  it('is made and started when there is none, and says what it does', async () => {
    const lines: string[] = [];
    const machine = machineIn({}, { onProgress: (line) => lines.push(line) });
    using _lease = await machine.use(NEVER);
    expect(callsOf(machine)).toEqual([LIST, 'machine init', LIST, 'machine start podman-machine-default']);
    expect(lines).toContain('Downloading VM image');
  });

  it('is started when stopped, the default one rather than the first', async () => {
    const machine = machineIn({ machines: [{ Name: 'other', Running: false }, stopped] });
    using _lease = await machine.use(NEVER);
    expect(callsOf(machine)).toEqual([LIST, 'machine start mine']);
  });

  it('is left alone when running, and then never stopped', async () => {
    const machine = machineIn({ machines: [{ ...stopped, Running: true }] }, { idleMs: 50 });
    (await machine.use(NEVER))[Symbol.dispose]();
    await pause(300);
    expect(callsOf(machine)).toEqual([LIST]);
  });

  it('is started once for all who arrive together, and one who gives up stops nobody', async () => {
    const machine = machineIn({ machines: [stopped] });
    const impatient = new AbortController();
    const [first, second, third] = [machine.use(NEVER), machine.use(impatient.signal), machine.use(NEVER)];
    impatient.abort();
    expect((await failure(second)).code).toBe('E_CANCELLED');
    using _first = await first;
    using _third = await third;
    expect(callsOf(machine)).toEqual([LIST, 'machine start mine']);
  });

  it('is stopped when idle, not while a lease is held, and started again afterwards', async ({ expect }) => {
    const machine = machineIn({ machines: [stopped] }, { idleMs: 100 });
    const leases = [await machine.use(NEVER), await machine.use(NEVER)];
    leases[0]?.[Symbol.dispose]();
    leases[0]?.[Symbol.dispose]();
    await pause(400);
    expect(callsOf(machine)).not.toContain('machine stop mine');
    leases[1]?.[Symbol.dispose]();
    await expect.poll(() => callsOf(machine), PATIENTLY).toContain('machine stop mine');
    using _again = await machine.use(NEVER);
    expect(callsOf(machine).filter((call) => call === 'machine start mine')).toHaveLength(2);
  });

  it('is stopped although sandboxes wait in it, which are let go of first', async ({ expect }) => {
    const waiting: MachineLease[] = [];
    const letGo = () => {
      for (const lease of waiting.splice(0)) lease[Symbol.dispose]();
    };
    const machine = machineIn({ machines: [stopped] }, { idleMs: 100, letGo });
    waiting.push(await machine.use(NEVER), await machine.use(NEVER));
    for (const lease of waiting) lease.rest();
    await expect.poll(() => callsOf(machine), PATIENTLY).toContain('machine stop mine');
    expect(waiting).toEqual([]);
    expect(callsOf(machine).filter((call) => call === 'ps --quiet')).toHaveLength(1);
    using _again = await machine.use(NEVER);
    expect(callsOf(machine).filter((call) => call === 'machine start mine')).toHaveLength(2);
  });

  it('is not stopped while one that had waited is in use', async () => {
    let asked = 0;
    const machine = machineIn({ machines: [stopped] }, { idleMs: 100, letGo: () => asked++ });
    using lease = await machine.use(NEVER);
    lease.rest();
    lease.resume();
    lease.resume();
    await pause(400);
    expect([asked, callsOf(machine)]).toEqual([0, [LIST, 'machine start mine']]);
  });

  it.sequential("is not stopped while anybody's container runs in it", async ({ expect }) => {
    const machine = machineIn({ machines: [stopped], containers: ['0123456789ab'] }, { idleMs: 50 });
    (await machine.use(NEVER))[Symbol.dispose]();
    await expect
      .poll(() => callsOf(machine).filter((call) => call === 'ps --quiet').length, PATIENTLY)
      .toBeGreaterThanOrEqual(2);
    expect(callsOf(machine)).not.toContain('machine stop mine');
  });

  it('is stopped when the bridge ends, if the bridge started it', async ({ expect }) => {
    const machine = machineIn({ machines: [stopped] });
    (await machine.use(NEVER))[Symbol.dispose]();
    await machine[Symbol.asyncDispose]();
    await expect.poll(() => callsOf(machine), PATIENTLY).toContain('machine stop mine');
  });

  it('that does not start says why, and is tried again by the next', async () => {
    const machine = machineIn({
      machines: [stopped],
      trouble: { 'machine start': { stderr: 'Error: qemu exited unexpectedly', exitCode: 125 } },
    });
    const error = await failure(machine.use(NEVER));
    expect(error).toMatchObject({ code: 'E_ENGINE_BROKEN', fault: 'operator' });
    expect(error.message).toContain('qemu exited unexpectedly');
    expect(error.remedy).toContain('podman machine start');
    writeFileSync(fileOf(machine, 'world.json'), JSON.stringify({ machines: [stopped] }));
    using _lease = await machine.use(NEVER);
  });

  it('that another started in the meantime counts as running and stays theirs to stop', async () => {
    const trouble = { 'machine start': { stderr: 'Error: VM mine already running', exitCode: 125 } };
    const machine = machineIn({ machines: [stopped], trouble });
    (await machine.use(NEVER))[Symbol.dispose]();
    await machine[Symbol.asyncDispose]();
    expect(callsOf(machine)).toEqual([LIST, 'machine start mine']);
  });

  it.sequential('that hangs is given up', async () => {
    const machine = machineIn(
      { machines: [stopped], trouble: { 'machine start': { stdout: 'Waiting for VM', hangs: true } } },
      // It has said what it waits for by then: it is one start of Node.
      { timeouts: { startMs: nodeStarts(30) } },
    );
    const error = await failure(machine.use(NEVER));
    expect(error.code).toBe('E_ENGINE_BROKEN');
    expect(error.message).toMatch(/did not end within \d+ s.*Waiting for VM/s);
  });

  it.each(['', 'not json', '{"machines":[]}', '[{"name":1}]'])(
    'garbage from list is named: %s',
    async (stdout) => {
      const error = await failure(machineIn({ trouble: { 'machine list': { stdout } } }).use(NEVER));
      expect(error.code).toBe('E_ENGINE_BROKEN');
      expect(error.message).toContain('unexpected');
    },
  );
});
