// Contents of a principals file: a schema, and for each field what its table and its errors say of it.

import { z } from 'zod';
import { patternTrouble } from '../../base/text/name-pattern.js';
import type { PolicyRow } from '../../policy/rules/policy-file.js';
import { DAY_SECONDS } from '../../settings/bounds.js';
import { bytes, oauthAddressTrouble } from '../../settings/environment/setting-rules.js';
import { writtenFolders } from '../../settings/files/data-folders.js';

const MAX_RUNS = 10_000;
const MAX_PROCESSOR_SECONDS = 365 * DAY_SECONDS;
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;
const HEADER_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,256}$/;
const HEADER_TEXT = /^[\x20-\x7e\t]*$/;
/** RFC 6749, 3.3. */
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]{1,256}$/;
/** Headers of the connection, and of MCP itself. */
const RESERVED_HEADERS =
  /^(?:host|connection|content-.*|transfer-encoding|te|trailer|upgrade|keep-alive|proxy-.*|mcp-.*|forwarded|x-forwarded-.*)$/i;

const text = z.string().min(1);
const names = z.array(text).readonly();
const patterns = z
  .array(
    z.string().refine((one) => patternTrouble(one) === undefined, {
      error: ({ input }) => `it ${patternTrouble(String(input))}`,
    }),
  )
  .readonly();
const address = z.string().refine((one) => oauthAddressTrouble(one) === undefined, {
  error: ({ input }) => oauthAddressTrouble(String(input)) ?? '',
});
const count = (max: number, min = 1) => z.int().min(min).max(max);
const size = z.union([
  z.int().min(1).max(Number.MAX_SAFE_INTEGER),
  bytes.pipe(z.number().min(1).max(Number.MAX_SAFE_INTEGER)),
]);

const headerSource = z.union([
  z.string().regex(HEADER_TEXT),
  z.strictObject({ variable: z.string().regex(VARIABLE) }),
  z.strictObject({ exchange: text }),
  z.strictObject({ passThrough: text }),
]);
const headerName = z.string().refine((name) => HEADER_NAME.test(name) && !RESERVED_HEADERS.test(name));

const quotas = z.strictObject({
  runsAtOnce: count(MAX_RUNS).optional(),
  runsWaiting: count(MAX_RUNS, 0).optional(),
  callsAtOnce: count(MAX_RUNS).optional(),
  callsWaiting: count(MAX_RUNS, 0).optional(),
  processorSeconds: z.number().positive().max(MAX_PROCESSOR_SECONDS).optional(),
  memory: size.optional(),
  sessions: count(MAX_RUNS, 0).optional(),
});
const entry = z.strictObject({
  servers: z.union([z.literal('*'), names]).optional(),
  allow: patterns.optional(),
  deny: patterns.default([]),
  policy: text.optional(),
  data: writtenFolders.default([]),
  headers: z.record(text, z.record(headerName, headerSource)).default({}),
  quotas: quotas.default({}),
});
const exchange = z.strictObject({
  tokenEndpoint: address,
  clientId: text,
  clientSecretVariable: z.string().regex(VARIABLE).optional(),
  audience: text.optional(),
  resource: z
    .string()
    .refine((one) => URL.canParse(one), { error: 'it is no address' })
    .optional(),
  scopes: z.array(z.string().regex(SCOPE)).readonly().default([]),
});
const opened = z.strictObject({
  servers: patterns.default([]),
  tools: z
    .array(z.enum(['run_python', 'execute_code', 'execute']))
    .readonly()
    .default([]),
});
const entries = z.record(text, entry).default({});

export const principalsSchema = z.strictObject({
  version: z.literal(1),
  groupsClaim: text.default('groups'),
  sharedServers: names.default([]),
  default: entry.optional(),
  tokens: entries,
  subjects: entries,
  clients: entries,
  groups: entries,
  scopes: z.record(z.string().regex(SCOPE), opened).default({}),
  exchanges: z.record(text, exchange).default({}),
});

