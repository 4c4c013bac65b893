// The view of a container engine that the rest of the bridge has: an interface and plain values. podman and docker differ only
// in records (dialects.ts); the OCI runtime under them (runc, crun, runsc) is a setting, not an engine.

import type { Readable, Writable } from 'node:stream';
import type { PullTraces } from './images/pull-traces.js';

export type EngineName = 'podman' | 'docker';

/**
 * How ids in a container relate to those of the machine that it runs on: `rootless` (the engine runs as a user),
 * `userns-mapped` (as root, and no id maps to root), `rootful` (they are the same, which is unsafe on a host).
 */
export type IdMapping = 'rootless' | 'userns-mapped' | 'rootful';
/** Where containers run, and on this machine how their ids map: `vm` is a machine of this computer, `remote` another one. */
export type EngineMode = IdMapping | 'vm' | 'remote';

/** A file or folder of the host, mounted read-only. Only an `executable` one may hold programs. */
export type Mount = { readonly source: string; readonly target: string; readonly executable: boolean };
/** Carrier of a container's traffic (network-modes.ts). `default`: what docker, or a machine's podman, gives any container. */
export type NetworkMode = 'slirp4netns' | 'pasta' | 'default';
/** Writable and in memory; only one that is `executable` may hold programs. */
export type Tmpfs = { readonly target: string; readonly sizeMb: number; readonly executable: boolean };
/** Why an engine elsewhere does not answer, in its client's words; `isSilent` where nobody said that it is gone. */
export type Unreachable = { readonly why: string; readonly isSilent: boolean };

/** On disk, and shared by all containers that name it; one that is not `isKept` goes with the bridge that made it. */
export type Volume = { readonly name: string; readonly target: string; readonly isKept: boolean };
export type Ulimit = {
  readonly name: 'nofile' | 'nproc' | 'core' | 'fsize' | 'memlock' | 'data' | 'cpu';
  readonly limit: number;
};

/** Every wall of one sandbox. No optional fields: who reads a value of this type sees every wall. */
export type SandboxSpec = {
  readonly image: string;
  readonly command: readonly string[];
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  /** The carrier of the traffic where the operator has opened the network for a language. */
  readonly network: 'none' | NetworkMode;
  readonly rootfs: 'read-only';
  readonly capabilities: 'none';
  readonly newPrivileges: 'never';
  readonly namespaces: 'own';
  /** Path on this machine of a seccomp profile in the engines' JSON; a podman that runs elsewhere takes the image's. */
  readonly seccompFile: string;
  /** Name of an AppArmor profile; undefined leaves it to the engine. */
  readonly apparmor?: string | undefined;
  readonly user: string;
  readonly workdir: string;
  readonly mounts: readonly Mount[];
  readonly tmpfs: readonly Tmpfs[];
  readonly volumes: readonly Volume[];
  readonly shmMb: number;
  readonly masked: readonly string[];
  /** Files of the kernel in whose place a file of ours is read. */
  readonly replaced: readonly Omit<Mount, 'executable'>[];
  readonly env: Readonly<Record<string, string>>;
  readonly hostEnv: 'none';
  readonly hostsFile: 'none';
  readonly timezone: string;
  readonly umask: string;
  readonly sysctls: Readonly<Record<string, string>>;
  readonly hostname: string;
  readonly memoryBytes: number;
  readonly pids: number;
  readonly cpus: number | undefined;
  readonly ulimits: readonly Ulimit[];
  /** The engine itself ends the container after this long, even when the bridge is gone (podman; docker has no such switch). */
  readonly deadManSeconds: number;
};

/** How a client ended that had to stay or did not launch; of one that launched and left, neither is known. */
export type ContainerExit = {
  readonly code: number | undefined;
  readonly signal: string | undefined;
};

/** One container of ours, from the moment its launch was asked for. */
export interface Container extends AsyncDisposable {
  readonly name: string;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Never rejects. */
  readonly exited: Promise<ContainerExit>;
  /** False when its first process is known to be gone, which `exited` tells only a while later. Synchronous. */
  readonly isRunning: boolean;
  /** Host pid of its first process; undefined before it is known, once it is gone, and where it means nothing here. */
  readonly pid: number | undefined;
  /** Synchronous and safe to call at any time, also from an exit hook; the container is gone soon after. */
  kill(): void;
}

