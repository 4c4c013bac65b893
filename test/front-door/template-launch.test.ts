// Sandboxes that the OCI runtime starts from a template, as it is where nobody has said otherwise (MCP_BRIDGE_LAUNCH): the answers, the walls and the ends are those of
// sandboxes that the engine starts. Each test waits until its calls come from a template, which shows in the root that code sees.

import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { readText } from '../../src/base/files/read-text.js';
import { firstOfAnyBundle } from '../../src/engine/machine/bundles.js';
import { isBuilt } from '../support/built-image.js';
import { engineCommand } from '../support/engine-under-test.js';
import { ourContainers, ourListed, processesWith } from '../support/nothing-left.js';
import { type TestBridge, tempHome } from '../support/start-bridge.js';
import { coldSandboxes, eventually, pause, until } from '../support/time.js';
import { isFromTemplate, TemplateBridges } from './from-template.js';
import { REACH_SECONDS } from './reached.js';

const bridges = new TemplateBridges();
const start = (more: Readonly<Record<string, string>> = {}): Promise<TestBridge> => bridges.start(more);
afterEach(() => bridges[Symbol.asyncDispose]());

/** A bridge whose next call comes from a template, and that has no sandbox left. */
async function started(more: Readonly<Record<string, string>> = {}): Promise<TestBridge> {
  const bridge = await start(more);
  await until(() => isFromTemplate(bridge), `a template of:\n${bridge.stderr()}`);
  await until(() => noted(bridge).length === 0);
  return bridge;
}

const runDirOf = ({ stateDir }: TestBridge): string => join(stateDir, 'run');
/** Names of the sandboxes of the bridge that a runtime still knows. */
const noted = (bridge: TestBridge): string[] =>
  namesIn(runDirOf(bridge)).flatMap((instance) =>
    namesIn(join(runDirOf(bridge), instance, 'oci')).filter((name) => name !== 'runtime'),
  );
const namesIn = (dir: string): string[] => (existsSync(dir) ? readdirSync(dir) : []);
const clocks = (bridge: TestBridge): string[] => processesWith(join(runDirOf(bridge), ''));
const templates = (): string[] => ourContainers().filter((name) => name.endsWith('-template'));
const GROUPS = '/sys/fs/cgroup';
/** Folders of the control groups that the sandbox, which runs, has to itself; an ordinary user's has none on many machines. */
function groupsOf({ stateDir }: TestBridge, name: string): string[] {
  const lines = readText(`/proc/${firstOfAnyBundle(stateDir, name)?.pid}/cgroup`) ?? '';
  return lines.split('\n').flatMap((line) => {
    const [, controllers = '', path = ''] = line.split(':');
    const places = [GROUPS, join(GROUPS, 'unified'), join(GROUPS, controllers.replace('name=', ''))];
    return path.includes(name) ? places.map((place) => join(place, path)).filter(existsSync) : [];
  });
}
/** Control groups of any sandbox of the bridge whose run directory has this name, where they are folders of the engine's. */
const groupsLeft = (instance: string): string[] =>
  ['', ...namesIn(GROUPS)]
    .flatMap((hierarchy) => namesIn(join(GROUPS, hierarchy, 'libpod_parent')))
    .filter((name) => name.includes(instance));
const hasGroups = process.getuid?.() === 0;

