// Everything that is decided before the first sandbox, with reasons: engine, OCI runtime, image, harness. Decided by
// trying, remembered per boot in the state directory. Starts containers only to see whether they start.

import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { asBridgeError, BridgeError, messageOf } from '../../base/errors.js';
import type { Observer } from '../../base/log/events.js';
import { PACKAGE_ROOT } from '../../base/version.js';
import {
  chooseEngine,
  chooseOciRuntime,
  type EngineChoice,
  type EngineSelection,
  rememberChoice,
  rememberedChoice,
  runtimeOf,
  shareFound,
  type Tried,
  takeSharedChoice,
} from '../../engine/detect.js';
import type {
  Engine,
  EngineFacts,
  EngineOptions,
  NetworkMode,
  OciRuntime,
  SandboxSpec,
} from '../../engine/engine.js';
import { automaticEngines, driverOf } from '../../engine/engines.js';
import {
  chooseImage,
  IMAGES_FILE,
  type ImageChoice,
  rememberedImage,
  rememberImage,
  type StorePlace,
} from '../../engine/images/image-choice.js';
import {
  CONTROLS,
  claimedBy,
  demandEnforcement,
  type Enforcement,
  enforcementText,
  lookAt,
  UNENFORCED,
} from '../../engine/machine/enforcement.js';
import { describeRuntime } from '../../engine/machine/oci-runtime.js';
import type { Settings } from '../../settings/environment/settings.js';
import type { SettingValues } from '../../settings/environment/variables.js';
import { NotStarted, Sandbox, type StartOptions } from '../conversation/sandbox.js';
import { enforcementAt } from '../limits/guard.js';
import { knownPythonName } from '../python/image-facts.js';
import { COMPILED_FILE, compileIn, keepCompiled, startByName } from '../python/python-name.js';
import {
  carry,
  dropCarried,
  ENTRYPOINT,
  type HostFiles,
  type PythonName,
  prepareHarness,
} from '../spec/harness-files.js';
import { type Files, installFiles, OPEN_DIR } from '../spec/installed-files.js';
import { pythonProfile, type SandboxProfile } from '../spec/profile.js';
import { sandboxSpec } from '../spec/spec.js';
import { harnessKey, harnessOf } from './kept-harness.js';
import type { openData } from './open-data.js';
import { MAX_WAIT_SECONDS } from './warm-pool.js';

/** A start takes about 0.2 s, and up to a minute when the store copies the image for a new id mapping. */
export const START_TIMEOUT_MS = 60_000;

export type LaunchSetUp = {
  readonly engine: Engine;
  readonly choice: EngineChoice;
  readonly image: ImageChoice;
  readonly files: HostFiles;
  /** Whether they have the harness as the Python of `image` has compiled it. */
  readonly isCompiled: boolean;
  /** State of the engine's image store when this was decided; see imageStamp. */
  readonly stamp: string;
};

export type LaunchContext = {
  readonly settings: Settings;
  /** Label value of every container of this process. */
  readonly instance: string;
  readonly observer: Observer;
  /** How long the clock of a run may stand still in its sandbox; undefined means that it never does. */
  readonly freezeSeconds?: () => number;
};

/** Options that every start on this set-up has in common. */
export const startOptionsOn = ({ engine, choice }: LaunchSetUp, observer: Observer): StartOptions => ({
  timeoutMs: START_TIMEOUT_MS,
  observer,
  enforcement: choice.enforcement,
  whyUnreachable: engine.whyUnreachable,
});

export const engineSelectionOf = ({
  runtime,
  ociRuntime,
  allowRootful,
  cpus,
  stateDir,
  ...settings
}: Settings): EngineSelection => ({
  runtime,
  ociRuntime,
  allowRootful,
  url: settings.engineUrl,
  clientVariables: settings.engineVariables,
  limitsCpus: cpus !== undefined,
  stateDir,
  place: settings.enginePlace,
});

/** Files that go with a choice into other state directories. */
const FOUND_FILES = [IMAGES_FILE, COMPILED_FILE];

