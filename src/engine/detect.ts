// Which engine and which OCI runtime work on this machine, found out by trying, with the reasons kept for doctor.
// The answer is remembered per boot in the state directory, so that only the first run after a boot pays for it, and shared with
// bridges of the same user that have another state directory.

import { createHash } from 'node:crypto';
import { readFileSync, rmSync } from 'node:fs';
import { release } from 'node:os';
import { basename, join } from 'node:path';
import { z } from 'zod';
import { BridgeError } from '../base/errors.js';
import { replaceFile } from '../base/files/replace-file.js';
import { thisOwner } from '../base/process/owner.js';
import type { EnginePlace } from '../settings/files/engine-place.js';
import type { EngineDriver, EngineFacts, EngineImages, EngineStatus, OciRuntime } from './engine.js';
import { automaticEngines, driverOf } from './engines.js';
import { inSeconds } from './machine/client-words.js';
import { type Enforcement, enforcement } from './machine/enforcement.js';
import { describeRuntime } from './machine/oci-runtime.js';
import { forgetShared, readShared, share, sharedFolder } from './machine/shared-choice.js';

// In a folder of its own: the state directory may be ~/MCPs, whose JSON files are read as lists of servers.
const CHOICE_DIR = 'cache';
/** Raised when another bridge's file would mean something else. */
const CHOICE_VERSION = 3;

export type Tried = { readonly name: string; readonly ok: boolean; readonly reason: string };

export type EngineChoice = Omit<EngineFacts, 'defaultOciRuntime'> & {
  readonly binary: string;
  readonly ociRuntime: string;
  /** Flags for the runtime itself; see OciRuntime. */
  readonly ociFlags: readonly string[];
  readonly tried: readonly Tried[];
  /** Limits that the trial container was really held to, and by which mechanism. */
  readonly enforcement: Enforcement;
};

export const runtimeOf = ({
  ociRuntime,
  ociFlags,
}: Pick<EngineChoice, 'ociRuntime' | 'ociFlags'>): OciRuntime => ({
  name: ociRuntime,
  flags: ociFlags,
});

/** Text for a person: `crun: it refused; runc: started a container`. */
export const triedText = (tried: readonly Tried[]): string =>
  tried.map(({ name, reason }) => `${name}: ${reason}`).join('; ');

export type EngineSelection = {
  /** MCP_BRIDGE_RUNTIME: a name or path, or undefined for the first that is there. */
  readonly runtime: string | undefined;
  readonly ociRuntime: string | undefined;
  readonly allowRootful: boolean;
  /** MCP_BRIDGE_ENGINE_URL. */
  readonly url: string | undefined;
  /** Other settings that tell the engines' own clients where their engine is: another engine is another choice. */
  readonly clientVariables: string;
  /** Whether CPUs are limited: what enforces that is another thing than what shares them fairly. */
  readonly limitsCpus: boolean;
  readonly stateDir: string;
  /** Where the engine of this machine lies; without it, nothing is shared with other state directories. */
  readonly place?: EnginePlace | undefined;
};

/** The engine to use; throws E_ENGINE_* with the first engine's trouble and its remedy. */
export async function chooseEngine(
  wishes: EngineSelection,
  signal: AbortSignal,
): Promise<{ readonly binary: string; readonly status: EngineFacts; readonly images: EngineImages }> {
  const programs = wishes.runtime === undefined ? automaticEngines : [wishes.runtime];
  const troubles: Array<{ binary: string; status: Exclude<EngineStatus, { state: 'ready' }> }> = [];
  for (const binary of programs) {
    const { url } = wishes;
    const driver = driverOf(binary);
    const status = await driver.probe(binary, { url, platform: process.platform }, signal);
    if (status.state !== 'ready') {
      troubles.push({ binary, status });
      continue;
    }
    // In a machine of this computer it is the machine that keeps root away from the host.
    if (status.ids === 'rootful' && status.mode !== 'vm' && !wishes.allowRootful) throw unsafeError(binary);
    const { state: _, ...facts } = status;
    return { binary, status: facts, images: driver.images({ binary, url, facts }) };
  }
  // An engine that is there but broken says more than one that is absent.
  const worst = troubles.find(({ status }) => status.state !== 'missing') ?? troubles[0];
  const missing = troubles.every(({ status }) => status.state === 'missing');
  throw new BridgeError(
    missing ? 'E_ENGINE_MISSING' : 'E_ENGINE_BROKEN',
    missing
      ? `No container engine was found (tried ${programs.join(', ')}).`
      : `${worst?.binary} cannot be used: ${worst?.status.reason}`,
    {
      fault: 'operator',
      remedy: worst?.status.remedy ?? 'Install podman.',
      waitedMs: worst?.status.waitedMs,
    },
  );
}

