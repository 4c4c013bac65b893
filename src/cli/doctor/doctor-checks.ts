// The checks of doctor, as a table in the order in which a start needs them. Each says what a probe saw, not what
// was asked for, and what is wrong comes with the command that fixes it. A check whose ground is missing says
// nothing: the one before it has said why.

import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { type BridgeError, messageOf } from '../../base/errors.js';
import { readText } from '../../base/files/read-text.js';
import { ownCommand } from '../../base/process/own-command.js';
import { MB_BYTES } from '../../base/text/sizes.js';
import { PACKAGE_ROOT, VERSION } from '../../base/version.js';
import { runtimeOf, triedText } from '../../engine/detect.js';
import type { EngineImages } from '../../engine/engine.js';
import { imageReasonInWords } from '../../engine/images/image-choice.js';
import { imageAge } from '../../engine/images/image-labels.js';
import { buildWords, readOwnName } from '../../engine/images/image-name.js';
import { CONTROLS } from '../../engine/machine/enforcement.js';
import { describeRuntime } from '../../engine/machine/oci-runtime.js';
import { lastProbe, probeKey } from '../../sandbox/launch/last-probe.js';
import type { LaunchSetUp } from '../../sandbox/launch/launch-set-up.js';
import type { Settings } from '../../settings/environment/settings.js';
import { problemInWords } from '../../settings/files/config-file.js';
import { stateDirRemedy } from '../../settings/files/state-dir.js';
import { megabytes, seconds } from '../terminal/output.js';
import { answersInWords, sharedStates } from '../windows/shared.js';
import { wantsShared } from '../windows/start-relay.js';
import { type Examination, type Finding, MEMORY_PROBE } from './examination.js';
import {
  examineCommands,
  examineNetwork,
  examinePolicy,
  freeRange,
  pathOf,
  SUBID_COUNT,
  SUBID_FILES,
  subordinateIds,
} from './findings.js';

type CheckResult = Omit<Finding, 'name'> | undefined;
export type Check = {
  readonly name: string;
  readonly examine: (subject: Examination) => CheckResult | Promise<CheckResult>;
};

/** Means that hold a limit, in words for a person. */
const MEANS = {
  cgroup: 'cgroup',
  watchdog: "the bridge's watchdog",
  rlimit: 'a kernel limit per user id',
  priority: 'low priority and the deadline',
  claimed: "the other machine's engine, as it says",
  none: 'nothing',
} as const;
const SECCOMP = {
  strict: 'blocks user namespaces, ptrace, System V memory, memfd_create',
  compat: 'blocks user namespaces; allows ptrace, System V memory, memfd_create',
} as const;
const DELEGATE =
  'Use a machine with cgroup v2 whose controllers are delegated to you (a systemd user session does that).';
const TEMPLATE_REMEDY = 'Nothing is less safe. Unset MCP_BRIDGE_LAUNCH, and nobody tries it.';
const MIN_NODE = [20, 11] as const;
/** How ids in a container relate to the machine that it runs on. */
const IDS = {
  rootless: 'the engine runs as an ordinary user (rootless)',
  'userns-mapped': 'the engine runs as root; root in a container is an ordinary user outside',
  rootful: "the engine runs as root; root in a container is root on the engine's machine",
  'no-root': 'no container there may be root',
} as const;
/** How ids in a container relate to its machine, where that is a machine of this computer that does nothing else. */
const IN_A_MACHINE = {
  rootless: 'where the engine runs as a user',
  'userns-mapped': 'where root in a container is an ordinary user',
  rootful: 'which is the boundary: root in there has no rights on this computer',
  'no-root': 'where no container may be root',
} as const;
const ROOTFUL_REMEDY = 'Use podman or rootless docker, or enable userns-remap in the docker daemon.';
/** The bridge's own files for a first sandbox take less; a file without a byte could be made on a full disk, too. */
const PROBE_BYTES = MB_BYTES;
/** Longest path that podman's own command after the end of a container takes (podman 4.3, cmd/podman/root.go). */
const MAX_RUN_ROOT_CHARS = 50;

const ok = (detail: string): CheckResult => ({ status: 'ok', detail });
const warn = (detail: string, remedy: string): CheckResult => ({ status: 'warn', detail, remedy });
const fail = (detail: string, remedy: string | undefined): CheckResult => ({
  status: 'fail',
  detail,
  ...(remedy === undefined ? {} : { remedy }),
});

