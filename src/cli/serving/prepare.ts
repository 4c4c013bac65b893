// The beginning of every command: the environment read once into settings, and a log on stderr. The only place, with output.ts,
// that looks at process.env.

import { join } from 'node:path';
import { type BridgeEvent, type EventLevel, fanOut, type Observer } from '../../base/log/events.js';
import { logObserver, openLog } from '../../base/log/log.js';
import { type LossyWriter, stderrWriter } from '../../base/log/lossy-writer.js';
import type { Environment } from '../../base/process/environment.js';
import { Redactor } from '../../base/secrets/redact.js';
import type { DiscoverContext } from '../../hosts/discovery/discover.js';
import { NameOwners } from '../../hosts/discovery/name-owners.js';
import { PolicyBook } from '../../policy/rules/policy-book.js';
import { Audit } from '../../run/audit/audit.js';
import {
  absentEngine,
  absentFiles,
  openData,
  stateOpenToOthers,
} from '../../settings/environment/setting-paths.js';
import {
  problemsIn,
  type SettingProblem,
  settingsError,
} from '../../settings/environment/setting-problems.js';
import { readSettings, type Settings } from '../../settings/environment/settings.js';
import { type HostFacts, hostFacts } from '../../settings/files/host-facts.js';
import { type ImportedSettings, readIsolatorFile } from '../../settings/languages/isolator-file.js';
import { coloursFor } from '../terminal/output.js';
import { eventWords } from './events.js';

export type Prepared = {
  readonly settings: Settings;
  /** How long files stay, as the user has set it; the bridge of a command that ends keeps none by itself. */
  readonly keepSeconds: number;
  /** Sentences about the variables, already logged, as are those about imported settings. */
  readonly warnings: readonly string[];
  readonly discovery: DiscoverContext;
  readonly observer: Observer;
  /** Read now, so that one that cannot be used stops every command. */
  readonly policyBook: PolicyBook;
  /** Knows what is secret in the environment, and learns what is in the configuration. */
  readonly redactor: Redactor;
  /** Writer of the log to stderr; for whatever else must reach stderr without waiting for its reader. */
  readonly stderr: LossyWriter;
};

/** The result of preparing where something may be wrong. */
export type Examined = Prepared & {
  /** With any of these problems the settings are for looking only, and nothing is to be started. */
  readonly problems: readonly SettingProblem[];
};

/**
 * `quietLevel` holds where the user did not ask for a level; a command that ends by itself keeps no sandbox waiting and
 * nothing for later.
 * Throws E_SETTINGS.
 */
export function prepare(
  quietLevel: EventLevel | 'silent',
  life: 'serves' | 'ends',
  /** The image that the command line names, which comes before MCP_BRIDGE_IMAGE. */
  image?: string,
): Prepared {
  const here = thisProcess();
  const env = image === undefined ? here.env : { ...here.env, MCP_BRIDGE_IMAGE: image };
  const { problems, ...prepared } = examine(quietLevel, life, { ...here, env });
  if (problems.length > 0) throw settingsError(problems);
  return prepared;
}

const thisProcess = () => ({
  env: process.env,
  host: hostFacts(),
  stderr: stderrWriter(),
  isTerminal: process.stderr.isTTY,
  isInColour: coloursFor(process.stderr).isColorSupported,
});

const DECIDE_STATE: ReadonlySet<string> = new Set(['HOME', 'MCP_BRIDGE_STATE_DIR']);

/**
 * All that is wrong, found without starting anything. In the place of what is wrong stands its default. The last argument is
 * where and with what something was started: this process, or a window of a shared bridge.
 */
