// As whom the bridge asks for a login: OAuth knows programs by client ids, of which there are three kinds.

import {
  type FetchLike,
  type OAuthClientInformationMixed,
  registerClient,
} from '@modelcontextprotocol/client';
import type { Redactor } from '../../base/secrets/redact.js';
import { shownName } from '../../base/text/shown-name.js';
import { PACKAGE_NAME } from '../../base/version.js';
import type { RemoteSpec } from '../../hosts/downstream-spec.js';
import type { LoginPlan } from './discovery.js';
import { loginError, orLoginError } from './oauth-fetch.js';

export type ClientQuestion = {
  readonly plan: LoginPlan;
  readonly redirectUrl: string;
  readonly scopes: readonly string[];
  readonly fetchFn: FetchLike;
  /** The address of our client id metadata document. */
  readonly clientMetadataUrl: string | undefined;
  readonly redactor: Redactor;
};

/** The entry's own client, else our metadata document where it is taken, else one that is registered for this login. */
export async function clientFor(
  { oauth, name }: RemoteSpec,
  { plan, redirectUrl, scopes, fetchFn, clientMetadataUrl, redactor }: ClientQuestion,
): Promise<OAuthClientInformationMixed> {
  if (oauth && oauth.clientId !== undefined) {
    const { clientId, clientSecret } = oauth;
    return { client_id: clientId, ...(clientSecret === undefined ? {} : { client_secret: clientSecret }) };
  }
  const takesDocuments = Reflect.get(plan.metadata, 'client_id_metadata_document_supported') === true;
  if (takesDocuments && clientMetadataUrl !== undefined) return { client_id: clientMetadataUrl };
  if (plan.metadata.registration_endpoint === undefined) {
    const document = takesDocuments ? ', or set MCP_BRIDGE_CLIENT_METADATA_URL' : '';
    throw loginError(
      `${plan.issuer} does not register clients by itself.`,
      undefined,
      `Register one there and write its id as \`oauth.clientId\` into the entry of '${shownName(name)}'${document}.`,
    );
  }
  // Anew for each login: the port is another, and a registration that the other side has dropped shows only as a page
  // that never comes back.
  const clientMetadata = {
    client_name: PACKAGE_NAME,
    redirect_uris: [redirectUrl],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
    application_type: 'native',
  };
  const client = await orLoginError(
    registerClient(plan.issuer, {
      metadata: plan.metadata,
      clientMetadata,
      fetchFn,
      ...(scopes.length === 0 ? {} : { scope: scopes.join(' ') }),
    }),
    `${plan.issuer} does not register the bridge as a client`,
  );
  if (client.client_secret !== undefined) redactor.addAll({ 'client secret': client.client_secret });
  return client;
}
