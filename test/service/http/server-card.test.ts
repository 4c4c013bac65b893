// Documents by which a client finds the endpoint before it connects.

import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { stubFront } from '../../support/http-front.js';

const opened: AsyncDisposable[] = [];
afterEach(async () => {
  for (const one of opened.splice(0)) await one[Symbol.asyncDispose]();
});

const found = async (path: string, headers: Readonly<Record<string, string>> = {}) => {
  const { url } = await stubFront(opened, {
    env: { MCP_BRIDGE_HTTP_PROXIES: '127.0.0.1', MCP_BRIDGE_HTTP_HOSTS: 'mcp.example.com' },
  });
  const answer = await fetch(new URL(path, url), { headers });
  return { url, answer, body: (await answer.json()) as Record<string, unknown> };
};

describe('the card of the server', () => {
  it('stands beside the endpoint, for everybody, in the words that registries have', async () => {
    const { url, answer, body } = await found('/mcp/server-card');
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe('application/mcp-server-card+json');
    expect(answer.headers.get('access-control-allow-origin')).toBe('*');
    const { name, title, description, version } = JSON.parse(readFileSync('server.json', 'utf8'));
    expect(body).toMatchObject({
      $schema: 'https://static.modelcontextprotocol.io/schemas/v2/server-card.schema.json',
      name,
      title,
      description,
      version,
      remotes: [{ type: 'streamable-http', url: url.href }],
    });
    expect(String(body['description']).length).toBeLessThanOrEqual(100);
    const [{ supportedProtocolVersions, headers }] = body['remotes'] as [Record<string, string[]>];
    expect(supportedProtocolVersions).toEqual(
      expect.arrayContaining(['2026-07-28', '2025-11-25', '2025-06-18']),
    );
    expect(headers).toMatchObject([{ name: 'Authorization', isRequired: true, isSecret: true }]);
  });

  it('says nothing of principals, servers and tools', async () => {
    const { body } = await found('/mcp/server-card');
    expect(Object.keys(body).sort()).toEqual([
      '$schema',
      'description',
      'name',
      'remotes',
      'title',
      'version',
    ]);
  });

  it('is found by the catalog of the site, at the address that a trusted proxy has', async () => {
    const { body } = await found('/.well-known/mcp/catalog.json', {
      'x-forwarded-host': 'mcp.example.com',
      'x-forwarded-proto': 'https',
    });
    expect(body).toEqual({
      specVersion: 'draft',
      entries: [
        {
          identifier: 'urn:air:mcp.example.com:mcp-sandbox-bridge',
          displayName: 'MCP Sandbox Bridge',
          type: 'application/mcp-server-card+json',
          url: 'https://mcp.example.com/mcp/server-card',
        },
      ],
    });
  });
});