describe('a sandbox from a template', () => {
  it('answers as any other, and the engine knows of the template alone', async () => {
    const bridge = await started();
    expect(await bridge.run('import os\nprint(os.getpid())\n6 * 7')).toMatchObject({
      status: 'success',
      result: 42,
      stdout: ['1'].map(() => expect.stringMatching(/^\d+$/)),
    });
    const answer = bridge.run('import time; time.sleep(60)');
    answer.catch(() => {});
    await until(() => noted(bridge).length === 1);
    expect(ourListed()).toEqual(templates());
    expect(templates()).toHaveLength(1);
  });

  it('also comes from one where the bridge keeps its files on another file system than the engine', async () => {
    const folder = mkdtempSync('/dev/shm/state-');
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const bridge = await started({ MCP_BRIDGE_STATE_DIR: join(folder, 'state') });
    expect(await isFromTemplate(bridge)).toBe(true);
    await bridges[Symbol.asyncDispose]();
  });

  it('says the same of itself as the one that the engine has started', async () => {
    const look = `
import os, socket
def text(path):
    try:
        return open(path).read()
    except OSError as error:
        return type(error).__name__
mounts = sorted(' '.join(line.split()[4:6]) for line in open('/proc/self/mountinfo') if line.split()[4] != '/')
status = [line for line in open('/proc/self/status') if line.startswith(('Uid', 'Gid', 'Groups', 'Cap', 'NoNew', 'Seccomp'))]
files = [text(f) for f in ('/etc/passwd', '/etc/group', '/etc/hostname', '/etc/hosts', '/etc/resolv.conf', '/proc/self/limits',
    '/proc/self/uid_map', '/proc/1/cgroup', '/proc/kcore', '/sys/kernel/notes', '/proc/sys/kernel/msgmni', '/run/.containerenv')]
owners = [(path, os.stat(path).st_uid, oct(os.stat(path).st_mode)) for path in ('/', '/etc/passwd', '/etc/hostname', '/tmp', '/workspace')]
links = [i for _, i in socket.if_nameindex()]
seen = {'mounts': mounts, 'status': status, 'files': files, 'owners': owners, 'links': links, 'env': sorted(os.environ.items()),
 'hostname': socket.gethostname(), 'umask': os.umask(0o77), 'sched': os.sched_getaffinity(0).__len__()}
# Where processes are counted by their users, each sandbox has one of its own.
repr(seen).replace(str(os.getuid()), 'ITS USER')
`;
    const bridge = await start();
    const byEngine = await bridge.run(look);
    await until(() => isFromTemplate(bridge));
    const byTemplate = await bridge.run(look);
    expect(byEngine.status).toBe('success');
    expect(byTemplate.result).toEqual(byEngine.result);
  });

  it('is held to its memory, its processes and its time', async () => {
    const bridge = await started({ MCP_BRIDGE_MEMORY: '128m', MCP_BRIDGE_PIDS: '32' });
    expect(
      await bridge.run('x = bytearray(1 << 30)\nfor i in range(0, 1 << 30, 4096): x[i] = 1'),
    ).toMatchObject({
      status: 'error',
      error: expect.stringMatching(/memory/i),
    });
    expect(
      await bridge.run(`
import os, time
made = 0
try:
    for made in range(1000):
        if os.fork() == 0:
            time.sleep(60)
except BlockingIOError:
    pass
made < 32`),
    ).toMatchObject({ status: 'success', result: true });
    expect(await bridge.run('while True: pass', { timeout: REACH_SECONDS })).toMatchObject({
      status: 'timeout',
    });
    expect(await eventually(() => noted(bridge).length === 0)).toBe(true);
  });

  it('is refused what the engine refuses: a root that can be written, a network, the host', async () => {
    const bridge = await started();
    const attempts = `
import ctypes, os, socket
def refused(do):
    try:
        return f'got {do()!r}'
    except OSError as error:
        return error.strerror
libc = ctypes.CDLL(None, use_errno=True)
def unshare():
    if libc.unshare(0x10000000): raise OSError(0, os.strerror(ctypes.get_errno()))
{'root': refused(lambda: open('/x', 'w')), 'etc': refused(lambda: open('/etc/passwd', 'a')),
 'network': refused(lambda: socket.create_connection(('1.1.1.1', 53), 1)), 'userns': refused(unshare),
 'sys': os.listdir('/sys'), 'proc': [open(path).read() for path in ('/proc/keys', '/proc/cmdline')], 'processes': [p for p in os.listdir('/proc') if p.isdigit() and int(p) > 50]}`;
    expect((await bridge.run(attempts)).result).toEqual({
      root: 'Read-only file system',
      etc: expect.stringMatching(/Permission denied|Read-only file system/),
      network: 'Network is unreachable',
      userns: 'Operation not permitted',
      sys: [],
      proc: ['', ''],
      processes: [],
    });
  });

  it.skipIf(!isBuilt('go'))('writes where the image has no folder, as a compiler does', async () => {
    const bridge = await start({ MCP_BRIDGE_TOOLS: 'execute_code', MCP_BRIDGE_LANGUAGES: 'go' });
    const hello = async () => {
      const entrypoint_code = 'package main\nimport "fmt"\nfunc main() { fmt.Println("hello") }';
      const args = { language: 'go', entrypoint_code };
      return (await bridge.client.callTool({ name: 'execute_code', arguments: args })).structuredContent;
    };
    await until(async () => {
      await hello();
      return templates().length === 1 && ourContainers().length === 1;
    });
    expect(await hello()).toMatchObject({ status: 'success', stdout: ['hello'] });
    expect(bridge.stderr()).not.toContain("started by the engine's client");
  });

  it('shares no lock on a file with another one', async () => {
    const bridge = await started();
    const held = `
import fcntl, os, time
f = open('/usr/bin/env', 'rb'), open('/etc/hostname', 'rb'), open('/etc/passwd', 'rb')
for each in f: fcntl.flock(each, fcntl.LOCK_EX | fcntl.LOCK_NB)`;
    const holding = bridge.run(`${held}\nprint('held', flush=True)\ntime.sleep(60)`);
    holding.catch(() => {});
    await until(() => noted(bridge).length === 1);
    expect(await bridge.run(`${held}\n'free'`)).toMatchObject({ status: 'success', result: 'free' });
  });
});

