// The engines that stand for those of other machines are what they are taken for: they see nothing of this machine, live
// as long as they are wanted, can be broken, and leave nothing.

import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { imageOf, isBuilt } from '../support/built-image.js';
import { processesWith } from '../support/nothing-left.js';
import { Relay } from '../support/relay.js';
import {
  openRemoteEngine,
  REMOTE_KINDS,
  type RemoteEngine,
  whyNoRemoteEngine,
} from '../support/remote-engine.js';
import { eventually } from '../support/time.js';

const IMAGE = imageOf('base');
const token = `canary-${randomBytes(6).toString('hex')}`;

describe.each(REMOTE_KINDS)('%s', (kind) => {
  const why = whyNoRemoteEngine(kind);
  describe.skipIf(why !== undefined)(why ?? 'started here', () => {
    let engine: RemoteEngine;
    beforeAll(async () => {
      engine = await openRemoteEngine(kind, { storeMb: 64 });
    });
    afterAll(() => engine.close());

    it('it sees no file and no process of this machine', async () => {
      const folder = mkdtempSync(join(process.env['TEST_ROOT'] ?? tmpdir(), 'seen-'));
      writeFileSync(join(folder, token), '');
      const canary = spawn('sleep', ['600'], { argv0: token, stdio: 'ignore' });
      try {
        const look = `ps -eo args; find / -xdev -name 'canary-*'; ls /root /home /tmp ${process.cwd()} 2>&1`;
        const { output } = await engine.machine.run(['bash', '-c', look]);
        expect(output).not.toContain(token);
        // Here the process is seen, and there the engine's.
        expect(processesWith(token).length).toBe(1);
        expect(output).toMatch(kind === 'docker-tls' ? /dockerd/ : /podman .*service/);
      } finally {
        canary.kill('SIGKILL');
        rmSync(folder, { recursive: true });
      }
    });

    it('it has a store of its own, with nothing in it', async () => {
      const format = kind === 'docker-tls' ? '{{.DockerRootDir}}' : '{{.Store.GraphRoot}}';
      expect((await engine.command(['info', `--format=${format}`])).output).toMatch(/^\/home\/engine\//);
      expect((await engine.command(['images', '--quiet'])).output).toBe('');
      expect(await engine.containers()).toEqual([]);
    });

    it('it can be killed and started again with what it has', async () => {
      await engine.command(['volume', 'create', 'kept']);
      await engine.kill();
      expect((await engine.command(['volume', 'ls'])).exitCode).not.toBe(0);
      await engine.start();
      expect((await engine.command(['volume', 'ls', '--format={{.Name}}'])).output).toContain('kept');
    });

    it('its disk can be full, and empty again', async () => {
      const write = () => engine.machine.run(['bash', '-c', 'echo some text >~/note && rm ~/note']);
      await engine.fillDisk();
      expect((await write()).exitCode).not.toBe(0);
      await engine.emptyDisk();
      expect((await write()).exitCode).toBe(0);
    });

    it('the way to it can be cut, and mended', async () => {
      const path = join(engine.machine.shared, 'relay.sock');
      await using relay = await Relay.open(engine.address, 'path' in engine.address ? path : undefined);
      const [program = '', ...flags] = engine.client(relay.address);
      const env = { ...process.env, ...engine.environment(relay.address) };
      const asked = () => exitCodeOf(spawn(program, [...flags, 'version'], { env, stdio: 'ignore' }));
      expect(await asked()).toBe(0);
      relay.cut();
      expect(await asked()).not.toBe(0);
      relay.resume();
      expect(await asked()).toBe(0);
      expect(relay.connections).toBeGreaterThan(2);
    });
  });
});

const kinds = REMOTE_KINDS.filter((kind) => whyNoRemoteEngine(kind) === undefined);
it.skipIf(!isBuilt('base')).each(kinds)(
  '%s leaves nothing, not even with containers that go on',
  async (kind) => {
    const engine = await openRemoteEngine(kind);
    const { shared } = engine.machine;
    try {
      await engine.load(IMAGE);
      const { exitCode, output } = await engine.command([
        ...['run', '--detach', '--network=none', '--ulimit=nofile=1024:1024', '--ulimit=nproc=4096:4096'],
        ...[IMAGE, 'sleep', '600.25'],
      ]);
      expect(exitCode, output).toBe(0);
      // Its client may leave a moment before the OCI runtime has become the program.
      expect(await eventually(() => processesWith('sleep 600.25').length === 1)).toBe(true);
    } finally {
      // One that went on would be found by the next test, which looks for the same.
      await engine.close();
    }
    expect(existsSync(shared)).toBe(false);
    expect(processesWith('sleep 600.25')).toEqual([]);
    expect(await eventually(() => processesWith(shared).length === 0)).toBe(true);
    expect(readdirSync(tmpdir()).filter((each) => each.startsWith('remote-engine-keys-'))).toEqual([]);
    expect(cgroups()).toEqual([]);
  },
);

/** Control groups of engines, in any hierarchy. */
const cgroups = () =>
  ['', ...readdirSync('/sys/fs/cgroup')]
    .map((name) => join('/sys/fs/cgroup', name))
    .filter((folder) => statSync(folder).isDirectory())
    .flatMap((folder) => readdirSync(folder).filter((name) => name.startsWith('mcp-sandbox-bridge-remote-')));

const exitCodeOf = (child: ChildProcess) =>
  new Promise((resolve) => child.once('exit', (code) => resolve(code ?? 137)));
