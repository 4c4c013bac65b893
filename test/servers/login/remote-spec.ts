// A remote server whose entry leaves its login to us.

import type { RemoteSpec } from '../../../src/hosts/downstream-spec.js';
import { remote } from '../remote-servers.js';

export const hints = (
  some: Partial<Exclude<RemoteSpec['oauth'], false>> = {},
): Exclude<RemoteSpec['oauth'], false> => ({
  clientId: undefined,
  clientSecret: undefined,
  scopes: [],
  callbackPort: undefined,
  authServerMetadataUrl: undefined,
  ...some,
});

export const remoteSpec = (url: string, some: Partial<RemoteSpec> = {}): RemoteSpec =>
  remote('linear', url, { oauth: hints(), ...some });