/** Set-ups on the choice of another state directory of which no container has been looked at yet. */
const unseen = new WeakSet<LaunchSetUp>();

/** Throws what stands in the way, with its remedy. */
export async function setUpEngine(context: LaunchContext, signal: AbortSignal): Promise<LaunchSetUp> {
  const wishes = engineSelectionOf(context.settings);
  const remembered = rememberedChoice(wishes);
  if (remembered !== undefined) return chosenBefore(context, remembered, signal);
  const shared = takeSharedChoice(wishes, FOUND_FILES);
  // The store of the engine that was chosen is gone, as after a reset.
  const isThere = shared !== undefined && engineFor(context, shared, undefined).imageStamp() !== '';
  if (!isThere) return chosenByTrying(context, signal);
  const setUp = await chosenBefore(context, shared, signal);
  unseen.add(setUp);
  return setUp;
}

/** Whether a set-up is made on what an earlier start has found, so that it may be wrong by now. */
export function isChosenBefore({ settings }: LaunchContext): boolean {
  const wishes = engineSelectionOf(settings);
  return (rememberedChoice(wishes) ?? takeSharedChoice(wishes, [])) !== undefined;
}

/**
 * Looks at the first container on the choice of another state directory: a bridge under other conditions, such as those of a
 * service, may have been given other control groups. From then on the choice is this one's too. Throws E_UNENFORCED.
 */
export function demandAsShared(
  setUp: LaunchSetUp,
  { pid, spec }: Pick<Sandbox, 'pid' | 'spec'>,
  { settings, observer }: LaunchContext,
): void {
  if (!unseen.has(setUp)) return;
  const { engine, choice } = setUp;
  const found = pid === undefined ? UNENFORCED : enforcementAt(pid, askedOf(spec, engine));
  if (!isHeldByGroups(found))
    throw new BridgeError(
      'E_UNENFORCED',
      `The container is held otherwise here: ${enforcementText(found)}.`,
      {
        fault: 'engine',
      },
    );
  unseen.delete(setUp);
  keepQuietly('the choice', observer, () => rememberChoice(engineSelectionOf(settings), choice));
}

const isHeldByGroups = (found: Enforcement): boolean =>
  CONTROLS.every((control) => found[control] === 'cgroup');

const askedOf = (spec: SandboxSpec, engine: Engine) => ({ ...spec, pids: engine.hostTasks(spec.pids) });

/** Only the next start is slower for what cannot be kept. */
function keepQuietly(what: string, observer: Observer, keep: () => void): void {
  try {
    keep();
  } catch (thrown) {
    observer({ type: 'engine.trouble', message: `${what} could not be saved: ${messageOf(thrown)}` });
  }
}

/** On the engine that an earlier start has found. */
async function chosenBefore(
  context: LaunchContext,
  choice: EngineChoice,
  signal: AbortSignal,
): Promise<LaunchSetUp> {
  const { settings } = context;
  demandEnforcement(choice.enforcement, settings.acceptUnenforced);
  const runtime = runtimeOf(choice);
  const engine = engineFor(context, choice, runtime, settings.launch);
  const stamp = engine.imageStamp();
  const known = rememberedImage(settings.stateDir, pythonProfile(settings), choice, stamp);
  const image = known ?? (await imageOn(context, engine, choice, signal));
  const { stateDir } = settings;
  const harness = harnessOf(image, { stateDir, filesDir: filesDir(settings, engine) });
  const files = { ...otherFiles(settings, image), harnessDir: harness.dir };
  return { engine, choice, image, files, isCompiled: harness.isCompiled, stamp };
}