const unsafeError = (binary: string) =>
  new BridgeError(
    'E_ENGINE_UNSAFE',
    `${binary} runs as root without user-namespace remapping: root in a container is root on this machine.`,
    {
      fault: 'operator',
      remedy:
        'Use podman or rootless docker, enable userns-remap, or accept it with MCP_BRIDGE_ALLOW_ROOTFUL=1.',
    },
  );

/**
 * The first OCI runtime under which `attempt` succeeds. `attempt` starts a real container and answers undefined, or
 * why it failed. A runtime that the operator named is tried alone: there is no silent substitute. One that hangs ends
 * the search: the others would hang too, for as long.
 */
export async function chooseOciRuntime(
  driver: EngineDriver,
  status: EngineFacts,
  wish: string | undefined,
  attempt: (
    runtime: OciRuntime,
  ) => Promise<{ readonly reason: string; readonly waitedMs?: number | undefined } | undefined>,
): Promise<{ readonly runtime: OciRuntime; readonly tried: readonly Tried[] }> {
  const tried: Tried[] = [];
  for (const runtime of driver.runtimes(status, wish)) {
    const trouble = await attempt(runtime);
    const name = describeRuntime(runtime);
    if (trouble?.waitedMs !== undefined)
      throw hangs(`${driver.name} with ${name}`, trouble.waitedMs, tried, driver.hangRemedy(status));
    tried.push({ name, ok: trouble === undefined, reason: trouble?.reason ?? 'started a container' });
    if (trouble === undefined) return { runtime, tried };
  }
  throw new BridgeError('E_OCI_RUNTIME', `No OCI runtime starts a container: ${triedText(tried)}`, {
    fault: 'operator',
    remedy:
      driver.startRemedy ??
      (wish === undefined
        ? 'Install runc (Debian: apt-get install runc), or name a working one in MCP_BRIDGE_OCI_RUNTIME.'
        : 'Unset MCP_BRIDGE_OCI_RUNTIME to let the bridge choose.'),
  });
}

function hangs(what: string, waitedMs: number, before: readonly Tried[], remedy: string): BridgeError {
  const others = before.length === 0 ? '' : ` Tried before: ${triedText(before)}`;
  return new BridgeError(
    'E_OCI_RUNTIME',
    `${what} hangs: it started no container within ${inSeconds(waitedMs)}.${others}`,
    {
      fault: 'operator',
      remedy,
      waitedMs,
    },
  );
}

const choiceFile = z.object({
  key: z.string(),
  choice: z.object({
    binary: z.string(),
    version: z.string(),
    mode: z.enum(['rootless', 'userns-mapped', 'vm', 'remote', 'rootful']),
    ids: z.enum(['rootless', 'userns-mapped', 'rootful', 'no-root']),
    architecture: z.string(),
    limits: z.object({ memory: z.boolean(), pids: z.boolean(), cpu: z.boolean() }),
    storageDriver: z.string(),
    storageRoot: z.string(),
    cgroups: z.string(),
    ociRuntime: z.string(),
    ociFlags: z.array(z.string()),
    tried: z.array(z.object({ name: z.string(), ok: z.boolean(), reason: z.string() })),
    enforcement,
  }),
});

const selectionKey = (wishes: EngineSelection) => [
  wishes.runtime,
  wishes.ociRuntime,
  wishes.allowRootful,
  wishes.url,
  wishes.clientVariables,
  wishes.limitsCpus,
];