export const CHECKS: readonly Check[] = [
  {
    name: 'bridge',
    examine: () => ok(`${VERSION}, started as \`${ownCommand()}\`, installed in ${PACKAGE_ROOT}`),
  },
  {
    name: 'node',
    examine: () => {
      const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
      const isEnough = major > MIN_NODE[0] || (major === MIN_NODE[0] && minor >= MIN_NODE[1]);
      return isEnough
        ? ok(process.versions.node)
        : fail(`${process.versions.node} is too old`, `Install Node ${MIN_NODE.join('.')} or newer.`);
    },
  },
  {
    name: 'settings',
    examine: ({ warnings }) =>
      warnings.length === 0
        ? ok('understood')
        : warn(
            warnings.join(' '),
            'Correct or remove the variable in this shell, or in the entry that registers the bridge.',
          ),
  },
  {
    name: 'shared bridge',
    examine: async ({ env }) => {
      const states = await sharedStates();
      if (states.length === 0 && !wantsShared(env['MCP_BRIDGE_SHARED'])) return undefined;
      if (states.length === 0) return ok('none runs; the first window starts one');
      return ok(states.map(answersInWords).join('; '));
    },
  },
  {
    name: 'isolator file',
    examine: ({ settings: { imported } }) => {
      if (imported === undefined) return undefined;
      const { file, warnings } = imported;
      if (warnings.length === 0) return ok(`${file} is understood`);
      return warn(
        `${file} is understood; ${warnings.join(' ')}`,
        'Correct or remove these keys; docs/languages-and-commands.md says what each does here.',
      );
    },
  },
  {
    name: 'data folder',
    // The settings are wrong where one of them may not be seen.
    examine: ({ settings: { data } }) =>
      data.length === 0
        ? undefined
        : ok(
            data
              .map(
                ({ path, target, isWritable }) =>
                  `${path} is seen at ${target}${isWritable ? ', writable' : ''}`,
              )
              .join('; '),
          ),
  },
  {
    name: 'state directory',
    examine: ({ settings: { stateDir } }) => {
      const probe = join(stateDir, `.doctor-${process.pid}`);
      try {
        mkdirSync(stateDir, { recursive: true, mode: 0o700 });
        try {
          writeFileSync(probe, Buffer.alloc(PROBE_BYTES));
        } finally {
          rmSync(probe, { force: true });
        }
        // The settings are wrong where others could exchange something in it.
        return ok(`${stateDir} is writable${process.getuid === undefined ? '' : ' by this user only'}`);
      } catch (thrown) {
        return fail(`${stateDir}: ${messageOf(thrown)}`, stateDirRemedy(thrown));
      }
    },
  },
  {
    name: 'engine',
    examine: async ({ engine, env }) => {
      const found = await engine();
      if ('error' in found) return fail(found.error.message, found.error.remedy);
      const { binary, status } = found.value;
      return ok(`${binary} ${status.version} (${pathOf(binary, env)})`);
    },
  },
  {
    name: 'mode',
    examine: async ({ engine }) => {
      const found = await engine();
      if ('error' in found) return undefined;
      const { mode, ids } = found.value.status;
      if (mode === 'vm') return ok(`in a virtual machine of this computer, ${IN_A_MACHINE[ids]}`);
      const where = mode === 'remote' ? 'the engine is on another machine; ' : '';
      if (ids === 'rootful') return warn(`${where}${IDS.rootful}`, ROOTFUL_REMEDY);
      return ok(`${where}${IDS[ids]}`);
    },
  },
  {
    name: 'subordinate ids',
    examine: async ({ engine }) => {
      const found = await engine();
      if ('error' in found || found.value.status.mode !== 'rootless' || process.platform !== 'linux')
        return undefined;
      const short = SUBID_FILES.filter((file) => subordinateIds(file) < SUBID_COUNT);
      if (short.length === 0) return ok(`at least ${SUBID_COUNT} in ${SUBID_FILES.join(' and ')}`);
      const { username } = userInfo();
      const range = freeRange(SUBID_FILES.map((file) => readText(file) ?? ''));
      return warn(
        `fewer than ${SUBID_COUNT} for ${username} in ${short.join(' and ')}`,
        `Run as root: usermod --add-subuids ${range} --add-subgids ${range} ${username}; then: podman system migrate`,
      );
    },
  },
  {
    name: 'storage driver',
    examine: async ({ engine }) => {
      const found = await engine();
      if ('error' in found) return undefined;
      const { storageDriver, storageRoot } = found.value.status;
      // One that has none keeps images where its nodes do.
      if (storageDriver === '') return undefined;
      if (storageDriver !== 'vfs') return ok(storageDriver);
      return warn(
        'vfs copies the whole image for every container: starts are about 50 times slower',
        `Write [storage] driver = "overlay" into ~/.config/containers/storage.conf, then: podman system reset (it deletes every image and container under ${storageRoot}).`,
      );
    },
  },
  {
    name: 'run root',
    examine: async ({ engine }) => {
      const found = await engine();
      if ('error' in found) return undefined;
      const { mode, runRoot = '' } = found.value.status;
      if (mode !== 'rootless' || runRoot.length <= MAX_RUN_ROOT_CHARS) return undefined;
      return warn(
        `the path ${runRoot} is too long: podman does not clean up ended containers if it has more than ${MAX_RUN_ROOT_CHARS} characters`,
        'Set XDG_RUNTIME_DIR or a shorter TMPDIR, then run: podman system reset (it deletes every image and container). Until then podman uses the old path.',
      );
    },
  },
  {
    name: 'image',
    examine: async ({ pad, signal }) => {
      const found = await pad();
      if ('error' in found)
        return found.error.code.startsWith('E_IMAGE') ? failureOf(found.error) : undefined;
      const { image, engine } = found.value;
      const facts = await engine.images.inspect(image.image, signal);
      const size = facts === undefined ? '' : `, ${megabytes(facts.sizeBytes)}`;
      const detail = `${image.image}${size} (${imageReasonInWords(image.reason)})`;
      const old = await oldImage(image.image, engine.images, signal);
      return old === undefined ? ok(detail) : warn(`${detail}; ${old.age}`, old.remedy);
    },
  },
  {
    name: 'OCI runtime',
    examine: async ({ pad, engine }) => {
      const found = await pad();
      if ('value' in found) {
        const { choice } = found.value;
        return ok(`${describeRuntime(runtimeOf(choice))} (${triedText(choice.tried)})`);
      }
      const isSaidElsewhere =
        /^E_(IMAGE|STATE|UNENFORCED)/.test(found.error.code) || 'error' in (await engine());
      return isSaidElsewhere ? undefined : failureOf(found.error);
    },
  },
  {
    name: 'launch',
    examine: async ({ pad, whyNoTemplate, settings }) => {
      const found = await pad();
      if ('error' in found) return undefined;
      const { launch, reason } = found.value.engine.launch;
      if (settings.launch === 'engine') return ok(`${launch}: ${reason}`);
      const why = await whyNoTemplate();
      return why === undefined
        ? ok('from a template: the OCI runtime starts sandboxes, and one was tried')
        : settings.launch === 'auto'
          ? ok(`${launch}: ${reason}; each by the engine, since a template does not do: ${why}`)
          : warn(`${launch}, each by the engine, since a template does not do: ${why}`, TEMPLATE_REMEDY);
    },
  },
  {
    name: 'trial sandbox',
    examine: async ({ pad, trial }) => {
      if ('error' in (await pad())) return undefined;
      const { outcome, python } = await trial();
      return outcome.status === 'success'
        ? ok(`ran Python ${python} in ${seconds(outcome.durationMs)}`)
        : fail(outcome.error?.message ?? outcome.status, outcome.error?.remedy);
    },
  },
  {
    name: 'seccomp',
    examine: async ({ pad, trial, settings: { seccomp } }) => {
      const found = await pad();
      // A trial would wait again for what hangs.
      if ('error' in found) return undefined;
      const { outcome, isFiltered } = await trial();
      if (outcome.status !== 'success') return undefined;
      const { ownKernel, ownFilter } = found.value.engine.traits;
      if (ownKernel !== undefined)
        return ok(`${seccomp}; not needed under ${ownKernel}, which has a kernel of its own`);
      if (isFiltered && ownFilter !== undefined)
        return ok(
          `${ownFilter}, the engine's own filter, in the place of ${seccomp}; \`doctor --probe\` tries it`,
        );
      if (isFiltered) return ok(`${seccomp}: ${SECCOMP[seccomp]}`);
      return warn(
        `${ownFilter ?? seccomp}, but no filter is active`,
        'Use an OCI runtime that is built with seccomp, such as runc from your distribution.',
      );
    },
  },
  {
    name: 'limits',
    examine: async ({ pad, settings }) => {
      const { cpus } = settings;
      const found = await pad();
      if ('error' in found) return found.error.code === 'E_UNENFORCED' ? failureOf(found.error) : undefined;
      const { enforcement } = found.value.choice;
      const late = { memory: lateness(found.value, settings), pids: '', cpu: '' };
      const detail = CONTROLS.map((each) => `${each}: ${MEANS[enforcement[each]]}${late[each]}`).join('; ');
      const accepted = CONTROLS.filter((control) => enforcement[control] === 'none');
      if (accepted.length > 0) return warn(`${detail}; accepted by MCP_BRIDGE_ACCEPT_UNENFORCED`, DELEGATE);
      if (cpus !== undefined && enforcement.cpu === 'priority')
        return warn(`${detail}; MCP_BRIDGE_CPUS (${cpus}) has no effect`, DELEGATE);
      return ok(detail);
    },
  },
  {
    name: 'memory limit',
    examine: async ({ pad, trial, memoryTrial }) => {
      const found = await pad();
      if ('error' in found || (await trial()).outcome.status !== 'success') return undefined;
      const { cgroups, mode, enforcement } = found.value.choice;
      const { outcome } = await memoryTrial();
      const { limitMib, useMib } = MEMORY_PROBE;
      const by = MEANS[enforcement.memory];
      if (outcome.error?.type === 'E_MEMORY' || outcome.error?.type === 'E_SIGNAL') {
        return ok(`works (${by}): code that took ${useMib} MiB was ended (limit ${limitMib} MiB)`);
      }
      const seen =
        outcome.status === 'success'
          ? `code took ${useMib} MiB under a limit of ${limitMib} MiB`
          : `the trial ended in another way: ${outcome.error?.message ?? outcome.status}`;
      return warn(`not enforced here (cgroup ${cgroups}, ${mode}; ${by}): ${seen}`, DELEGATE);
    },
  },
  { name: 'network', examine: examineNetwork },
  { name: 'commands', examine: examineCommands },
  {
    name: 'servers',
    examine: ({ discovery: { ready, skipped, problems } }) => {
      const counts = `${ready.length} ready, ${skipped.length} skipped`;
      if (problems.length === 0) return ok(counts);
      return warn(
        `${counts}; ${problems.map(problemInWords).join('; ')}`,
        'Correct the files. Until then the others are used, and a running bridge uses what it has read before.',
      );
    },
  },
  { name: 'policy', examine: examinePolicy },
  {
    name: 'registration',
    examine: ({ discovery: { skipped } }) => {
      const own = skipped.find(({ reason }) => reason.kind === 'this-bridge');
      if (own !== undefined) return ok(`as '${own.name}' in ${own.source.host} (${own.source.file})`);
      return warn(
        'the bridge is registered in no host that is known here',
        `Run \`${ownCommand('install')}\`, which lists the hosts of this machine.`,
      );
    },
  },
];

