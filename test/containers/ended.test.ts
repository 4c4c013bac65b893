// When a container has ended: not before its first process is gone, whatever has become of its streams.

import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { removeRunDir } from '../../src/engine/machine/first-process.js';
import { Sandbox } from '../../src/sandbox/conversation/sandbox.js';
import {
  type LaunchContext,
  type LaunchSetUp,
  setUpEngine,
  specOn,
} from '../../src/sandbox/launch/launch-set-up.js';
import { parseSettings } from '../../src/settings/environment/settings.js';
import { hostFacts } from '../../src/settings/files/host-facts.js';
import { ourListed } from '../support/nothing-left.js';
import { bridgeEnv, tempHome } from '../support/start-bridge.js';
import { eventually, HANGS_MS, NEVER } from '../support/time.js';

/** Speaks as far as it must, closes its streams, and leaves a child that would go on for ever. */
const MUTE = `
import os, signal, sys, time
os.write(2, b'{"type":"hello","protocol":PROTOCOL,"harness":"x","python":"3.11.2"}\\n')
time.sleep(0.5)
for number in range(1, 65):
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
if os.fork() == 0:
    for fd in (0, 1, 2): os.close(fd)
    while True: time.sleep(0.01)
for fd in (0, 1, 2): os.close(fd)
while True: time.sleep(1)
`;

let home: string;
let context: LaunchContext;
let pad: LaunchSetUp;
beforeEach(async () => {
  home = tempHome();
  const { settings } = parseSettings(bridgeEnv(home, {}), hostFacts());
  context = { settings, instance: randomBytes(6).toString('hex'), observer: () => {} };
  pad = await setUpEngine(context, AbortSignal.timeout(HANGS_MS));
});
afterEach(() => {
  removeRunDir({ stateDir: context.settings.stateDir, instance: context.instance });
  rmSync(home, { recursive: true, force: true });
});

const states = (pid: number): string =>
  existsSync(`/proc/${pid}`) ? (readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.[0] ?? '') : '';

const protocolOf = (): string =>
  /PROTOCOL_VERSION = (\d+)/.exec(
    readFileSync(new URL('../../src/wire/limits.ts', import.meta.url), 'utf8'),
  )?.[1] ?? '';

it('a container that closes its streams and goes on is killed, and has not ended before', async () => {
  const command = ['python3', '-I', '-c', MUTE.replace('PROTOCOL', protocolOf())];
  const spec = { ...specOn(pad, context, 'mute'), command };
  const options = { timeoutMs: HANGS_MS, observer: () => {} };
  const sandbox = await Sandbox.start(pad.engine, spec, options, NEVER);
  const { pid } = sandbox;
  expect(pid).toBeGreaterThan(1);
  expect(await sandbox.ended).toMatchObject({ how: 'lost' });
  // A zombie, which the engine's monitor is about to reap, has ended.
  expect(states(pid ?? 0)).toMatch(/^[ZX]?$/);
  await sandbox[Symbol.asyncDispose]();
  expect(await eventually(() => ourListed(`name=${spec.name}`).length === 0)).toBe(true);
});

it('it can be killed for as long as it lives, and its pid file stays until then', async () => {
  const command = ['python3', '-I', '-c', MUTE.replace('time.sleep(0.5)', '')];
  const spec = { ...specOn(pad, context, 'killed'), command };
  const container = pad.engine.start(spec);
  for (const stream of [container.stdout, container.stderr]) stream.resume();
  await eventually(() => container.pid !== undefined);
  const pid = container.pid ?? 0;
  container.kill();
  await container.exited;
  expect(states(pid)).toMatch(/^[ZX]?$/);
  await container[Symbol.asyncDispose]();
});