export function examine(
  quietLevel: EventLevel | 'silent',
  life: 'serves' | 'ends',
  {
    env,
    host,
    stderr,
    isTerminal,
    isInColour,
  }: {
    readonly env: Environment;
    readonly host: HostFacts;
    /** Writer that the log uses. */
    readonly stderr: LossyWriter;
    /** Whether a person reads the log as it is written. */
    readonly isTerminal: boolean;
    readonly isInColour: boolean;
  } = thisProcess(),
): Examined {
  const { settings: own, warnings, problems: wrong } = readSettings(env, host);
  const { importedFile, policyFile } = own;
  const imported = readIfNamed(importedFile, (file) => readIsolatorFile(file, own, host));
  const data = openData(own, host);
  const settings = {
    ...own,
    data: data.folders,
    imported: imported.value,
    snippetsDir: snippetsDirOf(own, imported.value),
    ...(life === 'ends' ? { warm: 0, keepSeconds: 0 } : {}),
  };
  const log = openLog(
    {
      level: env['MCP_BRIDGE_LOG_LEVEL'] ? settings.logLevel : quietLevel,
      format: isTerminal ? 'line' : 'json',
      colour: isInColour,
    },
    stderr,
  );
  for (const warning of warnings) log.warn(warning);
  for (const warning of imported.value?.warnings ?? []) log.warn(`${importedFile}: ${warning}`);
  const redactor = new Redactor();
  redactor.addSecrets(env, settings.downstreamEnv);
  const observer = logObserver(log, eventWords(), (text) => redactor.redact(text));
  const book = readIfNamed(policyFile, () => new PolicyBook(settings, host, observer));
  const problems = [
    ...wrong,
    // Where one of these is wrong, another folder would be looked at than was meant.
    ...(wrong.some(({ setting }) => DECIDE_STATE.has(setting)) ? [] : stateOpenToOthers(own, host)),
    ...absentFiles(settings),
    ...data.problems,
    ...(life === 'serves' ? absentEngine(settings) : []),
    ...imported.problems,
    ...book.problems,
  ];
  return {
    settings,
    keepSeconds: own.keepSeconds,
    warnings,
    problems: problems.map((each) => ({ ...each, message: redactor.redact(each.message) })),
    discovery: { settings, env, host, owners: new NameOwners(settings.stateDir) },
    observer,
    policyBook: book.value ?? new PolicyBook({ ...settings, policyFile: undefined }, host, observer),
    redactor,
    stderr,
  };
}

/** The value made of a file, or why none can be; neither where no file is named. */
function readIfNamed<T>(
  file: string | undefined,
  read: (file: string) => T,
): { readonly value: T | undefined; readonly problems: readonly SettingProblem[] } {
  if (file === undefined) return { value: undefined, problems: [] };
  try {
    return { value: read(file), problems: [] };
  } catch (thrown) {
    return { value: undefined, problems: problemsIn(thrown) };
  }
}

/** The folder of a variable comes before one of imported settings, and that one before the folder that lies ready. */
const snippetsDirOf = (
  { explicitlySet, snippetsDir }: Settings,
  imported: ImportedSettings | undefined,
): string | undefined =>
  explicitlySet.has('MCP_BRIDGE_SNIPPETS') ? snippetsDir : (imported?.snippetsDir ?? snippetsDir);

/** `observer`, with the slow steps before a first run also shown to whoever waits at the terminal. */
export function withProgress(observer: Observer, show: (message: string) => void): Observer {
  return fanOut(observer, (event: BridgeEvent) => {
    if (event.type === 'image.progress') show(`${event.image}: ${event.message}`);
    if (event.type === 'image.building')
      show(`${event.instead} cannot be pulled: ${event.why}; building ${event.image} instead`);
    if (event.type === 'downstream.connecting') show(`starting ${event.server}`);
  });
}

// The audit of a command that runs code: listens to what the command's log listens to. Nothing is opened before a run is.

/** Below the state directory. */
export const AUDIT_FOLDER = 'audit';

/**
 * The `observer` of the answer tells ours and the audit, where there is to be one; disposing waits, for a moment, until its
 * lines are written.
 */
export function startAudit({
  settings,
  observer,
  redactor,
}: Prepared): AsyncDisposable & { readonly observer: Observer } {
  if (settings.audit === 'off') return { observer, [Symbol.asyncDispose]: () => Promise.resolve() };
  const audit = new Audit({
    dir: join(settings.stateDir, AUDIT_FOLDER),
    quotaBytes: settings.auditBytes,
    redact: (text) => redactor.redact(text),
    observer,
  });
  return {
    observer: fanOut(observer, audit.observe),
    [Symbol.asyncDispose]: () => audit[Symbol.asyncDispose](),
  };
}
