// One attempt for each line of src/sandbox/spec/spec.ts, made by real code in a real sandbox. An attempt that gets through
// fails the test.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startBridge, type TestBridge } from '../support/start-bridge.js';

let bridge: TestBridge;
beforeAll(async () => {
  process.env['CANARY_TOKEN'] = 'canary-of-the-host';
  bridge = await startBridge(
    {},
    { env: { HTTPS_PROXY: 'http://canary-of-the-host:1', CANARY_TOKEN: 'canary-of-the-host' } },
  );
});
afterAll(() => bridge[Symbol.asyncDispose]());

async function value(code: string): Promise<unknown> {
  const payload = await bridge.run(code);
  expect(payload, JSON.stringify(payload)).toMatchObject({ status: 'success' });
  return payload.result;
}

const attempt = (code: string) => `
def attempt():
${code.replace(/^/gm, '    ')}
try:
    outcome = f"got through: {attempt()}"
except Exception as error:
    outcome = type(error).__name__
outcome
`;

it('network: nothing but lo, and nothing answers', async () => {
  expect(await value('import socket\n[name for _, name in socket.if_nameindex()]')).toEqual(['lo']);
  for (const address of ['("1.1.1.1", 53)', '("127.0.0.1", 22)', '("169.254.169.254", 80)']) {
    expect(await value(attempt(`import socket\nreturn socket.create_connection(${address}, 2)`))).not.toMatch(
      /got through/,
    );
  }
});

it('rootfs: nothing outside the listed tmpfs can be written', async () => {
  const code = `
import os
writable = []
for line in open("/proc/self/mountinfo"):
    place = line.split()[4]
    path = place if os.path.isdir(place) else os.path.dirname(place)
    try:
        name = os.path.join(path, "probe")
        open(name, "w").close(); os.remove(name); writable.append(path)
    except OSError: pass
for path in ("/", "/etc", "/usr/bin", "/run", "/var/tmp", "/ipc", "/dev", "/proc/sys/kernel"):
    try:
        name = os.path.join(path, "probe")
        open(name, "w").close(); os.remove(name); writable.append(path)
    except OSError: pass
sorted(set(writable))
`;
  expect(await value(code)).toEqual(['/dev/shm', '/tmp', '/workspace']);
});

it('capabilities and privileges: none in any set, no way to new ones', async () => {
  const code = `
s = dict(l.split(":\\t", 1) for l in open("/proc/self/status").read().splitlines() if ":\\t" in l)
[int(s["CapEff"], 16), int(s["CapPrm"], 16), int(s["CapBnd"], 16), int(s["CapAmb"], 16), s["NoNewPrivs"].strip(), s["Seccomp"].strip()]
`;
  expect(await value(code)).toEqual([0, 0, 0, 0, '1', '2']);
});

it('user: not root inside, and no id inside is the user or root outside', async () => {
  const ids = await value('import os\n[os.getuid(), os.getgid(), os.getgroups()]');
  const [uid] = ids as number[];
  // Where processes are counted per id, each container has its own.
  expect(uid === 65_534 || Number(uid) > 20_000).toBe(true);
  expect(ids).toEqual([uid, uid, [uid]]);
  const map = (await value('open("/proc/self/uid_map").read().split()')) as string[];
  // Inside id, id in the parent namespace, count: whoever runs the engine would be 0 in a rootless parent.
  expect(Number(map[1])).toBeGreaterThan(0);
});

it('mounts: of the host only the harness, read-only; no engine socket, no home', async () => {
  const code = `
import os
sources = [l.split()[4] for l in open("/proc/self/mountinfo")]
[p for p in sources if p.startswith(("/ipc", "/home", "/root", "/run/podman", "/var/run"))] + [p for p in ("/var/run/docker.sock", "/run/podman/podman.sock") if os.path.exists(p)]
`;
  expect(await value(code)).toEqual(['/ipc']);
});

it('tmpfs: sized, and nothing in them runs as a program', async () => {
  const fill = (path: string) =>
    attempt(
      `with open("${path}/fill", "wb") as f:\n    for _ in range(300): f.write(bytes(1 << 20))\nreturn "300 MB"`,
    );
  expect(await value(fill('/tmp'))).toBe('OSError');
  expect(await value(fill('/workspace'))).toBe('OSError');
  for (const path of ['/tmp', '/workspace', '/dev/shm']) {
    const code = attempt(
      `import os, shutil, subprocess\nshutil.copy("/bin/true", "${path}/true")\nos.chmod("${path}/true", 0o755)\nreturn subprocess.run(["${path}/true"]).returncode`,
    );
    expect(await value(code)).toBe('PermissionError');
  }
});

