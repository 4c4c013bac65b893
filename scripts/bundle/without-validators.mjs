// A plugin of the bundle. Each half of the SDK imports a validator of JSON schemas, 290 kB of it, for forms and outputs that it
// would check. The bridge relays both and has the SDK check neither, so nobody needs that code, and reading it would take 5 ms of
// each start.

const SHIMS = /^@modelcontextprotocol\/(?:client|server)\/_shims$/;
const STUB = '\0no-validators';

export function withoutValidators() {
  return {
    name: 'without-validators',
    resolveId: (specifier) => (SHIMS.test(specifier) ? STUB : undefined),
    load: (id) =>
      id === STUB
        ? `export const process = globalThis.process;
           export const CORS_IS_POSSIBLE = false;
           export class DefaultJsonSchemaValidator {
             getValidator() { throw new Error('The bundle has no validator of JSON schemas.'); }
           }`
        : undefined,
  };
}
