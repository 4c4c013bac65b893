// The environment, read once into Settings: whatever is above this floor takes the value and never looks at the
// environment again. A wrong variable is named with all other wrong ones, and nothing runs before they are corrected. An
// unknown one is only a warning, because an older or newer bridge may know it; so is a timeout above the maximum, which is
// the maximum.

import type { z } from 'zod';
import type { Environment } from '../../base/process/environment.js';
import { didYouMean } from '../../base/text/closest.js';
import { MB_BYTES } from '../../base/text/sizes.js';
import { clipHarmless } from '../../base/text/text.js';
import { absolutePath, type HostFacts, pathRules } from '../files/host-facts.js';
import { stateDirFrom, stateDirTrouble } from '../files/state-dir.js';
import type { ImportedSettings } from '../languages/imported-settings.js';
import { languages } from '../languages/records.js';
import { ENGINE_VARIABLES } from './engine-variables.js';
import { type HttpSettings, httpSettings } from './http-variables.js';
import type { OAuthSettings } from './oauth-settings.js';
import { brokenRule, problem, type SettingProblem, settingsError, shownValue } from './setting-problems.js';
import { type SettingRow, tableOf } from './setting-rules.js';
import {
  type ApproveMode,
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

/** Limits for the sessions of one principal; `most` is 0 where none are offered. */
export type SessionLimits = {
  readonly most: number;
  readonly idleSeconds: number;
  readonly lifeSeconds: number;
  /** Memory that the sessions of the principal may hold together. */
  readonly memoryBytes: number;
  /** Whether their code may go on between two calls. */
  readonly keepRunning: boolean;
};

/** The environment as values: paths absolute, sizes in bytes, times in seconds, undefined where a thing decides itself. */
export type Settings = {
  /** The variables that somebody has set: what is only a default may give way. */
  readonly explicitlySet: ReadonlySet<VariableName>;
  /** `podman`, `docker` or an absolute path; undefined means that the bridge chooses. */
  readonly runtime: string | undefined;
  readonly engineUrl: string | undefined;
  /** Variables that the engines' own clients read to find their engine, as one text: another text may be another engine. */
  readonly engineVariables: string;
  readonly ociRuntime: string | undefined;
  readonly image: string;
  readonly seccomp: SeccompProfile;
  /** A profile that the kernel has loaded; undefined leaves it to the engine. */
  readonly apparmor: string | undefined;
  readonly timeoutSeconds: number;
  readonly maxTimeoutSeconds: number;
  /** Undefined follows the host. */
  readonly patienceSeconds: number | undefined;
  /** Limits for the sessions of each principal. */
  readonly sessions: SessionLimits;
  /** After so long without a call a server is ended; 0 ends none. */
  readonly serverIdleSeconds: number;
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
  /** Limits for one principal other than the user who started the bridge; undefined means no limit. */
  readonly principalConcurrency: number;
  readonly principalWaiting: number;
  readonly principalCalls: number;
  readonly principalCallsWaiting: number;
  readonly principalCpuSeconds: number | undefined;
  readonly principalMemoryBytes: number | undefined;
  /** In which processor seconds are counted. */
  readonly principalWindowSeconds: number;
  readonly tools: readonly ToolName[];
  /** Own names of the languages that `execute_code` offers. */
  readonly languages: readonly string[];
  /** By a language's own name. */
  readonly languageImages: ReadonlyMap<string, string>;
  /** Own names of the languages whose programs can reach the network. */
  readonly networkLanguages: readonly string[];
  /** The configuration of another program that languages are set by. */
  readonly importedFile: string | undefined;
  /** Content of `importedFile`; parseSettings, which reads no file, leaves it out. */
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
  readonly approve: ApproveMode;
  /** Patterns over servers whose harmless hints count. */
  readonly approveTrust: readonly string[];
  /** How long the questions of one run may wait for a person, in sum. */
  readonly approveWaitSeconds: number;
  readonly autoload: AutoloadMode;
  /** How long a call of a client that knows tasks lasts before it becomes one. */
  readonly taskAfterSeconds: number;
  /** Address of the bridge's OAuth client id metadata document. */
  readonly clientMetadataUrl: string | undefined;
  /** Settings of `serve --http`; nothing else looks at them. */
  readonly http: HttpSettings;
  /** Whose access tokens the HTTP endpoint takes; undefined where it takes none. */
  readonly oauth: OAuthSettings | undefined;
  /** Undefined where there is none. */
  readonly principalsFile: string | undefined;
  /** How many bridges this one runs inside. */
  readonly depth: number;
};

const COMMAND_RULES = ['MCP_EXEC_ALLOW', 'MCP_EXEC_DENY'];
/** A rule means the program that its name leads to, which only the machine knows in which commands run. */
const WHERE_RULES_HOLD =
  'The bridge cannot see which programs its containers have, so it would be without effect: set it at a `code-exec`, and hand calls to that with MCP_BRIDGE_EXECUTE_SERVER; or take execute out of MCP_BRIDGE_TOOLS.';

type SettingsReading = {
  /** Each wrong value has its default here. With problems, use the settings only for display: nobody has asked for them. */
  readonly settings: Settings;
  /** Sentences about what does not count as it stands. */
  readonly warnings: readonly string[];
  readonly problems: readonly SettingProblem[];
};

/** Throws E_SETTINGS that lists every wrong variable. */
export function parseSettings(env: Environment, host: HostFacts): Omit<SettingsReading, 'problems'> {
  const { problems, ...read } = readSettings(env, host);
  if (problems.length > 0) throw settingsError(problems);
  return read;
}

/** The settings of this environment, with all that is wrong in it. */
export function readSettings(env: Environment, machine: HostFacts): SettingsReading {
  const { sep, isAbsolute } = pathRules(machine);
  const host = isAbsolute(machine.home) ? machine : { ...machine, home: sep };
  const given = new Map<string, string>();
  for (const [name, value] of Object.entries(env)) {
    // A host that writes an empty string for an unset variable means unset.
    if (value !== undefined && value.trim() !== '') given.set(name, value.trim());
  }
  const read = variables.safeParse(Object.fromEntries(given), ONCE);
  const wrong = firstOfEach(read.error);
  const right = new Map([...given].filter(([name]) => !wrong.has(name)));
  const values = read.data ?? variables.parse(Object.fromEntries(right), ONCE);
  const settings = toSettings(values, host, Object.fromEntries(right));
  const table = settingsTable();
  return {
    settings,
    warnings: warningsAbout(given, values),
    problems: [
      ...(host === machine ? [] : [homeless(machine)]),
      ...[...wrong].map(([name, issue]) => brokenRule(name, given.get(name) ?? '', issue, table)),
      ...unfitStateDir(settings, right.has('MCP_BRIDGE_STATE_DIR'), host),
      ...rulesWithoutEffect(given, values),
      ...halfACertificate(values),
      ...issuerWithoutResource(values, wrong),
    ],
  };
}

/** Compiling a schema takes longer than one use of it. */
const ONCE = { jitless: true };

/** The first issue of each variable. */
function firstOfEach(error: z.ZodError | undefined): ReadonlyMap<string, z.core.$ZodIssue> {
  const first = new Map<string, z.core.$ZodIssue>();
  for (const issue of error?.issues ?? []) {
    const name = String(issue.path[0]);
    if (!first.has(name)) first.set(name, issue);
  }
  return first;
}

const homeless = ({ home }: HostFacts): SettingProblem =>
  problem(
    'HOME',
    `HOME is ${shownValue(home)}, and the system knows no home folder of this user; allowed: an absolute path.`,
  );

function unfitStateDir({ stateDir }: Settings, isSaid: boolean, host: HostFacts): SettingProblem[] {
  const trouble = stateDirTrouble(stateDir, isSaid, host);
  return trouble === undefined ? [] : [problem('MCP_BRIDGE_STATE_DIR', trouble)];
}

function rulesWithoutEffect(given: ReadonlyMap<string, string>, values: Values): SettingProblem[] {
  if (!values.MCP_BRIDGE_TOOLS.includes('execute')) return [];
  return COMMAND_RULES.filter((name) => given.has(name)).map((name) =>
    problem(name, `${name} is a rule of the command server. ${WHERE_RULES_HOLD}`),
  );
}

function halfACertificate(values: Values): SettingProblem[] {
  const { MCP_BRIDGE_HTTP_CERT: cert, MCP_BRIDGE_HTTP_KEY: key } = values;
  if ((cert === undefined) === (key === undefined)) return [];
  const [there, missing] =
    cert === undefined
      ? (['MCP_BRIDGE_HTTP_KEY', 'MCP_BRIDGE_HTTP_CERT'] as const)
      : (['MCP_BRIDGE_HTTP_CERT', 'MCP_BRIDGE_HTTP_KEY'] as const);
  return [problem(missing, `${missing} is not set, and ${there} is: TLS needs both.`)];
}

function issuerWithoutResource(values: Values, wrong: ReadonlyMap<string, unknown>): SettingProblem[] {
  const name = 'MCP_BRIDGE_HTTP_OAUTH_RESOURCE';
  if (values.MCP_BRIDGE_HTTP_OAUTH_ISSUER === undefined || values[name] !== undefined || wrong.has(name))
    return [];
  return [
    problem(
      name,
      `${name} is not set, which MCP_BRIDGE_HTTP_OAUTH_ISSUER needs: tokens for any other resource of the issuer would be taken. Allowed: the address of the HTTP endpoint as clients reach it, such as https://mcp.example.com/mcp.`,
      'Set it where the bridge is started, or remove MCP_BRIDGE_HTTP_OAUTH_ISSUER.',
    ),
  ];
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
    http: httpSettings(values, (written) => optionalPath(written, host)),
    oauth: oauthSettings(values),
    principalsFile: optionalPath(values.MCP_BRIDGE_PRINCIPALS, host),
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
    apparmor: values.MCP_BRIDGE_APPARMOR,
    timeoutSeconds: Math.min(values.MCP_BRIDGE_TIMEOUT, values.MCP_BRIDGE_MAX_TIMEOUT),
    maxTimeoutSeconds: values.MCP_BRIDGE_MAX_TIMEOUT,
    patienceSeconds: values.MCP_BRIDGE_PATIENCE,
    sessions: {
      most: values.MCP_BRIDGE_SESSIONS,
      idleSeconds: values.MCP_BRIDGE_SESSION_IDLE,
      lifeSeconds: values.MCP_BRIDGE_SESSION_LIFE,
      memoryBytes: values.MCP_BRIDGE_SESSION_MEMORY,
      keepRunning: values.MCP_BRIDGE_SESSION_KEEP_RUNNING === 'on',
    },
    serverIdleSeconds: values.MCP_BRIDGE_SERVER_IDLE,
    memoryBytes: values.MCP_BRIDGE_MEMORY,
    pids: values.MCP_BRIDGE_PIDS,
    cpus: values.MCP_BRIDGE_CPUS,
    containerUser: values.MCP_BRIDGE_CONTAINER_USER,
    acceptUnenforced: values.MCP_BRIDGE_ACCEPT_UNENFORCED ?? [],
    warm: values.MCP_BRIDGE_WARM,
    preimport: values.MCP_BRIDGE_PREIMPORT ?? [],
    concurrency: values.MCP_BRIDGE_CONCURRENCY ?? host.cores,
    ...principalSettings(values, values.MCP_BRIDGE_CONCURRENCY ?? host.cores),
  }) satisfies Partial<Settings>;

