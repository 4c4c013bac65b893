// The headers by which a remote server knows one principal: texts and variables of the bridge's environment that the operator
// has named for it, or a token that is exchanged for it. Nothing of what its agent sends is among them.

import { messageOf } from '../../base/errors.js';
import type { Principal } from '../../base/principal.js';
import type { Environment } from '../../base/process/environment.js';
import type { Redactor } from '../../base/secrets/redact.js';
import type { RemoteSpec } from '../../hosts/downstream-spec.js';
import { hideHeaders } from '../../servers/connection/hide-secrets.js';
import { RemoteFailure } from '../../servers/remote/remote-failure.js';
import type { ServerLogin } from '../../servers/remote/server-login.js';
import type { HeaderSources, TokenExchange } from './principal-rules.js';

const isAuthorization = (name: string): boolean => name.toLowerCase() === 'authorization';

/** The entry with these headers in the place of its own of the same names, or the variable that is not set. */
export function withHeaders(
  spec: RemoteSpec,
  sources: HeaderSources,
  env: Environment,
): RemoteSpec | { readonly missing: string } {
  const own: Record<string, string> = {};
  for (const [header, source] of Object.entries(sources)) {
    if (source.from === 'exchange') continue;
    const value = source.from === 'text' ? source.text : env[source.name];
    if (value === undefined) return { missing: source.from === 'variable' ? source.name : header };
    own[header] = value;
  }
  const replaced = new Set(Object.keys(sources).map((header) => header.toLowerCase()));
  const others = Object.entries(spec.headers).filter(([header]) => !replaced.has(header.toLowerCase()));
  // What the entry's command prints is the operator's own, and would win over what is the principal's.
  const headersHelper = Object.keys(sources).some(isAuthorization) ? undefined : spec.headersHelper;
  return { ...spec, headers: { ...Object.fromEntries(others), ...own }, headersHelper };
}

/** Whether its token is had by an exchange. */
export const isExchanged = (sources: HeaderSources): boolean =>
  Object.values(sources).some(({ from }) => from === 'exchange');

/** A login whose tokens are exchanged, and asked for with each request: whether one is still good is the exchange's to know. */
export function exchangedLogin(
  spec: RemoteSpec,
  principal: Principal,
  exchange: TokenExchange | undefined,
  redactor: Redactor,
): ServerLogin {
  let hidden: string | undefined;
  const fetched = async (signal: AbortSignal, refused?: string): Promise<string> => {
    if (exchange === undefined) throw failed('the bridge has no way to exchange tokens');
    try {
      const got = await exchange({ principal, server: spec.name, url: spec.url, refused }, signal);
      if (got !== hidden) hideHeaders(redactor, spec.name, { 'exchanged token': got });
      hidden = got;
      return got;
    } catch (thrown) {
      throw failed(messageOf(thrown));
    }
  };
  return {
    token: (signal) => fetched(signal),
    renew: async (refused, signal) => void (await fetched(signal, refused)),
    refused: ({ status }) => failed(`it refused the token that was exchanged (${status})`),
  };
}

const failed = (why: string): RemoteFailure =>
  new RemoteFailure(`no token could be had for this principal: ${why}`, {
    fault: 'operator',
    remedy: 'Only the operator of the bridge can change that.',
  });
