// The environment, read once into Settings: whatever is above this floor takes the value and never looks at the
// environment again. A wrong variable is named with all other wrong ones, and nothing runs before they are corrected. An
// unknown one is only a warning, because an older or newer bridge may know it; so is a timeout above the maximum, which is
// the maximum.

import type { Environment } from '../../base/process/environment.js';
import { didYouMean } from '../../base/text/closest.js';
import { clipHarmless } from '../../base/text/text.js';
import { type EnginePlace, enginePlaceFrom } from '../files/engine-place.js';
import { type HostFacts, pathRules } from '../files/host-facts.js';
import { stateDirFrom, stateDirTrouble } from '../files/state-dir.js';
import type { ImportedSettings } from '../languages/isolator-file.js';
import { brokenRule, problem, type SettingProblem, settingsError, shownValue } from './setting-problems.js';
import { readTable, type SettingRow, settingsIn } from './setting-rules.js';
import { ENGINE_VARIABLES, type SettingValues, type VariableName, variables } from './variables.js';

/** Whose access tokens the HTTP endpoint takes. */
export type OAuthSettings = {
  readonly [K in keyof SettingValues['oauth']]: NonNullable<SettingValues['oauth'][K]>;
};

/**
 * The environment as values: paths absolute, sizes in bytes, times in seconds, undefined where a thing decides itself.
 * Most follow from `variables` alone, where their meaning is said; here are those that have another type once they are settled.
 */
export type Settings = Omit<SettingValues, 'stateDir' | 'principalConcurrency' | 'http' | 'oauth'> & {
  /** The variables that somebody has set: what is only a default may give way. */
  readonly explicitlySet: ReadonlySet<VariableName>;
  /** Variables that the engines' own clients read to find their engine, as one text: another text may be another engine. */
  readonly engineVariables: string;
  readonly enginePlace: EnginePlace | undefined;
  readonly stateDir: string;
  readonly principalConcurrency: number;
  readonly http: Omit<SettingValues['http'], 'drainSeconds'> & { readonly drainSeconds: number };
  /** Undefined where the endpoint takes no access tokens. */
  readonly oauth: OAuthSettings | undefined;
  /** Content of `importedFile`; parseSettings, which reads no file, leaves it out. */
  readonly imported: ImportedSettings | undefined;
};

const COMMAND_RULES = ['MCP_EXEC_ALLOW', 'MCP_EXEC_DENY'];
/** A rule means the program that its name leads to, which only the machine knows in which commands run. */
const WHERE_RULES_HOLD =
  'The bridge cannot see the programs in its containers, so the rule would do nothing. Set it at a `code-exec` server, and name that in MCP_BRIDGE_EXECUTE_SERVER. Or remove execute from MCP_BRIDGE_TOOLS.';

/** The settings and the warnings of `readSettings`. Throws E_SETTINGS that lists every wrong variable. */
export function parseSettings(env: Environment, host: HostFacts) {
  const { problems, ...read } = readSettings(env, host);
  if (problems.length > 0) throw settingsError(problems);
  return read;
}

/**
 * The settings of this environment, with all that is wrong in it. Each wrong value has its default in `settings`: with
 * `problems`, use them only for display, since nobody has asked for them. `warnings` are sentences about what does not count as
 * it stands.
 */
export function readSettings(env: Environment, machine: HostFacts) {
  const { sep, isAbsolute } = pathRules(machine);
  const host = isAbsolute(machine.home) ? machine : { ...machine, home: sep };
  const given = new Map<string, string>();
  for (const [name, value] of Object.entries(env)) {
    // A host that writes an empty string for an unset variable means unset.
    if (value !== undefined && value.trim() !== '') given.set(name, value.trim());
  }
  const { values, broken } = readTable(variables, given, host);
  const wrong = new Set(broken.map(({ setting }) => setting.name));
  const right = new Map([...given].filter(([name]) => !wrong.has(name)));
  const settings = settled(values, host, Object.fromEntries(right));
  return {
    settings,
    warnings: warningsAbout(given, values),
    problems: [
      ...(host === machine ? [] : [homelessProblem(machine)]),
      ...broken.map(brokenRule),
      ...unfitStateDir(settings, right.has('MCP_BRIDGE_STATE_DIR'), host),
      ...rulesWithoutEffect(given, settings),
      ...halfACertificate(settings),
      ...unsignedWebhook(settings),
      ...issuerWithoutResource(values, wrong),
      ...loginWithoutIssuer(values, wrong),
    ],
  };
}

