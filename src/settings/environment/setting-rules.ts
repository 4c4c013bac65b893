// How a setting is said once: a record of its variable, its rule, and what tables and errors say of it. A table of records has
// the shape of the values that are read by it, so that the type of the values follows from the table. Reads no environment.

import { z } from 'zod';
import { messageOf } from '../../base/errors.js';
import { isLoopback } from '../../base/text/loopback.js';
import { MB_BYTES } from '../../base/text/sizes.js';
import { OUTPUT_BYTES } from '../bounds.js';
import { absolutePath, type HostFacts } from '../files/host-facts.js';

/** Row of a document's table: one variable. */
export type SettingRow = {
  readonly name: string;
  readonly meaning: string;
  readonly default: string;
  readonly allowed: string;
};
/** Values that a variable may have, in zod and in words. */
type SettingRule<V> = { readonly schema: z.ZodType<V, string>; readonly allowed: string };

/** The first objection to a text. */
type Broken = { readonly issue: z.core.$ZodIssue | undefined };

/** A setting that has a value of the type `V`, and the variable `N`. */
export type Setting<V = unknown, N extends string = string> = SettingRow & {
  readonly name: N;
  /** The value of a text; of undefined, what is the default on this machine. */
  readonly read: (text: string | undefined, machine: HostFacts) => { readonly value: V } | Broken;
};

type SettingsTable = { readonly [key: string]: Setting | SettingsTable };

/** The values that are read by a table. */
export type ValuesOf<T> = {
  readonly [K in keyof T]: T[K] extends Setting<infer V> ? V : ValuesOf<T[K]>;
};

/** The variables of a table. */
export type VariablesOf<T> = {
  [K in keyof T]: T[K] extends Setting<unknown, infer N> ? N : VariablesOf<T[K]>;
}[keyof T];

/** A text that breaks the rule of its setting. */
export type BrokenSetting = Broken & { readonly setting: Setting; readonly got: string };

/** Compiling a schema takes longer than one use of it. */
const ONCE = { jitless: true };

/** A setting whose default is written as a person would write it, and parsed by the same rule. */
export const setting = <V, const N extends string>({
  schema,
  ...row
}: SettingRow & SettingRule<V> & { readonly name: N }): Setting<V, N> => ({
  ...row,
  read: (text = row.default) => parsed(schema, text),
});

/** A setting whose default depends on the machine, or is that nothing is said: `value` makes it of what is said. */
export const makeOptional = <V, const N extends string, W = V | undefined>({
  schema,
  value = (said) => said as W,
  ...row
}: SettingRow &
  SettingRule<V> & {
    readonly name: N;
    readonly value?: (said: V | undefined, machine: HostFacts) => W;
  }): Setting<W, N> => ({
  ...row,
  read: (text, machine) => {
    const said = text === undefined ? { value: undefined } : parsed(schema, text);
    return 'issue' in said ? said : { value: value(said.value, machine) };
  },
});

function parsed<V>(schema: z.ZodType<V, string>, text: string): { readonly value: V } | Broken {
  const { success, data, error } = schema.safeParse(text, ONCE);
  return success ? { value: data } : { issue: error.issues[0] };
}

/** The `value` function of an optional list. */
export const orNone = <T>(said: readonly T[] | undefined): readonly T[] => said ?? [];

/** The settings of a table, in its order. */
export const settingsIn = (table: SettingsTable): readonly Setting[] =>
  Object.values(table).flatMap((one) => (isSetting(one) ? [one] : settingsIn(one)));

const isSetting = (one: Setting | SettingsTable): one is Setting => typeof one['read'] === 'function';

/** The values of the variables that are `given`; a variable whose text breaks its rule has its default. */
export function readTable<T extends SettingsTable>(
  table: T,
  given: ReadonlyMap<string, string>,
  machine: HostFacts,
): { readonly values: ValuesOf<T>; readonly broken: readonly BrokenSetting[] } {
  const broken: BrokenSetting[] = [];
  const readOne = (one: Setting): unknown => {
    const got = given.get(one.name);
    const read = one.read(got, machine);
    if ('value' in read) return read.value;
    broken.push({ ...read, setting: one, got: got ?? '' });
    const usual = one.read(undefined, machine);
    return 'value' in usual ? usual.value : undefined;
  };
  const readAll = (part: SettingsTable): Record<string, unknown> =>
    Object.fromEntries(
      Object.entries(part).map(([key, one]) => [key, isSetting(one) ? readOne(one) : readAll(one)]),
    );
  return { values: readAll(table) as ValuesOf<T>, broken };
}

/** Text to which `trouble` may object; what it says stands behind what is allowed. */
export const textRule = (trouble: (text: string) => string | undefined) =>
  z.string().superRefine((text, context) => {
    const message = trouble(text);
    if (message !== undefined) context.addIssue({ code: 'custom', message, params: { explains: true } });
  });

