// Flags that an OCI runtime needs under an engine, best first. gVisor (runsc) is one of them: only its flags are special.
// Which variant works here is found by trying (detect.ts); nothing is run here.

import { basename } from 'node:path';
import type { OciRuntime } from '../engine.js';

const WITHOUT_STACK = 'network=none';

/**
 * Not --oci-seccomp: runsc of 2022 takes EPERM for every error that a profile names, so that clone3 is not passed over
 * and no thread starts; and what a filter in gVisor keeps from is gVisor's kernel in user space, not the host's.
 * Not --platform: each version's own default works without /dev/kvm.
 */
const GVISOR_VARIANTS: readonly (readonly string[])[] = [
  // gVisor's own network stack has nothing to do; see withNetwork().
  [WITHOUT_STACK],
  // Rootless without delegated cgroups (always with cgroup v1) it refuses to start unless it may do without them, and
  // then nothing of the engine limits memory.
  [WITHOUT_STACK, 'ignore-cgroups'],
];

/**
 * gVisor opens mounts in the container's own user namespace, where runc and crun open them before they enter it: a
 * folder that is private to root or to the user is then closed to it, and so is every folder below.
 */
export const isGvisor = (name: string): boolean => /^runsc/.test(basename(name));

/**
 * Host tasks that are granted for each process of the guest. Among 115 sleeping processes, at most 11 tasks for one
 * were seen.
 */
const GVISOR_TASKS = 32;

/**
 * How many of the host's processes and threads a container may have whose guest may have `pids`. gVisor's kernel takes some
 * for each of the guest's, and ends altogether when it is refused one: what stops its guest has to be that kernel itself,
 * by the guest's RLIMIT_NPROC, before the engine's limit is met.
 */
export const hostTasks = (pids: number, ociRuntime: string | undefined): number =>
  ociRuntime !== undefined && isGvisor(ociRuntime) ? GVISOR_TASKS * pids : pids;

/** `handsOnFlags`: whether the engine hands flags on to a runtime, and has them not in a configuration of its own. */
export const variantsOf = (name: string, handsOnFlags: boolean): readonly OciRuntime[] =>
  (handsOnFlags && isGvisor(name) ? GVISOR_VARIANTS : [[]]).map((flags) => ({ name, flags }));

/** The usual obstacle between gVisor and a network. */
export const OLD_GVISOR =
  'gVisor releases before August 2024 have no network on recent kernels: install a newer one.';

/** Runtime for one container: a network needs gVisor's own stack. (`network=host` would be the host's, with its loopback.) */
export const withNetwork = ({ name, flags }: OciRuntime, isOpen: boolean): OciRuntime => ({
  name,
  flags: flags.map((flag) => (isOpen && flag === WITHOUT_STACK ? 'network=sandbox' : flag)),
});

/** The runtime as doctor and the log name it. */
export const describeRuntime = ({ name, flags }: OciRuntime): string =>
  [name, ...flags.map((flag) => `--${flag}`)].join(' ');