async function chosenByTrying(context: LaunchContext, signal: AbortSignal): Promise<LaunchSetUp> {
  const { settings } = context;
  tell(context, `looking for ${automaticEngines.join(' or ')}`);
  const { binary, status } = await chooseEngine(engineSelectionOf(settings), signal);
  const facts = { binary, ...status };
  const image = await imageOn(context, engineFor(context, facts, undefined), facts, signal);
  const { runtime, tried, enforcement, compiled } = await tryRuntimes(context, facts, image, signal);
  const { defaultOciRuntime: _, ...known } = facts;
  const choice = { ...known, ociRuntime: runtime.name, ociFlags: runtime.flags, tried, enforcement };
  demandEnforcement(enforcement, settings.acceptUnenforced);
  // The trial may have made a copy of the image for the id mapping, so it is the state after it that counts.
  const engine = engineFor(context, facts, runtime, settings.launch);
  const stamp = engine.imageStamp();
  const wishes = engineSelectionOf(settings);
  keepQuietly('the choice', context.observer, () => {
    rememberChoice(wishes, choice);
    if (compiled !== undefined) keepCompiled(settings.stateDir, harnessKey(image), compiled);
    // A store that can be watched is one of this machine.
    if (stamp !== '' && isHeldByGroups(enforcement)) shareFound(wishes, FOUND_FILES, choice);
  });
  const files = hostFiles(settings, engine, image, compiled);
  return { engine, choice, image, files, isCompiled: compiled !== undefined, stamp };
}

/** The set-up with the harness as `compiled`, which later starts find too. */
export function keepHarness(
  setUp: LaunchSetUp,
  { settings, observer }: LaunchContext,
  compiled: Files,
): LaunchSetUp {
  const { engine, image } = setUp;
  keepQuietly('the compiled harness', observer, () => {
    keepCompiled(settings.stateDir, harnessKey(image), compiled);
    shareFound(engineSelectionOf(settings), FOUND_FILES);
  });
  return { ...setUp, files: hostFiles(settings, engine, image, compiled), isCompiled: true };
}

/** The first OCI runtime that starts the real thing, what then holds it, and what its Python made of the harness. */
async function tryRuntimes(
  context: LaunchContext,
  facts: EngineFacts & { readonly binary: string },
  image: ImageChoice,
  signal: AbortSignal,
): Promise<{
  readonly runtime: OciRuntime;
  readonly tried: readonly Tried[];
  readonly enforcement: Enforcement;
  readonly compiled: Files | undefined;
}> {
  const { settings } = context;
  await carryAhead(context, facts, image, signal);
  // Failures of several that come late must not add up to more than one that hangs.
  const until = performance.now() + START_TIMEOUT_MS;
  let enforcement = UNENFORCED;
  let compiled: Files | undefined;
  const driver = driverOf(facts.binary);
  const { runtime, tried } = await chooseOciRuntime(driver, facts, settings.ociRuntime, async (candidate) => {
    tell(context, `checking whether ${describeRuntime(candidate)} starts a container`);
    const engine = engineFor(context, facts, candidate);
    const pad = { engine, image, files: hostFiles(settings, engine, image) };
    const onStarted = async (sandbox: Sandbox, spec: SandboxSpec) => {
      enforcement = await enforcementOf(sandbox, askedOf(spec, engine), engine, facts.limits, signal);
      compiled = await compileIn(sandbox);
    };
    return attempt(context, pad, { runtime: candidate, until, onStarted }, signal);
  });
  return { runtime, tried, enforcement, compiled };
}

/** An image that has to be made first has a time of its own, and is not what hangs when it takes long. */
async function carryAhead(
  context: LaunchContext,
  facts: EngineFacts & { readonly binary: string },
  image: ImageChoice,
  signal: AbortSignal,
): Promise<void> {
  const engine = engineFor(context, facts, undefined);
  if (engine.derived === undefined) return;
  tell(context, "adding the bridge's files to the image");
  await carry(engine, { image, files: hostFiles(context.settings, engine, image) }, signal);
}

const tell = ({ observer }: LaunchContext, step: string): void => observer({ type: 'setup.step', step });

