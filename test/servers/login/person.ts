// A person who logs in to the protected server, and what is kept of it. The file calls `useOAuthServers` and `useTokenFolder`.

import { Redactor } from '../../../src/base/secrets/redact.js';
import { logIn } from '../../../src/servers/login/log-in.js';
import type { Login } from '../../../src/servers/login/token-store.js';
import { Browser } from '../../support/oauth.js';
import { server } from '../../support/oauth-servers.js';
import { NEVER } from '../../support/time.js';
import { remoteSpec } from './remote-spec.js';
import { store } from './token-folder.js';

/** What somebody is told who has to log in. */
export const COMMAND = 'Run `mcp-sandbox-bridge login linear` in a terminal.';

/** Logs in with a browser, and agrees to everything. */
export function person(redactor = new Redactor(), scopes: readonly string[] = []): Promise<Login> {
  const onUrl = (url: string) => void new Browser().visit(url);
  const options = { store, redactor, scopes, clientMetadataUrl: undefined, onUrl };
  return logIn(remoteSpec(server.url), options, NEVER);
}

export function kept(): Login {
  const stored = store.read(server.url);
  if (stored.state !== 'kept') throw new Error(stored.state);
  return stored.login;
}
