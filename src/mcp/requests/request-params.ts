// The parameters of requests that have few: read in words of ours where they are not what the protocol says.

import type { z } from 'zod';
import { WrongParams } from '../../wire/wrong-params.js';
import { described, echo } from './complaint.js';

/** The members of `params`, none where there are no params. */
export const fieldsOf = (params: unknown): Readonly<Record<string, unknown>> =>
  typeof params === 'object' && params !== null ? (params as Readonly<Record<string, unknown>>) : {};

/** Every list of ours has one page. Throws -32602 for a cursor that is none. */
export function checkCursor(params: unknown): void {
  const { cursor } = fieldsOf(params);
  if (cursor !== undefined && typeof cursor !== 'string')
    throw new WrongParams(`cursor: got ${described(cursor)}, expected a text, or none for the first page.`);
}

/** Throws -32602 where `params` has no text of this name. */
export function textIn(params: unknown, field: string, allowed: string): string {
  const value = fieldsOf(params)[field];
  if (typeof value === 'string') return value;
  throw new WrongParams(`${field}: got ${described(value)}, expected ${allowed}.`);
}

/** Parameters that are allowed: each field, as the end of a sentence, and all of them. */
export type AllowedParams = {
  readonly fields: Readonly<Record<string, string>>;
  readonly whole: string;
};

/** `params` by `schema`. Throws -32602 that names the field, what was got and what is allowed. */
export function paramsBy<T>(schema: z.ZodType<T>, params: unknown, { fields, whole }: AllowedParams): T {
  const parsed = schema.safeParse(params);
  if (parsed.success) return parsed.data;
  const at = parsed.error.issues[0]?.path[0];
  if (at === undefined) throw new WrongParams(`params: got ${described(params)}, expected ${whole}.`);
  const field = String(at);
  const allowed = Object.hasOwn(fields, field) ? fields[field] : whole;
  throw new WrongParams(`${echo(field)}: got ${described(fieldsOf(params)[field])}, expected ${allowed}.`);
}
