// How a variable of the environment is said once: its rule, and what a table says of it. Parses nothing itself.

import { z } from 'zod';
import { OUTPUT_BYTES } from '../bounds.js';

/** One variable, as the table of settings describes it. */
export type SettingRow = {
  readonly name: string;
  readonly meaning: string;
  readonly default: string;
  readonly allowed: string;
};
type SettingDoc = Omit<SettingRow, 'name'>;
/** Keyed by the schema of each variable. */
const documentation = new Map<z.ZodType, SettingDoc>();

/** A variable whose default is written as a person would write it, and parsed by the same rule. */
export function setting<T extends z.ZodType<unknown, string>>(rule: T, doc: SettingDoc): z.ZodPrefault<T> {
  const schema = rule.prefault(doc.default as z.util.NoUndefined<z.input<T>>);
  documentation.set(schema, doc);
  return schema;
}

/** A variable whose default depends on the machine, or is that nothing is said at all. */
export function optional<T extends z.ZodType<unknown, string>>(rule: T, doc: SettingDoc): z.ZodOptional<T> {
  const schema = rule.optional();
  documentation.set(schema, doc);
  return schema;
}

/** Text to which `trouble` may object; what it says stands behind what is allowed. */
export const explained = (trouble: (text: string) => string | undefined) =>
  z.string().superRefine((text, context) => {
    const message = trouble(text);
    if (message !== undefined) context.addIssue({ code: 'custom', message, params: { explains: true } });
  });

export const integer = (min: number, max: number) =>
  z.string().regex(/^\d+$/).transform(Number).pipe(z.number().min(min).max(max));
export const flag = z.enum(['0', '1']).transform((text) => text === '1');
export const list = <T extends z.ZodType<unknown, string>>(item: T) =>
  z
    .string()
    .transform((text) =>
      text
        .split(',')
        .map((part) => part.trim())
        .filter((part) => part !== ''),
    )
    .pipe(z.array(item));

/** One of these words, in any case. */
export const choice = <const T extends readonly [string, ...string[]]>(words: T) =>
  z.string().toLowerCase().pipe(z.enum(words));

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

/** The cap on what a command writes, on both streams together, the same for the bridge and for the command server. */
export const outputBytes = (meaning: string) =>
  setting(bytes.pipe(z.number().min(OUTPUT_BYTES.min).max(OUTPUT_BYTES.max)), {
    meaning,
    default: '40000',
    allowed: 'bytes, or a number with k or m, such as 64k, 64kB or 64KiB; from 100 to 64m',
  });

/** Every variable of `shape` that a table tells of, in its order. */
export function tableOf(shape: Readonly<Record<string, z.ZodType>>): readonly SettingRow[] {
  return Object.entries(shape).flatMap(([name, rule]) => {
    const doc = documentation.get(rule);
    return doc === undefined ? [] : [{ name, ...doc }];
  });
}