const homelessProblem = ({ home }: HostFacts): SettingProblem =>
  problem(
    'HOME',
    `HOME is ${shownValue(home)}, and the system knows no home folder of this user; allowed: an absolute path.`,
  );

function unfitStateDir({ stateDir }: Settings, isSaid: boolean, host: HostFacts): SettingProblem[] {
  const trouble = stateDirTrouble(stateDir, isSaid, host);
  return trouble === undefined ? [] : [problem('MCP_BRIDGE_STATE_DIR', trouble)];
}

function rulesWithoutEffect(given: ReadonlyMap<string, string>, { tools }: Settings): SettingProblem[] {
  if (!tools.includes('execute')) return [];
  return COMMAND_RULES.filter((name) => given.has(name)).map((name) =>
    problem(name, `${name} is a rule of the command server. ${WHERE_RULES_HOLD}`),
  );
}

function halfACertificate({ http: { cert, key } }: Settings): SettingProblem[] {
  if ((cert === undefined) === (key === undefined)) return [];
  const [there, missing] =
    cert === undefined
      ? (['MCP_BRIDGE_HTTP_KEY', 'MCP_BRIDGE_HTTP_CERT'] as const)
      : (['MCP_BRIDGE_HTTP_CERT', 'MCP_BRIDGE_HTTP_KEY'] as const);
  return [problem(missing, `${missing} is not set, but ${there} is: TLS needs both.`)];
}

function unsignedWebhook({ notify: { webhook, secretFile } }: Settings): SettingProblem[] {
  if (webhook === undefined || secretFile !== undefined) return [];
  const name = 'MCP_BRIDGE_NOTIFY_SECRET_FILE';
  return [problem(name, `${name} is not set, but MCP_BRIDGE_NOTIFY_WEBHOOK is: what it is sent is signed.`)];
}

function issuerWithoutResource({ oauth }: SettingValues, wrong: ReadonlySet<string>): SettingProblem[] {
  const name = 'MCP_BRIDGE_HTTP_OAUTH_RESOURCE';
  if (oauth.issuers === undefined || oauth.resource !== undefined || wrong.has(name)) return [];
  return [
    problem(
      name,
      `${name} is not set, but MCP_BRIDGE_HTTP_OAUTH_ISSUER needs it: without it, tokens for other resources of the issuer would be accepted. Allowed: the address of the HTTP endpoint as clients reach it, such as https://mcp.example.com/mcp.`,
      'Set it where the bridge is started, or remove MCP_BRIDGE_HTTP_OAUTH_ISSUER.',
    ),
  ];
}

function loginWithoutIssuer(
  { pageLogin, oauth }: SettingValues,
  wrong: ReadonlySet<string>,
): SettingProblem[] {
  const name = 'MCP_BRIDGE_HTTP_OAUTH_ISSUER';
  if (pageLogin.client === undefined || oauth.issuers !== undefined || wrong.has(name)) return [];
  return [
    problem(
      name,
      `${name} is not set, but MCP_BRIDGE_HTTP_UI_CLIENT needs it: people log in to the page there.`,
      'Set it where the bridge is started, or remove MCP_BRIDGE_HTTP_UI_CLIENT.',
    ),
  ];
}

/** A run may take `maxTimeoutSeconds`, and its answer is on its way a little later. */
const DRAIN_MARGIN_SECONDS = 10;

/** Settles the values that follow from others, from another variable, or from what is on the disk. */
function settled(said: SettingValues, host: HostFacts, env: Environment): Settings {
  const { maxTimeoutSeconds, http } = said;
  const stateDir = stateDirFrom(said.stateDir, env, host);
  return {
    ...said,
    explicitlySet: new Set(variableNames.filter((name) => env[name] !== undefined)),
    engineVariables: JSON.stringify(
      Object.values(ENGINE_VARIABLES).flatMap(({ address, others }) => [
        env[address],
        ...others.map((name) => env[name]),
      ]),
    ),
    enginePlace: enginePlaceFrom(env, host),
    stateDir,
    timeoutSeconds: Math.min(said.timeoutSeconds, maxTimeoutSeconds),
    principalConcurrency: said.principalConcurrency ?? Math.max(1, said.concurrency - 1),
    snippetsDir: said.snippetsDir ?? ownSnippetsDir(stateDir, host),
    http: { ...http, drainSeconds: http.drainSeconds ?? maxTimeoutSeconds + DRAIN_MARGIN_SECONDS },
    oauth: oauthSettings(said.oauth),
    imported: undefined,
  };
}

