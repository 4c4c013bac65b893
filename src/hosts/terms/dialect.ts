// How a host spells an entry: its field names, its types, its units of time. A dialect is data; what no table can say
// is a small function of its own. Translates an entry into the bridge's words and judges none of its values.

import { isObject, kindOf } from '../../base/json/records.js';
import { clipHarmless } from '../../base/text/text.js';
import { mistaken, type ServerSkipReason } from '../skip-reason.js';

export type Transport = 'stdio' | 'http' | 'sse' | 'auto';

export type RawEntry = Readonly<Record<string, unknown>>;

export type HostDialect = {
  /** The host's values of `type`. */
  readonly types: Readonly<Record<string, Transport>>;
  /** Fields that hold an address, the first that is there counts, and what one means without a type. */
  readonly addresses: Readonly<Record<string, Exclude<Transport, 'stdio'>>>;
  /** The host's names of the fields that it has, by the bridge's words for what an entry may say. */
  readonly fields: {
    readonly command?: string;
    readonly args?: string;
    readonly env?: string;
    readonly cwd?: string;
    /** A file of further variables. */
    readonly envFile?: string;
    /** Variables of the host's own environment that are handed on. */
    readonly envNames?: string;
    readonly headers?: string;
    /** The variables that hold the values of headers, by header. */
    readonly headerVariables?: string;
    /** The variable that holds a bearer token. */
    readonly bearerVariable?: string;
    readonly headersHelper?: string;
    readonly oauth?: string;
    readonly scopes?: string;
    readonly only?: string;
    readonly except?: string;
    readonly description?: string;
    /** The era of MCP in which the server is greeted. */
    readonly versionNegotiation?: string;
  };
  /** Where an entry keeps a time, in which unit, and below what it is ignored. The first that is there counts. */
  readonly callTimes: ReadonlyArray<{
    readonly at: readonly string[];
    readonly unitMs: number;
    readonly minMs?: number;
  }>;
  readonly startTimes: HostDialect['callTimes'];
  /** Why an entry is none that anybody but the host could serve. */
  readonly refuse?: (entry: RawEntry) => ServerSkipReason | undefined;
  /** Brings what is of another shape into the usual one, before anything else is read. */
  readonly reshape?: (entry: RawEntry) => RawEntry;
};

/** The names that most hosts have for the fields of a program. */
export const PROGRAM = {
  command: 'command',
  args: 'args',
  env: 'env',
  cwd: 'cwd',
  description: 'description',
} as const;
/** The names that most hosts have for the fields of a remote server. */
export const REMOTE = { headers: 'headers', oauth: 'oauth' } as const;
/** Whatever people call them where no host is known. */
export const ANY_TYPE: Readonly<Record<string, Transport>> = {
  stdio: 'stdio',
  local: 'stdio',
  http: 'http',
  'streamable-http': 'http',
  streamableHttp: 'http',
  sse: 'sse',
  remote: 'auto',
};

export const MS = 1;
export const SECOND_MS = 1_000;

/** A time in a field `timeout`, as most hosts that have one call it. */
export const timeout = (unitMs: number, minMs?: number): HostDialect['callTimes'] => [
  { at: ['timeout'], unitMs, ...(minMs === undefined ? {} : { minMs }) },
];

/** Fields that no host knows, and that an entry of any host may have for the bridge. */
const OWN_FIELDS = { versionNegotiation: 'versionNegotiation' } as const;

/** An entry in the bridge's words; the values are still whatever was written. */
export function translate(entry: RawEntry, dialect: HostDialect) {
  const names: Record<string, string> = { ...OWN_FIELDS, ...dialect.fields };
  const addresses = Object.keys(dialect.addresses);
  const address = addresses.find((name) => memberOf(entry, name) !== undefined) ?? addresses[0];
  if (address !== undefined) names['url'] = address;
  const fields: { readonly [field in keyof HostDialect['fields'] | 'url']?: unknown } = Object.fromEntries(
    Object.entries(names).flatMap(([field, name]) => {
      const value = memberOf(entry, name);
      return value === undefined ? [] : [[field, value]];
    }),
  );
  /** The host's own name of a field, for the person who wrote it. */
  const spelled = (field: string) => names[field] ?? field;
  return { fields, spelled };
}

