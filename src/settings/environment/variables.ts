// Every environment variable with its rule, meaning, default and allowed values, as one zod schema. Settings, the
// errors and the table of docs/settings.md are all made from it. Reads nothing itself.

import { totalmem } from 'node:os';
import { z } from 'zod';
import { patternTrouble } from '../../base/text/name-pattern.js';
import { clip } from '../../base/text/text.js';
import { CPUS, DAY_SECONDS, MIN_MEMORY_BYTES, PIDS, WORD } from '../bounds.js';
import { imageReferenceTrouble } from '../image-reference.js';
import { LANGUAGE_NAMES, languageImages, languageName } from '../languages/naming.js';
import { engineNames } from './engine-variables.js';
import { httpVariables } from './http-variables.js';
import { oauthAddressTrouble } from './oauth-settings.js';
import {
  bytes,
  choice,
  explained,
  flag,
  integer,
  list,
  mostFor,
  optional,
  outputBytes,
  setting,
} from './setting-rules.js';

// One user namespace maps 65,536 ids; 0 would be root inside it.
const MAX_ID = 65_535;
const WEEK_SECONDS = 7 * DAY_SECONDS;
// A terabyte: more is a typing error.
const MAX_KEEP_MB = 1_000_000;
// Ten thousand processors for a day: more is a typing error.
const MAX_CPU_SECONDS = 864_000_000;
// Each is a container that stays: more is a typing error.
const MAX_SESSIONS = 1_000;
const PATTERN_CHARS_SHOWN = 60;

/** `none` is none, also where isolator's file says otherwise. */
const networks = list(z.string())
  .transform((names) => (names.join().toLowerCase() === 'none' ? [] : names))
  .pipe(z.array(languageName));
const TOOLS = ['run_python', 'execute_code', 'execute'] as const;

/** From the fewest questions to the most. */
export const APPROVE_MODES = ['off', 'destructive', 'writes', 'all'] as const;

const user = z
  .string()
  .regex(/^\d+(:\d+)?$/)
  // Engines give group 0 to a user without a group, so the group is always said.
  .transform((text) => (text.includes(':') ? text : `${text}:${text}`))
  .refine((text) => {
    const [uid = 0, gid = 0] = text.split(':').map(Number);
    return uid >= 1 && uid <= MAX_ID && gid <= MAX_ID;
  });
