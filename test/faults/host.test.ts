// The host is full, narrow, misconfigured or crowded: the bridge says why it cannot, or works all the same.

import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CHECKS } from '../../src/cli/doctor/doctor-checks.js';
import type { Examination } from '../../src/cli/doctor/examination.js';
import { hostileServer, MAIN } from '../support/start-bridge.js';
import { coldSandboxes, pause } from '../support/time.js';
import { amount } from './ledger.js';
import { fault, type Stage } from './stage.js';

const isRoot = process.getuid?.() === 0;
const folder = (name: string) => mkdtempSync(join(process.env['TEST_ROOT'] ?? tmpdir(), `${name}-`));
/** Longer than it takes another bridge to start, to run something and to end. */
const LONG_CODE = `import time; time.sleep(${coldSandboxes(15) / 1000}); "whole"`;

/** What `doctor` says of it. */
const examineStateDir = (stateDir: string) =>
  CHECKS.find(({ name }) => name === 'state directory')?.examine({ settings: { stateDir } } as Examination);

describe('a full disk', () => {
  // Only root can mount a small one.
  if (!isRoot) return it.skip('L11 needs root to mount a small file system', () => {});
  for (const [title, size, works] of [
    ['with no room for the harness', '64k', false],
    ['with room for the harness alone', undefined, true],
  ] as const) {
    fault('L11', `a state directory ${title}`, async (stage) => {
      const state = folder('full');
      execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size ?? '3m'},mode=0700`, 'tmpfs', state]);
      try {
        if (works) {
          const first = await stage.bridge({}, { MCP_BRIDGE_STATE_DIR: state });
          await stage.stillWorks(first);
          await first[Symbol.asyncDispose]();
          execFileSync('rm', ['-rf', join(state, 'cache'), join(state, 'run')]);
          spawnSync('dd', ['if=/dev/zero', `of=${join(state, 'filler')}`, 'bs=4k'], { stdio: 'ignore' });
        }
        const bridge = await stage.bridge({}, { MCP_BRIDGE_STATE_DIR: state });
        const payload = await stage.answered(bridge.run('1'));
        expect(payload).toMatchObject({ status: 'error', error: expect.stringMatching(/ENOSPC|no space/i) });
        expect(payload.remedy).toMatch(/^Free some space on that disk, or set MCP_BRIDGE_STATE_DIR /);
        expect(await examineStateDir(state)).toMatchObject({ status: 'fail', remedy: payload.remedy });
        execFileSync('mount', ['-o', 'remount,size=8m', state]);
        await stage.stillWorks(bridge);
        await bridge[Symbol.asyncDispose]();
        expect(execFileSync('find', [state, '-name', 'new-*'], { encoding: 'utf8' })).toBe('');
      } finally {
        execFileSync('umount', ['--lazy', state]);
      }
    });
  }
  fault('L11', 'a state directory with no room for what a run leaves', async (stage) => {
    const state = folder('full');
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m,mode=0700', 'tmpfs', state]);
    try {
      const bridge = await stage.bridge({}, { MCP_BRIDGE_STATE_DIR: state });
      const code =
        'open("out/big", "wb").write(bytes(5 << 20))\nopen("out/small.txt", "w").write("small")\nprint("x" * (5 << 20))\n6 * 7';
      const result = await stage.answered(bridge.call({ code }));
      const [first] = result.content;
      const text = first?.type === 'text' ? first.text : '';
      expect(result.content).toHaveLength(1);
      expect(text).toContain('=> 42\n--- out/small.txt (5 bytes) ---\nsmall\n');
      expect(text).toContain(
        "[files not kept: the disk of the bridge's machine is full] out/big (5242880 bytes)",
      );
      expect(text).toContain("[whole output not kept: the disk of the bridge's machine is full]");
      expect(bridge.stderr()).toMatch(/could not be kept: ENOSPC/);
      // Nor does half of it stay there.
      expect(readdirSync(join(state, 'kept'))).toEqual([]);
      await stage.stillWorks(bridge);
    } finally {
      execFileSync('umount', ['--lazy', state]);
    }
  });
});

/** Environment or shell commands under which everything must work. */
const HARMLESS: ReadonlyArray<readonly [string, Readonly<Record<string, string | undefined>>, string?]> = [
  ['umask 077', {}, 'umask 077'],
  ['umask 0', {}, 'umask 0'],
  ['no XDG_RUNTIME_DIR', { XDG_RUNTIME_DIR: undefined }],
  ['a TMPDIR that does not exist', { TMPDIR: '/nonexistent' }],
  ['a locale that does not exist', { LC_ALL: 'xx_XX.UTF-8', LANG: 'xx' }],
  ['a working directory that was removed', {}, 'mkdir -p gone; cd gone; rmdir ../gone'],
  ['a closed stderr', {}, 'exec 2>&-'],
];

describe('odd surroundings', () => {
  for (const [title, env, before] of HARMLESS) {
    fault('L11', title, async (stage) => {
      // A fresh state directory: its files are made under these circumstances.
      const state = join(folder('odd'), 'state');
      const bridge = await stage.raw({
        env: { ...env, MCP_BRIDGE_STATE_DIR: state },
        ...(before === undefined ? {} : { before }),
      });
      const { status, error, remedy } = await stage.answered(bridge.run('6 * 7'));
      if (title.includes('TMPDIR') && status === 'error') {
        // The engine's own affair: then it says so.
        expect(error).toMatch(/podman/);
        expect(remedy).toMatch(/`podman .*` and fix what it reports/);
      } else expect([status, error]).toEqual(['success', undefined]);
      if (title.startsWith('umask')) expect(statSync(join(state, 'run')).mode & 0o077).toBe(0);
    });
  }

  fault('L11', 'a HOME that does not exist', async (stage) => {
    const bridge = await stage.raw({ env: { HOME: '/nonexistent/home' } });
    const { status, error } = await stage.answered(bridge.run('1'));
    if (status === 'error') expect(error).toMatch(/nonexistent/);
    else expect(status).toBe('success');
  });

  for (const [title, env] of [
    ['with nothing else to write to', { MCP_BRIDGE_STATE_DIR: undefined, XDG_STATE_HOME: undefined }],
    ['with a state directory elsewhere', {}],
  ] as const) {
    // An ordinary user's engine keeps its store there and needs it too; and only root can mount.
    if (!isRoot) break;
    fault('L11', `a read-only HOME ${title}`, async (stage) => {
      const home = folder('locked');
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k,ro', 'tmpfs', home]);
      try {
        const bridge = await stage.raw({ env: { HOME: home, ...env } });
        const { status, error, remedy } = await stage.answered(bridge.run('6 * 7'));
        if (title.startsWith('with nothing')) {
          expect([status, error]).toEqual(['error', expect.stringContaining(home)]);
          expect(remedy).toContain('MCP_BRIDGE_STATE_DIR');
        } else expect([status, error]).toEqual(['success', undefined]);
      } finally {
        execFileSync('umount', ['--lazy', home]);
      }
    });
  }

  fault('L11', 'a state directory that is a file', async (stage) => {
    const bridge = await stage.bridge({}, { MCP_BRIDGE_STATE_DIR: '/etc/passwd' });
    const payload = await stage.answered(bridge.run('1'));
    expect(payload).toMatchObject({ status: 'error', error: expect.stringContaining('/etc/passwd') });
    expect(payload.remedy).toContain('MCP_BRIDGE_STATE_DIR');
  });

  if (!isRoot) {
    fault('L11', 'a state directory that may not be written', async (stage) => {
      const state = folder('locked');
      chmodSync(state, 0o500);
      const bridge = await stage.bridge({}, { MCP_BRIDGE_STATE_DIR: state });
      const payload = await stage.answered(bridge.run('1'));
      expect(payload).toMatchObject({ status: 'error', error: expect.stringContaining(state) });
      expect(payload.remedy).toContain('MCP_BRIDGE_STATE_DIR');
    });
  }
});

describe('few file descriptors', () => {
  for (const limit of [64, 40]) {
    fault('L14', `ulimit -n ${limit} with thirty servers`, async (stage) => {
      const names = Array.from({ length: 30 }, (_, n) => `s${n}`);
      const servers = Object.fromEntries(names.map((name) => [name, hostileServer(name)]));
      const bridge = await stage.raw({ servers, before: `ulimit -n ${limit}` });
      const payload = await stage.answered(bridge.run('1', { servers: names }));
      expect(payload.status).toBe('error');
      expect(payload.error).not.toMatch(/Cannot read|undefined/);
      const wrong = await stage.answered(bridge.run('def'));
      expect(wrong.status).not.toBe('success');
      const listed = await stage.answered(bridge.answer(bridge.request('tools/list')));
      expect(listed.result?.['tools']).toHaveLength(1);
    });
  }
});

const CROWD = amount('FAULT_CROWD', 16);

describe('many at once', () => {
  fault(
    'L12',
    `${CROWD} calls with a limit of eight: all are answered, first come first served`,
    async (stage) => {
      stage.injected = CROWD;
      const bridge = await stage.raw({ env: { MCP_BRIDGE_CONCURRENCY: '8' } });
      await stage.answered(bridge.run('1'));
      const before = bridge.received.length;
      const ids = Array.from({ length: CROWD }, (_, n) => bridge.call(`${n} * 2`));
      const answers = await Promise.all(ids.map((id) => stage.answered(bridge.answer(id))));
      expect(answers.map(({ result }) => result?.structuredContent?.result)).toEqual(
        ids.map((_, n) => n * 2),
      );
      const order = bridge.received.slice(before).flatMap(({ id }) => (typeof id === 'number' ? [id] : []));
      // Nobody is overtaken by more than those who run beside it.
      for (const [place, id] of order.entries()) {
        expect(Math.abs(ids.indexOf(id) - place)).toBeLessThanOrEqual(8);
      }
    },
  );
});

describe('itself', () => {
  const itself = { command: process.execPath, args: [MAIN] };

  fault('M08', 'a bridge among its own servers is not started', async (stage) => {
    const bridge = await stage.raw({ servers: { itself } });
    const payload = await stage.answered(bridge.run('1', { servers: ['itself'] }));
    expect(payload).toMatchObject({
      status: 'validation_error',
      error: expect.stringMatching(/not started.*(itself|this bridge)/),
    });
  });

  fault('M08', 'a bridge in a wrapper that hides it starts no third', async (stage) => {
    const hidden = { command: '/bin/sh', args: ['-c', `x=; exec ${process.execPath} $x${MAIN}`] };
    // The inner one is to find what the outer one found.
    const env = { MCP_BRIDGE_DOWNSTREAM_ENV: 'MCP_SERVERS_CONFIG' };
    const bridge = await stage.raw({ servers: { hidden }, env });
    const code = 'await mcp_hidden.run_python(code="1", servers=["hidden"])';
    const payload = await stage.answered(bridge.run(code, { servers: ['hidden'], timeout: 60 }));
    expect(payload).toMatchObject({ status: 'error', error: expect.stringMatching(/another bridge/) });
  });
});

describe('two bridges', () => {
  fault('L15', 'one sweeps and ends; a call of the other goes on', async (stage) => {
    const long = await stage.bridge();
    await stage.stillWorks(long);
    const call = long.run(LONG_CODE, { timeout: 120 });
    await pause(700);
    const short = await stage.bridge();
    await stage.stillWorks(short);
    await pause(300);
    await short[Symbol.asyncDispose]();
    expect(await stage.answered(call)).toMatchObject({ status: 'success', result: 'whole' });
  });

  fault('L15', 'one is killed, and a call of the other goes on', async (stage) => {
    const [long, other] = [await stage.bridge(), await stage.raw()];
    const call = long.run(LONG_CODE, { timeout: 120 });
    other.call('while True: pass');
    await pause(800);
    process.kill(other.pid, 'SIGKILL');
    expect(await stage.answered(call)).toMatchObject({ status: 'success', result: 'whole' });
    await long[Symbol.asyncDispose]();
    await stage.nextStartSweeps();
  });

  fault('L15', 'four start at once in a state directory that is not there yet', async (stage) => {
    await together(stage, join(folder('fresh'), 'deep/state'));
  });
});

async function together(stage: Stage, state: string): Promise<void> {
  stage.injected = 4;
  mkdirSync(join(state, '..'), { recursive: true });
  const env = { MCP_BRIDGE_STATE_DIR: state };
  const bridges = await Promise.all(Array.from({ length: 4 }, () => stage.bridge({}, env)));
  await Promise.all(bridges.map((bridge) => stage.stillWorks(bridge)));
}
