import { describe, expect, it } from 'vitest';
import { runArgv } from '../../src/engine/client/argv.js';
import { dialectOf } from '../../src/engine/client/dialects.js';
import type { EngineMode, OciRuntime, SandboxSpec } from '../../src/engine/engine.js';
import { variantsOf } from '../../src/engine/machine/oci-runtime.js';
import { sandboxSpec } from '../../src/sandbox/spec/spec.js';
import { PLAIN_KIND } from '../support/plain-kind.js';

const plan = {
  image: 'python:3.14-slim',
  harnessDir: '/state/ipc/abc',
  fallbackDir: undefined,
  seccompFile: '/state/seccomp/abc/strict.json',
  name: 'mcp-sandbox-bridge-i-1',
  user: '65534:65534',
  kind: { ...PLAIN_KIND, cpus: 1.5 },
  enforcement: undefined,
  networkMode: undefined,
  cores: 2,
  maxTimeoutSeconds: 120,
  maxWaitSeconds: 0,
} as const;
const spec = sandboxSpec(plan);
const argv = (
  engine: 'podman' | 'docker',
  mode: EngineMode,
  ociRuntime?: OciRuntime,
  network: SandboxSpec['network'] = 'none',
) =>
  runArgv({ ...spec, network, labels: { 'mcp-sandbox-bridge': 'i' } }, dialectOf(engine, mode), {
    ids: mode === 'vm' || mode === 'remote' ? 'rootless' : mode,
    ociRuntime,
    cidFile: '/s/c',
    pidFile: '/s/p',
  });

const variantsUnder = (name: string, engine: 'podman' | 'docker', mode: EngineMode) =>
  variantsOf(name, dialectOf(engine, mode).handsOnFlags);