/** The transport that the entry asks for, or why there is none. */
export function transportOf(
  entry: RawEntry,
  dialect: HostDialect,
): Transport | { readonly reason: ServerSkipReason } {
  const type = memberOf(entry, 'type');
  if (type !== undefined) {
    const known = typeof type === 'string' ? inAnyCase(type, dialect.types) : undefined;
    if (known !== undefined) return known;
    const notServed = typeof type === 'string' ? inAnyCase(type, NOT_SERVED) : undefined;
    if (notServed !== undefined) return { reason: notServed };
    const allowed = Object.keys(dialect.types);
    return { reason: mistaken({ kind: 'unknown-type', found: displayValue(type), allowed }) };
  }
  if (memberOf(entry, 'command') !== undefined) return 'stdio';
  const addresses = Object.keys(dialect.addresses);
  const address = addresses.find((name) => memberOf(entry, name) !== undefined);
  const transport = address === undefined ? undefined : dialect.addresses[address];
  return transport ?? { reason: mistaken({ kind: 'no-command', addresses }) };
}

/** People write HTTP and Stdio, and mean the word of the host. */
function inAnyCase<T>(written: string, words: Readonly<Record<string, T>>): T | undefined {
  const [, meaning] =
    Object.entries(words).find(([word]) => word.toLowerCase() === written.toLowerCase()) ?? [];
  return meaning;
}

/** Types of hosts that stand for a part of the host, or for what no client of ours speaks. */
const NOT_SERVED: Readonly<Record<string, ServerSkipReason>> = {
  sdk: { kind: 'host-type', type: 'sdk' },
  'sse-ide': { kind: 'host-type', type: 'sse-ide' },
  'ws-ide': { kind: 'host-type', type: 'ws-ide' },
  'claudeai-proxy': { kind: 'host-type', type: 'claudeai-proxy' },
  ws: { kind: 'websocket', type: 'ws' },
};

/** A time limit in ms; undefined when none is set, or too little to be meant. */
export function timeOf(
  entry: RawEntry,
  times: HostDialect['callTimes'],
): { readonly ms: number | undefined } | { readonly reason: ServerSkipReason } {
  for (const { at, unitMs, minMs = 0 } of times) {
    let value: unknown = entry;
    for (const name of at) value = isObject(value) ? memberOf(value, name) : undefined;
    if (value === undefined || isObject(value)) continue;
    const isWritten = typeof value === 'string' && /^\d+(\.\d+)?$/.test(value);
    if (isWritten || typeof value === 'bigint') value = Number(value);
    // How people write that there is no limit.
    if (value === 0) continue;
    if (typeof value !== 'number' || !Number.isFinite(value) || value < 0) {
      const trouble = `expected a positive number, received ${displayValue(value)}`;
      return { reason: mistaken({ kind: 'wrong-field', field: at.join('.'), trouble }) };
    }
    const ms = Math.min(Math.ceil(value * unitMs), MAX_TIMER_MS);
    return { ms: ms < minMs ? undefined : ms };
  }
  return { ms: undefined };
}

/** The longest time that a timer of Node can hold; a longer one would fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** An own member; null counts as absent, as hosts write it. */
export function memberOf(entry: RawEntry, name: string): unknown {
  return Object.hasOwn(entry, name) ? (entry[name] ?? undefined) : undefined;
}

/** A value as a complaint names it. */
export function displayValue(value: unknown): string {
  // TOML has integers that no number of JavaScript holds, and JSON has no word for them.
  if (typeof value === 'bigint') return String(value);
  return typeof value === 'object' ? kindOf(value) : clipHarmless(JSON.stringify(value) ?? String(value), 40);
}
