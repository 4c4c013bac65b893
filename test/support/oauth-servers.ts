// An authorization server and an MCP server behind it, for all tests of one file.

import { afterAll, beforeAll } from 'vitest';
import { type AuthServer, type ProtectedServer, startAuthServer, startProtectedServer } from './oauth.js';

/** There in each test of a file that has called `useOAuthServers`. */
export let auth: AuthServer;
export let server: ProtectedServer;

/** Has both started before the first test of the file, and ended after its last one. */
export function useOAuthServers(options: Parameters<typeof startAuthServer>[0] = {}): void {
  beforeAll(async () => {
    auth = await startAuthServer(options);
    server = await startProtectedServer(auth);
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    await auth[Symbol.asyncDispose]();
  });
}