export type EngineLimits = { readonly memory: boolean; readonly pids: boolean; readonly cpu: boolean };

/** Facts that the engine reports of itself, in our words. */
export type EngineFacts = {
  readonly version: string;
  readonly mode: EngineMode;
  /** How ids are mapped on the machine where containers run; equals `mode` when that machine is this one. */
  readonly ids: IdMapping;
  /** Processor architecture of that machine, in the engine's spelling: amd64 or x86_64, arm64 or aarch64. */
  readonly architecture: string;
  /** Limits that the engine says it can enforce; whether it does is only seen on this machine. */
  readonly limits: EngineLimits;
  readonly storageDriver: string;
  readonly storageRoot: string;
  /** Where podman keeps the state of containers that run. */
  readonly runRoot?: string;
  readonly defaultOciRuntime: string;
  readonly cgroups: string;
};

export type EngineStatus =
  | ({ readonly state: 'ready' } & EngineFacts)
  | {
      readonly state: 'missing' | 'stopped' | 'broken';
      readonly reason: string;
      readonly remedy: string;
      /** For an engine that hangs: how many milliseconds its answer was waited for. */
      readonly waitedMs?: number | undefined;
    };

/** Facts that an engine reports of a container of ours, where nothing else can be had: its processes are another machine's. */
export type ContainerFacts = {
  readonly isRunning: boolean;
  /** After which the engine ends it; undefined where it has no such clock. */
  readonly timeoutSeconds: number | undefined;
  readonly logDriver: string;
  /** Ranges of the engine's own ids that the container's are; undefined where the engine keeps them to itself. */
  readonly ids: ReadonlyArray<{ readonly first: number; readonly count: number }> | undefined;
};

/** An image of one of our recipes that is to be made with no registry. */
export type BuildWish = {
  readonly profile: string;
  /** Debian release; undefined takes the recipe's. trixie has Python 3.13, bookworm 3.11, bullseye 3.9. */
  readonly suite?: string | undefined;
  /** Debian packages to add to those of the recipe. */
  readonly added?: readonly string[];
  readonly onProgress: (line: string) => void;
  /** How many bytes lie on disk for the image so far, every now and then. */
  readonly onBytes?: ((bytes: number) => void) | undefined;
};

export type BuiltImage = {
  readonly image: string;
  readonly id: string;
  readonly sizeBytes: number;
  readonly durationMs: number;
};

/** The images that an engine has where it runs; all that can be asked before any container is started. */
export interface EngineImages {
  readonly name: EngineName;
  /** Id of a local image, or undefined. Throws E_ENGINE_BROKEN where the engine cannot say. */
  imageId(image: string, signal: AbortSignal): Promise<string | undefined>;
  /** Id and size of a local image, or undefined. */
  inspect(
    image: string,
    signal: AbortSignal,
  ): Promise<{ readonly id: string; readonly sizeBytes: number } | undefined>;
  /** Labels of a local image as JSON, which nobody has checked; undefined where there is no such image. */
  labels(image: string, signal: AbortSignal): Promise<string | undefined>;
  /** References of all local images. */
  names(signal: AbortSignal): Promise<readonly string[]>;
  /** Pulls from a registry; throws E_IMAGE_MISSING with the engine's words. */
  pull(
    image: string,
    onProgress: (line: string) => void,
    signal: AbortSignal,
    traces?: PullTraces,
  ): Promise<void>;
  /** Makes an image of a recipe of ours; absent where that is not done. Throws E_IMAGE_BUILD. */
  build?(wish: BuildWish, signal: AbortSignal): Promise<BuiltImage>;
  /** The command by which a person removes a local image again. */
  removalOf(image: string): string;
}

export interface Engine {
  readonly name: EngineName;
  readonly images: EngineImages;
  /** Launches; failures to launch show as an early exit of the container. Who starts it kills it. */
  start(spec: SandboxSpec): Container;
  /** Removes containers whose owner is dead; returns how many. */
  sweep(signal: AbortSignal): Promise<number>;
}
