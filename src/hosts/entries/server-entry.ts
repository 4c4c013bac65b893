// One entry of a configuration file, from whatever was written there to a spec or to the reason why not. Knows neither
// hosts nor files: how an entry is spelled comes as a dialect. Connects to nothing; an address is judged by its words alone.

import { z } from 'zod';
import { isObject, kindOf, switchOf, textsOf } from '../../base/json/records.js';
import { clipHarmless, makeHarmless } from '../../base/text/text.js';
import {
  type DownstreamSpec,
  type MachineLogin,
  type RemoteSpec,
  type SecretSource,
  type SpecSource,
  type StdioSpec,
  VERSION_NEGOTIATIONS,
} from '../downstream-spec.js';
import { type Mistake, mistaken, type ServerSkipReason } from '../skip-reason.js';
import {
  displayValue,
  type HostDialect,
  memberOf,
  type RawEntry,
  type Transport,
  timeOf,
  translate,
  transportOf,
} from '../terms/dialect.js';
import { Filling } from './filling.js';

/** A longer one is not used. */
export const MAX_NAME_CHARS = 128;
const MAX_DESCRIPTION_CHARS = 500;

/** `off` was switched off by the user. */
export type ReadEntry =
  | { readonly state: 'ready'; readonly spec: DownstreamSpec }
  | { readonly state: 'off'; readonly reason: ServerSkipReason }
  | { readonly state: 'unusable'; readonly reason: ServerSkipReason };

const unusableEntry = (reason: ServerSkipReason): ReadEntry => ({ state: 'unusable', reason });

export function parseEntry(
  name: string,
  value: unknown,
  context: ConstructorParameters<typeof Filling>[0] & {
    readonly source: SpecSource;
    readonly dialect: HostDialect;
    /** Description of the whole file, for entries that have none. */
    readonly description: string;
  },
): ReadEntry {
  const nameTrouble = troubleOfName(name);
  if (nameTrouble !== undefined) return unusableEntry(mistaken(nameTrouble));
  if (!isObject(value)) return unusableEntry(mistaken({ kind: 'not-an-object', found: kindOf(value) }));
  const off = reasonOff(value);
  if (off !== undefined) return { state: 'off', reason: off };
  const { dialect } = context;
  const entry = unnestTransport(value, dialect);
  const refused = dialect.refuse?.(entry);
  if (refused !== undefined) return unusableEntry(refused);
  return build(name, dialect.reshape?.(entry) ?? entry, context);
}

/** No host has both words, and none means anything else by either. What says neither on nor off counts as off. */
function reasonOff(entry: RawEntry): ServerSkipReason | undefined {
  for (const [field, off] of [
    ['disabled', true],
    ['enabled', false],
  ] as const) {
    const said = memberOf(entry, field);
    if (said === undefined) continue;
    const isOn = switchOf(said);
    if (isOn === off) return { kind: 'disabled-in-file' };
    if (isOn === undefined)
      return mistaken({
        kind: 'wrong-field',
        field,
        trouble: `expected true or false, received ${displayValue(said)}`,
      });
  }
  return undefined;
}

/**
 * The entry with the members of a `transport` of its own among its own, as lists of servers and some hosts write it; what the
 * entry says itself comes first. A word in that place is a type.
 */
function unnestTransport(entry: RawEntry, { types }: HostDialect): RawEntry {
  const { transport, ...own } = entry;
  if (isObject(transport)) return { ...transport, ...own };
  const isType = typeof transport === 'string' && Object.hasOwn(types, transport);
  return isType && own['type'] === undefined ? { ...own, type: transport } : entry;
}

