// The same bridge with gVisor under the engine: its own kernel answers the guest, and it ends as every other sandbox
// does. Passed over where runsc is not installed.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import type { ProbeReport } from '../../src/cli/probe/report.js';
import { firstProcess } from '../../src/engine/machine/first-process.js';
import { command } from '../cli/command.js';
import { REACH_SECONDS } from '../front-door/reached.js';
import { ourContainers, ourMonitors, processesWith } from '../support/nothing-left.js';
import { npmServer, startBridge, type TestBridge, tempHome } from '../support/start-bridge.js';
import { eventually } from '../support/time.js';

const RUNSC = ['/usr/bin/runsc', '/usr/local/bin/runsc', '/usr/sbin/runsc', '/usr/local/sbin/runsc'].find(
  (path) => existsSync(path),
);
const title = RUNSC === undefined ? 'gVisor (passed over: runsc is not installed)' : 'gVisor';
const env = {
  MCP_BRIDGE_OCI_RUNTIME: 'runsc',
  MCP_BRIDGE_WARM: '0',
  MCP_BRIDGE_LOG_LEVEL: 'debug',
  // Rootless it runs without cgroups, and what goes on inside cannot be weighed from outside.
  ...(process.getuid?.() === 0 ? {} : { MCP_BRIDGE_ACCEPT_UNENFORCED: 'memory,pids,cpu' }),
};
const SLEEPER = 'import time\ntime.sleep(60)';

const open: TestBridge[] = [];
async function start(servers: Parameters<typeof startBridge>[0] = {}): Promise<TestBridge> {
  const bridge = await startBridge(servers, { env });
  open.push(bridge);
  return bridge;
}
afterEach(async () => {
  for (const bridge of open.splice(0)) await bridge[Symbol.asyncDispose]();
});

/** Of every container of ours: what gVisor runs outside the engine's knowledge would keep running. */
async function nothingIsLeft(): Promise<void> {
  expect(await eventually(() => ourContainers().length === 0)).toBe(true);
  expect(await eventually(() => ourMonitors().length === 0)).toBe(true);
  expect(await eventually(() => processesWith('runsc-sandbox').length === 0)).toBe(true);
}
/** Greeted: one that ends before is replaced by another. */
const isRunning = (bridge: TestBridge) => eventually(() => / ready after /.test(bridge.stderr()));