/** Contents of a principals file. */
export type PrincipalsFile = z.output<typeof principalsSchema>;
export type PrincipalEntry = z.output<typeof entry>;
export type ExchangeEntry = z.output<typeof exchange>;

/** The maps from a name to an entry. */
export const ENTRY_MAPS = ['tokens', 'subjects', 'clients', 'groups'] as const;
/** In the table, an entry of one of these maps, or the default one. */
const ENTRY = 'ENTRY';

const SERVER_NAMES = "a list of servers' names";
const SERVER_PATTERNS = 'a list of patterns `server` or `server.tool`, as in MCP_BRIDGE_ALLOW';
const wholeNumberWords = (max: number, min = 1) => `a whole number from ${min} to ${max}`;
const AN_ENTRY = 'an entry, whose fields follow';

const row = (field: string, meaning: string, byDefault: string, allowed: string): PolicyRow => ({
  field,
  meaning,
  default: byDefault,
  allowed,
});

const ROWS: readonly PolicyRow[] = [
  row('version', 'Version of the format.', 'none; required', '1'),
  row('tokens.*', 'For the token of this name.', 'none', AN_ENTRY),
  row(
    'subjects.*',
    'For the person of this subject (`sub`). With several issuers the key is the issuer, a space, the subject; so it is in the next two.',
    'none',
    AN_ENTRY,
  ),
  row('clients.*', 'For the program of this client id, in tokens without a subject.', 'none', AN_ENTRY),
  row(
    'groups.*',
    'For whoever is in this group and has no entry of its own; the first in the file counts.',
    'none',
    AN_ENTRY,
  ),
  row('default', 'For everybody else.', 'none', AN_ENTRY),
  row(
    'ENTRY.servers',
    'Servers that exist for it. A token never reaches more than it names itself.',
    'for tokens what they name, for others none',
    `${SERVER_NAMES}, or '*'`,
  ),
  row('ENTRY.allow', 'If it is set, everything else is denied.', 'everything', SERVER_PATTERNS),
  row('ENTRY.deny', 'Denied, even if something else allows it.', 'nothing', SERVER_PATTERNS),
  row(
    'ENTRY.policy',
    "A policy file of its own, on top of the operator's for all.",
    'none',
    'an absolute path, or one that begins with ~/',
  ),
  row(
    'ENTRY.data',
    'Folders that its code sees at /data, written as in MCP_BRIDGE_DATA. It does not see the folders of MCP_BRIDGE_DATA itself.',
    'none',
    'a list of folders, such as ["/srv/sales", "/srv/out:results:rw"]',
  ),
  row(
    'ENTRY.headers.*.*',
    "Headers of requests to the server of this name, in place of the entry's own. A value is a text, a variable of the bridge's environment, a token that `exchanges` gets for the caller's, or the caller's own access token if its `aud` has what `passThrough` names.",
    'none; nothing of the caller is forwarded',
    'a text, {variable: NAME}, {exchange: NAME} or {passThrough: AUDIENCE}; no header of the connection or of MCP',
  ),
  row(
    'ENTRY.quotas.runsAtOnce',
    'Runs under way at once; further ones wait.',
    'the settings',
    wholeNumberWords(MAX_RUNS),
  ),
  row(
    'ENTRY.quotas.runsWaiting',
    'Runs that wait; a further one is refused.',
    'the settings',
    wholeNumberWords(MAX_RUNS, 0),
  ),
  row(
    'ENTRY.quotas.callsAtOnce',
    'Calls of tools under way at once, those of its code among them; further ones wait.',
    'the settings',
    wholeNumberWords(MAX_RUNS),
  ),
  row(
    'ENTRY.quotas.callsWaiting',
    'Calls of its agents that wait; a further one is refused. Calls of code are not refused.',
    'the settings',
    wholeNumberWords(MAX_RUNS, 0),
  ),
  row(
    'ENTRY.quotas.processorSeconds',
    'Processor time of its ended runs within MCP_BRIDGE_PRINCIPAL_WINDOW seconds.',
    'the settings',
    `a number of seconds above 0, up to ${MAX_PROCESSOR_SECONDS}`,
  ),
  row(
    'ENTRY.quotas.memory',
    'Memory that its runs under way may have together.',
    'the settings',
    'bytes, or a number with k, m, g or t, such as 2g',
  ),
  row('ENTRY.quotas.sessions', 'Sessions at once.', 'the settings', wholeNumberWords(MAX_RUNS, 0)),
  row(
    'sharedServers',
    'Servers whose one process or session serves everybody. It may tell one principal what it remembers of another.',
    'none',
    SERVER_NAMES,
  ),
  row(
    'groupsClaim',
    'Claim of access tokens that names groups; with dots, the path to it.',
    'groups',
    'a name such as groups or realm_access.roles',
  ),
  row(
    'scopes.*.servers',
    'Servers and tools that need this scope, or another scope that lists them.',
    'none',
    SERVER_PATTERNS,
  ),
  row(
    'scopes.*.tools',
    "The bridge's own tools that need this scope in the same way.",
    'none',
    'a list of run_python, execute_code, execute',
  ),
  row(
    'exchanges.*.tokenEndpoint',
    "Where the caller's token is exchanged (RFC 8693).",
    'none; required',
    'an https address without query and fragment; http for this machine only',
  ),
  row('exchanges.*.clientId', 'The client id of the bridge there.', 'none; required', 'a text'),
  row(
    'exchanges.*.clientSecretVariable',
    "Variable of the bridge's environment with the secret of the client.",
    'none; the client is public',
    'the name of a variable',
  ),
  row('exchanges.*.audience', 'Audience of the new token.', 'not said', 'a text'),
  row('exchanges.*.resource', 'The same as an address (RFC 8707).', 'not said', 'an address'),
  row('exchanges.*.scopes', 'Scopes to ask for.', 'not said', 'a list of scopes'),
];

