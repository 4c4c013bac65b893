// The kernel's doors: what our profile refuses, what the looser one opens, and that CPython misses nothing. The control
// is the same spec without a profile, where the same code gets through.

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { beforeAll, expect, it } from 'vitest';
import { printedIn } from '../support/changed-spec.js';
import { startBridge } from '../support/start-bridge.js';

const fixture = (name: string) =>
  readFileSync(fileURLToPath(new URL(`../fixtures/${name}`, import.meta.url)), 'utf8');
const PROBES = `${fixture('kernel_probes.py')}\noutcomes`;
const BEHAVIOUR = `${fixture('cpython_behaviour.py')}\nresults`;

/** A kernel may refuse these by itself, to whoever has no capability on the host or since it is built without them. */
const KERNEL_REFUSES_TOO = [
  'bpf',
  'fanotify_init',
  'i386 by int 0x80',
  'io_uring_setup',
  'modify_ldt',
  'perf_event_open',
  'socket alg',
  'socket vsock',
  'syslog',
  'userfaultfd',
  'x32',
];
const OPEN_IN_COMPAT = [
  'ptrace',
  'process_vm_readv',
  'process_vm_writev',
  'pidfd_getfd',
  'kcmp',
  'memfd_create, executed',
  'shmget',
  'semget',
  'msgget',
  'io_setup',
  'personality without randomisation',
];

type Outcomes = Readonly<Record<string, string>>;
const through = (outcomes: Outcomes) => Object.keys(outcomes).filter((name) => outcomes[name] === 'through');

let control: Outcomes;
beforeAll(async () => {
  const code = `${fixture('kernel_probes.py')}\nimport json; print(json.dumps(outcomes))`;
  control = JSON.parse(await printedIn({ seccompFile: 'unconfined' }, code)) as Outcomes;
});

it('strict: no probe gets through, and each ends in a way that programs know', async () => {
  await using bridge = await startBridge({});
  const payload = await bridge.run(PROBES);
  expect(payload, JSON.stringify(payload)).toMatchObject({ status: 'success' });
  const outcomes = payload.result as Outcomes;
  expect(through(outcomes)).toEqual([]);
  // SIGSYS: a call by the numbers of another machine, which can only be meant as a way around.
  for (const [name, outcome] of Object.entries(outcomes))
    expect(outcome, name).toMatch(/^(EPERM|ENOSYS|EAFNOSUPPORT|EPROTONOSUPPORT|SIGSYS)$/);
  expect(outcomes['clone3 user'], 'C libraries fall back to clone on this error only').toBe('ENOSYS');
  // What this proves: the very same probes get through where only the profile is missing.
  const proved = Object.keys(outcomes).filter((name) => !KERNEL_REFUSES_TOO.includes(name));
  expect(proved.filter((name) => control[name] !== 'through')).toEqual([]);
  expect(proved.length).toBeGreaterThan(20);
});

it('compat: opens what it is there for, and nothing else', async () => {
  await using bridge = await startBridge({}, { env: { MCP_BRIDGE_SECCOMP: 'compat', MCP_BRIDGE_WARM: '0' } });
  const payload = await bridge.run(PROBES);
  expect(payload, JSON.stringify(payload)).toMatchObject({ status: 'success' });
  // Another guard of the kernel (Yama) may still refuse one of them.
  expect(through(payload.result as Outcomes)).toEqual(
    Object.keys(control).filter((name) => OPEN_IN_COMPAT.includes(name) && control[name] === 'through'),
  );
});

it('CPython misses nothing under the strict profile', async () => {
  await using bridge = await startBridge({}, { env: { MCP_BRIDGE_WARM: '0' } });
  const payload = await bridge.run(BEHAVIOUR, { timeout: 60 });
  expect(payload, JSON.stringify(payload)).toMatchObject({ status: 'success' });
  const results = payload.result as Readonly<Record<string, string>>;
  expect(Object.entries(results).filter(([, result]) => result !== 'ok')).toEqual([]);
  expect(Object.keys(results).length).toBeGreaterThan(10);
});