it('masks: /sys is empty', async () => {
  expect(await value('import os\nos.listdir("/sys")')).toEqual([]);
});

it('the environment has nothing of the host', async () => {
  const env = JSON.stringify(await value('import os\ndict(os.environ)'));
  expect(env).not.toContain('canary');
  expect(
    await value(
      // That of the supervisor is closed to the code.
      'import os, glob\n[p for p in glob.glob("/proc/[0-9]*/environ") if os.access(p, os.R_OK) and b"canary" in open(p, "rb").read()]',
    ),
  ).toEqual([]);
});

it('host name: not the host’s', async () => {
  expect(await value('import socket\nsocket.gethostname()')).toBe('sandbox');
});

it('processes: only its own are visible', async () => {
  expect(await value('import os\nlen([p for p in os.listdir("/proc") if p.isdigit()]) < 6')).toBe(true);
});

it('ulimits allow no core, and a bounded number of files', async () => {
  expect(
    await value('import resource as r\n[r.getrlimit(r.RLIMIT_CORE)[1], r.getrlimit(r.RLIMIT_NOFILE)[1]]'),
  ).toEqual([0, 1024]);
});

it('processes: a fork bomb meets its limit, and the next run is well', async () => {
  const code = attempt(
    'import os, time\nfor n in range(5000):\n    if os.fork() == 0:\n        time.sleep(100); os._exit(0)\nreturn n',
  );
  const payload = await bridge.run(code, { timeout: 100 });
  expect(payload.result).toBe('BlockingIOError');
  expect(await bridge.run('6 * 7')).toMatchObject({ status: 'success', result: 42 });
});

it('descriptors: none is open at the start but the three streams and what the harness holds closed to children', async () => {
  const code =
    'import subprocess\nsubprocess.run(["ls", "/proc/self/fd"], capture_output=True, text=True).stdout.split()';
  // ls itself holds one more.
  expect(await value(code)).toEqual(['0', '1', '2', '3']);
});

it('single use: no two runs share a container', async () => {
  await bridge.run('open("/workspace/mark", "w").write("x"); open("/tmp/mark", "w").write("x")');
  expect(await value('import os\n[os.path.exists("/workspace/mark"), os.path.exists("/tmp/mark")]')).toEqual([
    false,
    false,
  ]);
});

it('the engine’s own configuration: what it opens for all containers stays closed here', async () => {
  const file = join(bridge.home, 'containers.conf');
  const opened = {
    ...{ tz: 'Asia/Tokyo', umask: '0000', http_proxy: true, no_hosts: false, log_driver: 'k8s-file' },
    ...{ netns: 'host', pidns: 'host', utsns: 'host', ipcns: 'host', cgroupns: 'host' },
    ...{ seccomp_profile: 'unconfined', default_capabilities: ['CAP_SYS_ADMIN'] },
  };
  const lines = Object.entries(opened).map(([key, set]) => `${key} = ${JSON.stringify(set)}`);
  writeFileSync(file, ['[containers]', ...lines].join('\n'));
  const env = { CONTAINERS_CONF: file, HTTPS_PROXY: 'http://canary-of-the-host:1' };
  await using other = await startBridge({}, { env });
  const code = `
import os, re, socket, time
umask = os.umask(0)
status = open("/proc/self/status").read()
of_proc = sum(name.isdigit() for name in os.listdir("/proc"))
[time.tzname[0], time.localtime().tm_gmtoff, umask, [n for _, n in socket.if_nameindex()], socket.gethostname(),
 of_proc < 6, *(re.search(rf"^{n}:\\s*(\\w+)", status, re.M)[1] for n in ("CapBnd", "Seccomp")), [n for n, v in os.environ.items() if v and "PROXY" in n.upper()]]
`;
  expect((await other.run(code)).result).toEqual([
    ...['UTC', 0, 0o077, ['lo'], 'sandbox', true],
    ...['0000000000000000', '2', []],
  ]);
});
