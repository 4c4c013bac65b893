// One entry of a configuration file, from whatever was written there to a spec or to the reason why not. Knows neither
// hosts nor files: how an entry is spelled comes as a dialect. Connects to nothing; an address is judged by its words alone.

import { isRecord, kindOf, switchOf, textsOf } from '../../base/json/records.js';
import { clipHarmless, harmless } from '../../base/text/text.js';
import type {
  DownstreamSpec,
  OAuthHints,
  RemoteSpec,
  SpecSource,
  StdioSpec,
  ToolFilter,
} from '../downstream-spec.js';
import { type Mistake, mistaken, type ServerSkipReason } from '../skip-reason.js';
import {
  type HostDialect,
  memberOf,
  type RawEntry,
  shown,
  type Transport,
  timeOf,
  translate,
  transportOf,
} from '../terms/dialect.js';
import {
  type LocalFields,
  localFields,
  type RemoteFields,
  remoteFields,
  wrongFields,
} from './entry-fields.js';
import { Filling, type FillingContext } from './filling.js';
import { machineLoginOf } from './machine-login.js';

/** A longer one is not used. */
export const MAX_NAME_CHARS = 128;
const MAX_DESCRIPTION_CHARS = 500;

export type EntryContext = FillingContext & {
  readonly source: SpecSource;
  readonly dialect: HostDialect;
  /** Description of the whole file, for entries that have none. */
  readonly description: string;
};

/** `off` was switched off by the user. */
export type ReadEntry =
  | { readonly state: 'ready'; readonly spec: DownstreamSpec }
  | { readonly state: 'off'; readonly reason: ServerSkipReason }
  | { readonly state: 'unusable'; readonly reason: ServerSkipReason };

const unusable = (reason: ServerSkipReason): ReadEntry => ({ state: 'unusable', reason });

export function parseEntry(name: string, value: unknown, context: EntryContext): ReadEntry {
  const nameTrouble = troubleOfName(name);
  if (nameTrouble !== undefined) return unusable(mistaken(nameTrouble));
  if (!isRecord(value)) return unusable(mistaken({ kind: 'not-an-object', found: kindOf(value) }));
  const off = reasonOff(value);
  if (off !== undefined) return { state: 'off', reason: off };
  const { dialect } = context;
  const entry = unnested(value, dialect);
  const refused = dialect.refuse?.(entry);
  if (refused !== undefined) return unusable(refused);
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
        trouble: `expected true or false, received ${shown(said)}`,
      });
  }
  return undefined;
}

/**
 * The entry with the members of a `transport` of its own among its own, as lists of servers and some hosts write it; what the
 * entry says itself comes first. A word in that place is a type.
 */
function unnested(entry: RawEntry, { types }: HostDialect): RawEntry {
  const { transport, ...own } = entry;
  if (isRecord(transport)) return { ...transport, ...own };
  const isType = typeof transport === 'string' && Object.hasOwn(types, transport);
  return isType && own['type'] === undefined ? { ...own, type: transport } : entry;
}

function build(name: string, entry: RawEntry, context: EntryContext): ReadEntry {
  const { dialect } = context;
  const transport = transportOf(entry, dialect);
  if (typeof transport === 'object') return unusable(transport.reason);
  const { fields, spelled } = translate(entry, dialect);
  const callTime = timeOf(entry, dialect.callTimes);
  if ('reason' in callTime) return unusable(callTime.reason);
  const startTime = timeOf(entry, dialect.startTimes);
  if ('reason' in startTime) return unusable(startTime.reason);
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
      return unusable({ kind: 'unusable', needs: [], mistakes: wrongFields(error, spelled) });
    spec = { ...described(data), transport, ...programOf(data, filling) };
  } else {
    const { data, error } = remoteFields.safeParse(fields);
    if (error !== undefined)
      return unusable({ kind: 'unusable', needs: [], mistakes: wrongFields(error, spelled) });
    spec = { ...described(data), ...remoteOf(data, transport, filling, spelled('url')) };
  }
  const { objection } = filling;
  return objection === undefined ? { state: 'ready', spec } : unusable(objection);
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

type Remote = Pick<RemoteSpec, 'transport' | 'url' | 'headers' | 'headersHelper' | 'oauth'>;

/** Tells `filling` what speaks against the entry. */
function remoteOf(
  fields: RemoteFields,
  transport: Exclude<Transport, 'stdio'>,
  filling: Filling,
  spelledUrl: string,
): Remote {
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
    if (filling.objection === undefined)
      filling.object({ kind: 'wrong-field', field, trouble: 'is not an address such as https://…' });
  } else if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    const trouble = `begins with ${url.protocol}//; only http:// and https:// are supported`;
    filling.object({ kind: 'wrong-field', field, trouble });
  } else if (url.username !== '' || url.password !== '') {
    const trouble = 'holds a user name or password; put them into an Authorization header';
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
function oauthOf({ oauth, scopes }: RemoteFields, filling: Filling): OAuthHints | false {
  if (oauth === false) return false;
  const said = isRecord(oauth) ? oauth : {};
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
function filterOf({ only, except }: LocalFields | RemoteFields): ToolFilter {
  return { only: only?.includes('*') ? undefined : (only ?? undefined), except: except ?? [] };
}

/** The mistake in the name of a server, or of a token, which follows the same rules; undefined where there is none. */
export function troubleOfName(name: string): Mistake | undefined {
  if (name.trim() === '') return { kind: 'name-empty' };
  if (name.length > MAX_NAME_CHARS)
    return { kind: 'name-too-long', chars: name.length, maxChars: MAX_NAME_CHARS };
  if (harmless(name) !== name || /[\t\n]/.test(name)) return { kind: 'name-unseen' };
  return undefined;
}
