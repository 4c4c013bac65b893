// The environment, read once into Settings: whatever is above this floor takes the value and never looks at the
// environment again. A wrong variable stops the start and is named with all other wrong ones. An unknown one is only a
// warning, because an older or newer bridge may know it; so is a timeout above the maximum, which is the maximum.

import type { z } from 'zod';
import { didYouMean } from '../base/closest.js';
import type { Environment } from '../base/environment.js';
import { BridgeError } from '../base/errors.js';
import { MB_BYTES } from '../base/sizes.js';
import { clipHarmless } from '../base/text.js';
import { ENGINE_VARIABLES } from './engine-variables.js';
import { absolutePath, type HostFacts, pathRules } from './host-facts.js';
import type { ImportedSettings } from './languages/imported-settings.js';
import { languages } from './languages/records.js';
import { type SettingRow, tableOf } from './setting-rules.js';
import { stateDirFrom, stateDirTrouble } from './state-dir.js';
import {
  type AuditMode,
  type AutoloadMode,
  type LogLevel,
  type OutputMode,
  type SeccompProfile,
  type StructuredMode,
  type ToolName,
  type Values,
  type VariableName,
  variableNames,
  variables,
} from './variables.js';

/** The environment as values: paths absolute, sizes in bytes, times in seconds, undefined where a thing decides itself. */
export type Settings = {
  /** The variables that somebody has set: what is only a default may give way. */
  readonly explicitlySet: ReadonlySet<VariableName>;
  /** `podman`, `docker` or an absolute path; undefined means that the bridge chooses. */
  readonly runtime: string | undefined;
  readonly engineUrl: string | undefined;
  /** What the engines' own clients read to find their engine, as one text: another text may be another engine. */
  readonly engineVariables: string;
  readonly ociRuntime: string | undefined;
  readonly image: string;
  readonly seccomp: SeccompProfile;
  readonly timeoutSeconds: number;
  readonly maxTimeoutSeconds: number;
  readonly memoryBytes: number;
  readonly pids: number;
  readonly cpus: number | undefined;
  /** Always `uid:gid`. */
  readonly containerUser: string;
  readonly machineIdleSeconds: number;
  readonly stateDir: string;
  readonly outputMode: OutputMode;
  readonly structured: StructuredMode;
  readonly logLevel: LogLevel;
  readonly allowSelfServer: boolean;
  readonly trustProject: boolean;
  readonly allowRootful: boolean;
  /** Limits that the operator accepts to be without, where nothing on the machine enforces them. */
  readonly acceptUnenforced: ReadonlyArray<'memory' | 'pids' | 'cpu'>;
  readonly saveTools: boolean;
  /** How long, and how many bytes in sum, files of ended runs are kept; nothing is kept when either is 0. */
  readonly keepSeconds: number;
  readonly keepBytes: number;
  readonly audit: AuditMode;
  readonly auditBytes: number;
  /** Sandboxes that wait. */
  readonly warm: number;
  readonly preimport: readonly string[];
  readonly concurrency: number;
  readonly tools: readonly ToolName[];
  /** Own names of the languages that `execute_code` offers. */
  readonly languages: readonly string[];
  /** By a language's own name. */
  readonly languageImages: ReadonlyMap<string, string>;
  /** Own names of the languages whose programs can reach the network. */
  readonly networkLanguages: readonly string[];
  /** The configuration of another program that languages are set by. */
  readonly importedFile: string | undefined;
  /** What stands in it; parseSettings, which reads no file, leaves it out. */
  readonly imported: ImportedSettings | undefined;
  /** Undefined where there is none; need not be there. */
  readonly snippetsDir: string | undefined;
  /**
   * Name of the server that calls of `execute` are handed to; undefined means that the bridge launches containers
   * itself.
   */
  readonly executeServer: string | undefined;
  /** OCI runtime for the containers of `execute`; undefined means the one that all other containers use. */
  readonly executeOciRuntime: string | undefined;
  readonly executeImage: string;
  readonly executeNetwork: boolean;
  /** Undefined means one that goes with the bridge. */
  readonly executeWork: string | undefined;
  readonly executeOutputBytes: number;
  readonly serversConfig: readonly string[];
  readonly downstreamEnv: readonly string[];
  /** Undefined where there is none. */
  readonly policyFile: string | undefined;
  /** Patterns over `server` and `server.tool`; undefined means everything. */
  readonly allow: readonly string[] | undefined;
  readonly deny: readonly string[];
  readonly autoload: AutoloadMode;
  /** Address of the bridge's OAuth client id metadata document. */
  readonly clientMetadataUrl: string | undefined;
  /** How many bridges this one runs inside. */
  readonly depth: number;
};

