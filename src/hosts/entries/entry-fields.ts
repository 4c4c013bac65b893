// The fields of an entry in the bridge's words, checked: what a program needs, what a remote server needs, and what
// both may say. And what is wrong with a field, in words for the person who wrote it.

import { z } from 'zod';
import { VERSION_NEGOTIATIONS } from '../downstream-spec.js';
import type { Mistake } from '../skip-reason.js';
import type { Translated } from '../terms/dialect.js';

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
  // For the reader alone: one of another shape is no reason to be without the server.
  description: z.string().nullish().catch(undefined),
  only: z.preprocess((said) => (said === '*' ? [said] : said), names.nullish()),
  except: names.nullish(),
  versionNegotiation: z
    .enum(VERSION_NEGOTIATIONS, { error: `must be ${VERSION_NEGOTIATIONS.join(', ')}` })
    .nullish(),
};

export const localFields = z.object({
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

export const remoteFields = z.object({
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

export type LocalFields = z.output<typeof localFields>;
export type RemoteFields = z.output<typeof remoteFields>;

/** The mistakes in the fields; `spelled` gives the host's name of each field. */
export function wrongFields(error: z.ZodError, spelled: Translated['spelled']): Mistake[] {
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