/** As any system writes it: from a root, a drive, or the share of a Windows server. */
const isWholePath = (text: string): boolean => /^(\/|[A-Za-z]:[\\/]|\\\\[^\\/])/.test(text);
const word = z.string().regex(WORD);
const engineUrl = z.string().regex(/^(?:ssh|tcp|unix|npipe):\/\/[^\s"'`$\\]+$/);
const ownPath = z.string().refine((text) => isWholePath(text) || /^~(?=$|[/\\])/.test(text));
const OWN_PATH = 'an absolute path, or one that begins with ~/';
const namePattern = explained((text) => {
  const trouble = patternTrouble(text);
  return trouble === undefined ? undefined : `'${clip(text, PATTERN_CHARS_SHOWN)}' ${trouble}.`;
});
const image = explained(imageReferenceTrouble);
const oauthAddress = explained(oauthAddressTrouble);
const OAUTH_ADDRESSES =
  'https addresses without query and fragment, separated by commas; http for this machine only';
/** RFC 6749, 3.3. */
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]+$/;
const PATTERNS =
  '`server` or `server.tool`, several separated by commas, such as github.delete_* or *.write*; `*` stands for any characters, `\\` takes the next one for itself';
const absoluteOr = (names: readonly string[]) =>
  z.string().refine((text) => names.includes(text) || isWholePath(text));

export const variables = z.object({
  MCP_BRIDGE_RUNTIME: setting(absoluteOr(['auto', ...engineNames]), {
    meaning: 'Container engine; `auto` takes podman if it is there, else docker.',
    default: 'auto',
    allowed: `auto, ${engineNames.join(', ')} or an absolute path`,
  }),
  MCP_BRIDGE_OCI_RUNTIME: optional(word, {
    meaning: 'OCI runtime under the engine.',
    default: 'the first that works here',
    allowed: 'a name such as crun, runc or runsc, or an absolute path',
  }),
  MCP_BRIDGE_ENGINE_URL: optional(engineUrl, {
    meaning: 'Where the engine is, when it is not on this machine.',
    default: "what the engine's own client is set to",
    allowed: 'ssh://user@host/path/of/podman.sock, tcp://host:port or unix:///path/of/socket',
  }),
  MCP_BRIDGE_IMAGE: setting(image, {
    meaning:
      'Image that holds Python; `data` has numpy, pandas, scipy and matplotlib; docs/images.md says how to add more.',
    default: 'python:3.14-slim',
    allowed: 'an image reference, or the name of a profile that `image build` has built: base, data',
  }),
  MCP_BRIDGE_SECCOMP: setting(choice(['strict', 'compat']), {
    meaning:
      'Which kernel calls the code may make; `compat` adds what debuggers and databases ask for: ptrace, System V memory, memfd_create.',
    default: 'strict',
    allowed: 'strict or compat',
  }),
  MCP_BRIDGE_APPARMOR: optional(word, {
    meaning:
      'An AppArmor profile that the kernel has loaded, for every container. The engine is told its name, and refuses to start one where it is not loaded; what it keeps code from is its own affair.',
    default: "the engine's own",
    allowed: 'the name of a profile, such as containers-default, or unconfined',
  }),
  MCP_BRIDGE_TIMEOUT: setting(integer(1, DAY_SECONDS), {
    meaning: 'Seconds that a run may take when its call does not say.',
    default: '30',
    allowed: `whole seconds from 1 to ${DAY_SECONDS}; above MCP_BRIDGE_MAX_TIMEOUT runs get that, and a warning says so`,
  }),
  MCP_BRIDGE_MAX_TIMEOUT: setting(integer(1, DAY_SECONDS), {
    meaning: 'Most seconds that a call may ask for.',
    default: '120',
    allowed: `whole seconds from 1 to ${DAY_SECONDS}`,
  }),
  MCP_BRIDGE_PATIENCE: optional(integer(0, DAY_SECONDS), {
    meaning:
      'Seconds after which a call is answered although it goes on, with what there is so far and a handle for `wait` and `stop`; 0 waits for its end.',
    default: 'shortly before the host would give up; docs/long-runs.md has a table',
    allowed: `whole seconds from 0 to ${DAY_SECONDS}`,
  }),
  MCP_BRIDGE_SESSIONS: setting(integer(0, MAX_SESSIONS), {
    meaning:
      'Most sessions of `run_python` at once, for each principal; where another one is asked for, the one that has been idle for longest ends. 0 offers none.',
    default: '4',
    allowed: `a whole number from 0 to ${MAX_SESSIONS}`,
  }),
  MCP_BRIDGE_SESSION_IDLE: setting(integer(1, DAY_SECONDS), {
    meaning: 'Seconds without a call after which a session ends.',
    default: '900',
    allowed: `whole seconds from 1 to ${DAY_SECONDS}`,
  }),
  MCP_BRIDGE_SESSION_LIFE: setting(integer(1, WEEK_SECONDS), {
    meaning: 'Seconds after which a session ends in any case.',
    default: '14400',
    allowed: `whole seconds from 1 to ${WEEK_SECONDS}`,
  }),
  MCP_BRIDGE_SESSION_MEMORY: setting(
    bytes.pipe(z.number().min(MIN_MEMORY_BYTES).max(Number.MAX_SAFE_INTEGER)),
    {
      meaning:
        'Memory that the sessions of one principal may hold together; above it, the one that has been idle for longest ends.',
      default: '2g',
      allowed: 'bytes, or a number with k, m, g or t, such as 512m, 512MB or 512MiB; at least 32m',
    },
  ),
  MCP_BRIDGE_SESSION_KEEP_RUNNING: setting(choice(['on', 'off']), {
    meaning:
      'Whether code of a session can go on after its call was answered, with `runtime.keep_running()`: as a run of its principal, until the time of that call is over.',
    default: 'on',
    allowed: 'on or off',
  }),
  MCP_BRIDGE_SERVER_IDLE: setting(integer(0, WEEK_SECONDS), {
    meaning:
      'Seconds without a call after which a server that was started is ended, with what it holds in memory; 0 ends none while its window, or the service, lives.',
    default: '0',
    allowed: `whole seconds from 0 to ${WEEK_SECONDS}`,
  }),
  MCP_BRIDGE_MEMORY: setting(
    mostFor(String(totalmem()))
      .pipe(bytes)
      .pipe(z.number().min(MIN_MEMORY_BYTES).max(Number.MAX_SAFE_INTEGER)),
    {
      meaning: 'Memory of one container, swap included.',
      default: '512m',
      allowed:
        'bytes, or a number with k, m, g or t, such as 512m, 512MB, 512Mi or 512MiB; at least 32m; 0 or -1 for all that this machine has',
    },
  ),
  MCP_BRIDGE_PIDS: setting(mostFor(String(PIDS.max)).pipe(integer(PIDS.min, PIDS.max)), {
    meaning: 'Processes and threads in one container.',
    default: '128',
    allowed: `a whole number from ${PIDS.min} to ${PIDS.max}; 0 or -1 for the most`,
  }),
  MCP_BRIDGE_CPUS: optional(
    z
      .string()
      .regex(/^(?:\d+|\d*\.\d+)$/)
      .transform(Number)
      .pipe(z.union([z.literal(0).transform(() => undefined), z.number().min(CPUS.min).max(CPUS.max)])),
    {
      meaning: 'CPUs of one container.',
      default: "the engine's own",
      allowed: "a number from 0.01, such as 1.5; 0 for the engine's own",
    },
  ),
  MCP_BRIDGE_CONTAINER_USER: setting(user, {
    meaning: 'User and group inside the container.',
    default: '65534:65534',
    allowed: `uid or uid:gid as numbers up to ${MAX_ID}; the uid must not be 0`,
  }),
  MCP_BRIDGE_RUNTIME_IDLE_TIMEOUT: setting(integer(1, DAY_SECONDS), {
    meaning:
      'Seconds after the last run until a podman machine that the bridge started is stopped; a sandbox that waits is no use of it.',
    default: '300',
    allowed: `whole seconds from 1 to ${DAY_SECONDS}`,
  }),
  MCP_BRIDGE_STATE_DIR: optional(ownPath, {
    meaning:
      'Folder for saved tools, kept files, caches and what containers read. Only its user and root may write it, and what leads to it.',
    default: '`~/MCPs` if it exists, else `mcp-sandbox-bridge` in the state folder of the user',
    allowed: OWN_PATH,
  }),
  MCP_BRIDGE_OUTPUT_MODE: setting(choice(['compact', 'toon', 'json']), {
    meaning: 'Form of the text that the model reads.',
    default: 'compact',
    allowed: 'compact, toon or json',
  }),
  MCP_BRIDGE_STRUCTURED: setting(choice(['auto', 'always', 'never']), {
    meaning:
      'Whether results carry `structuredContent`; `auto` leaves it out for clients that show it instead of the text.',
    default: 'auto',
    allowed: 'auto, always or never',
  }),
  MCP_BRIDGE_LOG_LEVEL: setting(choice(['trace', 'debug', 'info', 'warn', 'error', 'silent']), {
    meaning: 'What is logged on stderr.',
    default: 'info',
    allowed: 'trace, debug, info, warn, error or silent',
  }),
  MCP_BRIDGE_ALLOW_SELF_SERVER: setting(flag, {
    meaning: 'Lets the bridge start itself as one of its own servers.',
    default: '0',
    allowed: '0 or 1',
  }),
  MCP_BRIDGE_TRUST_PROJECT: setting(flag, {
    meaning: "Starts servers that are named in a project's own files without the host's approval.",
    default: '0',
    allowed: '0 or 1',
  }),
  MCP_BRIDGE_ALLOW_ROOTFUL: setting(flag, {
    meaning: 'Accepts a docker daemon that runs as root without user-namespace remapping.',
    default: '0',
    allowed: '0 or 1',
  }),
  MCP_BRIDGE_ACCEPT_UNENFORCED: optional(list(choice(['memory', 'pids', 'cpu'])), {
    meaning: 'Limits that may be without effect where nothing on the machine can enforce them.',
    default: 'none; the bridge then refuses to run code',
    allowed: 'memory, pids or cpu, or several separated by commas',
  }),
  MCP_BRIDGE_SAVE_TOOLS: setting(choice(['on', 'off']), {
    meaning: 'Whether code may keep functions for later runs with `save_tool`.',
    default: 'on',
    allowed: 'on or off',
  }),
  MCP_BRIDGE_KEEP_SECONDS: setting(integer(0, WEEK_SECONDS), {
    meaning: 'How long files and long output of a run can be read as resources; 0 keeps nothing.',
    default: '3600',
    allowed: `whole seconds from 0 to ${WEEK_SECONDS}`,
  }),
  MCP_BRIDGE_KEEP_MB: setting(integer(0, MAX_KEEP_MB), {
    meaning: 'Most that is kept of all runs together, in megabytes; the oldest goes first.',
    default: '256',
    allowed: `a whole number from 0 to ${MAX_KEEP_MB}`,
  }),
  MCP_BRIDGE_AUDIT: setting(choice(['on', 'off', 'arguments']), {
    meaning:
      'Whether a line is kept of every run and tool call, with sizes and digests; `arguments` also keeps what tools were called with, and commands. `runs` shows it.',
    default: 'on',
    allowed: 'on, off or arguments',
  }),
  MCP_BRIDGE_AUDIT_MB: setting(integer(1, MAX_KEEP_MB), {
    meaning: 'Most that is kept of it, in megabytes; the oldest goes first.',
    default: '64',
    allowed: `a whole number from 1 to ${MAX_KEEP_MB}`,
  }),
  MCP_BRIDGE_SHARED: setting(choice(['auto', 'on', 'off']), {
    meaning:
      'Whether windows of one user share one bridge, where the system allows it; a variable of the process that the host starts.',
    default: 'off',
    allowed: 'auto, on or off',
  }),
  MCP_BRIDGE_WARM: setting(integer(0, 64), {
    meaning: 'Sandboxes that are started ahead and wait, each for one run; 0 starts one for each call.',
    default: '1',
    allowed: 'a whole number from 0 to 64',
  }),
  MCP_BRIDGE_PREIMPORT: optional(list(z.string().regex(/^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$/)), {
    meaning: 'Python modules that waiting sandboxes load ahead, so that importing them costs nothing.',
    default: 'none',
    allowed: 'module names separated by commas, such as numpy,pandas',
  }),
  MCP_BRIDGE_CONCURRENCY: optional(integer(1, 256), {
    meaning: 'Runs at once; further ones wait.',
    default: "the machine's cores",
    allowed: 'a whole number from 1 to 256',
  }),
  MCP_BRIDGE_PRINCIPAL_CONCURRENCY: optional(integer(1, 256), {
    meaning: 'Runs at once of one principal, where the bridge serves several over HTTP; further ones wait.',
    default: 'one less than MCP_BRIDGE_CONCURRENCY, at least 1, so that a place is left to others',
    allowed: 'a whole number from 1 to 256',
  }),
  MCP_BRIDGE_PRINCIPAL_WAITING: setting(integer(0, 10_000), {
    meaning: 'Waiting runs of one principal; further ones are refused with when to come back.',
    default: '64',
    allowed: 'a whole number from 0 to 10000',
  }),
  MCP_BRIDGE_PRINCIPAL_CALLS: setting(integer(1, 10_000), {
    meaning:
      'Calls of tools of servers under way at once of one principal, those of its code among them; further ones wait.',
    default: '128',
    allowed: 'a whole number from 1 to 10000',
  }),
  MCP_BRIDGE_PRINCIPAL_CALLS_WAITING: setting(integer(0, 10_000), {
    meaning:
      'Waiting calls of the agents of one principal; further ones are refused with when to come back. Calls of code wait as long as their run may.',
    default: '1000',
    allowed: 'a whole number from 0 to 10000',
  }),
  MCP_BRIDGE_PRINCIPAL_CPU_SECONDS: optional(integer(1, MAX_CPU_SECONDS), {
    meaning:
      'Processor seconds of the runs of one principal within a window. Where the kernel does not say what a run has used, it counts as long as it took.',
    default: 'no limit',
    allowed: `a whole number from 1 to ${MAX_CPU_SECONDS}`,
  }),
  MCP_BRIDGE_PRINCIPAL_MEMORY: optional(
    bytes.pipe(z.number().min(MIN_MEMORY_BYTES).max(Number.MAX_SAFE_INTEGER)),
    {
      meaning:
        'Memory of all runs of one principal that are under way; each counts with the limit of its container.',
      default: 'no limit',
      allowed: 'bytes, or a number with k, m, g or t, such as 2g; at least 32m',
    },
  ),
  MCP_BRIDGE_PRINCIPAL_WINDOW: setting(integer(1, DAY_SECONDS), {
    meaning: 'Length of the window in which processor seconds are counted, in seconds.',
    default: '3600',
    allowed: `whole seconds from 1 to ${DAY_SECONDS}`,
  }),
  MCP_BRIDGE_TOOLS: setting(list(choice(TOOLS)).pipe(z.array(z.enum(TOOLS)).min(1)), {
    meaning: 'Tools that the agent sees.',
    default: 'run_python',
    allowed: 'run_python, execute_code, execute, or several separated by commas',
  }),
  MCP_BRIDGE_LANGUAGES: optional(list(languageName).pipe(z.array(z.string()).min(1)), {
    meaning: 'Languages of `execute_code`.',
    default: 'all',
    allowed: `${LANGUAGE_NAMES}, or several separated by commas`,
  }),
  MCP_BRIDGE_LANGUAGE_IMAGES: optional(list(z.string()).pipe(languageImages), {
    meaning: 'Images for languages of `execute_code`; for Python it comes before MCP_BRIDGE_IMAGE there.',
    default: 'an image of our own for each',
    allowed: `language=image pairs separated by commas, such as go=golang:1.23,javascript=node:24-slim; languages: ${LANGUAGE_NAMES}`,
  }),
  MCP_BRIDGE_NETWORK: optional(networks, {
    meaning: 'Languages of `execute_code` whose programs can reach the network; `run_python` never can.',
    default: "none, unless isolator's file opens it",
    allowed: `none, ${LANGUAGE_NAMES}, or several languages separated by commas`,
  }),
  MCP_BRIDGE_ISOLATOR_CONFIG: optional(ownPath, {
    meaning:
      "isolator's own `isolator_config.json`, for `execute_code`. It is read only where it is named: one in the working directory may have come with a cloned repository.",
    default: 'none',
    allowed: OWN_PATH,
  }),
  MCP_BRIDGE_SNIPPETS: optional(
    z.string().refine((text) => isWholePath(text) || /^~(?=$|[/\\])/.test(text)),
    {
      meaning:
        'Folder of programs that `execute_code` runs by name, each a file such as hello_world.py; its ending is its language.',
      default:
        "the promptsDir of isolator's file; else `prompts` beside that file, or `snippets` in the state folder, whichever is there at the start",
      allowed: 'an absolute path, or one that begins with ~/',
    },
  ),
  MCP_BRIDGE_EXECUTE_SERVER: optional(z.string(), {
    meaning: 'Configured server whose `execute` the tool of that name hands its calls to, such as `sandbox`.',
    default: 'none; each call runs in a container of its own',
    allowed: "a server's name",
  }),
  MCP_BRIDGE_EXECUTE_OCI_RUNTIME: setting(word, {
    meaning:
      'OCI runtime of the containers of `execute`, which refuses to run without it; `auto` is the one of all other containers, with no kernel of its own between commands and the host.',
    default: 'runsc',
    allowed: 'auto, a name such as runsc, or an absolute path',
  }),
  MCP_BRIDGE_EXECUTE_IMAGE: setting(image, {
    meaning: 'Image of the containers of `execute`.',
    default: 'code-exec',
    allowed: 'an image reference, or the name of a profile that `image build` has built',
  }),
  MCP_BRIDGE_EXECUTE_NETWORK: setting(choice(['on', 'off']), {
    meaning:
      'Whether commands in containers of `execute` can reach the network; under gVisor it takes a newer one than those of Debian 12 and 13.',
    default: 'off',
    allowed: 'on or off',
  }),
  MCP_BRIDGE_EXECUTE_WORK: optional(z.string().regex(/^[A-Za-z0-9][\w.-]{0,254}$/), {
    meaning: 'Volume that the containers of `execute` have at /work, and that stays.',
    default: 'one for each bridge process, removed with it',
    allowed: 'the name of a volume; the engine makes one that is not there',
  }),
  MCP_EXEC_MAX_OUTPUT_BYTES: outputBytes(
    'Most that `execute` gives back of stdout and stderr together, from containers; one answer carries about 3 MB, all of it is a link. A server has its own variable of this name.',
  ),
  MCP_SERVERS_CONFIG: optional(z.string(), {
    meaning: 'Further configuration files with MCP servers; they come before all others.',
    default: 'none',
    allowed: 'a path, or several separated as in PATH',
  }),
  MCP_BRIDGE_DOWNSTREAM_ENV: optional(list(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/)), {
    meaning: 'Names of further environment variables that are handed to the MCP servers.',
    default: 'none',
    allowed: 'variable names separated by commas',
  }),
  MCP_BRIDGE_POLICY: optional(ownPath, {
    meaning: 'Policy file, YAML or JSON: what is allowed and denied, and limits of calls.',
    default: 'none',
    allowed: OWN_PATH,
  }),
  MCP_BRIDGE_ALLOW: optional(list(namePattern), {
    meaning: 'Servers, tools, resources and prompts that may be used; all others are denied.',
    default: 'all',
    allowed: PATTERNS,
  }),
  MCP_BRIDGE_DENY: optional(list(namePattern), {
    meaning: 'Servers, tools, resources and prompts that may not be used, whatever allows them.',
    default: 'none',
    allowed: PATTERNS,
  }),
  MCP_BRIDGE_APPROVE: setting(choice(APPROVE_MODES), {
    meaning:
      'Which calls of tools a person is asked about before they are sent: those of tools that may destroy, all that may write, or all. The policy file can say more, and its `approvals.mode` comes before this.',
    default: 'off',
    allowed: 'off, destructive, writes or all',
  }),
  MCP_BRIDGE_APPROVE_TRUST: optional(list(namePattern), {
    meaning:
      'Servers that are believed when they say that a tool of theirs only reads or destroys nothing; a tool of any other server counts as one that may destroy.',
    default: 'none',
    allowed: 'names of servers separated by commas, such as github or *; `*` stands for any characters',
  }),
  MCP_BRIDGE_APPROVE_WAIT: setting(integer(1, DAY_SECONDS), {
    meaning:
      'Seconds that the questions of one run about its calls may wait for a person, in sum; the clock of the run stands still meanwhile, and for as long in sum while its servers ask a person something.',
    default: '600',
    allowed: `whole seconds from 1 to ${DAY_SECONDS}`,
  }),
  MCP_BRIDGE_AUTOLOAD: setting(choice(['never', 'ask', 'always']), {
    meaning:
      'Whether code may load further servers with `runtime.load_server`; `ask` asks the user, where the client can.',
    default: 'ask',
    allowed: 'never, ask or always',
  }),
  MCP_BRIDGE_TASK_AFTER: setting(integer(0, DAY_SECONDS), {
    meaning:
      'Seconds after which a call that still runs is answered with a task, which the client then asks for the result; only for clients that know the extension `io.modelcontextprotocol/tasks`.',
    default: '20',
    allowed: 'a whole number from 0 to 86400; 0 makes every call a task',
  }),
  MCP_BRIDGE_CLIENT_METADATA_URL: optional(
    z.string().refine((text) => URL.canParse(text) && /^https:\/\/[^/]+\/./.test(text)),
    {
      meaning:
        'Address of an OAuth client id metadata document of your own, which `login` shows to authorization servers that take one.',
      default: 'none; the bridge registers itself at each login',
      allowed: 'an https address with a path',
    },
  ),
  ...httpVariables,
  MCP_BRIDGE_PRINCIPALS: optional(ownPath, {
    meaning:
      'Principals file, YAML or JSON: what each token, OAuth subject or group may reach and use over HTTP. docs/principals.md has its fields.',
    default: 'none; tokens reach their own servers, and whoever an issuer names reaches none',
    allowed: OWN_PATH,
  }),
  MCP_BRIDGE_HTTP_OAUTH_ISSUER: optional(list(oauthAddress).pipe(z.array(z.string()).min(1)), {
    meaning:
      'Issuers whose access tokens the HTTP endpoint takes, each exactly as `iss` in its tokens says it, a slash at the end included.',
    default: 'none; only named tokens are taken',
    allowed: OAUTH_ADDRESSES,
  }),
  MCP_BRIDGE_HTTP_OAUTH_RESOURCE: optional(oauthAddress, {
    meaning:
      'Address of the HTTP endpoint as clients reach it, such as https://mcp.example.com/mcp. Tokens have to be made for it. It is needed with MCP_BRIDGE_HTTP_OAUTH_ISSUER.',
    default: 'none',
    allowed: 'an https address without query and fragment; http for this machine only',
  }),
  MCP_BRIDGE_HTTP_OAUTH_AUDIENCE: optional(list(z.string()).pipe(z.array(z.string()).min(1)), {
    meaning:
      "Audiences of which a token has to name one in its `aud`, for issuers that do not take the resource's address for it.",
    default: 'MCP_BRIDGE_HTTP_OAUTH_RESOURCE',
    allowed: 'texts separated by commas, such as api://mcp-sandbox-bridge',
  }),
  MCP_BRIDGE_HTTP_OAUTH_SCOPES: optional(list(z.string().regex(SCOPE)), {
    meaning:
      'Scopes that every access token has to have. Further ones for single servers stand in the principals file.',
    default: 'none',
    allowed: 'scopes separated by commas, in ASCII without spaces, quotes and backslashes',
  }),
  MCP_BRIDGE_DEPTH: setting(integer(0, 99), {
    meaning: 'Set by the bridge for the servers that it starts, so that a bridge inside a bridge is noticed.',
    default: '0',
    allowed: 'a whole number; not for people to set',
  }),
});

export type LogLevel = z.output<typeof variables>['MCP_BRIDGE_LOG_LEVEL'];
export type ApproveMode = z.output<typeof variables>['MCP_BRIDGE_APPROVE'];
export type AutoloadMode = z.output<typeof variables>['MCP_BRIDGE_AUTOLOAD'];
export type AuditMode = z.output<typeof variables>['MCP_BRIDGE_AUDIT'];
export type OutputMode = z.output<typeof variables>['MCP_BRIDGE_OUTPUT_MODE'];
export type StructuredMode = z.output<typeof variables>['MCP_BRIDGE_STRUCTURED'];
export type SeccompProfile = z.output<typeof variables>['MCP_BRIDGE_SECCOMP'];
export type ToolName = z.output<typeof variables>['MCP_BRIDGE_TOOLS'][number];

/** The values that the schema makes of an environment. */
export type Values = z.output<typeof variables>;

export type VariableName = keyof Values;
/** in the order of its table. */
export const variableNames = Object.keys(variables.shape) as readonly VariableName[];
