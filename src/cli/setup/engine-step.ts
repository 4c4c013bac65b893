// Is there a container engine that can be used, with all that it needs to run as an ordinary user? Looks at
// programs only, because a first question to podman would make its store, and with the driver that is slow.

import { asBridgeError } from '../../base/errors.js';
import { readText } from '../../base/files/read-text.js';
import { run } from '../../base/process/process.js';
import { chooseEngine } from '../../engine/detect.js';
import type { EngineName } from '../../engine/engine.js';
import { automaticEngines, driverOf } from '../../engine/engines.js';
import { engineSelectionOf } from '../../sandbox/launch/launch-set-up.js';
import { freeRange, SUBID_COUNT, SUBID_FILES } from '../doctor/findings.js';
import { agrees } from './dialogue.js';
import { installPackages, rootAccess, rootCommand, runAsRoot, runToTheEnd } from './install-packages.js';
import {
  doneResult,
  failedResult,
  ok,
  type SetupContext,
  type Step,
  type StepResult,
  skippedResult,
  whyNotOwnPodman,
} from './step.js';
import { mountsOverlay, storePaths } from './storage-step.js';
import type { SetupMachine, System, SystemNeed } from './systems.js';

const VERSION_TIMEOUT_MS = 15_000;
const ANY_ENGINE = automaticEngines.join(' or ');
/** The engine that is installed where there is none, and looked into before it is asked anything. */
const OURS = 'podman';

export const engineStep: Step = {
  name: 'engine',
  needs: [],
  doing: 'looking for a container engine',
  perform: async (setup) => {
    const { settings, discovery } = setup.prepared;
    const address = settings.engineUrl ?? discovery.env['CONTAINER_HOST'];
    if (address !== undefined) return engineElsewhere(setup);
    const { runtime } = settings;
    const named = runtime ?? automaticEngines.find((program) => setup.machine.find(program) !== undefined);
    if (named !== undefined && setup.machine.find(named) === undefined) {
      return failedResult(
        `MCP_BRIDGE_RUNTIME is ${named}, which is no program here`,
        `Install it, or unset MCP_BRIDGE_RUNTIME to take ${ANY_ENGINE}.`,
      );
    }
    if (named === undefined) return installEngine(setup, 'There is no container engine yet');
    const { name } = driverOf(named);
    return name === OURS ? examineOurs(named, setup) : examineAnother(named, name, setup);
  },
};

async function engineElsewhere(setup: SetupContext): Promise<StepResult> {
  setup.found.engine = 'elsewhere';
  const { binary, status } = await chooseEngine(engineSelectionOf(setup.prepared.settings), setup.signal);
  return ok(`${binary} ${status.version}, which runs elsewhere`);
}

async function examineAnother(program: string, name: EngineName, setup: SetupContext): Promise<StepResult> {
  try {
    const { status } = await chooseEngine(engineSelectionOf(setup.prepared.settings), setup.signal);
    setup.found.engine = name;
    return ok(`${program} ${status.version}`);
  } catch (thrown) {
    const { code, message, remedy } = asBridgeError(thrown);
    // An engine that runs as root is there, but only ours runs containers without root.
    if (code === 'E_ENGINE_UNSAFE' && setup.prepared.settings.runtime === undefined)
      return installEngine(setup, `${name} is here, but runs as root, so ${OURS} is wanted beside it`);
    return failedResult(message, remedy);
  }
}

async function examineOurs(program: string, setup: SetupContext): Promise<StepResult> {
  const version = await versionOf(program, setup);
  const missing = missingBeside(setup);
  if (missing.length === 0) {
    setup.found.engine = OURS;
    return ok(`${version} (${setup.machine.find(program)})`);
  }
  const { system } = setup.machine;
  const packages = missing.flatMap((need) => system?.packages?.[need] ?? []);
  const what = `${version} is here without ${missing.map((need) => PROGRAMS[need]).join(' and ')}`;
  if (system === undefined || packages.length === 0) return failedResult(what, 'Install what is missing.');
  return install(setup, what, packages, false);
}

const PROGRAMS: Readonly<Partial<Record<SystemNeed, string>>> = {
  ids: 'newuidmap and newgidmap',
  runtime: 'a runtime such as runc',
  storage: 'fuse-overlayfs',
};

/** Needs of podman that are missing, as scripts/setup of the repository sees them; podman cannot do without these. */
function missingBeside({ prepared, machine }: SetupContext): SystemNeed[] {
  if (prepared.discovery.host.platform !== 'linux') return [];
  const has = (program: string) => machine.find(program) !== undefined;
  const missing: SystemNeed[] = [];
  if (!machine.isRoot && !(has('newuidmap') && has('newgidmap'))) missing.push('ids');
  // crun of Debian 12 refuses a machine with both versions of control groups.
  const mayCrun = has('crun') && !machine.hasBothCgroups;
  if (!has('runc') && !mayCrun) missing.push('runtime');
  if (!machine.isRoot && !mountsOverlay(machine.kernel) && !has('fuse-overlayfs')) missing.push('storage');
  return missing;
}

