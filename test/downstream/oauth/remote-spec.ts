// A remote server's entry, as a host's file would give it.

import type { OAuthHints, RemoteSpec } from '../../../src/config/downstream-spec.js';

export const hints = (some: Partial<OAuthHints> = {}): OAuthHints => ({
  clientId: undefined,
  clientSecret: undefined,
  scopes: [],
  callbackPort: undefined,
  authServerMetadataUrl: undefined,
  ...some,
});

export const remoteSpec = (url: string, some: Partial<RemoteSpec> = {}): RemoteSpec => ({
  name: 'linear',
  transport: 'http',
  url,
  headers: {},
  headersHelper: undefined,
  oauth: hints(),
  description: '',
  callTimeoutMs: undefined,
  startTimeoutMs: undefined,
  toolFilter: { only: undefined, except: [] },
  source: { host: 'test', scope: 'user', file: '/servers.json', pointer: '/mcpServers/linear' },
  ...some,
});