const principalSettings = (values: Values, concurrency: number) =>
  ({
    principalConcurrency: values.MCP_BRIDGE_PRINCIPAL_CONCURRENCY ?? Math.max(1, concurrency - 1),
    principalWaiting: values.MCP_BRIDGE_PRINCIPAL_WAITING,
    principalCalls: values.MCP_BRIDGE_PRINCIPAL_CALLS,
    principalCallsWaiting: values.MCP_BRIDGE_PRINCIPAL_CALLS_WAITING,
    principalCpuSeconds: values.MCP_BRIDGE_PRINCIPAL_CPU_SECONDS,
    principalMemoryBytes: values.MCP_BRIDGE_PRINCIPAL_MEMORY,
    principalWindowSeconds: values.MCP_BRIDGE_PRINCIPAL_WINDOW,
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
    approve: values.MCP_BRIDGE_APPROVE,
    approveTrust: values.MCP_BRIDGE_APPROVE_TRUST ?? [],
    approveWaitSeconds: values.MCP_BRIDGE_APPROVE_WAIT,
    autoload: values.MCP_BRIDGE_AUTOLOAD,
    taskAfterSeconds: values.MCP_BRIDGE_TASK_AFTER,
    clientMetadataUrl: values.MCP_BRIDGE_CLIENT_METADATA_URL,
  }) satisfies Partial<Settings>;

