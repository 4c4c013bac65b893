// Every environment variable, each as one record: its key in Settings, rule, meaning, default and allowed values. Settings, the
// errors and the table of docs/settings.md are all made from it. Reads nothing itself.

import { totalmem } from 'node:os';
import { z } from 'zod';
import { patternTrouble } from '../../base/text/name-pattern.js';
import { MB_BYTES } from '../../base/text/sizes.js';
import { clip } from '../../base/text/text.js';
import { CPUS, DAY_SECONDS, imageReferenceTrouble, MIN_MEMORY_BYTES, PIDS, WORD } from '../bounds.js';
import { DATA_ALLOWED, type DataFolder, placedFolders, writtenFolders } from '../files/data-folders.js';
import { absolutePath, pathRules } from '../files/host-facts.js';
import { LANGUAGE_NAMES, languageImages, languageName, languages } from '../languages/records.js';
import { otelVariables } from './otel-variables.js';
import {
  bytes,
  choice,
  each,
  flag,
  integerRule,
  isWholePath,
  list,
  makeOptional,
  megabytes,
  mostFor,
  oauthAddressTrouble,
  oneOf,
  onOff,
  orNone,
  outputBytes,
  parts,
  path,
  seconds,
  setting,
  textRule,
  type ValuesOf,
  type VariablesOf,
  whole,
} from './setting-rules.js';

// One user namespace maps 65,536 ids; 0 would be root inside it.
const MAX_ID = 65_535;
const WEEK_SECONDS = 7 * DAY_SECONDS;
// A terabyte: more is a typing error.
const MAX_KEEP_MB = 1_000_000;
// It is memory of the bridge's own process.
const MAX_RECORD_MB = 256;
// Ten thousand processors for a day: more is a typing error.
const MAX_CPU_SECONDS = 864_000_000;
// Each is a container that stays: more is a typing error.
const MAX_SESSIONS = 1_000;
// More connections than this need more file descriptors than a process is usually given.
const MAX_CONNECTIONS = 100_000;
const PATTERN_CHARS_SHOWN = 60;
/** Namespace, name, uid and address of a pod. */
const REPLICA = /^[a-z0-9-]+\/[a-z0-9.-]+\/[\w-]+\/[0-9a-fA-F.:]+$/;

/** `none` is none, also where isolator's file says otherwise. */
const networks = parts
  .transform((names) => (names.join().toLowerCase() === 'none' ? [] : names))
  .pipe(each(languageName));
const TOOLS = ['run_python', 'execute_code', 'execute'] as const;

/** Modes from the fewest questions to the most. */
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
const memory = bytes.pipe(z.number().min(MIN_MEMORY_BYTES).max(Number.MAX_SAFE_INTEGER));
const word = z.string().regex(WORD);
/** `auto` leaves it to what the bridge finds. */
const unlessAuto = (text: string) => (text === 'auto' ? undefined : text);
const engineUrl = z.string().regex(/^(?:ssh|tcp|unix|npipe|kubernetes):\/\/[^\s"'`$\\]+$/);
const namePattern = textRule((text) => {
  const trouble = patternTrouble(text);
  return trouble === undefined ? undefined : `'${clip(text, PATTERN_CHARS_SHOWN)}' ${trouble}.`;
});
const image = textRule(imageReferenceTrouble);
const TIME_AND_MEGABYTES = /^(\d{1,5})(s|m|h|d)\s*,\s*(\d{1,4})$/;
const SECONDS_OF: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: DAY_SECONDS };
const recorded = z
  .string()
  .toLowerCase()
  .transform((text) => {
    if (text === 'off') return undefined;
    const [, count, unit = '', size] = TIME_AND_MEGABYTES.exec(text) ?? [];
    return { seconds: Number(count) * (SECONDS_OF[unit] ?? 0), bytes: Number(size) * MB_BYTES };
  })
  .refine(
    (said) =>
      said === undefined ||
      (said.seconds >= 1 &&
        said.seconds <= WEEK_SECONDS &&
        said.bytes >= MB_BYTES &&
        said.bytes <= MAX_RECORD_MB * MB_BYTES),
  );
const oauthAddress = textRule(oauthAddressTrouble);
const OAUTH_ADDRESSES =
  'https addresses without query and fragment, separated by commas; http for this machine only';
/** RFC 6749, A.1. */
const CLIENT = /^[\x20-\x7e]{1,255}$/;
/** RFC 6749, 3.3. */
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]+$/;
const PATTERNS =
  '`server` or `server.tool`, several separated by commas, such as github.delete_* or *.write*; `*` stands for any characters, `\\` takes the next one for itself';
/** A host name, an IPv4 address, or an IPv6 address in brackets, as it stands in a Host header, without a port. */
const hostName = z
  .string()
  .toLowerCase()
  .regex(/^(?:[a-z0-9_-]+(?:\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\])$/);
/** Origin as browsers send it: scheme and host, and the port where it is not the scheme's own. */
const origin = z.string().refine((text) => URL.canParse(text) && new URL(text).origin === text);
const addressRange = z.string().regex(/^(?:unix|[0-9a-fA-F:.]+(?:\/\d{1,3})?)$/);
const absoluteOr = (names: readonly string[]) =>
  z.string().refine((text) => names.includes(text) || isWholePath(text));