const PREFIX = 'MCP_BRIDGE_';
/** Variables with this prefix belong to `code-exec`, which reads them itself. */
const EXEC_PREFIX = 'MCP_EXEC_';
const COMMAND_RULES = ['MCP_EXEC_ALLOW', 'MCP_EXEC_DENY'];
/** A rule means the program that its name leads to, which only the machine knows in which commands run. */
const WHERE_RULES_HOLD =
  'The bridge cannot see which programs its containers have, so it would be without effect: set it at a `code-exec`, and hand calls to that with MCP_BRIDGE_EXECUTE_SERVER; or take execute out of MCP_BRIDGE_TOOLS.';
const VALUE_CHARS_SHOWN = 120;
const REMEDY =
  'Correct or remove it where the bridge is registered (the env field of its entry), then start again.';

/** Throws E_SETTINGS that lists every wrong variable; the warnings are sentences about what does not count as it stands. */
export function parseSettings(
  env: Environment,
  host: HostFacts,
): { readonly settings: Settings; readonly warnings: readonly string[] } {
  if (!pathRules(host).isAbsolute(host.home)) {
    throw settingsError([
      `HOME is '${clipHarmless(host.home, VALUE_CHARS_SHOWN)}', and the system knows no home folder of this user; allowed: an absolute path.`,
    ]);
  }
  const given = new Map<string, string>();
  for (const [name, value] of Object.entries(env)) {
    // A host that writes an empty string for an unset variable means unset.
    if (value !== undefined && value.trim() !== '') given.set(name, value.trim());
  }
  const parsed = variables.safeParse(Object.fromEntries(given));
  if (!parsed.success) {
    const firstOfEach = new Map<string, z.core.$ZodIssue>();
    for (const issue of parsed.error.issues) {
      const name = String(issue.path[0]);
      if (!firstOfEach.has(name)) firstOfEach.set(name, issue);
    }
    throw settingsError(
      [...firstOfEach].map(([name, issue]) => complaint(name, given.get(name) ?? '', issue)),
    );
  }
  const values = parsed.data;
  const settings = toSettings(values, host, Object.fromEntries(given));
  const trouble = stateDirTrouble(settings.stateDir, given.has('MCP_BRIDGE_STATE_DIR'), host);
  if (trouble !== undefined) throw settingsError([trouble]);
  const rules = COMMAND_RULES.filter((name) => given.has(name));
  if (rules.length > 0 && values.MCP_BRIDGE_TOOLS.includes('execute'))
    throw settingsError(rules.map((name) => `${name} is a rule of the command server. ${WHERE_RULES_HOLD}`));
  return {
    settings,
    warnings: [
      ...unknownVariables(given.keys()),
      ...othersVariables(given.keys()),
      ...shortenedTimeout(given.has('MCP_BRIDGE_TIMEOUT'), values),
    ],
  };
}

