// Pods for the controls: the bridge's own pod, made by its own code from its own settings, less the defences that are named, with plain
// Python in it instead of the harness. They lie in a namespace of their own, which admits everything and which no policy holds.

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { podOf } from '../../src/engine/kubernetes/pod-spec.js';
import {
  type LaunchContext,
  type LaunchSetUp,
  setUpEngine,
  specOn,
} from '../../src/sandbox/launch/launch-set-up.js';
import { pythonProfile } from '../../src/sandbox/spec/profile.js';
import { HANGS_MS, until } from '../support/time.js';
import type { Setting } from './attack.js';
import { type Controls, contextOf, type RawOutput } from './raw-container.js';
import type { Relaxation } from './relaxations.js';
import type { World } from './world.js';

const NAMESPACE = 'controls';
const KEPT_BYTES = 64 * 1024 * 1024;
// biome-ignore lint/suspicious/noExplicitAny: a pod as the cluster takes it
type Edit = (pod: any, world: World) => void;

const ofContainer =
  (more: object): Edit =>
  ({ spec }) =>
    Object.assign(spec.containers[0].securityContext, more);
const ofPod =
  (more: object): Edit =>
  ({ spec }) =>
    Object.assign(spec.securityContext, more);
const ofSpec =
  (more: object): Edit =>
  ({ spec }) =>
    Object.assign(spec, more);
const hostPath =
  (of: (world: World) => ReadonlyArray<readonly [from: string, to: string]>): Edit =>
  ({ spec }, world) => {
    for (const [at, [path, mountPath]] of of(world).entries()) {
      const name = `host-${spec.volumes.length}-${at}`;
      spec.volumes.push({ name, hostPath: { path } });
      spec.containers[0].volumeMounts.push({ name, mountPath });
    }
  };
const size =
  (target: string): Edit =>
  ({ spec }) => {
    const { name } = spec.containers[0].volumeMounts.find(
      ({ mountPath }: { mountPath: string }) => mountPath === target,
    );
    spec.volumes.find((volume: { name: string }) => volume.name === name).emptyDir.sizeLimit = '400Mi';
  };
const all =
  (...edits: readonly Edit[]): Edit =>
  (pod, world) =>
    edits.forEach((edit) => void edit(pod, world));

const ROOT = ofPod({ runAsNonRoot: false, runAsUser: 0, runAsGroup: 0 });
const UNFILTERED = ofPod({ seccompProfile: { type: 'Unconfined' } });
const WRITABLE = ofContainer({ readOnlyRootFilesystem: false });
const HOST_NETWORK = all(ofSpec({ hostNetwork: true }), ({ spec }) => delete spec.hostname);
/** Limits that a process sets for itself are not there in a control at all. */
const NOT_SET: Edit = () => {};

/** Those for which a pod has a field; an attack that needs another one has no control here. */
export const podRelaxations: Partial<Record<Relaxation, Edit>> = {
  seccomp: UNFILTERED,
  // A cluster gives capabilities to root alone.
  capabilities: all(
    ROOT,
    ofContainer({
      capabilities: {
        add: 'CHOWN DAC_OVERRIDE FOWNER SETUID SETGID SETFCAP NET_RAW NET_ADMIN SYS_ADMIN SYS_CHROOT SYS_BOOT SYS_PTRACE MKNOD'.split(
          ' ',
        ),
      },
      allowPrivilegeEscalation: true,
    }),
  ),
  'no new privileges': ofContainer({ allowPrivilegeEscalation: true }),
  user: ROOT,
  'read-only image': WRITABLE,
  'no tmpfs of the engine': WRITABLE,
  'tmpfs size': all(size('/tmp'), size('/workspace')),
  'tmpfs of shm': size('/dev/shm'),
  network: HOST_NETWORK,
  'process namespace': ofSpec({ hostPID: true }),
  'host name': HOST_NETWORK,
  'core limit': NOT_SET,
  'file limit': NOT_SET,
  'size limit': NOT_SET,
  'signal limit': NOT_SET,
  'process limit': NOT_SET,
  'cpu limit': NOT_SET,
  'memory limit': ({ spec }) => {
    spec.containers[0].resources.limits.memory = '4Gi';
  },
  terminal: ({ spec }) => {
    spec.containers[0].tty = true;
  },
  devices: hostPath(() => [
    ['/dev/null', '/dev/kvm'],
    ['/dev/null', '/dev/mem'],
  ]),
  'host files': hostPath(({ folder }) => [[folder, folder]]),
  'engine socket': hostPath(({ socket }) => [[socket, '/run/podman/podman.sock']]),
  everything: all(
    ROOT,
    UNFILTERED,
    WRITABLE,
    ofContainer({ privileged: true, allowPrivilegeEscalation: true, capabilities: {} }),
  ),
};