/** One for each set of wishes: bridges with different settings share a state directory, and one bridge has several runtimes. */
const choiceNameOf = (wishes: EngineSelection): string => {
  const hash = createHash('sha256')
    .update(JSON.stringify(selectionKey(wishes)))
    .digest('hex');
  return `engine-${hash.slice(0, 12)}.json`;
};

const choiceFileOf = (wishes: EngineSelection): string =>
  join(wishes.stateDir, CHOICE_DIR, choiceNameOf(wishes));

const keyOf = (wishes: EngineSelection): string =>
  JSON.stringify([
    CHOICE_VERSION,
    ...selectionKey(wishes),
    process.getuid?.(),
    release(),
    thisOwner().bootId,
  ]);

/** The choice of an earlier start under the same wishes, user, kernel and boot. */
export function rememberedChoice(wishes: EngineSelection): EngineChoice | undefined {
  try {
    return choiceIn(readFileSync(choiceFileOf(wishes), 'utf8'), wishes);
  } catch {
    return undefined;
  }
}

function choiceIn(text: string, wishes: EngineSelection): EngineChoice | undefined {
  // Parsed once or twice in a process, as all that is kept: making a parser of it first would take longer.
  const parsed = choiceFile.safeParse(JSON.parse(text), { jitless: true });
  return parsed.data?.key === keyOf(wishes) ? parsed.data.choice : undefined;
}

export function rememberChoice(wishes: EngineSelection, choice: EngineChoice): void {
  replaceFile(choiceFileOf(wishes), choiceText(wishes, choice));
}

const choiceText = (wishes: EngineSelection, choice: EngineChoice): string =>
  JSON.stringify({ key: keyOf(wishes), choice }, undefined, 2);

/** Something that was remembered proved wrong: the next start tries again. */
export function forgetChoice(wishes: EngineSelection): void {
  rmSync(choiceFileOf(wishes), { force: true });
  const folder = sharedFolderOf(wishes);
  if (folder !== undefined) forgetShared(folder);
}

// With bridges of the same user that have another state directory. Their conditions may differ in what no file shows, such as the
// control groups that they were given, so whoever takes their choice looks at its first container before the choice is its own.

/** An engine elsewhere is another one when it likes, and says so when it is asked. */
const sharedFolderOf = ({ runtime, ociRuntime, url, place }: EngineSelection): string | undefined =>
  url === undefined ? sharedFolder(runtime ?? automaticEngines[0] ?? '', ociRuntime, place) : undefined;

/**
 * The choice of a bridge with another state directory, whose files named `found`, by their paths below a state directory, come
 * along into this one. Undefined where there is none.
 */
export function takeSharedChoice(
  wishes: EngineSelection,
  found: readonly string[],
): EngineChoice | undefined {
  const folder = sharedFolderOf(wishes);
  const text = folder && readShared(folder, choiceNameOf(wishes));
  if (folder === undefined || text === undefined) return undefined;
  try {
    const choice = choiceIn(text, wishes);
    if (choice === undefined) return undefined;
    for (const file of found) {
      const content = readShared(folder, basename(file));
      if (content !== undefined) replaceFile(join(wishes.stateDir, file), content);
    }
    return choice;
  } catch {
    return undefined;
  }
}

/**
 * Leaves files that were found for other state directories, by their paths below this one, with the `choice` that they belong
 * to; without it only where a choice is there already.
 */
export function shareFound(wishes: EngineSelection, found: readonly string[], choice?: EngineChoice): void {
  const folder = sharedFolderOf(wishes);
  if (folder === undefined) return;
  const name = choiceNameOf(wishes);
  if (choice === undefined && readShared(folder, name) === undefined) return;
  const files = new Map(choice && [[name, choiceText(wishes, choice)]]);
  for (const file of found) {
    try {
      files.set(basename(file), readFileSync(join(wishes.stateDir, file), 'utf8'));
    } catch {
      // It could not be kept: whoever takes the choice finds that out again.
    }
  }
  share(folder, files);
}