function toSettings(values: Values, host: HostFacts, env: Environment): Settings {
  const stateDir = stateDirFrom(values.MCP_BRIDGE_STATE_DIR, env, host);
  return {
    explicitlySet: new Set(variableNames.filter((name) => env[name] !== undefined)),
    stateDir,
    logLevel: values.MCP_BRIDGE_LOG_LEVEL,
    depth: values.MCP_BRIDGE_DEPTH,
    ...engineSettings(values, env),
    ...sandboxSettings(values, host),
    ...languageSettings(values, host),
    ...commandSettings(values),
    ...serverSettings(values, host),
    ...answerSettings(values),
    snippetsDir: optionalPath(values.MCP_BRIDGE_SNIPPETS, host) ?? ownSnippetsDir(stateDir, host),
  };
}

const engineSettings = (values: Values, env: Environment) =>
  ({
    runtime: values.MCP_BRIDGE_RUNTIME === 'auto' ? undefined : values.MCP_BRIDGE_RUNTIME,
    engineUrl: values.MCP_BRIDGE_ENGINE_URL,
    engineVariables: JSON.stringify(
      Object.values(ENGINE_VARIABLES).flatMap(({ address, others }) => [
        env[address],
        ...others.map((name) => env[name]),
      ]),
    ),
    ociRuntime: values.MCP_BRIDGE_OCI_RUNTIME,
    allowRootful: values.MCP_BRIDGE_ALLOW_ROOTFUL,
    machineIdleSeconds: values.MCP_BRIDGE_RUNTIME_IDLE_TIMEOUT,
  }) satisfies Partial<Settings>;

const sandboxSettings = (values: Values, host: HostFacts) =>
  ({
    image: values.MCP_BRIDGE_IMAGE,
    seccomp: values.MCP_BRIDGE_SECCOMP,
    timeoutSeconds: Math.min(values.MCP_BRIDGE_TIMEOUT, values.MCP_BRIDGE_MAX_TIMEOUT),
    maxTimeoutSeconds: values.MCP_BRIDGE_MAX_TIMEOUT,
    memoryBytes: values.MCP_BRIDGE_MEMORY,
    pids: values.MCP_BRIDGE_PIDS,
    cpus: values.MCP_BRIDGE_CPUS,
    containerUser: values.MCP_BRIDGE_CONTAINER_USER,
    acceptUnenforced: values.MCP_BRIDGE_ACCEPT_UNENFORCED ?? [],
    warm: values.MCP_BRIDGE_WARM,
    preimport: values.MCP_BRIDGE_PREIMPORT ?? [],
    concurrency: values.MCP_BRIDGE_CONCURRENCY ?? host.cores,
  }) satisfies Partial<Settings>;

const languageSettings = (values: Values, host: HostFacts) =>
  ({
    languages: [...new Set(values.MCP_BRIDGE_LANGUAGES ?? languages.map(({ name }) => name))],
    languageImages: values.MCP_BRIDGE_LANGUAGE_IMAGES ?? new Map(),
    networkLanguages: [...new Set(values.MCP_BRIDGE_NETWORK)],
    importedFile: optionalPath(values.MCP_BRIDGE_ISOLATOR_CONFIG, host),
    imported: undefined,
  }) satisfies Partial<Settings>;

const commandSettings = (values: Values) =>
  ({
    executeServer: values.MCP_BRIDGE_EXECUTE_SERVER,
    executeOciRuntime:
      values.MCP_BRIDGE_EXECUTE_OCI_RUNTIME === 'auto' ? undefined : values.MCP_BRIDGE_EXECUTE_OCI_RUNTIME,
    executeImage: values.MCP_BRIDGE_EXECUTE_IMAGE,
    executeNetwork: values.MCP_BRIDGE_EXECUTE_NETWORK === 'on',
    executeWork: values.MCP_BRIDGE_EXECUTE_WORK,
    executeOutputBytes: values.MCP_EXEC_MAX_OUTPUT_BYTES,
  }) satisfies Partial<Settings>;

