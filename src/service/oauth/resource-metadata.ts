// What this bridge says of itself as an OAuth resource (RFC 9728), so that a client finds where it gets a token.

import { PACKAGE_NAME } from '../../base/version.js';
import type { OAuthSettings } from '../../settings/environment/oauth-settings.js';

const WELL_KNOWN = '/.well-known/oauth-protected-resource';
/** Where the bridge itself has its endpoint: a proxy in front of it may have put it elsewhere. */
const ENDPOINT = '/mcp';

/** Where the metadata of the resource is: RFC 9728 puts the well-known part ahead of the resource's own path. */
export function metadataUrlOf({ resource }: Pick<OAuthSettings, 'resource'>): string {
  const url = new URL(resource);
  return url.origin + WELL_KNOWN + ownPath(url);
}

/**
 * The document that belongs at `path` (without a query), undefined where none does. It is at the path that RFC 9728 gives
 * the resource, at the one of the bridge's own endpoint, and at the root, where older clients look.
 */
export function metadataAt(path: string, { resource, issuers, scopes }: OAuthSettings): object | undefined {
  const places = ['', ENDPOINT, ownPath(new URL(resource))].map((own) => WELL_KNOWN + own);
  if (!places.includes(path.replace(/\/$/, ''))) return undefined;
  return {
    resource,
    authorization_servers: issuers,
    bearer_methods_supported: ['header'],
    resource_name: PACKAGE_NAME,
    ...(scopes.length === 0 ? {} : { scopes_supported: scopes }),
  };
}

const ownPath = ({ pathname }: URL): string => pathname.replace(/\/$/, '');