describe('runArgv', () => {
  it('writes the whole command for podman without root', () => {
    expect(argv('podman', 'rootless', { name: 'runc', flags: [] })).toMatchInlineSnapshot(`
      [
        "--log-level=error",
        "--runtime=runc",
        "run",
        "--timeout=150",
        "--pidfile=/s/p",
        "--read-only-tmpfs=false",
        "--pid=private",
        "--uts=private",
        "--cgroupns=private",
        "--http-proxy=false",
        "--env-host=false",
        "--no-hosts",
        "--umask=0077",
        "--tz=UTC",
        "--security-opt=mask=/sys",
        "--security-opt=mask=/dev/mqueue",
        "--security-opt=mask=/dev/pts",
        "--security-opt=mask=/proc/bus",
        "--security-opt=mask=/proc/cmdline",
        "--security-opt=mask=/proc/config.gz",
        "--security-opt=mask=/proc/diskstats",
        "--security-opt=mask=/proc/driver",
        "--security-opt=mask=/proc/fs",
        "--security-opt=mask=/proc/interrupts",
        "--security-opt=mask=/proc/iomem",
        "--security-opt=mask=/proc/ioports",
        "--security-opt=mask=/proc/locks",
        "--security-opt=mask=/proc/irq",
        "--security-opt=mask=/proc/key-users",
        "--security-opt=mask=/proc/modules",
        "--security-opt=mask=/proc/partitions",
        "--security-opt=mask=/proc/pressure",
        "--security-opt=mask=/proc/schedstat",
        "--security-opt=mask=/proc/softirqs",
        "--security-opt=mask=/proc/sys/kernel/random/boot_id",
        "--security-opt=mask=/proc/tty",
        "--security-opt=mask=/proc/zoneinfo",
        "--uidmap=0:1:65536",
        "--gidmap=0:1:65536",
        "--rm",
        "--detach",
        "--interactive",
        "--pull=never",
        "--name=mcp-sandbox-bridge-i-1",
        "--cidfile=/s/c",
        "--label",
        "mcp-sandbox-bridge=i",
        "--network=none",
        "--read-only",
        "--cap-drop=ALL",
        "--security-opt=no-new-privileges",
        "--security-opt=seccomp=/state/seccomp/abc/strict.json",
        "--ipc=private",
        "--user=65534:65534",
        "--workdir=/workspace",
        "--hostname=sandbox",
        "--log-driver=passthrough",
        "--volume=/state/ipc/abc:/ipc:ro,nosuid,nodev,noexec,z",
        "--volume=/state/ipc/abc/proc-stat:/proc/stat:ro,nosuid,nodev,noexec,z",
        "--tmpfs=/tmp:rw,noexec,nosuid,nodev,mode=1777,size=64m",
        "--tmpfs=/workspace:rw,noexec,nosuid,nodev,mode=1777,size=128m",
        "--tmpfs=/dev/shm:rw,noexec,nosuid,nodev,mode=1777,size=16m",
        "--env",
        "HOME=/workspace",
        "--env",
        "LANG=C.UTF-8",
        "--env",
        "TMPDIR=/tmp",
        "--sysctl=kernel.shmall=4096",
        "--sysctl=kernel.msgmni=32",
        "--sysctl=net.ipv4.tcp_rmem=4096 16384 65536",
        "--sysctl=net.ipv4.tcp_wmem=4096 16384 65536",
        "--memory=536870912b",
        "--memory-swap=536870912b",
        "--pids-limit=128",
        "--cpus=1.5",
        "--ulimit=core=0:0",
        "--ulimit=nofile=1024:1024",
        "--ulimit=nproc=128:128",
        "--ulimit=sigpending=256:256",
        "--ulimit=fsize=134217728:134217728",
        "--ulimit=cpu=300:300",
        "--entrypoint=",
        "python:3.14-slim",
        "python3",
        "-I",
        "-u",
        "-X",
        "utf8",
        "/ipc/entrypoint.py",
        "{"ahead":[]}",
      ]
    `);
  });

  it('writes the whole command for docker', () => {
    expect(argv('docker', 'rootless', { name: 'runsc', flags: [] })).toMatchInlineSnapshot(`
      [
        "run",
        "--runtime=runsc",
        "--env=TZ=UTC",
        "--env=HTTP_PROXY=",
        "--env=http_proxy=",
        "--env=HTTPS_PROXY=",
        "--env=https_proxy=",
        "--env=FTP_PROXY=",
        "--env=ftp_proxy=",
        "--env=ALL_PROXY=",
        "--env=all_proxy=",
        "--env=NO_PROXY=",
        "--env=no_proxy=",
        "--rm",
        "--interactive",
        "--pull=never",
        "--name=mcp-sandbox-bridge-i-1",
        "--cidfile=/s/c",
        "--label",
        "mcp-sandbox-bridge=i",
        "--network=none",
        "--read-only",
        "--cap-drop=ALL",
        "--security-opt=no-new-privileges",
        "--security-opt=seccomp=/state/seccomp/abc/strict.json",
        "--ipc=private",
        "--user=65534:65534",
        "--workdir=/workspace",
        "--hostname=sandbox",
        "--log-driver=none",
        "--volume=/state/ipc/abc:/ipc:ro,z",
        "--volume=/state/ipc/abc/proc-stat:/proc/stat:ro,z",
        "--tmpfs=/tmp:rw,noexec,nosuid,nodev,mode=1777,size=64m",
        "--tmpfs=/workspace:rw,noexec,nosuid,nodev,mode=1777,size=128m",
        "--shm-size=16m",
        "--env",
        "HOME=/workspace",
        "--env",
        "LANG=C.UTF-8",
        "--env",
        "TMPDIR=/tmp",
        "--sysctl=kernel.shmall=4096",
        "--sysctl=kernel.msgmni=32",
        "--sysctl=net.ipv4.tcp_rmem=4096 16384 65536",
        "--sysctl=net.ipv4.tcp_wmem=4096 16384 65536",
        "--memory=536870912b",
        "--memory-swap=536870912b",
        "--pids-limit=4096",
        "--cpus=1.5",
        "--ulimit=core=0:0",
        "--ulimit=nofile=1024:1024",
        "--ulimit=nproc=128:128",
        "--ulimit=sigpending=256:256",
        "--ulimit=fsize=134217728:134217728",
        "--ulimit=cpu=300:300",
        "--entrypoint=",
        "python:3.14-slim",
        "python3",
        "-I",
        "-u",
        "-X",
        "utf8",
        "/ipc/entrypoint.py",
        "{"ahead":[]}",
      ]
    `);
  });

  it('the Python fallback is mounted read-only, may be run, and runs by its own loader', () => {
    const spec = sandboxSpec({ ...plan, fallbackDir: '/state/python-fallback/abc' });
    const started = (engine: 'podman' | 'docker') =>
      runArgv(spec, dialectOf(engine, 'rootless'), {
        ids: 'rootless',
        ociRuntime: undefined,
        cidFile: '/c',
        pidFile: '/p',
      });
    expect(started('podman')).toContain(
      '--volume=/state/python-fallback/abc:/python-fallback:ro,nosuid,nodev,z',
    );
    expect(started('docker')).toContain('--volume=/state/python-fallback/abc:/python-fallback:ro,z');
    expect(started('podman').join(' ')).toMatch(
      / python:3\.14-slim \/python-fallback\/loader --library-path \/python-fallback\/shared \/python-fallback\/bin\/python3 -I -u .*entrypoint\.py \{"ahead":\[\]\}$/,
    );
  });

  it('podman as root maps no id to host root', () => {
    const args = argv('podman', 'userns-mapped');
    const [, inside, outside, count] = /--uidmap=(\d+):(\d+):(\d+)/.exec(args.join(' ')) ?? [];
    expect(inside).toBe('0');
    expect(Number(outside)).toBeGreaterThan(65_536);
    expect(count).toBe('65536');
  });

  it('podman hands the flags of gVisor on; docker and a machine have them configured', () => {
    const [first, second] = variantsUnder('/opt/bin/runsc', 'podman', 'rootless');
    expect(argv('podman', 'rootless', second).slice(0, 4)).toEqual([
      '--log-level=error',
      '--runtime=/opt/bin/runsc',
      '--runtime-flag=network=none',
      '--runtime-flag=ignore-cgroups',
    ]);
    // Of the host's, many for each that the guest may have.
    expect(argv('podman', 'rootless', second)).toContain('--pids-limit=4096');
    expect(argv('podman', 'rootless', second)).toContain('--ulimit=nproc=128:128');
    expect(first?.flags).toEqual(['network=none']);
    expect(variantsUnder('runsc', 'docker', 'rootless')).toEqual([{ name: 'runsc', flags: [] }]);
    expect(variantsUnder('runsc', 'podman', 'vm')).toEqual([{ name: 'runsc', flags: [] }]);
    expect(variantsUnder('crun', 'podman', 'rootless')).toEqual([{ name: 'crun', flags: [] }]);
  });

  it.each<['podman' | 'docker', EngineMode, SandboxSpec['network'], string[]]>([
    ['podman', 'rootless', 'none', ['--network=none']],
    ['docker', 'rootful', 'none', ['--network=none']],
    [
      'podman',
      'userns-mapped',
      'slirp4netns',
      [
        '--network=slirp4netns:allow_host_loopback=false,enable_ipv6=false,cidr=169.254.0.0/16',
        '--dns=169.254.0.3',
        '--dns-search=.',
      ],
    ],
    [
      'podman',
      'rootless',
      'pasta',
      ['--network=pasta:--no-map-gw,-t,none,-u,none,-T,none,-U,none', '--dns-search=.'],
    ],
    ['podman', 'vm', 'default', ['--dns-search=.']],
    ['docker', 'rootless', 'default', ['--network=bridge', '--dns-search=.']],
  ])('%s, %s: the network %s is all that differs', (engine, mode, network, flags) => {
    const [plain, open] = [argv(engine, mode), argv(engine, mode, undefined, network)];
    expect(open.filter((flag) => /^--(?:network|dns|add-host|publish|cap-add)/.test(flag))).toEqual(flags);
    expect(open.filter((flag) => !flags.includes(flag))).toEqual(
      plain.filter((flag) => flag !== '--network=none'),
    );
  });

  it("a network under gVisor is a stack of its own, never the host's", () => {
    const [runtime] = variantsUnder('runsc', 'podman', 'userns-mapped');
    const flags = (network: SandboxSpec['network']) =>
      argv('podman', 'userns-mapped', runtime, network).filter((flag) => flag.startsWith('--runtime-flag'));
    expect(flags('none')).toEqual(['--runtime-flag=network=none']);
    expect(flags('slirp4netns')).toEqual(['--runtime-flag=network=sandbox']);
  });

  it('a volume holds programs and no devices, and belongs to the user of the container', () => {
    const volumes = [{ name: 'w', target: '/work', isKept: false }];
    const withVolume = sandboxSpec({ ...plan, kind: { ...PLAIN_KIND, volumes } });
    const facts = {
      ids: 'userns-mapped',
      ociRuntime: undefined,
      cidFile: '/c',
      pidFile: '/p',
    } as const;
    const flags = (engine: 'podman' | 'docker') =>
      runArgv(withVolume, dialectOf(engine, 'userns-mapped'), facts).filter((flag) => flag.includes('/work'));
    expect(flags('podman')).toContain('--volume=w:/work:rw,nosuid,nodev,U,z');
    expect(flags('docker')).toContain('--volume=w:/work:rw,z');
    expect(argv('podman', 'userns-mapped').join(' ')).not.toContain('--volume=w');
    // A build may well write more than memory holds.
    const largest = (of: SandboxSpec) => of.ulimits.find(({ name }) => name === 'fsize')?.limit;
    expect([largest(spec), largest(withVolume)]).toEqual([128 * 1024 ** 2, 1024 ** 3]);
  });

  it('a data folder holds no programs, is read-only unless said, keeps its labels, and hears of no later mount', () => {
    const data = {
      source: '/home/ann/sales',
      target: '/data',
      isWritable: false,
      identity: '1:2',
      volume: undefined,
    };
    const flags = (engine: 'podman' | 'docker', isWritable: boolean) =>
      runArgv({ ...spec, data: [{ ...data, isWritable }] }, dialectOf(engine, 'rootless'), {
        ids: 'rootless',
        ociRuntime: undefined,
        cidFile: '/c',
        pidFile: '/p',
      }).filter((flag) => flag.includes('/data'));
    const podman = 'bind,rprivate,nosuid,nodev,noexec';
    expect(flags('podman', false)).toEqual([`--volume=/home/ann/sales:/data:ro,${podman}`]);
    expect(flags('podman', true)).toEqual([`--volume=/home/ann/sales:/data:rw,${podman}`]);
    expect(flags('docker', false)).toEqual(['--volume=/home/ann/sales:/data:ro,rprivate']);
    expect(argv('podman', 'rootless').join(' ')).not.toContain('/data');
  });

  it('the copy of a data folder is mounted read-only from its volume, without programs where the engine can say so', () => {
    const source = '/home/ann/sales';
    const copy = { source, target: '/data', isWritable: false, identity: 'abc', volume: 'copy-1' };
    const flags = (engine: 'podman' | 'docker') =>
      runArgv({ ...spec, data: [copy] }, dialectOf(engine, 'remote'), {
        ids: 'rootless',
        ociRuntime: undefined,
        cidFile: '/c',
        pidFile: '/p',
      }).filter((flag) => flag.includes('/data'));
    expect(flags('podman')).toEqual(['--volume=copy-1:/data:ro,nosuid,nodev,noexec,z']);
    expect(flags('docker')).toEqual(['--volume=copy-1:/data:ro,z']);
  });

  it.each([
    ['rootless', ['0:1:65534', '65534:0:1', '65535:65536:1'], ['0:1:65534', '65534:0:1', '65535:65536:1']],
    ['userns-mapped', ['0:999:65536'], ['0:99:65536']],
  ] as const)(
    'the user of the container is the owner of what it writes, %s, and no other id is',
    (ids, uids, gids) => {
      const owned = runArgv(
        { ...spec, user: ids === 'rootless' ? spec.user : '1:1', owner: { uid: 1000, gid: 100 } },
        dialectOf('podman', ids),
        {
          ids,
          ociRuntime: undefined,
          cidFile: '/c',
          pidFile: '/p',
        },
      );
      const maps = (flag: string) => owned.filter((word) => word.startsWith(flag));
      expect(maps('--uidmap=')).toEqual(uids.map((range) => `--uidmap=${range}`));
      expect(maps('--gidmap=')).toEqual(gids.map((range) => `--gidmap=${range}`));
    },
  );

  it.each(['vm', 'remote'] as const)(
    'podman as %s is given no flag that its client does not know',
    (mode) => {
      const flags = argv('podman', mode, { name: 'runc', flags: ['x'] }).map((word) => word.split('=')[0]);
      for (const unknown of [
        '--pidfile',
        '--runtime',
        '--runtime-flag',
        '--http-proxy',
        '--env-host',
        '--detach',
      ])
        expect(flags).not.toContain(unknown);
      // The same ids as on this machine, the profile by the image's label, and no proxy of the service's.
      for (const known of ['--uidmap', '--gidmap', '--seccomp-policy', '--timeout'])
        expect(flags).toContain(known);
      expect(argv('podman', mode)).toContain('--env=HTTPS_PROXY=');
    },
  );

  it('mounts nothing of this machine where the image holds the files', () => {
    const carried = sandboxSpec({ ...plan, areInImage: true });
    expect([carried.mounts, carried.replaced]).toEqual([[], []]);
    expect(carried.masked).toContain('/proc/stat');
    const facts = {
      ids: 'rootless',
      ociRuntime: undefined,
      cidFile: '/c',
      pidFile: '/p',
    } as const;
    for (const engine of ['podman', 'docker'] as const) {
      const words = runArgv(carried, dialectOf(engine, 'remote'), facts);
      expect(words.filter((word) => /^--(?:volume|mount)=/.test(word))).toEqual([]);
    }
  });
});