function oauthSettings({
  issuers,
  resource,
  audiences,
  scopes,
}: SettingValues['oauth']): OAuthSettings | undefined {
  if (issuers === undefined || resource === undefined) return undefined;
  return { issuers, resource, audiences: audiences ?? [resource], scopes };
}

function ownSnippetsDir(stateDir: string, host: HostFacts): string | undefined {
  const own = pathRules(host).join(stateDir, 'snippets');
  return host.exists(own) ? own : undefined;
}

/** Every variable in the order of its table. */
export const settingsTable = (): readonly SettingRow[] => settingsIn(variables);
export const variableNames: readonly VariableName[] = settingsTable().map(({ name }) => name as VariableName);

// Warnings about parts of the environment that do not count as they stand, although nothing in them is wrong: names that no
// setting has, settings of another program, and values that another setting makes useless.

export const PREFIX = 'MCP_BRIDGE_';
/** Variables with this prefix belong to `code-exec`, which reads them itself. */
export const EXEC_PREFIX = 'MCP_EXEC_';
const NAME_CHARS_SHOWN = 120;

/** Sentences that name the variable each. */
const warningsAbout = (given: ReadonlyMap<string, string>, values: SettingValues): readonly string[] => [
  ...unknownVariables(given.keys()),
  ...othersVariables(given.keys()),
  ...shortenedTimeout(given.has('MCP_BRIDGE_TIMEOUT'), values),
  ...languagesLeftOut(values),
  ...withoutEffect(given),
];

function unknownVariables(names: Iterable<string>): string[] {
  const known: readonly string[] = variableNames;
  return [...names]
    .filter((name) => name.startsWith(PREFIX) && !known.includes(name))
    .map((name) => unknownName(name));
}

/** Says that no setting is called `name`, with the one that is nearest to `meant`. */
export const unknownName = (name: string, meant = name): string =>
  `${clipHarmless(name, NAME_CHARS_SHOWN)} is not a setting of this version.${didYouMean(meant, variableNames)}`;

/** Variables of the command server do nothing here, but for the one that both programs have. */
function othersVariables(names: Iterable<string>): string[] {
  const known: readonly string[] = variableNames;
  return [...names]
    .filter((name) => name.startsWith(EXEC_PREFIX) && !known.includes(name))
    .map(ofCommandServer);
}

export const ofCommandServer = (name: string): string =>
  `${clipHarmless(name, NAME_CHARS_SHOWN)} is for \`code-exec\` and has no effect here.`;

/** The default gives way to a lower maximum silently; what somebody has written does not. */
function shortenedTimeout(isSaid: boolean, { timeoutSeconds, maxTimeoutSeconds }: SettingValues): string[] {
  if (!isSaid || timeoutSeconds <= maxTimeoutSeconds) return [];
  return [
    `MCP_BRIDGE_TIMEOUT is ${timeoutSeconds}, but MCP_BRIDGE_MAX_TIMEOUT is ${maxTimeoutSeconds}: runs get ${maxTimeoutSeconds}.`,
  ];
}

/** A language that is set up, and that nobody can use. */
function languagesLeftOut({ languages: offered, networkLanguages, languageImages }: SettingValues): string[] {
  const named = {
    MCP_BRIDGE_NETWORK: networkLanguages,
    MCP_BRIDGE_LANGUAGE_IMAGES: [...languageImages.keys()],
  };
  return Object.entries(named).flatMap(([name, languages]) => {
    const left = languages.filter((language) => !offered.includes(language));
    return left.length === 0
      ? []
      : [`${name} names ${left.join(', ')}, but MCP_BRIDGE_LANGUAGES does not: this has no effect.`];
  });
}

/** By the setting without which they do nothing: nobody's token is taken, nobody logs in. */
const IDLE_WITHOUT: Readonly<Record<string, RegExp>> = {
  MCP_BRIDGE_HTTP_OAUTH_ISSUER: /^MCP_BRIDGE_HTTP_OAUTH_(?:RESOURCE|AUDIENCE|SCOPES)$/,
  MCP_BRIDGE_HTTP_UI_CLIENT: /^MCP_BRIDGE_HTTP_UI_(?:ADMIN|SCOPES)$/,
};

const withoutEffect = (given: ReadonlyMap<string, string>): string[] =>
  Object.entries(IDLE_WITHOUT).flatMap(([needed, idle]) =>
    [...given.keys()]
      .filter((name) => !given.has(needed) && idle.test(name))
      .map((name) => `${name} has no effect, since ${needed} is not set.`),
  );