function build(name: string, entry: RawEntry, context: Parameters<typeof parseEntry>[2]): ReadEntry {
  const { dialect } = context;
  const transport = transportOf(entry, dialect);
  if (typeof transport === 'object') return unusableEntry(transport.reason);
  const { fields, spelled } = translate(entry, dialect);
  const callTime = timeOf(entry, dialect.callTimes);
  if ('reason' in callTime) return unusableEntry(callTime.reason);
  const startTime = timeOf(entry, dialect.startTimes);
  if ('reason' in startTime) return unusableEntry(startTime.reason);
  const shared = {
    name,
    callTimeoutMs: callTime.ms,
    startTimeoutMs: startTime.ms,
    source: context.source,
  };
  const described = (said: LocalFields | RemoteFields) => ({
    ...shared,
    description: clipHarmless(said.description ?? context.description, MAX_DESCRIPTION_CHARS),
    toolFilter: filterOf(said),
    ...(said.versionNegotiation ? { versionNegotiation: said.versionNegotiation } : {}),
  });
  const filling = new Filling(context);
  let spec: DownstreamSpec;
  if (transport === 'stdio') {
    const { data, error } = localFields.safeParse(fields);
    if (error !== undefined)
      return unusableEntry({ kind: 'unusable', needs: [], mistakes: wrongFields(error, spelled) });
    spec = { ...described(data), transport, ...programOf(data, filling) };
  } else {
    const { data, error } = remoteFields.safeParse(fields);
    if (error !== undefined)
      return unusableEntry({ kind: 'unusable', needs: [], mistakes: wrongFields(error, spelled) });
    spec = { ...described(data), ...remoteOf(data, transport, filling, spelled('url')) };
  }
  const { problem: objection } = filling;
  return objection === undefined ? { state: 'ready', spec } : unusableEntry(objection);
}

function programOf(
  { command, args, env, cwd, envFile, envNames }: LocalFields,
  filling: Filling,
): Pick<StdioSpec, 'command' | 'args' | 'env' | 'cwd'> {
  // Codex can also mean the variables of another machine, which we are not.
  const handedOn = (envNames ?? []).flatMap((one) => {
    if (typeof one === 'string') return [one];
    return one.source === 'remote' ? [] : [one.name];
  });
  const own = Object.entries(env ?? {}).filter((entry): entry is [string, string] => entry[1] !== null);
  return {
    command: filling.text(command),
    args: (args ?? []).map((arg) => filling.text(arg)),
    env: {
      ...(envFile ? filling.envFile(envFile) : {}),
      ...filling.variables(handedOn),
      ...filling.map(Object.fromEntries(own)),
    },
    cwd: cwd ? filling.path(cwd) : undefined,
  };
}

/** Characters that a header may carry: visible ones, space, tab, and the upper half of Latin-1 (RFC 9110, 5.5). */
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Tells `filling` what speaks against the entry. */
function remoteOf(
  fields: RemoteFields,
  transport: Exclude<Transport, 'stdio'>,
  filling: Filling,
  spelledUrl: string,
): Pick<RemoteSpec, 'transport' | 'url' | 'headers' | 'headersHelper' | 'oauth'> {
  const { headersHelper } = fields;
  return {
    transport,
    url: checkedUrl(filling.text(fields.url), spelledUrl, filling),
    headers: headersOf(fields, filling),
    headersHelper:
      headersHelper === null || headersHelper === undefined ? undefined : filling.text(headersHelper),
    oauth: oauthOf(fields, filling),
  };
}

/** An address may hold a token, so what is said of a wrong one does not quote it. */
function checkedUrl(written: string, field: string, filling: Filling): string {
  // One that still wants a variable has been objected to already.
  const url = URL.canParse(written) ? new URL(written) : undefined;
  if (url === undefined) {
    if (filling.problem === undefined)
      filling.object({ kind: 'wrong-field', field, trouble: 'is not an address such as https://…' });
  } else if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    const trouble = `begins with ${url.protocol}//; allowed: http:// and https://`;
    filling.object({ kind: 'wrong-field', field, trouble });
  } else if (url.username !== '' || url.password !== '') {
    const trouble = 'has a user name or password; put them into an Authorization header';
    filling.object({ kind: 'wrong-field', field, trouble });
  }
  return written;
}

function headersOf(fields: RemoteFields, filling: Filling): Record<string, string> {
  const { headers, headerVariables, bearerVariable } = fields;
  const written = { ...filling.map(headers ?? {}) };
  for (const [name, variable] of Object.entries(headerVariables ?? {}))
    written[name] = filling.variable(variable);
  if (bearerVariable) written['Authorization'] = `Bearer ${filling.variable(bearerVariable)}`;
  for (const [name, value] of Object.entries(written)) {
    // A variable that was read from a file often ends in a newline.
    const trimmed = value.trim();
    if (!HEADER_VALUE.test(trimmed)) filling.object({ kind: 'wrong-header', header: name });
    written[name] = trimmed;
  }
  return written;
}