/**
 * Variables by which the engines' own clients find their engine: for each, the one that takes an address, and those that would
 * say otherwise.
 */
export const ENGINE_VARIABLES = {
  podman: { address: 'CONTAINER_HOST', others: ['CONTAINER_CONNECTION'] },
  docker: { address: 'DOCKER_HOST', others: ['DOCKER_CONTEXT'] },
  kubernetes: { address: 'KUBECONFIG', others: [] },
} as const;

/** Engines that can be named. Each has a driver in engine/engines.ts. */
export const engineNames = Object.keys(ENGINE_VARIABLES);

export const variables = {
  /** `podman`, `docker` or an absolute path; undefined means that the bridge chooses. */
  runtime: setting({
    name: 'MCP_BRIDGE_RUNTIME',
    meaning:
      'Container engine; `auto` takes podman if it is there, else docker; `kubernetes` is a cluster (docs/kubernetes.md).',
    default: 'auto',
    schema: absoluteOr(['auto', ...engineNames]).transform(unlessAuto),
    allowed: `auto, ${engineNames.join(', ')} or an absolute path`,
  }),
  ociRuntime: makeOptional({
    name: 'MCP_BRIDGE_OCI_RUNTIME',
    meaning: 'OCI runtime under the engine; in a cluster, a RuntimeClass.',
    default: 'the first that works here',
    schema: word,
    allowed: 'a name such as crun, runc or runsc, or an absolute path',
  }),
  launch: setting({
    name: 'MCP_BRIDGE_LAUNCH',
    meaning:
      'How a sandbox is started: `template` has podman on Linux start one that waits, from which the OCI runtime starts the others for about half of the processor time; `engine` has the engine start each; `auto` is `template` where that works.',
    default: 'auto',
    ...oneOf(['auto', 'engine', 'template']),
  }),
  engineUrl: makeOptional({
    name: 'MCP_BRIDGE_ENGINE_URL',
    meaning: 'Address of the engine, if it is not on this machine.',
    default: "the setting of the engine's own client",
    schema: engineUrl,
    allowed:
      'ssh://user@host/path/of/podman.sock, tcp://host:port, unix:///path/of/socket or kubernetes://CONTEXT/NAMESPACE, with walls that its nodes have behind a question mark (docs/kubernetes.md)',
  }),
  image: setting({
    name: 'MCP_BRIDGE_IMAGE',
    meaning:
      'Image that holds Python; `data` has numpy, pandas, scipy and matplotlib; docs/images.md says how to add more.',
    default: 'python:3.14-slim',
    schema: image,
    allowed: 'an image reference, or a name that `image build` prints, such as base, data or data-pip_polars',
  }),
  seccomp: setting({
    name: 'MCP_BRIDGE_SECCOMP',
    meaning:
      'Which kernel calls the code may make; `compat` adds what debuggers and databases need: ptrace, System V memory, memfd_create.',
    default: 'strict',
    ...oneOf(['strict', 'compat']),
  }),
  /** A profile that the kernel has loaded; undefined leaves it to the engine. */
  apparmor: makeOptional({
    name: 'MCP_BRIDGE_APPARMOR',
    meaning:
      'AppArmor profile for every container. If the kernel has not loaded it, no container starts. The bridge does not check what it forbids.',
    default: "the engine's own",
    schema: word,
    allowed: 'the name of a profile, such as containers-default, or unconfined',
  }),
  timeoutSeconds: setting({
    name: 'MCP_BRIDGE_TIMEOUT',
    meaning: 'Seconds that a run may take if its call sets no time.',
    default: '30',
    schema: integerRule(1, DAY_SECONDS),
    allowed: `whole seconds from 1 to ${DAY_SECONDS}; more than MCP_BRIDGE_MAX_TIMEOUT counts as that, with a warning`,
  }),
  maxTimeoutSeconds: setting({
    name: 'MCP_BRIDGE_MAX_TIMEOUT',
    meaning: 'Most seconds that a call may ask for.',
    default: '120',
    ...seconds(1, DAY_SECONDS),
  }),
  /** Undefined follows the host. */
  softTimeoutSeconds: makeOptional({
    name: 'MCP_BRIDGE_PATIENCE',
    meaning:
      'Seconds until a call that still runs is answered: with its output so far, and a handle for `wait` and `stop`. 0 waits for its end.',
    default: 'shortly before the host would give up; docs/long-runs.md has a table',
    ...seconds(0, DAY_SECONDS),
  }),
  /** Limits for the sessions of each principal. */
  sessions: {
    most: setting({
      name: 'MCP_BRIDGE_SESSIONS',
      meaning:
        'Most sessions of `run_python` at once, for each principal. One more ends the session that has been idle for longest. 0 allows no sessions.',
      default: '4',
      ...whole(0, MAX_SESSIONS),
    }),
    idleSeconds: setting({
      name: 'MCP_BRIDGE_SESSION_IDLE',
      meaning: 'Seconds without a call after which a session ends.',
      default: '900',
      ...seconds(1, DAY_SECONDS),
    }),
    lifeSeconds: setting({
      name: 'MCP_BRIDGE_SESSION_LIFE',
      meaning: 'Seconds after which a session ends in any case.',
      default: '14400',
      ...seconds(1, WEEK_SECONDS),
    }),
    /** Memory that the sessions of the principal may hold together. */
    memoryBytes: setting({
      name: 'MCP_BRIDGE_SESSION_MEMORY',
      meaning:
        'Memory that the sessions of one principal may use together. Above it, the session that has been idle for longest ends.',
      default: '2g',
      schema: memory,
      allowed: 'bytes, or a number with k, m, g or t, such as 512m, 512MB or 512MiB; at least 32m',
    }),
    /** Whether their code may go on between two calls. */
    keepRunning: setting({
      name: 'MCP_BRIDGE_SESSION_KEEP_RUNNING',
      meaning:
        'Whether code of a session may go on after its call was answered, with `runtime.keep_running()`. It counts as a run of its principal, and ends with the time of that call.',
      default: 'on',
      ...onOff,
    }),
  },
  /** After so long without a call a server is ended; 0 ends none. */
  serverIdleSeconds: setting({
    name: 'MCP_BRIDGE_SERVER_IDLE',
    meaning:
      'Seconds without a call after which a started server is ended; what it has in memory is lost. 0 ends none before its window or the service ends.',
    default: '0',
    ...seconds(0, WEEK_SECONDS),
  }),
  memoryBytes: setting({
    name: 'MCP_BRIDGE_MEMORY',
    meaning: 'Memory of one container, swap included.',
    default: '512m',
    schema: mostFor(String(totalmem())).pipe(memory),
    allowed:
      'bytes, or a number with k, m, g or t, such as 512m, 512MB, 512Mi or 512MiB; at least 32m; 0 or -1 for all that this machine has',
  }),
  pids: setting({
    name: 'MCP_BRIDGE_PIDS',
    meaning: 'Processes and threads in one container.',
    default: '128',
    schema: mostFor(String(PIDS.max)).pipe(integerRule(PIDS.min, PIDS.max)),
    allowed: `a whole number from ${PIDS.min} to ${PIDS.max}; 0 or -1 for the most`,
  }),
  cpus: makeOptional({
    name: 'MCP_BRIDGE_CPUS',
    meaning: 'CPUs of one container.',
    default: "the engine's own",
    schema: z
      .string()
      .regex(/^(?:\d+|\d*\.\d+)$/)
      .transform(Number)
      .pipe(z.union([z.literal(0).transform(() => undefined), z.number().min(CPUS.min).max(CPUS.max)])),
    allowed: "a number from 0.01, such as 1.5; 0 for the engine's own",
  }),
  /** Always `uid:gid`. */
  containerUser: setting({
    name: 'MCP_BRIDGE_CONTAINER_USER',
    meaning:
      'User and group inside the container. Where nobody has set it and the engine maps ids, each sandbox has an id of its own, drawn by lot.',
    default: '65534:65534',
    schema: user,
    allowed: `uid or uid:gid as numbers up to ${MAX_ID}; the uid must not be 0`,
  }),
  machineIdleSeconds: setting({
    name: 'MCP_BRIDGE_RUNTIME_IDLE_TIMEOUT',
    meaning:
      'Seconds after the last run until the bridge stops a podman machine that it has started. A waiting sandbox does not count as a run.',
    default: '300',
    ...seconds(1, DAY_SECONDS),
  }),
  stateDir: path({
    name: 'MCP_BRIDGE_STATE_DIR',
    meaning:
      'Folder for saved tools, kept files, caches and what containers read. Only its user and root may write to it and to the folders above it.',
    default: '`~/MCPs` if it exists, else `mcp-sandbox-bridge` in the state folder of the user',
  }),
  /** Folders of this machine that code sees; each path without links once the bridge has started. */
  data: makeOptional({
    name: 'MCP_BRIDGE_DATA',
    meaning:
      'Folders of yours whose files code sees in place, read-only unless `:rw` follows: one without a name at `/data`, others at `/data/NAME`. A folder without a name is called as it is on the disk.',
    default: 'none',
    schema: parts.pipe(writtenFolders),
    allowed: DATA_ALLOWED,
    value: (said, machine): readonly DataFolder[] => placedFolders(said ?? [], machine),
  }),
  outputMode: setting({
    name: 'MCP_BRIDGE_OUTPUT_MODE',
    meaning: 'Form of the text that the model reads.',
    default: 'compact',
    ...oneOf(['compact', 'toon', 'json']),
  }),
  structured: setting({
    name: 'MCP_BRIDGE_STRUCTURED',
    meaning:
      'Whether results have `structuredContent`; `auto` leaves it out for clients that show it instead of the text.',
    default: 'auto',
    ...oneOf(['auto', 'always', 'never']),
  }),
  logLevel: setting({
    name: 'MCP_BRIDGE_LOG_LEVEL',
    meaning: 'What is logged on stderr.',
    default: 'info',
    ...oneOf(['trace', 'debug', 'info', 'warn', 'error', 'silent']),
  }),
  allowSelfServer: setting({
    name: 'MCP_BRIDGE_ALLOW_SELF_SERVER',
    meaning: 'Lets the bridge start itself as one of its own servers.',
    default: '0',
    ...flag,
  }),
  trustProject: setting({
    name: 'MCP_BRIDGE_TRUST_PROJECT',
    meaning: "Starts servers that are named in a project's own files without the host's approval.",
    default: '0',
    ...flag,
  }),
  allowRootful: setting({
    name: 'MCP_BRIDGE_ALLOW_ROOTFUL',
    meaning: 'Accepts a docker daemon that runs as root without user-namespace remapping.',
    default: '0',
    ...flag,
  }),
  /** Limits that the operator accepts to be without, where nothing on the machine enforces them. */
  acceptUnenforced: makeOptional({
    name: 'MCP_BRIDGE_ACCEPT_UNENFORCED',
    meaning: 'Limits that you accept to be without, if nothing on this machine can enforce them.',
    default: 'none; the bridge then refuses to run code',
    schema: list(choice(['memory', 'pids', 'cpu', 'network'])),
    allowed:
      'memory, pids, cpu, or network (of a cluster that ignores NetworkPolicies), or several separated by commas',
    value: orNone,
  }),
  saveTools: setting({
    name: 'MCP_BRIDGE_SAVE_TOOLS',
    meaning: 'Whether code may keep functions for later runs with `save_tool`.',
    default: 'on',
    ...onOff,
  }),
  /** How long, and how many bytes in sum, files of ended runs are kept; nothing is kept when either is 0. */
  keepSeconds: setting({
    name: 'MCP_BRIDGE_KEEP_SECONDS',
    meaning: 'Seconds for which files and long output of a run can be read as resources; 0 keeps nothing.',
    default: '3600',
    ...seconds(0, WEEK_SECONDS),
  }),
  keepBytes: setting({
    name: 'MCP_BRIDGE_KEEP_MB',
    meaning: 'Most megabytes of files that are kept, of all runs together; the oldest go first.',
    default: '256',
    ...megabytes(0, MAX_KEEP_MB),
  }),
  audit: setting({
    name: 'MCP_BRIDGE_AUDIT',
    meaning:
      'Whether each run and tool call gets a line in the audit, with sizes and digests. `arguments` also keeps commands and the arguments of tools. `runs` shows the audit.',
    default: 'on',
    ...oneOf(['on', 'off', 'arguments']),
  }),
  auditBytes: setting({
    name: 'MCP_BRIDGE_AUDIT_MB',
    meaning: 'Most megabytes of the audit; the oldest lines go first.',
    default: '64',
    ...megabytes(1, MAX_KEEP_MB),
  }),
  /** How long and how much of the code and output of its runs a bridge remembers, for the page; undefined means nothing. */
  record: setting({
    name: 'MCP_BRIDGE_RECORD',
    meaning:
      'How long, and how many megabytes in sum, a running bridge remembers the code and output of its runs for the page of `ui`, and as much again of what servers answered them, for `again`: in its memory, never on disk. The HTTP service remembers nothing unless this is set.',
    default: '1h,4',
    schema: recorded,
    allowed: `off, or a time such as 30m or 12h and megabytes from 1 to ${MAX_RECORD_MB}, as in 1h,4`,
  }),
  shared: setting({
    name: 'MCP_BRIDGE_SHARED',
    meaning:
      'Whether the windows of one user share one bridge, if the system allows it. Set it in the entry that registers the bridge.',
    default: 'off',
    ...oneOf(['auto', 'on', 'off']),
  }),
  /** Sandboxes that wait. */
  warm: setting({
    name: 'MCP_BRIDGE_WARM',
    meaning: 'Sandboxes that are started before a call comes, each for one run; 0 starts each with its call.',
    default: '1',
    ...whole(0, 64),
  }),
  preimport: makeOptional({
    name: 'MCP_BRIDGE_PREIMPORT',
    meaning:
      'Python modules that waiting sandboxes load before a call comes, so that an import takes no time.',
    default: 'none',
    schema: list(z.string().regex(/^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$/)),
    allowed: 'module names separated by commas, such as numpy,pandas',
    value: orNone,
  }),
  concurrency: makeOptional({
    name: 'MCP_BRIDGE_CONCURRENCY',
    meaning: 'Most runs at once; others wait.',
    default: "the machine's cores",
    ...whole(1, 256),
    value: (said, { cores }) => said ?? cores,
  }),
  /** Limits for one principal other than the user who started the bridge, here and below; undefined means no limit. */
  principalConcurrency: makeOptional({
    name: 'MCP_BRIDGE_PRINCIPAL_CONCURRENCY',
    meaning: 'Most runs at once of one principal, if the bridge serves several over HTTP; others wait.',
    default: 'one less than MCP_BRIDGE_CONCURRENCY, at least 1, so that others have a place',
    ...whole(1, 256),
  }),
  principalWaiting: setting({
    name: 'MCP_BRIDGE_PRINCIPAL_WAITING',
    meaning: 'Most waiting runs of one principal. Others are refused, with the time to try again.',
    default: '64',
    ...whole(0, 10_000),
  }),
  principalCalls: setting({
    name: 'MCP_BRIDGE_PRINCIPAL_CALLS',
    meaning: 'Most tool calls at once of one principal, those of its code included; others wait.',
    default: '128',
    ...whole(1, 10_000),
  }),
  principalCallsWaiting: setting({
    name: 'MCP_BRIDGE_PRINCIPAL_CALLS_WAITING',
    meaning:
      'Most waiting calls of the agents of one principal. Others are refused, with the time to try again. Calls of code wait as long as their run may take.',
    default: '1000',
    ...whole(0, 10_000),
  }),
  principalCpuSeconds: makeOptional({
    name: 'MCP_BRIDGE_PRINCIPAL_CPU_SECONDS',
    meaning:
      'Processor seconds that the runs of one principal may use in one period. If the kernel does not say what a run has used, its duration counts.',
    default: 'no limit',
    ...whole(1, MAX_CPU_SECONDS),
  }),
  principalMemoryBytes: makeOptional({
    name: 'MCP_BRIDGE_PRINCIPAL_MEMORY',
    meaning: 'Memory of all runs of one principal at a time; each counts with the limit of its container.',
    default: 'no limit',
    schema: memory,
    allowed: 'bytes, or a number with k, m, g or t, such as 2g; at least 32m',
  }),
  /** Window in which processor seconds are counted. */
  principalWindowSeconds: setting({
    name: 'MCP_BRIDGE_PRINCIPAL_WINDOW',
    meaning: 'Length of the period in which processor seconds are counted, in seconds.',
    default: '3600',
    ...seconds(1, DAY_SECONDS),
  }),
  tools: setting({
    name: 'MCP_BRIDGE_TOOLS',
    meaning: 'Tools that the agent sees.',
    default: 'run_python',
    schema: list(choice(TOOLS), 1),
    allowed: 'run_python, execute_code, execute, or several separated by commas',
  }),
  /** Own names of the languages that `execute_code` offers. */
  languages: makeOptional({
    name: 'MCP_BRIDGE_LANGUAGES',
    meaning: 'Languages of `execute_code`.',
    default: 'all',
    schema: list(languageName, 1),
    allowed: `${LANGUAGE_NAMES}, or several separated by commas`,
    value: (said) => said ?? languages.map(({ name }) => name),
  }),
  /** Images, by a language's own name. */
  languageImages: makeOptional({
    name: 'MCP_BRIDGE_LANGUAGE_IMAGES',
    meaning:
      'Images for languages of `execute_code`. There, the one for Python is used and not MCP_BRIDGE_IMAGE.',
    default: 'an image of our own for each',
    schema: parts.pipe(languageImages),
    allowed: `language=image pairs separated by commas, such as go=golang:1.23,javascript=node:24-slim; languages: ${LANGUAGE_NAMES}`,
    value: (said): ReadonlyMap<string, string> => said ?? new Map(),
  }),
  /** Own names of the languages whose programs can reach the network. */
  networkLanguages: makeOptional({
    name: 'MCP_BRIDGE_NETWORK',
    meaning: 'Languages of `execute_code` whose programs can reach the network; `run_python` never can.',
    default: "none, unless isolator's file opens it",
    schema: networks,
    allowed: `none, ${LANGUAGE_NAMES}, or several languages separated by commas`,
    value: orNone,
  }),
  /** The configuration of another program that languages are set by. */
  importedFile: path({
    name: 'MCP_BRIDGE_ISOLATOR_CONFIG',
    meaning:
      "isolator's own `isolator_config.json`, for `execute_code`. It is read only if it is named here: one in the working directory may come from a cloned repository.",
    default: 'none',
  }),
  snippetsDir: path({
    name: 'MCP_BRIDGE_SNIPPETS',
    meaning:
      'Folder of programs that `execute_code` runs by name. Each is a file such as hello_world.py, whose ending says its language.',
    default:
      "the promptsDir of isolator's file; otherwise `prompts` beside that file or `snippets` in the state folder, whichever exists at the start",
  }),
  /**
   * Name of the server that calls of `execute` are handed to; undefined means that the bridge launches containers
   * itself.
   */
  executeServer: makeOptional({
    name: 'MCP_BRIDGE_EXECUTE_SERVER',
    meaning:
      'Configured server that runs the calls of `execute`, such as `sandbox`. It has a tool of that name.',
    default: 'none; each call runs in a container of its own',
    schema: z.string(),
    allowed: "a server's name",
  }),
  /** OCI runtime for the containers of `execute`; undefined means the one that all other containers use. */
  executeOciRuntime: setting({
    name: 'MCP_BRIDGE_EXECUTE_OCI_RUNTIME',
    meaning:
      'OCI runtime of the containers of `execute`, which refuses to run without it. `auto` takes that of all other containers; commands may then share the kernel of this machine.',
    default: 'runsc',
    schema: word.transform(unlessAuto),
    allowed: 'auto, a name such as runsc, or an absolute path',
  }),
  executeImage: setting({
    name: 'MCP_BRIDGE_EXECUTE_IMAGE',
    meaning: 'Image of the containers of `execute`.',
    default: 'code-exec',
    schema: image,
    allowed: 'an image reference, or the name of a profile that `image build` has built',
  }),
  executeNetwork: setting({
    name: 'MCP_BRIDGE_EXECUTE_NETWORK',
    meaning:
      'Whether commands in containers of `execute` can reach the network; gVisor must be newer for it than that of Debian 12 and 13.',
    default: 'off',
    ...onOff,
  }),
  /** Undefined means one that goes with the bridge. */
  executeWork: makeOptional({
    name: 'MCP_BRIDGE_EXECUTE_WORK',
    meaning: 'Volume at /work in the containers of `execute`. It stays when the bridge ends.',
    default: 'one for each bridge process, removed with it',
    schema: z.string().regex(/^[A-Za-z0-9][\w.-]{0,254}$/),
    allowed: 'the name of a volume; the engine makes it if it does not exist',
  }),
  executeOutputBytes: outputBytes(
    'Most bytes of stdout and stderr together that `execute` gives back from containers. One answer has at most about 3 MB; a link leads to all output. A server has its own variable of this name.',
  ),
  serversConfig: makeOptional({
    name: 'MCP_SERVERS_CONFIG',
    meaning: 'Further configuration files with MCP servers; they come before all others.',
    default: 'none',
    schema: z.string(),
    allowed: 'a path, or several separated as in PATH',
    value: (said = '', machine) =>
      said
        .split(pathRules(machine).delimiter)
        .filter((written) => written !== '')
        .map((written) => absolutePath(written, machine.cwd, machine)),
  }),
  downstreamEnv: makeOptional({
    name: 'MCP_BRIDGE_DOWNSTREAM_ENV',
    meaning: 'Names of further environment variables that the MCP servers get.',
    default: 'none',
    schema: list(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/)),
    allowed: 'variable names separated by commas',
    value: orNone,
  }),
  /** Undefined where there is none. */
  policyFile: path({
    name: 'MCP_BRIDGE_POLICY',
    meaning: 'Policy file, YAML or JSON: what is allowed and denied, and limits of calls.',
    default: 'none',
  }),
  /** Patterns over `server` and `server.tool`; undefined means everything. */
  allow: makeOptional({
    name: 'MCP_BRIDGE_ALLOW',
    meaning: 'Servers, tools, resources and prompts that may be used; all others are denied.',
    default: 'all',
    schema: list(namePattern),
    allowed: PATTERNS,
  }),
  deny: makeOptional({
    name: 'MCP_BRIDGE_DENY',
    meaning:
      'Servers, tools, resources and prompts that may not be used, even if they are allowed elsewhere.',
    default: 'none',
    schema: list(namePattern),
    allowed: PATTERNS,
    value: orNone,
  }),
  approve: setting({
    name: 'MCP_BRIDGE_APPROVE',
    meaning:
      'Which tool calls a person must approve before they are sent: those that may destroy something, all that may write, or all. The policy file can say more; its `approvals.mode` comes before this.',
    default: 'off',
    ...oneOf(APPROVE_MODES),
  }),
  /** Patterns over servers whose harmless hints count. */
  approveTrust: makeOptional({
    name: 'MCP_BRIDGE_APPROVE_TRUST',
    meaning:
      'Servers that are believed when they say that a tool only reads, or destroys nothing. Every tool of other servers counts as one that may destroy something.',
    default: 'none',
    schema: list(namePattern),
    allowed: 'names of servers separated by commas, such as github or *; `*` stands for any characters',
    value: orNone,
  }),
  /** How long the questions of one run may wait for a person, in sum. */
  approveWaitSeconds: setting({
    name: 'MCP_BRIDGE_APPROVE_WAIT',
    meaning:
      'Seconds that all questions about the calls of one run may wait for a person. The time of the run stands still meanwhile. It also stands still, for as long again, while its servers ask a person.',
    default: '600',
    ...seconds(1, DAY_SECONDS),
  }),
  /** Words outside of the agent and the page for a question that nobody has answered for some seconds. */
  notify: {
    desktop: setting({
      name: 'MCP_BRIDGE_NOTIFY_DESKTOP',
      meaning: 'Whether a call that waits for your approval is told by a notification on your desktop.',
      default: '0',
      ...flag,
    }),
    webhook: makeOptional({
      name: 'MCP_BRIDGE_NOTIFY_WEBHOOK',
      meaning:
        'Address to which a call that waits for an approval is told, signed as Standard Webhooks has it; docs/approvals.md says what is sent.',
      default: 'none',
      schema: textRule(oauthAddressTrouble),
      allowed: 'an https address without query and fragment; http for this machine only',
    }),
    secretFile: path({
      name: 'MCP_BRIDGE_NOTIFY_SECRET_FILE',
      meaning:
        'File with the key for the signatures of MCP_BRIDGE_NOTIFY_WEBHOOK: `whsec_` and 24 to 64 bytes in base64. Nobody else may read it.',
      default: 'none',
    }),
    arguments: setting({
      name: 'MCP_BRIDGE_NOTIFY_ARGUMENTS',
      meaning: 'Whether the webhook is sent the arguments of the calls, without known secrets and cut short.',
      default: '0',
      ...flag,
    }),
  },
  autoload: setting({
    name: 'MCP_BRIDGE_AUTOLOAD',
    meaning:
      'Whether code may load further servers with `runtime.load_server`; `ask` asks the user, if the client can.',
    default: 'ask',
    ...oneOf(['never', 'ask', 'always']),
  }),
  /** How long a call of a client that knows tasks lasts before it becomes one. */
  taskAfterSeconds: setting({
    name: 'MCP_BRIDGE_TASK_AFTER',
    meaning:
      'Seconds until a call that still runs is answered with a task, which the client asks for the result. Only for clients that know the extension `io.modelcontextprotocol/tasks`.',
    default: '20',
    schema: integerRule(0, DAY_SECONDS),
    allowed: 'a whole number from 0 to 86400; 0 makes every call a task',
  }),
  /** Address of the bridge's OAuth client id metadata document. */
  clientMetadataUrl: makeOptional({
    name: 'MCP_BRIDGE_CLIENT_METADATA_URL',
    meaning:
      'Address of your own OAuth client id metadata document, which `login` shows to authorization servers that accept one.',
    default: 'none; the bridge registers itself at each login',
    schema: z.string().refine((text) => URL.canParse(text) && /^https:\/\/[^/]+\/./.test(text)),
    allowed: 'an https address with a path',
  }),
  /** Settings of `serve --http`; nothing else looks at them. */
  http: {
    /** Lower case, without a port, IPv6 addresses in brackets. */
    hosts: makeOptional({
      name: 'MCP_BRIDGE_HTTP_HOSTS',
      meaning:
        'Names under which clients reach `serve --http`, besides localhost and the address that it listens on. Any other Host header is refused, so that a web page cannot rebind a name.',
      default: 'none',
      schema: list(hostName),
      allowed: 'host names without a port, separated by commas, such as mcp.example.com',
      value: orNone,
    }),
    origins: makeOptional({
      name: 'MCP_BRIDGE_HTTP_ORIGINS',
      meaning:
        'Web pages that may call `serve --http` from a browser, besides those of localhost and of its own names.',
      default: 'none',
      schema: list(origin),
      allowed: 'origins separated by commas, such as https://app.example.com',
      value: orNone,
    }),
    /** Addresses, ranges, and `unix`. */
    proxies: makeOptional({
      name: 'MCP_BRIDGE_HTTP_PROXIES',
      meaning:
        'Proxies whose X-Forwarded-For, -Proto and -Host are believed. From all others these headers are ignored.',
      default: 'none',
      schema: list(addressRange),
      allowed:
        'addresses or ranges separated by commas, such as 127.0.0.1,10.0.0.0/8; unix for whoever uses the socket',
      value: orNone,
    }),
    cert: path({
      name: 'MCP_BRIDGE_HTTP_CERT',
      meaning:
        'Certificate chain (PEM) of `serve --http`, with MCP_BRIDGE_HTTP_KEY; read again when the file changes.',
      default: 'none; without TLS',
    }),
    key: path({
      name: 'MCP_BRIDGE_HTTP_KEY',
      meaning: 'Private key (PEM) of that certificate.',
      default: 'none',
    }),
    /** Undefined where there is no page of figures. */
    metrics: path({
      name: 'MCP_BRIDGE_HTTP_METRICS',
      meaning:
        'File with the token by which Prometheus reads figures at /metrics; only its owner may read it. Nothing else opens them.',
      default: 'none; without /metrics',
    }),
    /** Undefined where it is the only one. */
    replica: makeOptional({
      name: 'MCP_BRIDGE_HTTP_REPLICA',
      meaning:
        'This pod, where several of a Kubernetes cluster serve one address: each principal has one of them that holds its sessions and runs, and the others pass its requests on. The chart sets it; docs/kubernetes.md.',
      default: 'none; it is the only one',
      schema: z
        .string()
        .regex(REPLICA)
        .transform((text) => {
          const [namespace = '', pod = '', uid = '', address = ''] = text.split('/');
          return { namespace, pod, uid, address };
        }),
      allowed: 'NAMESPACE/POD/UID/ADDRESS, as the cluster tells a pod of itself',
    }),
    replicaKey: path({
      name: 'MCP_BRIDGE_HTTP_REPLICA_KEY',
      meaning:
        'File with the key by which replicas know each other; only its owner may read it. MCP_BRIDGE_HTTP_REPLICA needs it.',
      default: 'none',
    }),
    requestsPerMinute: setting({
      name: 'MCP_BRIDGE_HTTP_RATE',
      meaning:
        'Requests that one principal may send in a minute; each 256 KiB of a body count as one more. Others are refused with 429 and Retry-After.',
      default: '1200',
      ...whole(1, 1_000_000),
    }),
    connections: setting({
      name: 'MCP_BRIDGE_HTTP_CONNECTIONS',
      meaning: 'Most connections at once; half as many from one address. Others are closed.',
      default: '2048',
      ...whole(2, MAX_CONNECTIONS),
    }),
    sessions: setting({
      name: 'MCP_BRIDGE_HTTP_SESSIONS',
      meaning:
        'Most sessions of clients of the 2025 revisions at once; a quarter of them for one principal. 0 serves these clients without sessions; then they cannot be asked anything.',
      default: '1000',
      ...whole(0, MAX_CONNECTIONS),
    }),
    sessionIdleSeconds: setting({
      name: 'MCP_BRIDGE_HTTP_SESSION_IDLE',
      meaning: 'Seconds until a session ends that nobody uses and that has no open stream.',
      default: '1800',
      ...seconds(1, DAY_SECONDS),
    }),
    bodyBytes: setting({
      name: 'MCP_BRIDGE_HTTP_BODY_MB',
      meaning:
        'Largest body of a request, in megabytes; a principal may have four times that at once, with the bodies of calls that still run.',
      default: '64',
      ...megabytes(1, 64),
    }),
    drainSeconds: makeOptional({
      name: 'MCP_BRIDGE_HTTP_DRAIN',
      meaning: 'Seconds that runs get to end after SIGTERM.',
      default: 'MCP_BRIDGE_MAX_TIMEOUT and 10 seconds more, so that none is lost',
      ...seconds(0, DAY_SECONDS),
    }),
  },
  /** Undefined where there is none. */
  principalsFile: path({
    name: 'MCP_BRIDGE_PRINCIPALS',
    meaning:
      'Principals file, YAML or JSON: what each token, OAuth subject or group may reach and use over HTTP. docs/principals.md has its fields.',
    default: 'none; tokens reach their own servers, and users of an issuer reach none',
  }),
  /** Whose access tokens the HTTP endpoint takes, and what a token has to say. */
  oauth: {
    /** Each exactly as the `iss` of its tokens. */
    issuers: makeOptional({
      name: 'MCP_BRIDGE_HTTP_OAUTH_ISSUER',
      meaning:
        'Issuers whose access tokens the HTTP endpoint accepts. Write each exactly as `iss` in its tokens, with the slash at the end if there is one.',
      default: 'none; only named tokens are accepted',
      schema: list(oauthAddress, 1),
      allowed: OAUTH_ADDRESSES,
    }),
    /** The address of the endpoint as clients reach it; what RFC 8707 and RFC 9728 call the resource. */
    resource: makeOptional({
      name: 'MCP_BRIDGE_HTTP_OAUTH_RESOURCE',
      meaning:
        'Address of the HTTP endpoint as clients reach it, such as https://mcp.example.com/mcp. Tokens must be made for it. MCP_BRIDGE_HTTP_OAUTH_ISSUER needs it.',
      default: 'none',
      schema: oauthAddress,
      allowed: 'an https address without query and fragment; http for this machine only',
    }),
    /** A token names one of them as its audience. */
    audiences: makeOptional({
      name: 'MCP_BRIDGE_HTTP_OAUTH_AUDIENCE',
      meaning:
        "Audiences, one of which a token must name in its `aud`. For issuers that do not use the resource's address there.",
      default: 'MCP_BRIDGE_HTTP_OAUTH_RESOURCE',
      schema: list(z.string(), 1),
      allowed: 'texts separated by commas, such as api://mcp-sandbox-bridge',
    }),
    /** A token has all of them. */
    scopes: makeOptional({
      name: 'MCP_BRIDGE_HTTP_OAUTH_SCOPES',
      meaning:
        'Scopes that every access token must have. Further ones for single servers are in the principals file.',
      default: 'none',
      schema: list(z.string().regex(SCOPE)),
      allowed: 'scopes separated by commas, in ASCII without spaces, quotes and backslashes',
      value: orNone,
    }),
  },
  /** How people log in to the page below `/ui`; without a client nobody can, and links open it. */
  pageLogin: {
    client: makeOptional({
      name: 'MCP_BRIDGE_HTTP_UI_CLIENT',
      meaning:
        'Client id with which the page below /ui logs people in at the first issuer of MCP_BRIDGE_HTTP_OAUTH_ISSUER, by OpenID Connect. The client is public, uses PKCE, and has the address of the page with /ui/callback as its redirect.',
      default: 'none; the page is opened by links alone',
      schema: z.string().regex(CLIENT),
      allowed: 'visible ASCII characters',
    }),
    admin: makeOptional({
      name: 'MCP_BRIDGE_HTTP_UI_ADMIN',
      meaning:
        'Claim of the ID token, and the value by which somebody who logs in to the page sees what everybody does. Others see what is theirs.',
      default: 'none; nobody who logs in',
      schema: z
        .string()
        .regex(/^[^=\s]+=.+$/)
        .transform((said) => ({
          claim: said.slice(0, said.indexOf('=')),
          value: said.slice(said.indexOf('=') + 1),
        })),
      allowed: 'a claim and a value, such as groups=bridge-admins or realm_access.roles=admin',
    }),
    scopes: makeOptional({
      name: 'MCP_BRIDGE_HTTP_UI_SCOPES',
      meaning:
        'Scopes that a login to the page asks for besides openid, where the claim of administrators needs one.',
      default: 'none',
      schema: list(z.string().regex(SCOPE)),
      allowed: 'scopes separated by commas, in ASCII without spaces, quotes and backslashes',
      value: orNone,
    }),
  },
  /** Where traces and figures are sent; texts, which otel-export.ts reads. */
  otel: otelVariables,
  /** How many bridges this one runs inside. */
  depth: setting({
    name: 'MCP_BRIDGE_DEPTH',
    meaning: 'Set by the bridge for the servers that it starts, so that it notices a bridge inside a bridge.',
    default: '0',
    schema: integerRule(0, 99),
    allowed: 'a whole number; not for people to set',
  }),
};

/** Values of the variables, before those that follow from others are settled. */
export type SettingValues = ValuesOf<typeof variables>;

export type ToolName = SettingValues['tools'][number];
export type VariableName = VariablesOf<typeof variables>;
