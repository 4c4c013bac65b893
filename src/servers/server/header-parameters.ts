// Parameters of a tool that the client repeats in `Mcp-Param-*` headers (SEP-2243), so that gateways can route a call without
// reading it. A server marks them with `x-mcp-header` in the tool's schema. The SDK's client does this only where it has
// parsed the arguments itself; ours are relayed as text.

import type { RawJson } from '../../base/json/json-text.js';
import { isObject } from '../../base/json/records.js';
import { headerValue } from '../connection/envelope.js';
import { ErrorAnswer } from '../connection/link.js';

/** The error of a server that misses such a header, or finds something else in it than in the body. */
const HEADER_MISMATCH = -32020;

export type HeaderParameter = {
  /** Keys from the arguments' root to the value. */
  readonly path: readonly string[];
  /** The whole name of the header, in lower case. */
  readonly header: string;
};

const MARK = 'x-mcp-header';
const PREFIX = 'mcp-param-';
/** RFC 9110, section 5.1: what may be the name of a header. */
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const TYPES: ReadonlySet<unknown> = new Set(['string', 'integer', 'boolean']);
/** Keywords whose value holds further schemas, other than `properties`: one schema, a list, or an object of them. */
const SCHEMA_OR_LIST = [
  'items',
  'prefixItems',
  'additionalItems',
  'contains',
  'additionalProperties',
  'unevaluatedProperties',
  'unevaluatedItems',
  'propertyNames',
  'contentSchema',
  'oneOf',
  'anyOf',
  'allOf',
  'not',
  'if',
  'then',
  'else',
];
const SCHEMAS_BY_NAME = ['patternProperties', 'dependentSchemas', 'dependencies', '$defs', 'definitions'];

/** The marked parameters of a tool, or in words what is wrong with a mark: such a tool may not be offered over HTTP. */
export function headerParametersOf(inputSchema: object): readonly HeaderParameter[] | string {
  const found: HeaderParameter[] = [];
  return collect(inputSchema, [], true, found) ?? found;
}

/** Undefined where all marks are right. `isReachable` while only `properties` lie between the root and this schema. */
function collect(
  schema: unknown,
  path: readonly string[],
  isReachable: boolean,
  found: HeaderParameter[],
): string | undefined {
  if (!isObject(schema)) return undefined;
  if (Object.hasOwn(schema, MARK)) {
    const wrong = collectMark(schema, path, isReachable, found);
    if (wrong !== undefined) return wrong;
  }
  const { properties } = schema;
  for (const [key, inner] of Object.entries(isObject(properties) ? properties : {})) {
    const wrong = collect(inner, [...path, key], isReachable, found);
    if (wrong !== undefined) return wrong;
  }
  const others = [
    ...SCHEMA_OR_LIST.flatMap((keyword) => schema[keyword] ?? []),
    ...SCHEMAS_BY_NAME.flatMap((keyword) => Object.values(Object(schema[keyword]))),
  ];
  for (const inner of others) {
    const wrong = collect(inner, path, false, found);
    if (wrong !== undefined) return wrong;
  }
  return undefined;
}

function collectMark(
  schema: Readonly<Record<string, unknown>>,
  path: readonly string[],
  isReachable: boolean,
  found: HeaderParameter[],
): string | undefined {
  const name = schema[MARK];
  const where = path.length === 0 ? 'the schema itself' : `'${path.join('.')}'`;
  if (!isReachable || path.length === 0)
    return `${where} has an ${MARK} where only \`properties\` may have one`;
  if (typeof name !== 'string' || !TOKEN.test(name))
    return `the ${MARK} of ${where} is not the name of a header: ${JSON.stringify(name)}`;
  if (!TYPES.has(schema['type'])) {
    const got = JSON.stringify(schema['type']) ?? 'no type';
    return `${where} has an ${MARK}, but its type is not string, integer or boolean: ${got}`;
  }
  const header = `${PREFIX}${name.toLowerCase()}`;
  if (found.some((other) => other.header === header))
    return `the ${MARK} of ${where} is that of another parameter as well: ${JSON.stringify(name)}`;
  found.push({ path, header });
  return undefined;
}

/**
 * The headers of one call, by names in lower case; a parameter that is null or not there has none. Throws RangeError for an
 * integer that a header may not carry, with a sentence that names it.
 */
export function parameterHeaders(
  parameters: readonly HeaderParameter[],
  args: RawJson,
): Readonly<Record<string, string>> {
  if (parameters.length === 0) return {};
  const all: unknown = JSON.parse(args.text);
  return Object.fromEntries(
    parameters.flatMap(({ path, header }) => {
      const value = path.reduce(
        (inner: unknown, key) => (isObject(inner) && Object.hasOwn(inner, key) ? inner[key] : undefined),
        all,
      );
      if (typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value))
        throw new RangeError(
          `'${path.join('.')}' is repeated in a header of the request, and must lie between -(2^53 - 1) and 2^53 - 1.`,
        );
      const isScalar = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
      return isScalar ? [[header, headerValue(String(value))]] : [];
    }),
  );
}

/**
 * Gives what `send` gives with the headers of a call. Where the server misses some, it has not acted upon the call, and perhaps
 * marks other parameters than when it last listed its tools: `readAgain` lists the tools again, and where the headers are
 * others then, the call is sent once more. Throws as `send` and `headersNow` do.
 */
export async function withHeaders<T>(
  send: (headers: Readonly<Record<string, string>>) => Promise<T>,
  headersNow: () => Readonly<Record<string, string>>,
  readAgain: () => Promise<void>,
): Promise<T> {
  const headers = headersNow();
  try {
    return await send(headers);
  } catch (thrown) {
    if (!(thrown instanceof ErrorAnswer) || thrown.code !== HEADER_MISMATCH) throw thrown;
    await readAgain();
    const others = headersNow();
    if (JSON.stringify(others) === JSON.stringify(headers)) throw thrown;
    return await send(others);
  }
}