describe.skipIf(RUNSC === undefined)(title, () => {
  it('does the main job, on its own kernel, with no way to the network', async () => {
    const bridge = await start({ everything: npmServer('@modelcontextprotocol/server-everything') });
    const code = `
import os, socket, subprocess, threading
thread = threading.Thread(target=lambda: None); thread.start(); thread.join()
try:
    socket.create_connection(("1.1.1.1", 53), 2)
    network = "reached"
except OSError as error:
    network = "none"
echo = await mcp_everything.echo(message="hi")
# Large enough to cross every pipe more than once.
large = await mcp_everything.echo(message="x" * 500_000)
shell = subprocess.run(["echo", "from a child"], capture_output=True, text=True).stdout
[echo, len(large), shell, os.getuid(), network, open("/proc/version").read(), socket.gethostname()]
`;
    const payload = await bridge.run(code, { servers: ['everything'], timeout: 60 });
    expect(payload, JSON.stringify(payload)).toMatchObject({ status: 'success' });
    const [echo, length, shell, uid, network, version, hostname] = payload.result as unknown[];
    expect([echo, length, shell, uid, network, hostname]).toEqual([
      'Echo: hi',
      500_006,
      'from a child\n',
      65534,
      'none',
      'sandbox',
    ]);
    // gVisor says of itself what Linux it stands in for; the host's is another.
    expect(version).toContain('Linux version');
    expect(version).not.toBe(readFileSync('/proc/version', 'utf8'));
    const dmesg = await bridge.run(
      'import ctypes\nbuffer = ctypes.create_string_buffer(9000)\nctypes.CDLL(None).klogctl(3, buffer, 9000)\nbuffer.value.decode()',
    );
    expect(dmesg.result).toContain('Starting gVisor');
    await nothingIsLeft();
  });

  it('writes nowhere but to its three folders, and runs none of what it writes', async () => {
    const bridge = await start();
    const code = `
import os, shutil, subprocess
writable, runs = [], []
places = [line.split()[4] for line in open("/proc/self/mountinfo")] + ["/etc", "/run", "/var/tmp", "/usr/bin"]
for place in places:
    name = os.path.join(place, "probe")
    try:
        shutil.copy("/bin/true", name)
    except OSError:
        continue
    writable.append(place)
    os.chmod(name, 0o755)
    try:
        subprocess.run([name]); runs.append(place)
    except OSError: pass
[sorted(set(writable)), runs]
`;
    expect(await bridge.run(code)).toMatchObject({
      status: 'success',
      result: [['/dev/shm', '/tmp', '/workspace'], []],
    });
  });

  it('its deadline ends it, with its output and the place', async () => {
    const bridge = await start();
    const payload = await bridge.run('print("begun")\nwhile True: pass', { timeout: 2 * REACH_SECONDS });
    expect(payload).toMatchObject({ status: 'timeout', stdout: ['begun'] });
    await nothingIsLeft();
  });

  it('is killed in mid-run: by cancellation, by SIGTERM to the bridge, by SIGKILL to the bridge', async () => {
    const bridge = await start();
    const controller = new AbortController();
    const answer = bridge.run(SLEEPER, { signal: controller.signal });
    answer.catch(() => {});
    expect(await isRunning(bridge)).toBe(true);
    controller.abort();
    await expect(answer).rejects.toThrow();
    await nothingIsLeft();
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      const doomed = await start();
      const lost = doomed.run(SLEEPER, { timeout: 60 });
      lost.catch(() => {});
      expect(await isRunning(doomed), signal).toBe(true);
      process.kill(doomed.pid, signal);
      await nothingIsLeft();
    }
  });

  it('ends with its first process, the one that the bridge kills', async () => {
    const bridge = await start();
    const answer = bridge.run(SLEEPER, { timeout: 60 });
    expect(await isRunning(bridge)).toBe(true);
    const pids = readdirSync(join(bridge.stateDir, 'run'), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.pid'))
      .flatMap((name) => firstProcess(join(bridge.stateDir, 'run', name)) ?? []);
    expect(pids.length).toBe(1);
    process.kill(pids[0] ?? 0, 'SIGKILL');
    expect((await answer).status).toBe('error');
    await nothingIsLeft();
    expect(await bridge.run('6 * 7')).toMatchObject({ status: 'success', result: 42 });
  });

  it('our seccomp profile is not applied inside: what gets through there, gets to its kernel only', async () => {
    const bridge = await start();
    const probes = readFileSync(
      fileURLToPath(new URL('../fixtures/kernel_probes.py', import.meta.url)),
      'utf8',
    );
    const payload = await bridge.run(`${probes}\noutcomes`, { timeout: 60 });
    expect(payload, JSON.stringify(payload)).toMatchObject({ status: 'success' });
    const outcomes = payload.result as Readonly<Record<string, string>>;
    const through = Object.keys(outcomes).filter((name) => outcomes[name] === 'through');
    // What gVisor has no kernel code for at all.
    for (const never of ['bpf', 'fanotify_init', 'keyctl', 'perf_event_open', 'socket alg', 'socket vsock'])
      expect(through).not.toContain(never);
  });

  // Rootless its memory is not limited here, which the probe says.
  it.runIf(process.getuid?.() === 0)('every wall and limit that can be probed in it stands', async () => {
    const home = tempHome();
    const ended = await command(['doctor', '--probe', '--json'], {
      home,
      env: { ...env, MCP_BRIDGE_STATE_DIR: join(home, 'state') },
    });
    const { controls, engine } = JSON.parse(ended.stdout) as ProbeReport;
    expect(engine.ociFlags).toContain('network=none');
    const open = controls.filter(({ verdict, required }) => required && verdict !== 'ENFORCED');
    expect(open).toEqual([]);
    expect(ended.exitCode).toBe(0);
  });
});
