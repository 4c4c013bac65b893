// Where nothing can start a container any more, because the engine, the OCI runtime under it, or the kernel hangs: doctor
// says so in the time of one wait, with how long was waited and what to look at, and in JSON when asked for JSON. The
// engine is a stand-in, and long waits are shortened; what is said of them is not.

import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { bridgeEnv, MAIN, tempHome } from '../support/start-bridge.js';
import { HANGS_MS } from '../support/time.js';
import { type FakeEngine, fakeEngine } from './fake-engine.js';

/** Loaded into doctor ahead of its own code: a wait of a minute takes six seconds. */
const SHORTENED = `
const { setTimeout: wait } = globalThis;
globalThis.setTimeout = (then, ms, ...args) => wait(then, ms >= 10_000 ? ms / 10 : ms, ...args);
`;
const HANGS = 'exec sleep 600';

function doctor(fake: FakeEngine, ...args: readonly string[]) {
  const home = tempHome();
  const file = join(mkdtempSync(join(process.env['TEST_ROOT'] ?? tmpdir(), 'hanging-')), 'shortened.mjs');
  writeFileSync(file, SHORTENED);
  const calls = join(home, 'calls');
  const log = (body: string) => `echo x >> ${calls}; ${body}`;
  const env = bridgeEnv(home, {
    PATH: fakeEngine({
      ...fake,
      ...(fake.run === undefined ? {} : { run: log(fake.run) }),
      ...(fake.info === undefined ? {} : { info: log(fake.info) }),
    }),
    NODE_OPTIONS: `--import=${file}`,
    MCP_BRIDGE_STATE_DIR: join(home, 'state'),
  });
  const { status, stdout, stderr } = spawnSync(process.execPath, [MAIN, 'doctor', ...args], {
    env,
    encoding: 'utf8',
    timeout: HANGS_MS,
  });
  const asked = existsSync(calls) ? readFileSync(calls, 'utf8').trim().split('\n').length : 0;
  return { status, stdout, stderr, asked };
}

it('a runtime that hangs is waited for once, and told as hanging', () => {
  const { status, stdout, asked } = doctor({ run: HANGS }, '--json');
  const { findings } = JSON.parse(stdout);
  const [runtime] = findings.filter(({ name }: { name: string }) => name === 'OCI runtime');
  expect(runtime).toMatchObject({ status: 'fail', detail: expect.stringMatching(/crun.* hangs.*60 s/) });
  expect(runtime.remedy).toMatch(/state D/);
  expect(runtime.remedy).not.toMatch(/Install runc/);
  expect([status, asked]).toEqual([1, 1]);
});

it('one that failed before another hangs is named with its reason', () => {
  const fails = 'case "$*" in *--runtime=crun*) echo "no cgroups" >&2; exit 1;; esac';
  const { stdout, asked } = doctor({ run: `${fails}; ${HANGS}` }, '--json');
  expect(stdout).toMatch(/runc.* hangs/);
  expect(stdout).toContain('no cgroups');
  expect(asked).toBe(2);
});

it.each<[string, FakeEngine, string, RegExp]>([
  ['a runtime', { run: HANGS }, 'E_OCI_RUNTIME', /hangs/],
  ['an engine', { info: HANGS }, 'E_ENGINE_BROKEN', /`podman info` hangs/],
])(
  '%s that hangs keeps the probe from nothing but its verdicts: JSON has the error',
  (_title, fake, code, message) => {
    const { status, stdout } = doctor(fake, '--probe', '--json');
    const { error } = JSON.parse(stdout);
    expect(error).toEqual({
      code,
      message: expect.stringMatching(message),
      next: expect.stringMatching(/state D/),
      waitedSeconds: code === 'E_OCI_RUNTIME' ? 60 : 15,
    });
    expect(status).toBe(2);
  },
);

it('an engine that hangs is asked once, by doctor too', () => {
  const { stdout, asked } = doctor({ info: HANGS }, '--json');
  expect(stdout).toMatch(/`podman info` hangs: no answer within 15 s/);
  expect(asked).toBe(1);
});

it('without an engine the probe says so in JSON, and has waited for nothing', () => {
  const { status, stdout } = doctor({ file: 'folder' }, '--probe', '--json');
  expect(JSON.parse(stdout).error).toMatchObject({ code: expect.stringMatching(/^E_ENGINE/) });
  expect(JSON.parse(stdout).error).not.toHaveProperty('waitedSeconds');
  expect(status).toBe(2);
});

it('wrong settings are told in JSON by the probe as well', () => {
  const env = bridgeEnv(tempHome(), { MCP_BRIDGE_MEMORY: 'lots' });
  const { stdout, status } = spawnSync(process.execPath, [MAIN, 'doctor', '--probe', '--json'], {
    env,
    encoding: 'utf8',
  });
  expect(JSON.parse(stdout).error).toMatchObject({ code: 'E_SETTINGS' });
  expect(status).toBe(2);
});