export class RawPods implements Controls {
  readonly #pad: LaunchSetUp;
  readonly #context: LaunchContext;
  readonly #world: World;
  #count = 0;

  private constructor(pad: LaunchSetUp, context: LaunchContext, world: World) {
    this.#pad = pad;
    this.#context = context;
    this.#world = world;
  }

  /** Decides the image as a bridge with this environment would, and makes the namespace. */
  static async open(env: Readonly<Record<string, string>>, world: World): Promise<RawPods> {
    const context = contextOf(env, world);
    const pad = await setUpEngine(context, AbortSignal.timeout(HANGS_MS));
    await kubectl(['create', 'namespace', NAMESPACE]);
    // The pods need an account of it, which the cluster makes a moment later.
    await until(async () => (await kubectl(['get', 'serviceaccounts', '--output=name'])).includes('default'));
    return new RawPods(pad, context, world);
  }

  get setting(): Setting {
    return { mode: 'remote', ids: 'rootful', ociRuntime: 'kubernetes' };
  }

  async run(off: readonly Relaxation[], program: string, seconds: number): Promise<RawOutput> {
    const kind = pythonProfile(this.#context.settings);
    const spec = specOn(this.#pad, this.#context, `control-${++this.#count}`, kind);
    const { image, name } = spec;
    const files = { image, folders: [] };
    const pod = podOf(spec, { files, labels: {}, owners: [], avoids: [], runtime: undefined });
    for (const container of pod.spec.containers)
      container.command = ['python3', '-I', '-u', '-X', 'utf8', '-c', program];
    const without = off.filter((each) => podRelaxations[each] === undefined);
    if (without.length > 0) return told(`a pod has no field that gives up: ${without.join(', ')}`);
    for (const each of off) podRelaxations[each]?.(pod, this.#world);
    pod.spec.activeDeadlineSeconds = seconds;
    try {
      await kubectl(['create', '--filename=-'], JSON.stringify(pod));
      await until(async () =>
        /Succeeded|Failed/.test(await kubectl(['get', 'pod', name, '--output=jsonpath={.status.phase}'])),
      );
      // A control prints for as long as it may; what is looked for is far less.
      const stdout = Buffer.from(await kubectl(['logs', name, `--limit-bytes=${KEPT_BYTES / 2}`]));
      return { stdout, bytes: stdout.length, stderr: '', stderrBytes: 0 };
    } catch (thrown) {
      return told(String(thrown));
    } finally {
      await kubectl(['delete', 'pod', name, '--ignore-not-found', '--grace-period=1', '--wait=false']);
    }
  }

  close(): void {
    void kubectl(['delete', 'namespace', NAMESPACE, '--wait=false']);
  }
}

const told = (stderr: string): RawOutput => ({ stdout: Buffer.of(), bytes: 0, stderr, stderrBytes: 0 });

async function kubectl(args: readonly string[], input = ''): Promise<string> {
  const running = promisify(execFile)('kubectl', [`--namespace=${NAMESPACE}`, ...args], {
    maxBuffer: KEPT_BYTES,
  });
  running.child.stdin?.end(input);
  return (await running).stdout;
}