function oauthSettings(values: Values): OAuthSettings | undefined {
  const { MCP_BRIDGE_HTTP_OAUTH_ISSUER: issuers, MCP_BRIDGE_HTTP_OAUTH_RESOURCE: resource } = values;
  if (issuers === undefined || resource === undefined) return undefined;
  return {
    issuers: [...new Set(issuers)],
    resource,
    audiences: values.MCP_BRIDGE_HTTP_OAUTH_AUDIENCE ?? [resource],
    scopes: values.MCP_BRIDGE_HTTP_OAUTH_SCOPES ?? [],
  };
}

/** Settings for what the agent is offered and told, and for what stays of its runs. */
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

/** Every variable in the order of its table. */
export const settingsTable = (): readonly SettingRow[] => tableOf(variables.shape);

// Warnings about parts of the environment that do not count as they stand, although nothing in them is wrong: names that no
// setting has, settings of another program, and values that another setting makes useless.

const PREFIX = 'MCP_BRIDGE_';
/** Variables with this prefix belong to `code-exec`, which reads them itself. */
const EXEC_PREFIX = 'MCP_EXEC_';
const NAME_CHARS_SHOWN = 120;

/** Sentences that name the variable each. */
const warningsAbout = (given: ReadonlyMap<string, string>, values: Values): readonly string[] => [
  ...unknownVariables(given.keys()),
  ...othersVariables(given.keys()),
  ...shortenedTimeout(given.has('MCP_BRIDGE_TIMEOUT'), values),
  ...languagesLeftOut(values),
  ...oauthWithoutIssuer(given),
];