/** Every spelling that some host has; what is of another shape is left out, since the server may tell it itself. */
function oauthOf({ oauth, scopes }: RemoteFields, filling: Filling): RemoteSpec['oauth'] {
  if (oauth === false) return false;
  const said = isObject(oauth) ? oauth : {};
  const first = (...names: string[]): unknown => {
    const name = names.find((one) => Object.hasOwn(said, one) && said[one] !== null);
    return name === undefined ? undefined : said[name];
  };
  const text = (value: unknown) =>
    typeof value === 'string' && value !== '' ? filling.text(value) : undefined;
  const port = first('callbackPort', 'callback_port');
  const machine = machineLoginOf(said, filling);
  return {
    clientId: text(first('clientId', 'client_id', 'CLIENT_ID')),
    clientSecret: text(first('clientSecret', 'client_secret', 'CLIENT_SECRET')),
    scopes: scopesOf(first('scopes', 'scope', 'oauthScopes') ?? scopes),
    callbackPort:
      typeof port === 'number' && Number.isInteger(port) && port > 0 && port < 65_536 ? port : undefined,
    authServerMetadataUrl: text(first('authServerMetadataUrl')),
    ...(machine === undefined ? {} : { machine }),
  };
}

const scopesOf = (written: unknown): string[] =>
  typeof written === 'string' ? written.split(/[\s,]+/).filter((scope) => scope !== '') : textsOf(written);

/** `*` is all of them, as Copilot CLI writes it. */
function filterOf({ only, except }: LocalFields | RemoteFields): DownstreamSpec['toolFilter'] {
  return { only: only?.includes('*') ? undefined : (only ?? undefined), except: except ?? [] };
}

/** The mistake in the name of a server, or of a token, which follows the same rules; undefined where there is none. */
export function troubleOfName(name: string): Mistake | undefined {
  if (name.trim() === '') return { kind: 'name-empty' };
  if (name.length > MAX_NAME_CHARS)
    return { kind: 'name-too-long', chars: name.length, maxChars: MAX_NAME_CHARS };
  if (makeHarmless(name) !== name || /[\t\n]/.test(name)) return { kind: 'name-unseen' };
  return undefined;
}

// The fields of an entry in the bridge's words, checked: what a program needs, what a remote server needs, and what
// both may say. And what is wrong with a field, in words for the person who wrote it.

// The kernel ends a string at NUL, so one inside means another program than the text says.
const plain = z.string().refine((text) => !text.includes('\0'), 'must not contain a NUL character');
const scalar = z.union([
  plain,
  z.number().transform(String),
  z.bigint().transform(String),
  z.boolean().transform(String),
]);
const filled = plain.min(1, 'must not be empty');
const names = z.array(z.string());

const both = {
  // A description is for the reader alone: one of another shape is no reason to be without the server.
  description: z.string().nullish().catch(undefined),
  only: z.preprocess((said) => (said === '*' ? [said] : said), names.nullish()),
  except: names.nullish(),
  versionNegotiation: z
    .enum(VERSION_NEGOTIATIONS, { error: `must be ${VERSION_NEGOTIATIONS.join(', ')}` })
    .nullish(),
};

const localFields = z.object({
  ...both,
  command: filled,
  args: z.array(scalar).nullish(),
  // A value of null is how some hosts write that a variable is not to be set.
  env: z.record(plain.regex(/^[^=]+$/), scalar.nullable()).nullish(),
  cwd: plain.nullish(),
  envFile: plain.nullish(),
  envNames: z
    .array(z.union([z.string(), z.object({ name: z.string(), source: z.string().nullish() })]))
    .nullish(),
});

