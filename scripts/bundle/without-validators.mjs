// A plugin of the bundle. Each half of the SDK imports a validator of JSON schemas, 290 kB of it, for forms and outputs that it
// would check. The bridge gives it one that checks nothing (src/mcp/requests/agent-server.ts), so nobody needs that code, and
// loading it would take a good part of the time to start.

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
             constructor() { throw new Error('The bundle has no validator of JSON schemas.'); }
           }`
        : undefined,
  };
}