function unknownVariables(names: Iterable<string>): string[] {
  const known: readonly string[] = variableNames;
  return [...names]
    .filter((name) => name.startsWith(PREFIX) && !known.includes(name))
    .map(
      (name) =>
        `${clipHarmless(name, NAME_CHARS_SHOWN)} is no setting of this version.${didYouMean(name, known)}`,
    );
}

/** Variables of the command server do nothing here, but for the one that both programs have. */
function othersVariables(names: Iterable<string>): string[] {
  const known: readonly string[] = variableNames;
  return [...names]
    .filter((name) => name.startsWith(EXEC_PREFIX) && !known.includes(name))
    .map((name) => `${clipHarmless(name, NAME_CHARS_SHOWN)} is for \`code-exec\`, and without effect here.`);
}

/** The default gives way to a lower maximum silently; what somebody has written does not. */
function shortenedTimeout(isSaid: boolean, values: Values): string[] {
  const { MCP_BRIDGE_TIMEOUT: timeout, MCP_BRIDGE_MAX_TIMEOUT: most } = values;
  if (!isSaid || timeout <= most) return [];
  return [`MCP_BRIDGE_TIMEOUT is ${timeout}; runs get ${most}, which is MCP_BRIDGE_MAX_TIMEOUT.`];
}

/** A language that is set up, and that nobody can use. */
function languagesLeftOut(values: Values): string[] {
  const { MCP_BRIDGE_LANGUAGES: offered } = values;
  if (offered === undefined) return [];
  const named = {
    MCP_BRIDGE_NETWORK: values.MCP_BRIDGE_NETWORK ?? [],
    MCP_BRIDGE_LANGUAGE_IMAGES: [...(values.MCP_BRIDGE_LANGUAGE_IMAGES?.keys() ?? [])],
  };
  return Object.entries(named).flatMap(([name, languages]) => {
    const left = [...new Set(languages)].filter((language) => !offered.includes(language));
    return left.length === 0
      ? []
      : [`${name} names ${left.join(', ')}, which MCP_BRIDGE_LANGUAGES leaves out: without effect.`];
  });
}

/** Nothing is checked by them where no token is taken. */
function oauthWithoutIssuer(given: ReadonlyMap<string, string>): string[] {
  if (given.has('MCP_BRIDGE_HTTP_OAUTH_ISSUER')) return [];
  return [...given.keys()]
    .filter((name) => /^MCP_BRIDGE_HTTP_OAUTH_(?:RESOURCE|AUDIENCE|SCOPES)$/.test(name))
    .map((name) => `${name} is without effect, since MCP_BRIDGE_HTTP_OAUTH_ISSUER is not set.`);
}
