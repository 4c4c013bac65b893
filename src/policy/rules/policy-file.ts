// The policy file: what the operator allows, as YAML or JSON. Read like a file that decides which programs run, and as a
// whole or not at all: a policy that is understood in part would let through what its author has forbidden.

import { z } from 'zod';
import { BridgeError } from '../../base/errors.js';
import { didYouMean } from '../../base/text/closest.js';
import { patternTrouble } from '../../base/text/name-pattern.js';
import { MB_BYTES } from '../../base/text/sizes.js';
import { clipHarmless } from '../../base/text/text.js';
import { APPROVE_MODES } from '../../settings/environment/variables.js';
import { strictYaml } from '../../settings/files/file-formats.js';
import { readGuarded } from '../../settings/files/guarded-file.js';
import type { HostFacts } from '../../settings/files/host-facts.js';
import { MAX_CALLS_IN_FLIGHT } from '../../wire/limits.js';
import { conditionTrouble } from './condition.js';

/** Row of the policy file's table for one field; `perServer.*` stands for any server. */
export type PolicyRow = {
  readonly field: string;
  readonly meaning: string;
  readonly default: string;
  readonly allowed: string;
};

/** A policy for a thousand servers has a tenth of it. */
const MAX_FILE_BYTES = MB_BYTES;
const MAX_VALUE_CHARS = 120;
const MAX_PROBLEMS = 10;
/** Beyond these a number is a typing error: a day, a terabyte, and calls that no run makes. */
const MAX_SECONDS = 86_400;
const MAX_CALL_BYTES = 1024 ** 4;
const MAX_CALLS = 1_000_000;
/**
 * Default number of calls that one server may have under way. It equals the limit of one run, so that a hundred
 * gathered calls do run side by side.
 */
export const DEFAULT_CALLS_IN_FLIGHT_PER_SERVER = MAX_CALLS_IN_FLIGHT;

const pattern = z.string().refine((text) => patternTrouble(text) === undefined, {
  error: ({ input }) => `it ${patternTrouble(String(input))}`,
});
const patterns = z.array(pattern).readonly();
const count = (max: number) => z.int().min(1).max(max);
const serverLimits = {
  callsPerRun: count(MAX_CALLS).optional(),
  callsInFlight: count(MAX_CALLS_IN_FLIGHT).optional(),
  secondsPerCall: z.number().positive().max(MAX_SECONDS).optional(),
  bytesPerCall: count(MAX_CALL_BYTES).optional(),
};

/** How code may use data folders, from the least to the most. */
export const DATA_ACCESS = ['none', 'read', 'write'] as const;

const limits = z.strictObject({
  ...serverLimits,
  callsInFlightPerServer: count(MAX_CALLS_IN_FLIGHT).optional(),
});
const perServer = z.strictObject({
  allow: patterns.optional(),
  deny: patterns.default([]),
  resources: z.enum(['allow', 'deny']).optional(),
  limits: z.strictObject(serverLimits).default({}),
});
const condition = z.string().refine((text) => conditionTrouble(text) === undefined, {
  error: ({ input }) => `it ${conditionTrouble(String(input))}`,
});
const approvalRule = z.strictObject({
  action: z.enum(['allow', 'ask', 'deny']),
  tools: patterns.optional(),
  is: z.enum(['read', 'write', 'destructive', 'open-world']).optional(),
  when: condition.optional(),
  principals: patterns.optional(),
});
/** Tool that a person has allowed for good; the names are exact. */
const alwaysAllowed = z.strictObject({
  server: z.string(),
  tool: z.string(),
  /** Key that tells the server's entry from others of its name (catalogKey); where the key is not there, the name does. */
  entry: z.string().optional(),
  since: z.string().optional(),
  reason: z.string().optional(),
});
const approvals = z.strictObject({
  mode: z.enum(APPROVE_MODES).optional(),
  trust: patterns.default([]),
  reads: patterns.default([]),
  rules: z.array(approvalRule).readonly().default([]),
  always: z.array(alwaysAllowed).readonly().default([]),
});
const schema = z.strictObject({
  version: z.literal(1),
  allow: patterns.optional(),
  deny: patterns.default([]),
  // A pattern would be taken for a name that no server has, and silently deny nothing.
  perServer: z.record(z.string().regex(/^[^*]*$/), perServer).default({}),
  limits: limits.default({}),
  changedTools: z.enum(['flag', 'refuse']).default('flag'),
  data: z.enum(DATA_ACCESS).optional(),
  approvals: approvals.optional(),
});

/** Content of a policy file. */
export type PolicyFile = z.output<typeof schema>;
/** Section of a policy file about approvals of single calls. */
export type ApprovalSection = NonNullable<PolicyFile['approvals']>;

