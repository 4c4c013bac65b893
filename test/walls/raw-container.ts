// Containers for the controls: the bridge's own argument vector, made by its own code from its own settings, less the
// defences that are named, with plain Python in it instead of the harness.

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { closeSync, openSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { readText } from '../../src/base/files/read-text.js';
import { ownerLabels, thisOwner } from '../../src/base/process/owner.js';
import { runArgv } from '../../src/engine/client/argv.js';
import { dialectOf } from '../../src/engine/client/dialects.js';
import { killFirstProcess, removeRunDir } from '../../src/engine/machine/first-process.js';
import { cliNameOf } from '../../src/engine/machine/place.js';
import {
  type LaunchContext,
  type LaunchSetUp,
  setUpEngine,
  specOn,
} from '../../src/sandbox/launch/launch-set-up.js';
import { openData } from '../../src/sandbox/launch/open-data.js';
import { carry } from '../../src/sandbox/spec/harness-files.js';
import { pythonProfile, type SandboxProfile, withData } from '../../src/sandbox/spec/profile.js';
import { parseSettings } from '../../src/settings/environment/settings.js';
import { openFolders } from '../../src/settings/files/data-folders.js';
import { hostFacts } from '../../src/settings/files/host-facts.js';
import { engineUnderTest } from '../support/engine-under-test.js';
import { HANGS_MS } from '../support/time.js';
import type { Setting } from './attack.js';
import { type Relaxation, relaxed } from './relaxations.js';
import type { World } from './world.js';

const KEPT_BYTES = 4 * 1024 * 1024;
const START_SECONDS = 60;

export type RawOutput = {
  /** The first four MB of stdout. */
  readonly stdout: Buffer;
  /** How much there was. */
  readonly bytes: number;
  /** The end of stderr, and how much there was. */
  readonly stderr: string;
  readonly stderrBytes: number;
};

/** Where controls run. */
export type Controls = {
  readonly setting: Setting;
  /** Runs `program` for at most `seconds` after its start, without the defences `off`. Never rejects. */
  readonly run: (off: readonly Relaxation[], program: string, seconds: number) => Promise<RawOutput>;
  readonly close: () => void;
};

/** The context by which a bridge with this environment launches, with the mark of this world in the names. */
export const contextOf = (env: Readonly<Record<string, string>>, world: World): LaunchContext => ({
  settings: parseSettings(env, hostFacts()).settings,
  instance: world.token.slice('canary-'.length),
  observer: () => {},
});

export class RawContainers implements Controls {
  readonly #pad: LaunchSetUp;
  readonly #context: LaunchContext;
  readonly #world: World;
  /** The kind of the bridge's own sandboxes. */
  readonly #kind: SandboxProfile;
  #count = 0;

  private constructor(pad: LaunchSetUp, context: LaunchContext, world: World) {
    this.#pad = pad;
    this.#context = context;
    this.#world = world;
    const { settings } = context;
    this.#kind = withData(
      pythonProfile(settings),
      openFolders(settings.data, { ...hostFacts(), ...settings }).folders,
    );
  }

  /** Decides engine, OCI runtime and image as a bridge with this environment would. */
  static async open(env: Readonly<Record<string, string>>, world: World): Promise<RawContainers> {
    const context = contextOf(env, world);
    const signal = AbortSignal.timeout(HANGS_MS);
    const pad = await setUpEngine(context, signal);
    return new RawContainers({ ...pad, ...(await carry(pad.engine, pad, signal)) }, context, world);
  }

  get setting(): Setting {
    const { mode, ids, ociRuntime } = this.#pad.choice;
    return { mode, ids, ociRuntime: (ociRuntime ?? 'default').replace(/^.*\//, '') };
  }

  async run(off: readonly Relaxation[], program: string, seconds: number): Promise<RawOutput> {
    const name = `control-${++this.#count}`;
    const argv = this.#argv(name, off, program);
    // A directory of the host, handed on only where a control asks for it.
    const folder = openSync(this.#world.folder, 'r');
    const [, ...toEngine] = engineUnderTest.client;
    const child = spawn(this.#pad.choice.binary, [...toEngine, ...argv], {
      cwd: this.#world.folder,
      stdio: ['pipe', 'pipe', 'pipe', folder],
      env: { ...process.env, ...this.#world.environment },
    });
    closeSync(folder);
    // The client of podman 4's service takes the end of its input for the end of the rest.
    if (engineUnderTest.kind === 'local') child.stdin?.end();
    const timer = setTimeout(() => this.#kill(name, child), (seconds + 1) * 1000);
    const last = setTimeout(() => this.#kill(name, child), (seconds + START_SECONDS) * 1000);
    try {
      return await outputOf(child);
    } finally {
      clearTimeout(timer);
      clearTimeout(last);
      for (const kind of ['cid', 'pid']) rmSync(this.#file(name, kind), { force: true });
    }
  }

  close(): void {
    removeRunDir({ stateDir: this.#context.settings.stateDir, instance: this.#context.instance });
  }

  #argv(name: string, off: readonly Relaxation[], program: string): string[] {
    const data = openData(this.#kind, this.#pad.engine, this.#context.settings, this.#context.instance);
    const spec = specOn(this.#pad, this.#context, name, this.#kind, undefined, data);
    const { binary, mode, ids, ociRuntime: runtime, ociFlags: flags } = this.#pad.choice;
    const ociRuntime = { name: runtime, flags };
    const argv = runArgv(
      {
        ...spec,
        command: ['python3', '-I', '-u', '-X', 'utf8', '-c', program],
        labels: { ...spec.labels, ...ownerLabels(this.#context.instance, thisOwner()) },
      },
      dialectOf(cliNameOf(binary), mode),
      { ids, ociRuntime, cidFile: this.#file(name, 'cid'), pidFile: this.#file(name, 'pid') },
    );
    // A control is waited for.
    const attached = argv.filter((flag) => flag !== '--detach');
    return relaxed(attached, off, { engine: cliNameOf(binary), world: this.#world });
  }

  #file(name: string, kind: string): string {
    return join(this.#world.folder, `${name}.${kind}`);
  }

  #kill(name: string, child: ChildProcess): void {
    if (killFirstProcess(this.#file(name, 'pid'))) return;
    const endClient = () => {
      child.kill('SIGKILL');
      for (const stream of [child.stdout, child.stderr]) stream?.destroy();
    };
    // The client's end is not the container's, whose pid is not of this machine.
    const id = engineUnderTest.kind === 'local' ? undefined : readText(this.#file(name, 'cid'));
    if (id === undefined) endClient();
    else removeContainer(id.trim(), endClient);
  }
}

/** Calls `then` when the container is gone. It is read on until then: docker removes none whose output nobody takes. */
function removeContainer(id: string, then: () => void): void {
  const [program = '', ...flags] = engineUnderTest.client;
  // It fails where the container has ended by itself.
  execFile(program, [...flags, 'rm', '--force', id], { timeout: HANGS_MS }, then);
}

function outputOf(child: ChildProcess): Promise<RawOutput> {
  const kept: Buffer[] = [];
  let bytes = 0;
  let stderr = '';
  let stderrBytes = 0;
  child.stdout?.on('data', (chunk: Buffer) => {
    if (bytes < KEPT_BYTES) kept.push(chunk);
    bytes += chunk.length;
  });
  child.stderr?.on('data', (chunk: Buffer) => {
    stderrBytes += chunk.length;
    stderr = (stderr + chunk.toString()).slice(-2000);
  });
  return new Promise((resolve) => {
    const done = () => resolve({ stdout: Buffer.concat(kept), bytes, stderr, stderrBytes });
    child.once('error', done);
    child.once('close', done);
  });
}
