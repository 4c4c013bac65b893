import { describe, expect, it } from 'vitest';
import { runArgv } from '../../src/engine/argv.js';
import { dialects } from '../../src/engine/dialects.js';
import type { EngineMode } from '../../src/engine/engine.js';
import { sandboxSpec } from '../../src/sandbox/spec.js';

const spec = sandboxSpec({
  image: 'python:3.14-slim',
  harnessDir: '/state/ipc/abc',
  name: 'mcp-sandbox-bridge-i-1',
  user: '65534:65534',
  memoryBytes: 512 * 1024 ** 2,
  pids: 128,
  cpus: 1.5,
  enforcement: undefined,
  cores: 2,
  maxTimeoutSeconds: 120,
  maxWaitSeconds: 0,
  preimport: [],
});
const argv = (engine: 'podman' | 'docker', mode: EngineMode, ociRuntime?: string) =>
  runArgv({ ...spec, labels: { 'mcp-sandbox-bridge': 'i' } }, dialects[engine], {
    mode,
    ociRuntime,
    cidFile: '/s/c',
    pidFile: '/s/p',
  });

describe('runArgv', () => {
  it('podman, rootless', () => {
    expect(argv('podman', 'rootless', 'runc')).toMatchInlineSnapshot(`
      [
        "--log-level=error",
        "--runtime=runc",
        "run",
        "--timeout=150",
        "--pidfile=/s/p",
        "--read-only-tmpfs=false",
        "--http-proxy=false",
        "--no-hosts",
        "--umask=0077",
        "--tz=UTC",
        "--security-opt=mask=/sys",
        "--security-opt=mask=/dev/mqueue",
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
        "--user=65534:65534",
        "--workdir=/workspace",
        "--hostname=sandbox",
        "--log-driver=passthrough",
        "--volume=/state/ipc/abc:/ipc:ro,nosuid,nodev,noexec,z",
        "--tmpfs=/tmp:rw,noexec,nosuid,nodev,mode=1777,size=64m",
        "--tmpfs=/workspace:rw,noexec,nosuid,nodev,mode=1777,size=128m",
        "--shm-size=16m",
        "--env",
        "HOME=/workspace",
        "--env",
        "LANG=C.UTF-8",
        "--env",
        "TMPDIR=/tmp",
        "--memory=536870912b",
        "--memory-swap=536870912b",
        "--pids-limit=128",
        "--cpus=1.5",
        "--ulimit=core=0:0",
        "--ulimit=nofile=1024:1024",
        "--ulimit=nproc=128:128",
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
      ]
    `);
  });

  it('docker', () => {
    expect(argv('docker', 'rootless', 'runsc')).toMatchInlineSnapshot(`
      [
        "run",
        "--runtime=runsc",
        "--env=TZ=UTC",
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
        "--user=65534:65534",
        "--workdir=/workspace",
        "--hostname=sandbox",
        "--log-driver=none",
        "--volume=/state/ipc/abc:/ipc:ro,z",
        "--tmpfs=/tmp:rw,noexec,nosuid,nodev,mode=1777,size=64m",
        "--tmpfs=/workspace:rw,noexec,nosuid,nodev,mode=1777,size=128m",
        "--shm-size=16m",
        "--env",
        "HOME=/workspace",
        "--env",
        "LANG=C.UTF-8",
        "--env",
        "TMPDIR=/tmp",
        "--memory=536870912b",
        "--memory-swap=536870912b",
        "--pids-limit=128",
        "--cpus=1.5",
        "--ulimit=core=0:0",
        "--ulimit=nofile=1024:1024",
        "--ulimit=nproc=128:128",
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
      ]
    `);
  });

  it('podman as root maps no id to host root', () => {
    const args = argv('podman', 'userns-mapped');
    const [, inside, outside, count] = /--uidmap=(\d+):(\d+):(\d+)/.exec(args.join(' ')) ?? [];
    expect(inside).toBe('0');
    expect(Number(outside)).toBeGreaterThan(65_536);
    expect(count).toBe('65536');
  });

  it('a remote podman is not asked for pids of another machine', () => {
    expect(argv('podman', 'vm').join(' ')).not.toContain('--pidfile');
  });
});

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
    expect(dialects.docker.parseInfo(JSON.stringify(docker)).mode).toBe('rootful');
    expect(
      dialects.docker.parseInfo(JSON.stringify({ ...docker, SecurityOptions: ['name=rootless'] })).mode,
    ).toBe('rootless');
    expect(
      dialects.docker.parseInfo(JSON.stringify({ ...docker, OperatingSystem: 'Docker Desktop' })).mode,
    ).toBe('vm');
    expect(() => dialects.podman.parseInfo('{"host":{}}')).toThrow();
  });
});