async function imageOn(
  context: LaunchContext,
  engine: Engine,
  store: StorePlace,
  signal: AbortSignal,
): Promise<ImageChoice> {
  const { settings, observer } = context;
  const wish = pythonProfile(settings);
  tell(context, `looking for the image ${settings.image}`);
  const stamp = engine.imageStamp();
  const choice = await chooseImage(wish, engine.images, observer, signal);
  // One that was pulled or built just now is asked for once more.
  if (engine.imageStamp() !== stamp) return choice;
  keepQuietly('the image', observer, () => {
    rememberImage(settings.stateDir, wish, store, { stamp, choice });
    shareFound(engineSelectionOf(settings), FOUND_FILES);
  });
  return choice;
}

/** Made or mended as needed. Throws E_STATE. */
const hostFiles = (settings: Settings, engine: Engine, image: ImageChoice, compiled?: Files): HostFiles => ({
  ...otherFiles(settings, image),
  harnessDir: prepareHarness(filesDir(settings, engine), compiled),
});

const otherFiles = ({ stateDir, seccomp }: Settings, { id }: ImageChoice) => ({
  fallbackDir: undefined,
  seccompFile: prepareSeccomp(stateDir, seccomp),
  python: knownPythonName(stateDir, id),
});

/** Where those are that containers read. */
export const filesDir = ({ stateDir }: Settings, { traits }: Engine): string =>
  traits.opensPrivateFolders ? stateDir : OPEN_DIR;

/** An engine to remove containers with; needs no image and tries nothing. */
export async function engineToSweepWith(context: LaunchContext, signal: AbortSignal): Promise<Engine> {
  const wishes = engineSelectionOf(context.settings);
  const chosen = rememberedChoice(wishes) ?? takeSharedChoice(wishes, []);
  if (chosen !== undefined) return engineFor(context, chosen, undefined);
  const { binary, status } = await chooseEngine(wishes, signal);
  return engineFor(context, { binary, ...status }, undefined);
}

/** Where ids begin that belong to no user of any image; a container's own is one of this many above it. */
const OWN_UID = { first: 20_001, count: 40_000 } as const;

/**
 * A kernel counts some things per user id, across containers: descriptors under way between processes, what is watched by
 * epoll, pages of pipes, and without a pids cgroup processes; what one sandbox has taken, another would lack. Ids are drawn, so
 * that other bridges need not be asked which are free. An engine without a map gives ids of the machine's own users, so that
 * there they are drawn for processes alone; a trial, which is to find out what counts those, may be counted so itself.
 */
function userFor(
  { explicitlySet, containerUser }: Settings,
  { volumes }: SandboxProfile,
  choice: Partial<Pick<EngineChoice, 'ids' | 'enforcement'>> = {},
): string {
  // A call leaves files on a volume for the next call, which therefore is the same user.
  const isOthers = explicitlySet.has('MCP_BRIDGE_CONTAINER_USER') || volumes.length > 0;
  const isMapped = choice.ids === 'rootless' || choice.ids === 'userns-mapped';
  const isCountedAlone = choice.enforcement !== undefined && choice.enforcement.pids !== 'rlimit';
  if (isOthers || (isCountedAlone && !isMapped)) return containerUser;
  const id = OWN_UID.first + randomInt(OWN_UID.count);
  return `${id}:${id}`;
}

/** The spec of the sandbox `name`, whose container is called after it. */
export function specOn(
  { image, files, choice }: Pick<LaunchSetUp, 'image' | 'files'> & Partial<Pick<LaunchSetUp, 'choice'>>,
  { settings, instance, freezeSeconds }: LaunchContext,
  name: string,
  kind: SandboxProfile = pythonProfile(settings),
  networkMode?: NetworkMode,
  data?: ReturnType<typeof openData>,
): SandboxSpec {
  return sandboxSpec({
    ...data,
    image: image.image,
    ...files,
    apparmor: settings.apparmor,
    name: `mcp-sandbox-bridge-${instance}-${name}`,
    user: data?.user ?? userFor(settings, kind, choice),
    enforcement: choice?.enforcement,
    networkMode,
    cores: availableParallelism(),
    kind,
    maxTimeoutSeconds: settings.maxTimeoutSeconds + (freezeSeconds?.() ?? 0),
    maxWaitSeconds: settings.warm > 0 ? MAX_WAIT_SECONDS : 0,
  });
}