/** Every field in the order of its table. */
export const principalsTable = (): readonly PolicyRow[] => ROWS;

/** Values that the table allows for the field at `path`, or for the list or map that this path is an item of. */
export function allowedAt(path: readonly string[]): string | undefined {
  const steps = tablePath(path);
  const fields = [steps, steps.slice(0, -1)].map((one) => one.join('.'));
  return ROWS.find(({ field }) => fields.includes(field))?.allowed;
}

/** Names of the fields in the map at `path`. */
export function fieldsAt(path: readonly string[]): readonly string[] {
  if (path.length === 0) return Object.keys(principalsSchema.shape);
  const isEntry = path.length === (path[0] === 'default' ? 1 : 2) && allowedAt(path) === AN_ENTRY;
  const prefix = isEntry ? [ENTRY] : tablePath(path);
  const below = ROWS.map(({ field }) => field.split('.')).filter(
    (steps) => steps.length > prefix.length && prefix.every((step, at) => step === steps[at]),
  );
  return [...new Set(below.flatMap((steps) => steps[prefix.length] ?? []))];
}

/** A path as the table has it: names of principals, servers, scopes and exchanges are stars. */
function tablePath([first = '', ...rest]: readonly string[]): readonly string[] {
  const isMap = (ENTRY_MAPS as readonly string[]).includes(first);
  if (isMap && rest.length < 2) return [first, ...rest.map(() => '*')];
  if (isMap || first === 'default') {
    const steps = isMap ? rest.slice(1) : rest;
    if (steps.length === 0) return first === 'default' ? ['default'] : [ENTRY];
    return steps[0] === 'headers' ? [ENTRY, 'headers', '*', '*'] : [ENTRY, ...steps];
  }
  return ['scopes', 'exchanges'].includes(first) && rest.length > 0
    ? [first, '*', ...rest.slice(1)]
    : [first, ...rest];
}

/** Whether what stands at `path` may be a secret, so that no error shows it. */
export const isSecretAt = (path: readonly string[]): boolean => path.includes('headers');