export const integerRule = (min: number, max: number) =>
  z.string().regex(/^\d+$/).transform(Number).pipe(z.number().min(min).max(max));
export const whole = (min: number, max: number, what = 'a whole number'): SettingRule<number> => ({
  schema: integerRule(min, max),
  allowed: `${what} from ${min} to ${max}`,
});
export const seconds = (min: number, max: number): SettingRule<number> => whole(min, max, 'whole seconds');
export const megabytes = (min: number, max: number): SettingRule<number> => {
  const { schema, allowed } = whole(min, max);
  return { schema: schema.transform((megabytes) => megabytes * MB_BYTES), allowed };
};

/** Parts of a text between commas. */
export const parts = z.string().transform((text) =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== ''),
);

/** Each of several by the rule `item`, once; `least` of them at least. */
export const each = <V>(item: z.ZodType<V, string>, least = 0): z.ZodType<readonly V[], string[]> =>
  z
    .array(item)
    .min(least)
    .transform((items) => [...new Set(items)]);

/** Parts between commas, likewise. */
export const list = <V>(item: z.ZodType<V, string>, least = 0): z.ZodType<readonly V[], string> =>
  parts.pipe(each(item, least));

/** One of these words, in any case. */
export const choice = <const T extends readonly [string, ...string[]]>(words: T) =>
  z.string().toLowerCase().pipe(z.enum(words));
export const oneOf = <const T extends readonly [string, ...string[]]>(words: T): SettingRule<T[number]> => ({
  schema: choice(words),
  allowed: `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`,
});
const isWord = (word: string, { schema, allowed }: SettingRule<string>): SettingRule<boolean> => ({
  schema: schema.transform((said) => said === word),
  allowed,
});
export const onOff = isWord('on', oneOf(['on', 'off']));
export const flag = isWord('1', oneOf(['0', '1']));

/** 0 and -1, by which engines mean no limit, are `most`. */
export const mostFor = (most: string) =>
  z.string().transform((text) => (text === '0' || text === '-1' ? most : text));

const UNITS = 'bkmgt';
const SIZE = /^(?<number>\d+(?:\.\d+)?) *(?:(?<unit>[kmgt])(?:ib?|b)?|b)?$/;
/** A size, such as 512m; as people write it elsewhere, 512MB, 512Mi and 512MiB are the same, of 1024. */
export const bytes = z
  .string()
  .toLowerCase()
  .regex(SIZE)
  .transform((text) => {
    const { number = '', unit = 'b' } = SIZE.exec(text)?.groups ?? {};
    return Math.floor(Number(number) * 1024 ** UNITS.indexOf(unit));
  });

/** Whether `text` is an absolute path of any system: from a root, a drive, or the share of a Windows server. */
export const isWholePath = (text: string): boolean => /^(\/|[A-Za-z]:[\\/]|\\\\[^\\/])/.test(text);
const ownPath = z.string().refine((text) => isWholePath(text) || /^~(?=$|[/\\])/.test(text));

/** The path of a file or folder, absolute. */
export const path = <const N extends string>(row: Omit<SettingRow, 'allowed'> & { readonly name: N }) =>
  makeOptional({
    ...row,
    schema: ownPath,
    allowed: 'an absolute path, or one that begins with ~/',
    value: (said, machine) => (said === undefined ? undefined : absolutePath(said, machine.cwd, machine)),
  });

/** The cap on what a command writes, on both streams together, the same for the bridge and for the command server. */
export const outputBytes = (meaning: string) =>
  setting({
    name: 'MCP_EXEC_MAX_OUTPUT_BYTES',
    meaning,
    default: '40000',
    schema: bytes.pipe(z.number().min(OUTPUT_BYTES.min).max(OUTPUT_BYTES.max)),
    allowed: 'bytes, or a number with k or m, such as 64k, 64kB or 64KiB; from 100 to 64m',
  });

// The addresses of whose access tokens an HTTP endpoint takes: issuers, and the endpoint itself.

/** Why the address of an issuer or a resource cannot be used, as a sentence; undefined where it can be. */
export function oauthAddressTrouble(text: string): string | undefined {
  let url: URL;
  try {
    url = new URL(text);
  } catch (thrown) {
    return `It is not an address (${messageOf(thrown)}).`;
  }
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLoopback(url.hostname)))
    return 'It must be https; http is allowed for this machine only (localhost, 127.0.0.1, [::1]).';
  if (url.username !== '' || url.password !== '') return 'It must not have a user or a password.';
  if (text.includes('#') || text.includes('?')) return 'It must have neither a query nor a fragment.';
  return undefined;
}
