// Messages about wrong arguments of a call, as the agent reads them: the field, what was got, what is allowed. All tools share
// these messages.

import { CallToolRequestParamsSchema } from '@modelcontextprotocol/core';
import type { CallToolRequest } from '@modelcontextprotocol/server';
import type { z } from 'zod';
import { describeValue, echo } from '../../base/text/echo.js';
import type { CallProblem } from '../../run/outcome/outcome.js';
import { WrongParams } from '../../wire/envelope.js';

export const complaint = (message: string, remedy?: string): CallProblem => ({
  type: 'E_ARGUMENTS',
  message,
  remedy,
});

// The parameters of requests that have few: read in words of ours where they are not what the protocol says.

/** The members of `params`, none where there are no params. */
export const fieldsOf = (params: unknown): Readonly<Record<string, unknown>> =>
  typeof params === 'object' && params !== null ? (params as Readonly<Record<string, unknown>>) : {};

/** Every list of ours has one page. Throws -32602 for a cursor that is none. */
export function checkCursor(params: unknown): void {
  const { cursor } = fieldsOf(params);
  if (cursor !== undefined && typeof cursor !== 'string')
    throw new WrongParams(
      `cursor: got ${describeValue(cursor)}, expected a text, or none for the first page.`,
    );
}

/** Throws -32602 where `params` has no text of this name. */
export function textIn(params: unknown, field: string, allowed: string): string {
  const value = fieldsOf(params)[field];
  if (typeof value === 'string') return value;
  throw new WrongParams(`${field}: got ${describeValue(value)}, expected ${allowed}.`);
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
  if (at === undefined) throw new WrongParams(`params: got ${describeValue(params)}, expected ${whole}.`);
  const field = String(at);
  const allowed = Object.hasOwn(fields, field) ? fields[field] : whole;
  throw new WrongParams(
    `${echo(field)}: got ${describeValue(fieldsOf(params)[field])}, expected ${allowed}.`,
  );
}

// The request `tools/call`, checked in place of the SDK, which answers one that is malformed as a fault of ours (-32603), in
// the words of its schema. What a tool's arguments may be is the tool's own business: it answers as a tool.

const ALLOWED: AllowedParams = {
  fields: {
    name: 'the name of a tool',
    arguments: 'an object by argument names',
    task: 'what MCP says of a call of a tool',
    _meta: 'what MCP says of a call of a tool',
  },
  whole: 'an object with name and arguments',
};

/**
 * The parameters as they were sent: a copy by the schema lacks names that an object of JavaScript has by itself, of which the tool
 * complains. Throws -32602 that names the field, what was got and what is allowed.
 */
export function callParams(params: unknown): CallToolRequest['params'] {
  paramsBy(CallToolRequestParamsSchema, params, ALLOWED);
  return params as CallToolRequest['params'];
}