const HERE = { url: undefined, platform: 'linux' } as const;

describe('dialects', () => {
  it('read what the engines say of themselves', () => {
    const docker = {
      ServerVersion: '28',
      Driver: 'overlay2',
      DockerRootDir: '/d',
      DefaultRuntime: 'runc',
      OperatingSystem: 'Debian',
      SecurityOptions: ['name=seccomp,profile=builtin'],
    };
    const modeOf = (info: object) =>
      dialectOf('docker', 'rootless').parseInfo(JSON.stringify(info), HERE, undefined).mode;
    expect(modeOf(docker)).toBe('rootful');
    expect(modeOf({ ...docker, SecurityOptions: ['name=rootless'] })).toBe('rootless');
    expect(modeOf({ ...docker, OperatingSystem: 'Docker Desktop' })).toBe('vm');
    expect(() => dialectOf('podman', 'rootless').parseInfo('{"host":{}}', HERE, undefined)).toThrow();
  });
});

it.each<['podman' | 'docker', EngineMode, string, RegExp]>([
  ['podman', 'rootless', 'detached', /half the time/],
  ['podman', 'userns-mapped', 'detached', /half the time/],
  ['podman', 'vm', 'attached', /runs on another machine/],
  ['podman', 'remote', 'attached', /runs on another machine/],
  ['docker', 'rootless', 'attached', /docker has no direct pipes/],
])('%s, %s, is launched %s, and it says why', (engine, mode, launch, reason) => {
  expect(dialectOf(engine, mode).launch).toEqual({ launch, reason: expect.stringMatching(reason) });
  expect(argv(engine, mode).includes('--detach')).toBe(launch === 'detached');
});

