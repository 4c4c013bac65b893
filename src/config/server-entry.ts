// One entry of a configuration file, from whatever was written there to a spec or to the reason why not. Knows the
// fields of stdio servers; starts nothing and reads no file.

import { z } from 'zod';
import { clip, harmless } from '../base/text.js';
import type { DownstreamSpec, SpecSource } from './downstream-spec.js';
import { expand } from './expand.js';
import { absolutePath, type HostFacts, pathRules } from './host-facts.js';
import type { Environment } from './settings.js';
import type { Source } from './sources.js';

const MAX_NAME_CHARS = 128;
const MAX_DESCRIPTION_CHARS = 500;
/** Claude Code ignores a call timeout below this, which is a value in seconds by mistake. */
const MIN_CALL_TIMEOUT_MS = 1_000;
const REMOTE_TYPES = ['http', 'streamable-http', 'streamableHttp', 'sse', 'ws'];
const LOCAL_TYPES = ['stdio', 'local'];

// The kernel ends a string at NUL, so one inside means another program than the text says.
const plain = z.string().refine((text) => !text.includes('\0'), 'must not contain a NUL character');
const scalar = z.union([plain, z.number().transform(String), z.boolean().transform(String)]);

const stdioEntry = z.looseObject({
  command: plain.min(1, 'must not be empty'),
  args: z.array(scalar).nullish(),
  env: z.record(plain.regex(/^[^=]+$/), scalar).nullish(),
  cwd: plain.nullish(),
  timeout: z.number().positive().nullish(),
  description: z.string().nullish(),
});

export type EntryContext = {
  readonly source: SpecSource;
  readonly expansion: Source['expansion'];
  /** Of the file as a whole, for entries without their own. */
  readonly description: string;
  readonly env: Environment;
  readonly host: HostFacts;
};

/** `off` was switched off by the user, so no entry further down takes its place. */
export type Entry =
  | { readonly state: 'ready'; readonly spec: DownstreamSpec }
  | { readonly state: 'off'; readonly reason: string }
  | { readonly state: 'unusable'; readonly reason: string };

const unusable = (reason: string): Entry => ({ state: 'unusable', reason });

export function parseEntry(name: string, value: unknown, context: EntryContext): Entry {
  const nameTrouble = troubleOfName(name);
  if (nameTrouble !== undefined) return unusable(nameTrouble);
  if (!isRecord(value)) return unusable(`is ${kindOf(value)} where an object with a command is expected`);
  if (value['disabled'] === true || value['enabled'] === false)
    return { state: 'off', reason: 'disabled in its file' };
  const { type } = value;
  const remote = REMOTE_TYPES.includes(String(type)) || (value['command'] === undefined && isRemote(value));
  if (remote) return unusable('remote servers are not supported yet');
  if (type !== undefined && type !== null && !LOCAL_TYPES.includes(String(type))) {
    return unusable(`field 'type' is ${clip(harmless(JSON.stringify(type)), 40)}; allowed: stdio`);
  }
  const parsed = stdioEntry.safeParse(value);
  if (!parsed.success) return unusable(fieldTrouble(parsed.error));
  return build(name, parsed.data, context);
}

function build(name: string, entry: z.output<typeof stdioEntry>, context: EntryContext): Entry {
  const missing = new Set<string>();
  const filled = (text: string): string => {
    if (context.expansion === 'none') return text;
    const expanded = expand(text, context.env);
    for (const variable of expanded.missing) missing.add(variable);
    return expanded.text;
  };
  const folder = pathRules(context.host).dirname(context.source.file);
  const timeout = entry.timeout ?? undefined;
  const spec: DownstreamSpec = {
    name,
    transport: 'stdio',
    command: filled(entry.command),
    args: (entry.args ?? []).map(filled),
    env: Object.fromEntries(Object.entries(entry.env ?? {}).map(([key, text]) => [key, filled(text)])),
    cwd: entry.cwd ? absolutePath(filled(entry.cwd), folder, context.host) : undefined,
    description: clip(harmless(entry.description ?? context.description), MAX_DESCRIPTION_CHARS),
    callTimeoutMs: timeout !== undefined && timeout >= MIN_CALL_TIMEOUT_MS ? timeout : undefined,
    startTimeoutMs: undefined,
    toolFilter: { only: undefined, except: [] },
    source: context.source,
  };
  if (missing.size > 0) return unusable(`needs environment variable ${[...missing].join(', ')}`);
  return { state: 'ready', spec };
}

function troubleOfName(name: string): string | undefined {
  if (name.trim() === '') return 'its name is empty';
  if (name.length > MAX_NAME_CHARS)
    return `its name has ${name.length} characters; at most ${MAX_NAME_CHARS}`;
  if (harmless(name) !== name || /[\t\n]/.test(name)) return 'its name has control characters';
  return undefined;
}

const isRemote = (value: Readonly<Record<string, unknown>>): boolean =>
  ['url', 'serverUrl', 'httpUrl'].some((field) => typeof value[field] === 'string');

function fieldTrouble(error: z.ZodError): string {
  return error.issues.map((issue) => `field '${issue.path.join('.')}': ${plainWords(issue)}`).join('; ');
}

function plainWords(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_type') return issue.message.replace(/^Invalid input: /, '');
  if (issue.code === 'invalid_key') return 'is not a variable name';
  if (issue.code === 'invalid_union') return 'expected a string, number or boolean';
  return issue.message;
}

export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'an array' : `a ${typeof value}`;
}