/** RFC 9110, a token. */
const headerName = z.string().regex(/^[!#$%&'*+.^_`|~\w-]+$/);

const remoteFields = z.object({
  ...both,
  url: filled,
  headers: z.record(headerName, scalar).nullish(),
  headerVariables: z.record(headerName, filled).nullish(),
  bearerVariable: filled.nullish(),
  headersHelper: filled.nullish(),
  // The fields that hosts add here change often, and none of them is needed to reach the server.
  oauth: z.unknown().optional(),
  scopes: z.unknown().optional(),
});

type LocalFields = z.output<typeof localFields>;
type RemoteFields = z.output<typeof remoteFields>;

/** The mistakes in the fields; `spelled` gives the host's name of each field. */
function wrongFields(error: z.ZodError, spelled: (field: string) => string): Mistake[] {
  return error.issues.map(({ path: [field, ...rest], ...issue }) => ({
    kind: 'wrong-field',
    field: [spelled(String(field)), ...rest].join('.'),
    trouble: plainWords(issue as z.core.$ZodIssue, String(field)),
  }));
}

function plainWords(issue: z.core.$ZodIssue, field: string): string {
  if (issue.code === 'invalid_type') return issue.message.replace(/^Invalid input: /, '');
  if (issue.code === 'invalid_key')
    return field === 'env' ? 'is not a variable name' : 'is not a header name';
  if (issue.code === 'invalid_union') return 'expected a string, number or boolean';
  return issue.message;
}

// A login that needs no person, as an entry's `oauth` describes it: by which grant, at which authorization server, and
// where its secrets stand. Secrets are named and not written: by an environment variable, or by a file that is read
// whenever a token is asked for.

const GRANTS = ['client_credentials', 'cross_app_access'] as const;
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512'] as const;

const filledText = z.string('must be a string').min(1, 'must not be empty');
const issuer = filledText.refine(
  (text) => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol),
  'must be the https address of an authorization server',
);

const secret = {
  clientSecret: filledText.optional(),
  clientSecretVariable: filledText.optional(),
  clientSecretFile: filledText.optional(),
};

const identity = z.object({
  issuer,
  clientId: filledText,
  ...secret,
  tokenVariable: filledText.optional(),
  tokenFile: filledText.optional(),
});

const fields = z.object({
  grant: z.enum(GRANTS, { error: `must be ${GRANTS.join(' or ')}` }),
  issuer,
  clientId: filledText,
  ...secret,
  privateKeyVariable: filledText.optional(),
  privateKeyFile: filledText.optional(),
  algorithm: z.enum(ALGORITHMS, { error: `must be ${ALGORITHMS.join(', ')}` }).default('RS256'),
  identity: identity.optional(),
});

/** Undefined where the entry names no such grant, and where it does so wrongly, which is said to `filling`. */
function machineLoginOf(said: Readonly<Record<string, unknown>>, filling: Filling): MachineLogin | undefined {
  if (said['grant'] === undefined || said['grant'] === null || said['grant'] === 'authorization_code')
    return undefined;
  const { data, error } = fields.safeParse(said);
  if (data === undefined) {
    for (const { path, message, code } of error.issues) {
      const trouble = code === 'invalid_type' && path.length > 0 ? `is missing, or is not a string` : message;
      filling.object({ kind: 'wrong-field', field: ['oauth', ...path].join('.'), trouble });
    }
    return undefined;
  }
  const object = (field: string, trouble: string) =>
    filling.object({ kind: 'wrong-field', field: `oauth.${field}`, trouble });
  const clientSecret = sourceOf(data, 'clientSecret', filling);
  const pem = sourceOf(data, 'privateKey', filling);
  if (clientSecret !== undefined && pem !== undefined)
    object('privateKeyFile', 'is given together with a client secret; give only one of the two');
  if (data.grant === 'client_credentials' && clientSecret === undefined && pem === undefined) {
    object(
      'clientSecretVariable',
      'is missing; name a secret (clientSecretVariable, clientSecretFile) or a key (privateKeyVariable, privateKeyFile)',
    );
  }
  const token = data.identity && sourceOf(data.identity, 'token', filling, 'identity.');
  if (data.grant === 'cross_app_access' && token === undefined) {
    object(
      'identity',
      'is missing or names no token; it needs issuer, clientId, and tokenVariable or tokenFile for the ID token',
    );
  }
  return {
    grant: data.grant,
    issuer: filling.text(data.issuer),
    clientId: filling.text(data.clientId),
    secret: clientSecret,
    privateKey: pem && { pem, algorithm: data.algorithm },
    identity:
      data.identity && token
        ? {
            issuer: filling.text(data.identity.issuer),
            clientId: filling.text(data.identity.clientId),
            secret: sourceOf(data.identity, 'clientSecret', filling, 'identity.'),
            token,
          }
        : undefined,
  };
}

/** The secret named by `nameVariable` or `nameFile`, or written in `name`, where variables are filled in as everywhere. */
function sourceOf(
  said: Readonly<Record<string, unknown>>,
  name: string,
  filling: Filling,
  within = '',
): SecretSource | undefined {
  const [written, variable, file] = ['', 'Variable', 'File'].map((ending) => said[`${name}${ending}`]);
  const ways = [written, variable, file].filter((way) => way !== undefined);
  if (ways.length > 1) {
    const field = `oauth.${within}${name}`;
    filling.object({ kind: 'wrong-field', field, trouble: 'is given in more than one way; keep one' });
  }
  if (typeof variable === 'string') return { value: filling.variable(variable) };
  if (typeof file === 'string') return { file: filling.path(file) };
  return typeof written === 'string' ? { value: filling.text(written) } : undefined;
}