function engineFor(
  { settings, instance, observer }: LaunchContext,
  { binary, ...facts }: Pick<EngineChoice, 'binary'> & EngineOptions['facts'],
  ociRuntime: OciRuntime | undefined,
  launch?: SettingValues['launch'],
): Engine {
  return driverOf(binary).open({
    binary,
    ociRuntime,
    launch,
    facts,
    url: settings.engineUrl,
    instance,
    stateDir: settings.stateDir,
    observer,
    ready: launch === undefined ? undefined : settings.warm,
    acceptsOpenNetwork: settings.acceptUnenforced.includes('network'),
  });
}

/** Starts the real thing under an OCI runtime; undefined when it greets, else why not. */
async function attempt(
  context: LaunchContext,
  pad: Pick<LaunchSetUp, 'engine' | 'image' | 'files'>,
  {
    runtime,
    until,
    onStarted,
  }: {
    readonly runtime: OciRuntime;
    /** Deadline of the attempt, by performance.now(). */
    readonly until: number;
    /** Has the sandbox, which then ends. */
    readonly onStarted: (sandbox: Sandbox, spec: SandboxSpec) => Promise<void>;
  },
  signal: AbortSignal,
) {
  const { observer } = context;
  const msLeft = () => Math.round(until - performance.now());
  if (msLeft() <= 0) return { reason: 'not tried, since no time was left' };
  const name = `try-${describeRuntime(runtime).replaceAll(/[^\w.-]/g, '_')}`;
  const start = async (python: PythonName): Promise<Sandbox> => {
    const brought = { image: pad.image, files: { ...pad.files, python } };
    const carried = await carry(pad.engine, brought, signal);
    const spec = specOn({ ...pad, ...carried }, context, name);
    const options = { timeoutMs: Math.max(1, msLeft()), observer, enforcement: undefined };
    return Sandbox.start(pad.engine, spec, options, signal);
  };
  try {
    await using sandbox = await startByName(pad.image, context, start, signal);
    await onStarted(sandbox, sandbox.spec);
    // Sandboxes that start later have their harness compiled.
    void dropCarried(pad.engine, pad);
    return undefined;
  } catch (thrown) {
    const error = asBridgeError(thrown);
    // No OCI runtime's doing, and no other one would do better.
    if (error.code === 'E_STATE') throw error;
    if (signal.aborted) throw new BridgeError('E_SHUTDOWN', 'The bridge is ending.', { fault: 'bridge' });
    const reason = error instanceof NotStarted ? error.detail : error.message;
    return { reason, waitedMs: error.waitedMs };
  }
}

async function enforcementOf(
  sandbox: Sandbox,
  spec: SandboxSpec,
  engine: Engine,
  limits: EngineFacts['limits'],
  signal: AbortSignal,
): Promise<Enforcement> {
  const own = sandbox.pid;
  if (own !== undefined) return enforcementAt(own, spec);
  // docker tells the pid when it is asked; watching and killing would need it at every start, so that is not offered.
  const asked = await engine.pidOf(spec.name, ENTRYPOINT, signal);
  return asked === undefined ? claimedBy(limits) : lookAt(asked, spec, false);
}

/**
 * Path of the seccomp profile as a file that the engine reads, below the state directory. Its rules are generated from the
 * engine's default and a list of what we take out of it, with reasons: scripts/seccomp/changes.mjs. Throws E_STATE where
 * it cannot be written.
 */
export function prepareSeccomp(stateDir: string, profile: SettingValues['seccomp']): string {
  const name = `${profile}.json`;
  const text = readFileSync(join(PACKAGE_ROOT, 'sandbox-runtime', 'seccomp', name), 'utf8');
  return join(installFiles(stateDir, 'seccomp', new Map([[name, text]])), name);
}
