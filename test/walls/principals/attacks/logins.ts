// Remote servers: with whose login, headers and session a call reaches them.

import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { TokenStore } from '../../../../src/servers/login/token-store.js';
import { answerOf, textOf } from '../../../support/http-agent.js';
import type { Attack } from '../attack.js';
import { execute, executing, type Party, World } from '../world.js';

const LOGIN = 'login-of-ann';

type Remote = Disposable & { readonly url: string; readonly seen: IncomingHttpHeaders[] };

/** A server over HTTP whose `execute` answers with the headers of its request; with `asksFor` it wants this token. */
async function remote(asksFor?: string): Promise<Remote> {
  const seen: IncomingHttpHeaders[] = [];
  let sessions = 0;
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const piece of request) text += String(piece);
    if (request.method !== 'POST') return response.writeHead(405).end();
    if (asksFor !== undefined && request.headers.authorization !== `Bearer ${asksFor}`)
      return response.writeHead(401, { 'www-authenticate': 'Bearer' }).end();
    const { id, method } = JSON.parse(text) as { id?: unknown; method?: string };
    if (id === undefined) return response.writeHead(202).end();
    seen.push(request.headers);
    const opened = method === 'initialize' ? { 'mcp-session-id': `session-${++sessions}` } : {};
    response.writeHead(200, { 'content-type': 'application/json', ...opened });
    return response.end(JSON.stringify({ jsonrpc: '2.0', id, ...answer(method, request.headers) }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    seen,
    [Symbol.dispose]: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

function answer(method: string | undefined, headers: IncomingHttpHeaders): object {
  if (method === 'initialize') {
    const serverInfo = { name: 'remote', version: '1' };
    return { result: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo } };
  }
  if (method === 'tools/list')
    return {
      result: { tools: [{ name: 'execute', description: 'Runs.', inputSchema: { type: 'object' } }] },
    };
  if (method === 'tools/call')
    return { result: { content: [{ type: 'text', text: JSON.stringify(headers) }] } };
  return { error: { code: -32_601, message: 'Method not found' } };
}

/** A login at the server of this address, as `login` keeps it. */
function writeLogin(stateDir: string, url: string): void {
  const issuer = new URL(url).origin;
  new TokenStore(stateDir).write({
    name: 'desk',
    url: url,
    issuer,
    metadata: {
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      response_types_supported: ['code'],
    },
    client: { client_id: 'bridge' },
    scopes: [],
    accessToken: LOGIN,
    expiresAtMs: Date.now() + 3_600_000,
    obtainedAtMs: Date.now(),
  });
}

/** What `by` is answered by the remote server, in a world of its own where ann has logged in to it. */
async function answeredWithLogin(choose: (world: World) => Party): Promise<string> {
  using server = await remote(LOGIN);
  await using world = await World.open({ servers: { desk: { type: 'http', url: server.url } } });
  writeLogin(world.stateDirOf(world.ann), server.url);
  return await execute(choose(world), 'headers');
}

export const loginAttacks: readonly Attack[] = [
  {
    id: 'login-of-another',
    group: 'logins and headers',
    tries: 'reaches a remote server with the login that ann has made',
    wall: 'a folder of logins for each principal',
    attempt: async ({ ann }, by) => {
      const said = await answeredWithLogin((world) => (by === ann ? world.ann : world.eve));
      return said.includes(LOGIN) ? 'the server answers' : undefined;
    },
  },
  {
    id: 'login-of-the-operator',
    group: 'logins and headers',
    tries: 'reaches it with the login that the operator has made for the bridge over stdio',
    wall: 'the logins of the state directory itself are the operator’s',
    attempt: async () => {
      using server = await remote(LOGIN);
      await using world = await World.open({ servers: { desk: { type: 'http', url: server.url } } });
      writeLogin(world.stateDir, server.url);
      return (await execute(world.eve, 'headers')).includes(LOGIN) ? 'the server answers' : undefined;
    },
    control: async () => {
      using server = await remote(LOGIN);
      await using world = await World.open({
        servers: { desk: { type: 'http', url: server.url } },
        listen: (home) => `unix:${home}/bridge.sock`,
      });
      writeLogin(world.stateDir, server.url);
      // The operator asks without a token, on a socket that nobody else can open.
      const own = world.local();
      return (await execute(own, 'headers')).includes(LOGIN) ? 'the server answers' : undefined;
    },
  },
  {
    id: 'credential-passed-on',
    group: 'logins and headers',
    tries: "has the bridge hand a client's credential and headers to a server that collects them",
    wall: 'nothing of a request is forwarded unasked',
    attempt: async () => {
      using server = await remote();
      await using world = await World.open({ servers: { desk: { type: 'http', url: server.url } } });
      const headers = { cookie: 'session=of-ann', 'x-forwarded-user': 'ann', 'x-secret': 'of-ann' };
      const call = world.ann.agent.modern('tools/call', executing('headers'), { headers });
      const said = textOf(await answerOf(call)) + JSON.stringify(server.seen);
      return [world.ann.agent.token, 'of-ann', 'x-forwarded-user'].find((text) => said.includes(text));
    },
    control: async () => {
      using server = await remote();
      const desk = { type: 'http', url: server.url, headers: { 'x-secret': 'of-ann' } } as const;
      await using world = await World.open({ servers: { desk } });
      return (await execute(world.ann, 'headers')).includes('of-ann') ? 'a header of its entry' : undefined;
    },
  },
  {
    id: 'session-at-a-remote-server',
    group: 'logins and headers',
    tries: 'calls in the session that the bridge has with a remote server for ann',
    wall: 'a session with a server belongs to one principal',
    attempt: async ({ ann }, by) => {
      using server = await remote();
      await using world = await World.open({ servers: { desk: { type: 'http', url: server.url } } });
      const sessionOf = async (party: Party) =>
        (JSON.parse(await execute(party, 'headers')) as IncomingHttpHeaders)['mcp-session-id'];
      const hers = await sessionOf(world.ann);
      return (await sessionOf(by === ann ? world.ann : world.eve)) === hers ? String(hers) : undefined;
    },
  },
];