const SERVER_PATTERNS =
  'a list of patterns `server`, `server.tool` or `server.resources/*`, in which `*` stands for any characters and a backslash takes the next one for itself';
const TOOL_PATTERNS = 'a list of patterns over names of tools, or `resources/*` and `prompts/*`';
const wholeNumberWords = (max: number) => `a whole number from 1 to ${max}`;
const SECONDS = `a number of seconds above 0, up to ${MAX_SECONDS}`;

const ROWS: readonly PolicyRow[] = [
  { field: 'version', meaning: 'Version of the format.', default: 'none; required', allowed: '1' },
  {
    field: 'allow',
    meaning: 'If it is set, everything else is denied.',
    default: 'everything',
    allowed: SERVER_PATTERNS,
  },
  {
    field: 'deny',
    meaning: 'Denied, even if something else allows it.',
    default: 'nothing',
    allowed: SERVER_PATTERNS,
  },
  {
    field: 'perServer.*.allow',
    meaning: "The server's only tools, resources and prompts.",
    default: 'all',
    allowed: TOOL_PATTERNS,
  },
  {
    field: 'perServer.*.deny',
    meaning: 'Tools of the server that are denied, or its resources or prompts.',
    default: 'none',
    allowed: TOOL_PATTERNS,
  },
  {
    field: 'perServer.*.resources',
    meaning: "The server's resources and prompts, whatever the two lists before say.",
    default: 'as the two lists before say',
    allowed: 'allow or deny',
  },
  {
    field: 'perServer.*.limits',
    meaning:
      'For this server instead of those for all: `callsPerRun`, `callsInFlight`, `secondsPerCall`, `bytesPerCall`.',
    default: 'those for all',
    allowed: 'as for all',
  },
  {
    field: 'limits.callsPerRun',
    meaning: 'Calls of one run: tools, resources, prompts, and servers that it loads.',
    default: 'no limit',
    allowed: wholeNumberWords(MAX_CALLS),
  },
  {
    field: 'limits.callsInFlight',
    meaning: 'Calls of one run at once; further ones wait.',
    default: String(MAX_CALLS_IN_FLIGHT),
    allowed: wholeNumberWords(MAX_CALLS_IN_FLIGHT),
  },
  {
    field: 'limits.callsInFlightPerServer',
    meaning: 'Calls of one server at once, of all runs together; further ones wait.',
    default: String(DEFAULT_CALLS_IN_FLIGHT_PER_SERVER),
    allowed: wholeNumberWords(MAX_CALLS_IN_FLIGHT),
  },
  {
    field: 'limits.secondsPerCall',
    meaning: 'Seconds from when a call is let through to its answer.',
    default: 'what the server and the run allow',
    allowed: SECONDS,
  },
  {
    field: 'limits.bytesPerCall',
    meaning: "Bytes of a call's arguments, and of its result.",
    default: 'what the wire carries',
    allowed: wholeNumberWords(MAX_CALL_BYTES),
  },
  {
    field: 'changedTools',
    meaning:
      'Tools whose description has changed since the server was first seen: shown with a mark, or denied.',
    default: 'flag',
    allowed: 'flag or refuse',
  },
  {
    field: 'data',
    meaning:
      'Data folders (MCP_BRIDGE_DATA): `none` is seen, all are read-only, or those with `:rw` can be written.',
    default: 'write',
    allowed: 'none, read or write',
  },
  {
    field: 'approvals.mode',
    meaning: 'Which calls a person is asked about if no rule of `approvals` says more.',
    default: 'MCP_BRIDGE_APPROVE',
    allowed: 'off, destructive, writes or all',
  },
  {
    field: 'approvals.trust',
    meaning: 'Servers that are believed if they say that a tool only reads, or destroys nothing.',
    default: 'MCP_BRIDGE_APPROVE_TRUST',
    allowed: 'a list of patterns over names of servers',
  },
  {
    field: 'approvals.reads',
    meaning: 'Tools that only read, whatever their servers say.',
    default: 'none',
    allowed: SERVER_PATTERNS,
  },
  {
    field: 'approvals.rules.*.action',
    meaning:
      'What happens to a call that fits: any `deny` wins, wherever it stands; else the first rule that fits.',
    default: 'none; required',
    allowed: 'allow, ask or deny',
  },
  {
    field: 'approvals.rules.*.tools',
    meaning: 'Fits calls of these tools.',
    default: 'all',
    allowed: SERVER_PATTERNS,
  },
  {
    field: 'approvals.rules.*.is',
    meaning: "Fits by the tool's own annotations.",
    default: 'any',
    allowed: 'read, write, destructive or open-world',
  },
  {
    field: 'approvals.rules.*.when',
    meaning: 'Fits by the arguments: a condition over `args`, `server`, `tool` and `principal`.',
    default: 'any',
    allowed: 'an expression of CEL that is true or false, such as `args.amount > 100`',
  },
  {
    field: 'approvals.rules.*.principals',
    meaning: 'Fits calls of these principals.',
    default: 'all',
    allowed: 'a list of patterns over ids of principals; `local` is the user who started the bridge',
  },
  {
    field: 'approvals.always',
    meaning: 'Tools for which somebody has answered a question with always; written by the bridge.',
    default: 'none',
    allowed: 'a list of maps with server and tool, exact names, and with entry, since and reason',
  },
];