/** Settings that a check goes by. It would examine something else than what was meant where one of them is wrong. */
const ENGINE_SETTINGS = ['MCP_BRIDGE_RUNTIME', 'MCP_BRIDGE_ENGINE_URL', 'MCP_BRIDGE_ALLOW_ROOTFUL'];
const SERVER_SETTINGS = ['MCP_SERVERS_CONFIG', 'MCP_BRIDGE_TRUST_PROJECT', 'MCP_BRIDGE_ALLOW_SELF_SERVER'];
/** The checks that start nothing, and what they go by. */
const LOOKING_ONLY: Readonly<Record<string, readonly string[]>> = {
  node: [],
  'isolator file': [],
  'state directory': ['MCP_BRIDGE_STATE_DIR'],
  engine: ENGINE_SETTINGS,
  mode: ENGINE_SETTINGS,
  'subordinate ids': ENGINE_SETTINGS,
  'storage driver': ENGINE_SETTINGS,
  servers: SERVER_SETTINGS,
  policy: [...SERVER_SETTINGS, 'MCP_BRIDGE_POLICY', 'MCP_BRIDGE_ALLOW', 'MCP_BRIDGE_DENY'],
  registration: [],
};

/** Checks that can run while the settings `wrong` are: they start no container and go by none of these settings. */
export const checksWithout = (wrong: ReadonlySet<string>): readonly Check[] =>
  CHECKS.filter(({ name }) => LOOKING_ONLY[name]?.every((setting) => !wrong.has(setting)) ?? false);

/** Whether an image of ours was made otherwise than it would be today. It serves all the same. */
async function oldImage(
  image: string,
  images: EngineImages,
  signal: AbortSignal,
): Promise<{ readonly age: string; readonly remedy: string } | undefined> {
  const name = readOwnName(image);
  if (name === undefined) return undefined;
  const age = await imageAge(images, image, signal);
  if (age === undefined) return undefined;
  const command = ownCommand(...buildWords(name));
  return { age, remedy: `Run \`${command}\` to build it again. Until then this one is used.` };
}

const failureOf = ({ message, remedy }: BridgeError): CheckResult => fail(message, remedy);

/** How late a watchdog is was measured by the last probe of this very set-up, or is not known. */
function lateness({ choice, image }: LaunchSetUp, settings: Settings): string {
  if (choice.enforcement.memory !== 'watchdog') return '';
  const probe = lastProbe(settings.stateDir, probeKey(choice, image.id, settings));
  const lateMb = probe?.overshootMb ?? undefined;
  return lateMb === undefined
    ? ', which may be late by some hundred MB (`doctor --probe` measures it)'
    : `, at most ${lateMb} MB late when probed ${probe?.at}`;
}
