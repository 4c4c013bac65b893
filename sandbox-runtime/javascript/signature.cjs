// A tool's signature as a line of TypeScript, made of its JSON Schemas when somebody looks, and what is certainly wrong
// with a call of it. Schemas are whatever a server wrote: anything else than expected is `unknown`.

'use strict';

const { didYouMean, someOf } = require('./errors.cjs');

const MAX_LEVEL = 3;
const MAX_LINE_CHARS = 400;
const PLAIN = { string: 'string', integer: 'number', number: 'number', boolean: 'boolean', null: 'null' };
/** With one of these in it, a schema may mean something else than its other words say. */
const DOUBTS = ['$ref', 'anyOf', 'oneOf', 'allOf', 'not', 'if', 'patternProperties'];

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);

/** `create_issue({title: string, body?: string}): {id: number}`. */
function signatureOf({ alias, inputSchema, outputSchema, observed }) {
  const output = outputSchema ?? observed;
  const seen = isObject(outputSchema) ? '' : 'observed ';
  const result = isObject(output) ? `: ${seen}${typeOf(output)}` : '';
  const line = `${alias}(${namesOf(inputSchema).length === 0 ? '' : typeOf(inputSchema)})${result}`;
  return line.length <= MAX_LINE_CHARS ? line : `${line.slice(0, MAX_LINE_CHARS - 1)}…`;
}

function typeOf(schema, level = 0) {
  if (!isObject(schema)) return 'unknown';
  if (Array.isArray(schema.enum)) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  if ('const' in schema) return JSON.stringify(schema.const);
  const choices = schema.anyOf ?? schema.oneOf;
  if (Array.isArray(choices)) return [...new Set(choices.map((one) => typeOf(one, level)))].join(' | ');
  if (Array.isArray(schema.type))
    return schema.type.map((type) => typeOf({ ...schema, type }, level)).join(' | ');
  if (schema.type === 'array') return `${bracketed(typeOf(schema.items, level))}[]`;
  if (schema.type === 'object' || isObject(schema.properties)) return objectType(schema, level);
  return (Object.hasOwn(PLAIN, schema.type) && PLAIN[schema.type]) || 'unknown';
}

const bracketed = (type) => (type.includes(' ') && !type.startsWith('{') ? `(${type})` : type);

function objectType(schema, level) {
  const names = namesOf(schema);
  if (names.length === 0 || level === MAX_LEVEL) return 'object';
  const required = new Set(requiredOf(schema));
  const members = names.map((name) => {
    const key = /^[\w$]+$/.test(name) ? name : JSON.stringify(name);
    return `${key}${required.has(name) ? '' : '?'}: ${typeOf(schema.properties[name], level + 1)}`;
  });
  return `{${members.join(', ')}}`;
}

const namesOf = (schema) => (isObject(schema?.properties) ? Object.keys(schema.properties) : []);

const requiredOf = (schema) =>
  Array.isArray(schema?.required) ? schema.required.filter((name) => typeof name === 'string') : [];

/** What is wrong with a call, as a sentence; undefined where nothing certainly is. All else is the server's to say. */
function complaintAboutCall({ alias, inputSchema: schema }, given) {
  if (!isObject(schema?.properties) || DOUBTS.some((word) => word in schema)) return undefined;
  const names = namesOf(schema);
  const unknown = Object.keys(given).find((name) => given[name] !== undefined && !names.includes(name));
  if (unknown !== undefined && schema.additionalProperties === false)
    return `${alias}() has no argument '${unknown}'.${didYouMean(unknown, names)}`;
  const missing = requiredOf(schema).filter(
    (name) => given[name] === undefined && schema.properties[name]?.default === undefined,
  );
  if (missing.length === 0) return undefined;
  // What was given instead is likely the same under another name.
  const hint = unknown === undefined ? '' : `${didYouMean(unknown, missing)}`;
  return `${alias}() is missing ${someOf(missing)}.${hint}`;
}

module.exports = { complaintAboutCall, signatureOf };