/** Every field in the order of its table. */
export function policyTable(): readonly PolicyRow[] {
  return ROWS;
}

/** Throws E_SETTINGS that names the file and each wrong field; nothing is to run without the policy that was asked for. */
export function readPolicyFile(file: string, host: HostFacts): PolicyFile {
  return parsePolicy(file, policyText(file, host));
}

/** The text of the file. Throws E_SETTINGS where it cannot be read, or others may have written it. */
export function policyText(file: string, host: HostFacts): string {
  const read = readGuarded(file, MAX_FILE_BYTES, host);
  if (read.state === 'absent') throw unusableError(file, ['does not exist']);
  if (read.state === 'refused') throw unusableError(file, [read.message]);
  return read.text;
}

/** Parses `text`, which is the content of `file`. Throws E_SETTINGS as reading the file does. */
export function parsePolicy(file: string, text: string): PolicyFile {
  const parsed = schema.safeParse(parsedText(file, text), { reportInput: true });
  if (parsed.success) return parsed.data;
  throw unusableError(file, parsed.error.issues.slice(0, MAX_PROBLEMS).flatMap(complaints));
}

function unusableError(file: string, problems: readonly string[]): BridgeError {
  const lines = problems.map((problem) => `MCP_BRIDGE_POLICY: ${file}: ${problem}`);
  return new BridgeError('E_SETTINGS', lines.join('\n'), {
    fault: 'operator',
    remedy:
      'Correct the policy file, or the variable that names it, then restart the host: one that is wrong at the start is not read again.',
  });
}

function parsedText(file: string, text: string): unknown {
  const parsed = strictYaml(text);
  if ('mistake' in parsed) throw unusableError(file, [parsed.mistake]);
  return parsed.value;
}

function complaints(issue: z.core.$ZodIssue): string[] {
  const path = issue.path.map(String);
  const field = clipValue(path.join('.'));
  if (issue.code === 'unrecognized_keys') {
    const known = keysAt(path);
    const within = field === '' ? '' : `${field}.`;
    return issue.keys.map(
      (key) =>
        `there is no field '${within}${clipValue(key)}'.${didYouMean(key, known)} Fields here: ${known.join(', ')}.`,
    );
  }
  if (issue.code === 'invalid_key') {
    const names = 'the name of one server. Patterns for servers go into allow and deny';
    return [`'${field}' is a pattern; allowed: ${names}.`];
  }
  const why = issue.code === 'custom' ? ` (${issue.message})` : '';
  const got = issue.input === undefined ? 'missing' : clipValue(JSON.stringify(issue.input));
  const allowed = allowedAt(path) ?? 'a map of fields';
  return [`${field === '' ? 'the whole' : `'${field}'`} is ${got}${why}; allowed: ${allowed}.`];
}

function keysAt(path: readonly string[]): readonly string[] {
  if (path.length === 0) return Object.keys(schema.shape);
  if (path[0] === 'approvals') {
    const part = path[1] === 'rules' ? approvalRule : path[1] === 'always' ? alwaysAllowed : approvals;
    return Object.keys(part.shape);
  }
  if (path.at(-1) !== 'limits') return Object.keys(perServer.shape);
  return Object.keys(path.length === 1 ? limits.shape : serverLimits);
}

/** Values that the table allows for a field, or for the list that the field is an item of. */
function allowedAt(path: readonly string[]): string | undefined {
  const [first, second, ...rest] = path;
  const fieldsOf = (steps: readonly string[]) => [steps.join('.'), steps.slice(0, -1).join('.')];
  if (first === 'approvals') {
    if (second === 'always') return ROWS.find(({ field }) => field === 'approvals.always')?.allowed;
    if (second === 'rules' && rest.length < 2)
      return rest.length === 0 ? 'a list of rules' : 'a map of fields';
  }
  const inPlace = () => {
    if (first === 'approvals' && second === 'rules') return [first, second, '*', ...rest.slice(1)];
    if (first !== 'perServer') return path;
    return rest[0] === 'limits' ? rest : [first, '*', ...rest];
  };
  const fields = fieldsOf(inPlace());
  return ROWS.find(({ field }) => fields.includes(field))?.allowed;
}

const clipValue = (text: string): string => clipHarmless(text, MAX_VALUE_CHARS);