it.each([
  ['podman', 'type=bind,src=/a:b/ipc,dst=/ipc,ro,nosuid,nodev,noexec,relabel=shared'],
  ['docker', 'type=bind,src=/a:b/ipc,dst=/ipc,readonly'],
] as const)('%s is told a path with a colon by --mount', (engine, mount) => {
  const argv = runArgv(sandboxSpec({ ...plan, harnessDir: '/a:b/ipc' }), dialectOf(engine, 'rootless'), {
    ids: 'rootless',
    ociRuntime: undefined,
    cidFile: '/s/c',
    pidFile: '/s/p',
  });
  expect(argv).toContain(`--mount=${mount}`);
  expect(argv.filter((word) => word.startsWith('--volume='))).toEqual([]);
});

it.each(['podman', 'docker'] as const)('%s is told of an AppArmor profile where one is set', (engine) => {
  const told = (apparmor: string | undefined) =>
    runArgv({ ...sandboxSpec({ ...plan, apparmor }), labels: {} }, dialectOf(engine, 'rootless'), {
      ...{ ids: 'rootless', ociRuntime: undefined, cidFile: '/s/c', pidFile: '/s/p' },
    }).filter((flag) => flag.includes('apparmor'));
  expect(told('containers-default')).toEqual(['--security-opt=apparmor=containers-default']);
  expect(told(undefined)).toEqual([]);
});