async function installEngine(setup: SetupContext, what: string): Promise<StepResult> {
  const { system } = setup.machine;
  if (system === undefined) {
    return failedResult(
      what,
      "Install podman with this system's package manager, and with it newuidmap, crun or runc, slirp4netns or passt, and fuse-overlayfs.",
    );
  }
  const packages = [...system.engine, ...packagesBeside(system, setup.machine)];
  return install(setup, what, packages, true);
}

/**
 * All that belongs to an engine on this system, and what builds its image; who is root needs no ids, and only systemd has
 * sessions.
 */
function packagesBeside(
  { packages = {} }: System,
  { isRoot, hasSystemd }: Pick<SetupMachine, 'isRoot' | 'hasSystemd'>,
): string[] {
  const needs: SystemNeed[] = ['ids', 'runtime', 'network', 'storage', 'init', 'session', 'builder'];
  const unneeded: SystemNeed[] = [
    ...(isRoot ? (['ids'] as const) : []),
    ...(hasSystemd ? [] : (['session'] as const)),
  ];
  return needs.filter((need) => !unneeded.includes(need)).flatMap((need) => packages[need] ?? []);
}

async function install(
  setup: SetupContext,
  what: string,
  packages: readonly string[],
  isEngine: boolean,
): Promise<StepResult> {
  const { system } = setup.machine;
  if (system === undefined) return failedResult(what, 'Install it.');
  const installation = await installPackages(setup, what, system, packages, isEngine);
  if (!installation.done) {
    setup.found.engine = 'planned';
    return installation.result;
  }
  if (setup.machine.find(OURS) === undefined) {
    return failedResult(
      `${packages.join(', ')} installed, but ${OURS} is not on PATH`,
      'Open a new terminal and run this command again.',
    );
  }
  setup.found.engine = OURS;
  return doneResult(`${await versionOf(OURS, setup)} installed, with ${packages.join(', ')}`, {
    undo: installation.undo,
  });
}

/** Name and version, such as `podman 4.3.1`; a program that says no version is only named. */
async function versionOf(program: string, { signal }: SetupContext): Promise<string> {
  const { stdout } = await run([program, '--version'], { timeoutMs: VERSION_TIMEOUT_MS }, signal);
  const version = stdout.split(/\s+/).find((word) => /^\d+\.\d/.test(word));
  return [OURS, ...(version === undefined ? [] : [version])].join(' ');
}

// Ranges of ids that an ordinary user may give to containers. Rootless podman maps the ids of a container to
// them; without any it starts no image that has more than one owner.

const MIGRATE = ['podman', 'system', 'migrate'] as const;

export const idsStep: Step = {
  name: 'ids',
  needs: ['engine'],
  doing: 'looking for ids that containers may have',
  perform: async (setup) => {
    const unneeded = whyNotOwnPodman(setup);
    if (unneeded !== undefined) return skippedResult(`not needed: ${unneeded}`);
    const short = SUBID_FILES.filter((file) => setup.machine.idsIn(file) < SUBID_COUNT);
    if (short.length === 0) return ok(`at least ${SUBID_COUNT} in ${SUBID_FILES.join(' and ')}`);
    return grant(setup, `fewer than ${SUBID_COUNT} in ${short.join(' and ')}`);
  },
};

async function grant(setup: SetupContext, what: string): Promise<StepResult> {
  const { username, isRoot } = setup.machine;
  const range = freeRange(SUBID_FILES.map((file) => readText(file) ?? ''));
  const usermod = (verb: 'add' | 'del') => [
    'usermod',
    `--${verb}-subuids`,
    range,
    `--${verb}-subgids`,
    range,
    username,
  ];
  // Podman would believe what it remembers of a user without ids for as long as that user is logged in.
  const isKnown = storePaths(setup).hasStore;
  const commands = [rootCommand(usermod('add'), isRoot), ...(isKnown ? [MIGRATE.join(' ')] : [])];
  if (setup.options.dryRun) return skippedResult(`${what}; they would be given with`, { commands });
  const byHand = (detail: string, remedy: string): StepResult => ({
    status: 'failed',
    detail,
    remedy,
    commands,
  });
  if (!(await agrees(setup, `${what}. Run \`${commands[0]}\`?`)))
    return byHand(what, 'Run this, or have it run by the option --yes:');
  const access = await rootAccess(isRoot, setup.isInteractive);
  if (access === 'none') return byHand(`${what}, and root is not to be had by sudo here`, 'Run this:');
  setup.clear();
  await runAsRoot(usermod('add'), access);
  if (isKnown) await runToTheEnd(MIGRATE);
  return doneResult(`${range} in ${SUBID_FILES.join(' and ')}`, {
    undo: [rootCommand(usermod('del'), isRoot)],
  });
}
