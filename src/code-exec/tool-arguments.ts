// An argument of a tool, said once: what hosts are told of it, which values are taken, and the end of the sentence about all
// others. Lists of tools, checks and errors are made from tables of arguments, in their order.

import { z } from 'zod';

export type Argument<V = unknown> = {
  /** The argument's JSON schema; undefined where hosts are not told of the argument, although it is accepted. */
  readonly told: Readonly<Record<string, unknown>> | undefined;
  /** Values that are taken, as the end of a sentence. */
  readonly allowed: string;
  /** Makes the check. A list of tools needs none, and making one takes longer than using it. */
  readonly check: () => z.ZodType<V>;
  /** Words that are used for it elsewhere. */
  readonly otherNames?: readonly string[];
};

export type ArgumentTable = Readonly<Record<string, Argument>>;

/** The arguments of a call that are checked by a table. */
export type ArgumentsOf<T extends ArgumentTable> = {
  readonly [K in keyof T]: T[K] extends Argument<infer V> ? V : never;
};

/** The properties of a tool's JSON schema. */
export const propertiesOf = <T extends ArgumentTable>(table: T) =>
  Object.fromEntries(
    Object.entries(table).flatMap(([name, { told }]) => (told === undefined ? [] : [[name, told]])),
  ) as { readonly [K in keyof T]: Readonly<Record<string, unknown>> };

/** Makes the check of all arguments. */
export const checkOf = <T extends ArgumentTable>(table: T) =>
  z.strictObject(
    Object.fromEntries(Object.entries(table).map(([name, { check }]) => [name, check()])),
  ) as z.ZodType<unknown> as z.ZodType<ArgumentsOf<T>>;
