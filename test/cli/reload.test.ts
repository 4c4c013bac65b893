// What the operator changes while a bridge over HTTP runs counts at the next call of each client, with a session or without, and
// without a signal: tokens, the principals file, policies, the files that name servers.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  Client as ModernClient,
  StreamableHTTPClientTransport as ModernTransport,
} from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { HttpInstances, MAIN } from '../support/http-instances.js';

const ERAS = ['a client of 2025 in its session', 'a client of 2026-07-28'] as const;
const SHOW = { name: 'execute', arguments: { command: 'sh', args: ['-c', 'echo "it is $WHICH"'] } };

let instances: HttpInstances;
let token: string;
let url: URL;
beforeEach(async () => {
  instances = new HttpInstances();
  write('policy.yaml', 'version: 1\n');
  write('principals.yaml', 'version: 1\n');
  box('one');
  token = instances.command('token', 'create', 'team', '--servers', 'box');
  const bridge = instances.start(['serve', '--http', '127.0.0.1:0'], {
    MCP_BRIDGE_POLICY: join(instances.dir, 'policy.yaml'),
    MCP_BRIDGE_PRINCIPALS: join(instances.dir, 'principals.yaml'),
  });
  url = await bridge.url();
});
afterEach(() => instances[Symbol.asyncDispose]());

const write = (name: string, text: string) => writeFileSync(join(instances.dir, name), text, { mode: 0o600 });
/** Names the server `box`, whose commands see `which`; without one there is no server. */
function box(which?: string): void {
  const entry = { command: process.execPath, args: [MAIN, 'code-exec'], env: { WHICH: which } };
  write('servers.json', JSON.stringify({ mcpServers: which === undefined ? {} : { box: entry } }));
}

/** What a call gives: what was printed, what stands in its way, or the status that it was refused with. */
async function clientOf(era: (typeof ERAS)[number]): Promise<() => Promise<string>> {
  const options = { requestInit: { headers: { authorization: `Bearer ${token}` } } };
  const isModern = era === ERAS[1];
  const client = isModern
    ? new ModernClient(
        { name: 'young', version: '1' },
        { versionNegotiation: { mode: { pin: '2026-07-28' } } },
      )
    : new Client({ name: 'old', version: '1' });
  if (client instanceof Client)
    await client.connect(new StreamableHTTPClientTransport(url, options) as never);
  else await client.connect(new ModernTransport(url, options));
  return async () => {
    const result = await (client as Client).callTool(SHOW).catch((thrown: unknown) => String(thrown));
    return typeof result === 'string' ? result : JSON.stringify(result.content);
  };
}

describe.each(ERAS)('%s', (era) => {
  it('finds another entry of a server, and none where it was taken out', async () => {
    const said = await clientOf(era);
    expect(await said()).toContain('it is one');
    box('two');
    expect(await said()).toContain('it is two');
    box();
    expect(await said()).toContain("there is no server 'box'");
    box('three');
    expect(await said()).toContain('it is three');
  });

  it('is under the policy as it is now', async () => {
    const said = await clientOf(era);
    expect(await said()).toContain('it is one');
    write('policy.yaml', 'version: 1\ndeny: [box.execute]\n');
    expect(await said()).toContain('denied');
    // One that cannot be read changes nothing.
    write('policy.yaml', 'version: [\n');
    expect(await said()).toContain('denied');
    write('policy.yaml', 'version: 1\n');
    expect(await said()).toContain('it is one');
  });

  it('is under the rules of the principals file as they are now', async () => {
    const said = await clientOf(era);
    expect(await said()).toContain('it is one');
    write('principals.yaml', 'version: 1\ntokens: { team: { servers: [] } }\n');
    expect(await said()).toContain("there is no server 'box'");
    write('principals.yaml', 'version: 1\ntokens: { team: { deny: [box.execute] } }\n');
    expect(await said()).toContain('denied');
    write('own.yaml', 'version: 1\ndeny: [box.execute]\n');
    write(
      'principals.yaml',
      `version: 1\ntokens: { team: { policy: ${JSON.stringify(join(instances.dir, 'own.yaml'))} } }\n`,
    );
    expect(await said()).toContain('denied');
    write('own.yaml', 'version: 1\n');
    expect(await said()).toContain('it is one');
  });

  it('is refused once its token is taken back', async () => {
    const said = await clientOf(era);
    expect(await said()).toContain('it is one');
    instances.command('token', 'revoke', 'team');
    expect(await said()).toMatch(/401|revoked|Unauthorized/i);
    token = instances.command('token', 'create', 'team', '--servers', 'box');
    expect(await (await clientOf(era))()).toContain('it is one');
  });
});
