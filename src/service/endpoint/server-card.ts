// Documents that a client reads before it connects: the card of this server (SEP-2127) beside its endpoint, and the catalog of the site,
// which has that one card. Both are for everybody, so they say what the endpoint is and how to knock, and nothing of who is
// served, by which servers, or with which tools.

import { SUPPORTED_PROTOCOL_VERSIONS } from '@modelcontextprotocol/server';
import { PACKAGE_NAME, VERSION } from '../../base/version.js';
import { MODERN_VERSIONS } from '../../mcp/requests/agent-request.js';
import type { HttpAnswer, RequestFacts } from '../http/parts.js';

const CARD_PATH = '/mcp/server-card';
const CATALOG_PATH = '/.well-known/mcp/catalog.json';
const CARD_TYPE = 'application/mcp-server-card+json';
const SCHEMA = 'https://static.modelcontextprotocol.io/schemas/v2/server-card.schema.json';
/** As server.json has it for registries. */
export const REGISTERED = {
  name: `io.github.${PACKAGE_NAME}/${PACKAGE_NAME}`,
  title: 'MCP Sandbox Bridge',
  description: 'One tool, run_python: code in a locked-down container that can call all of your MCP servers.',
};

const HEADERS = {
  'access-control-allow-origin': '*',
  'access-control-allow-methods': 'GET',
  'access-control-allow-headers': 'Content-Type',
  'cache-control': 'public, max-age=3600',
};

/** The document at this path; undefined where there is none. Addresses are those by which the client has come. */
export function cardDocumentAt({ path, host, isSecure }: RequestFacts): HttpAnswer | undefined {
  const endpoint = `${isSecure ? 'https' : 'http'}://${host}/mcp`;
  if (path === CARD_PATH)
    return { status: 200, headers: { ...HEADERS, 'content-type': CARD_TYPE }, body: cardOf(endpoint) };
  if (path === CATALOG_PATH) return { status: 200, headers: HEADERS, body: catalogOf(endpoint) };
  return undefined;
}

const cardOf = (url: string) => ({
  $schema: SCHEMA,
  ...REGISTERED,
  version: VERSION,
  remotes: [
    {
      type: 'streamable-http',
      url,
      headers: [
        {
          name: 'Authorization',
          description: 'Bearer and a token of whoever runs this bridge, or an OAuth login.',
          isRequired: true,
          isSecret: true,
        },
      ],
      supportedProtocolVersions: [...MODERN_VERSIONS, ...SUPPORTED_PROTOCOL_VERSIONS],
    },
  ],
});

const catalogOf = (endpoint: string) => ({
  specVersion: 'draft',
  entries: [
    {
      identifier: `urn:air:${new URL(endpoint).hostname}:${PACKAGE_NAME}`,
      displayName: REGISTERED.title,
      type: CARD_TYPE,
      url: `${endpoint}/server-card`,
    },
  ],
});