describe('the end', () => {
  it('of a cancelled call leaves nothing of its sandbox', async () => {
    const bridge = await started();
    const controller = new AbortController();
    const answer = bridge.run('while True: pass', { signal: controller.signal, timeout: 60 });
    answer.catch(() => {});
    await until(() => noted(bridge).length === 1);
    const [name = ''] = noted(bridge);
    await until(() => isStarted(bridge, name));
    const groups = groupsOf(bridge, name);
    if (hasGroups) expect(groups).not.toEqual([]);
    controller.abort();
    await expect(answer).rejects.toThrow();
    expect(await eventually(() => noted(bridge).length === 0)).toBe(true);
    expect(await eventually(() => !groups.some(existsSync))).toBe(true);
    expect(await isFromTemplate(bridge)).toBe(true);
  });

  it('of the bridge takes templates and sandboxes along', async () => {
    const bridge = await started();
    bridge.run('while True: pass', { timeout: 60 }).catch(() => {});
    await until(() => noted(bridge).length === 1);
    process.kill(bridge.pid, 'SIGTERM');
    expect(await eventually(() => !existsSync(`/proc/${bridge.pid}`))).toBe(true);
    expect(await eventually(() => ourContainers().length === 0 && clocks(bridge).length === 0)).toBe(true);
    expect(
      namesIn(runDirOf(bridge)).flatMap((name) => [name, ...namesIn(join(runDirOf(bridge), name))]),
    ).toEqual([]);
  });

  it('of bridges that were killed leaves nothing either', async () => {
    const stateDir = join(tempHome(), 'state');
    const groups: string[] = [];
    for (let count = 0; count < 10; count++) {
      const bridge = await started({ MCP_BRIDGE_STATE_DIR: stateDir });
      bridge.run('import signal\nwhile True: pass', { timeout: 60 }).catch(() => {});
      await until(() => noted(bridge).length === 1);
      groups.push(...noted(bridge).flatMap((name) => groupsOf(bridge, name)));
      process.kill(bridge.pid, 'SIGKILL');
      expect(await eventually(() => noted(bridge).length === 0 && clocks(bridge).length === 0)).toBe(true);
    }
    expect(await eventually(() => ourContainers().length === 0)).toBe(true);
    expect(groups.filter(existsSync)).toEqual([]);
    const next = await start({ MCP_BRIDGE_STATE_DIR: stateDir });
    await next.run('1');
    expect(await eventually(() => namesIn(runDirOf(next)).length === 1)).toBe(true);
  });

  it('of a bridge and of its clock leaves a sandbox that the next start removes', async () => {
    const bridge = await started();
    bridge.run('import time; time.sleep(60)', { timeout: 60 }).catch(() => {});
    await until(() => noted(bridge).length === 1);
    const [name = ''] = noted(bridge);
    await until(() => isStarted(bridge, name));
    const groups = groupsOf(bridge, name);
    expect(clockOf(name)).toHaveLength(1);
    for (const pid of clockOf(name)) process.kill(pid, 'SIGKILL');
    process.kill(bridge.pid, 'SIGKILL');
    await until(() => !existsSync(`/proc/${bridge.pid}`));
    expect(noted(bridge)).toEqual([name]);
    const next = await start({ MCP_BRIDGE_STATE_DIR: bridge.stateDir });
    await next.run('1');
    expect(await eventually(() => noted(next).length === 0 && !groups.some(existsSync))).toBe(true);
  });

  it('of a bridge while a sandbox is being made leaves nothing, whenever it comes', async () => {
    const stateDir = join(tempHome(), 'state');
    for (const part of [0, 0.05, 0.1, 0.2, 0.3]) {
      const bridge = await started({ MCP_BRIDGE_STATE_DIR: stateDir });
      bridge.run('while True: pass', { timeout: 60 }).catch(() => {});
      const instances = namesIn(runDirOf(bridge));
      await pause(coldSandboxes(part));
      process.kill(bridge.pid, 'SIGTERM');
      expect(await eventually(() => !existsSync(`/proc/${bridge.pid}`))).toBe(true);
      expect(await eventually(() => clocks(bridge).length === 0)).toBe(true);
      expect(instances.flatMap(groupsLeft)).toEqual([]);
      expect(noted(bridge)).toEqual([]);
    }
    expect(await eventually(() => ourContainers().length === 0)).toBe(true);
  });

  it('of a template that somebody else has removed is followed by another one', async () => {
    const bridge = await started();
    const [name = ''] = templates();
    engineCommand('rm', '--force', '--time=0', name);
    expect(await bridge.run('6 * 7')).toMatchObject({ status: 'success', result: 42 });
    expect(await eventually(() => isFromTemplate(bridge))).toBe(true);
    expect(templates()).toHaveLength(1);
    expect(templates()).not.toEqual([name]);
  });
});

const isStarted = ({ stateDir }: TestBridge, name: string): boolean =>
  (readText(`/proc/${firstOfAnyBundle(stateDir, name)?.pid}/cmdline`) ?? '').includes('python');

/** The clock of the sandbox, by what clock.ts gives to its shell. */
const clockOf = (name: string): number[] =>
  namesIn('/proc')
    .map(Number)
    .filter((pid) => {
      const words = (readText(`/proc/${pid}/cmdline`) ?? '').split('\0');
      return words[3] === 'clock' && words.includes(name);
    });