const serverSettings = (values: Values, host: HostFacts) =>
  ({
    serversConfig: (values.MCP_SERVERS_CONFIG ?? '')
      .split(pathRules(host).delimiter)
      .filter((written) => written !== '')
      .map((written) => absolutePath(written, host.cwd, host)),
    allowSelfServer: values.MCP_BRIDGE_ALLOW_SELF_SERVER,
    trustProject: values.MCP_BRIDGE_TRUST_PROJECT,
    downstreamEnv: values.MCP_BRIDGE_DOWNSTREAM_ENV ?? [],
    policyFile: optionalPath(values.MCP_BRIDGE_POLICY, host),
    allow: values.MCP_BRIDGE_ALLOW,
    deny: values.MCP_BRIDGE_DENY ?? [],
    autoload: values.MCP_BRIDGE_AUTOLOAD,
    clientMetadataUrl: values.MCP_BRIDGE_CLIENT_METADATA_URL,
  }) satisfies Partial<Settings>;

/** What the agent is offered and told, and what stays of its runs. */
const answerSettings = (values: Values) =>
  ({
    tools: [...new Set(values.MCP_BRIDGE_TOOLS)],
    outputMode: values.MCP_BRIDGE_OUTPUT_MODE,
    structured: values.MCP_BRIDGE_STRUCTURED,
    saveTools: values.MCP_BRIDGE_SAVE_TOOLS === 'on',
    keepSeconds: values.MCP_BRIDGE_KEEP_SECONDS,
    keepBytes: values.MCP_BRIDGE_KEEP_MB * MB_BYTES,
    audit: values.MCP_BRIDGE_AUDIT,
    auditBytes: values.MCP_BRIDGE_AUDIT_MB * MB_BYTES,
  }) satisfies Partial<Settings>;

const optionalPath = (written: string | undefined, host: HostFacts): string | undefined =>
  written === undefined ? undefined : absolutePath(written, host.cwd, host);

function ownSnippetsDir(stateDir: string, host: HostFacts): string | undefined {
  const own = pathRules(host).join(stateDir, 'snippets');
  return host.exists(own) ? own : undefined;
}

function settingsError(complaints: readonly string[]): BridgeError {
  return new BridgeError('E_SETTINGS', complaints.join('\n'), { fault: 'operator', remedy: REMEDY });
}

function complaint(name: string, got: string, issue: z.core.$ZodIssue): string {
  const row = settingsTable().find((candidate) => candidate.name === name);
  const allowed = row?.allowed ?? '';
  const explanation =
    issue.code === 'custom' && issue.params?.['explains'] === true ? ` ${issue.message}` : '';
  const more = explanation || didYouMean(got, allowed.split(/, | or /));
  return `${name} is '${clipHarmless(got, VALUE_CHARS_SHOWN)}'; allowed: ${allowed}.${more}`;
}

function unknownVariables(names: Iterable<string>): string[] {
  const known: readonly string[] = variableNames;
  return [...names]
    .filter((name) => name.startsWith(PREFIX) && !known.includes(name))
    .map(
      (name) =>
        `${clipHarmless(name, VALUE_CHARS_SHOWN)} is no setting of this version.${didYouMean(name, known)}`,
    );
}

/** Those of the command server do nothing here, but for the one that both have. */
function othersVariables(names: Iterable<string>): string[] {
  const known: readonly string[] = variableNames;
  return [...names]
    .filter((name) => name.startsWith(EXEC_PREFIX) && !known.includes(name))
    .map((name) => `${clipHarmless(name, VALUE_CHARS_SHOWN)} is for \`code-exec\`, and without effect here.`);
}

/** The default gives way to a lower maximum silently; what somebody has written does not. */
function shortenedTimeout(isSaid: boolean, values: Values): string[] {
  const { MCP_BRIDGE_TIMEOUT: timeout, MCP_BRIDGE_MAX_TIMEOUT: most } = values;
  if (!isSaid || timeout <= most) return [];
  return [`MCP_BRIDGE_TIMEOUT is ${timeout}; runs get ${most}, which is MCP_BRIDGE_MAX_TIMEOUT.`];
}

/** Every variable in the order of its table. */
export const settingsTable = (): readonly SettingRow[] => tableOf(variables.shape);
