// A SandboxSpec as the argument vector of `podman run` or `docker run`. Pure: the whole spec can be read, diffed and
// tested as a list of strings. What the two engines spell differently comes from the dialect record.

import type { Mount, SandboxSpec } from '../engine.js';
import { hostTasks, withNetwork } from '../machine/oci-runtime.js';
import type { EngineDialect, LaunchFacts } from './dialects.js';

const TMPFS_OPTIONS = 'rw,noexec,nosuid,nodev,mode=1777';
const PROGRAMS_OPTIONS = 'rw,exec,nosuid,nodev,mode=1777';

const pairs = (values: Readonly<Record<string, string>>): string[] =>
  Object.entries(values).map(([key, value]) => `${key}=${value}`);

const repeatFlag = (flag: string, values: readonly string[]): string[] =>
  values.flatMap((value) => [flag, value]);

/** `--volume` has no way to say a colon that is part of a path, and `--mount` is spelled otherwise by every version. */
const mountFlag = (mount: Mount, { mountOptions, mountWithColon }: EngineDialect): string =>
  mount.source.includes(':')
    ? `--mount=${mountWithColon(mount)}`
    : `--volume=${mount.source}:${mount.target}:${mountOptions[mount.executable ? 'programs' : 'data']}`;

/** Everything after the engine's own name. */
export function runArgv(spec: SandboxSpec, dialect: EngineDialect, facts: LaunchFacts): string[] {
  const { launch } = dialect.launch;
  return [
    ...dialect.globalFlags(facts.ociRuntime && withNetwork(facts.ociRuntime, spec.network !== 'none')),
    'run',
    ...dialect.runFlags(facts, spec),
    '--rm',
    ...(launch === 'detached' ? ['--detach'] : []),
    '--interactive',
    '--pull=never',
    `--name=${spec.name}`,
    `--cidfile=${facts.cidFile}`,
    ...repeatFlag('--label', pairs(spec.labels)),
    ...dialect.networkFlags(spec.network),
    '--read-only',
    '--cap-drop=ALL',
    '--security-opt=no-new-privileges',
    ...dialect.seccompFlags(spec.seccompFile),
    ...(spec.apparmor === undefined ? [] : [`--security-opt=apparmor=${spec.apparmor}`]),
    '--ipc=private',
    `--user=${spec.user}`,
    `--workdir=${spec.workdir}`,
    `--hostname=${spec.hostname}`,
    // Neither keeps anything on disk.
    `--log-driver=${launch === 'detached' ? 'passthrough' : 'none'}`,
    ...spec.mounts.map((mount) => mountFlag(mount, dialect)),
    ...spec.replaced.map((file) => mountFlag({ ...file, executable: false }, dialect)),
    ...spec.data.map(({ source, target, isWritable, volume }) =>
      volume === undefined
        ? `--volume=${source}:${target}:${isWritable ? 'rw' : 'ro'},${dialect.dataOptions}`
        : `--volume=${volume}:${target}:${dialect.mountOptions.data}`,
    ),
    ...spec.volumes.map(({ name, target }) => `--volume=${name}:${target}:${dialect.mountOptions.volume}`),
    ...spec.tmpfs.map(
      ({ target, sizeMb, executable }) =>
        `--tmpfs=${target}:${executable ? PROGRAMS_OPTIONS : TMPFS_OPTIONS},size=${sizeMb}m`,
    ),
    dialect.shmFlag(`${TMPFS_OPTIONS},size=${spec.shmMb}m`, spec.shmMb),
    ...repeatFlag('--env', pairs(spec.env)),
    ...pairs(spec.sysctls).map((pair) => `--sysctl=${pair}`),
    `--memory=${spec.memoryBytes}b`,
    `--memory-swap=${spec.memoryBytes}b`,
    `--pids-limit=${hostTasks(spec.pids, facts.ociRuntime?.name)}`,
    ...(spec.cpus === undefined ? [] : [`--cpus=${spec.cpus}`]),
    ...spec.ulimits.map(({ name, limit }) => `--ulimit=${name}=${limit}:${limit}`),
    // The image's own entry point would run our command as its argument.
    '--entrypoint=',
    spec.image,
    ...spec.command,
  ];
}
