// What can be said in a request besides its credential: where it comes from, whom it is for, and by which path.

import { once } from 'node:events';
import net from 'node:net';
import { ask, type Place } from '../../../support/http-agent.js';
import type { Attack } from '../attack.js';
import { type Party, World } from '../world.js';

const PING = { jsonrpc: '2.0', id: 1, method: 'ping' };
const FORGED = '203.0.113.7';
const ACCEPTED = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };

const status = async (
  place: Place,
  headers: Readonly<Record<string, string>>,
  path = '/mcp',
): Promise<number> => (await ask(place, { headers: { ...ACCEPTED, ...headers }, body: PING, path })).status;

/** The first line that answers ann's ping with these lines ahead of hers. */
async function rawStatus({ place, ann }: World, lines: readonly string[]): Promise<string> {
  const body = JSON.stringify(PING);
  const usual = Object.entries({
    ...bearer(ann),
    ...ACCEPTED,
    'content-length': body.length,
    connection: 'close',
  });
  const socket = net.connect(place as net.NetConnectOpts);
  let got = '';
  socket.on('data', (chunk: Buffer) => {
    got += chunk.toString();
  });
  socket.end(
    ['POST /mcp HTTP/1.1', ...lines, ...usual.map((pair) => pair.join(': ')), '', body].join('\r\n'),
  );
  await once(socket, 'close');
  return got.split('\r\n', 1)[0] ?? '';
}

const bearer = ({ agent }: Party) => ({ authorization: `Bearer ${agent.token}` });

const ok = (code: number): string | undefined => (code === 200 ? `status ${code}` : undefined);

/** A path that is not /mcp as written, but may be after somebody has rewritten it. */
const PATHS = [
  '//mcp',
  '/mcp/',
  '/MCP',
  '/mcp%2f',
  '/%6dcp',
  '/mcp;x',
  '/./mcp',
  '/healthz/../mcp',
  'http://127.0.0.1/mcp',
];

const overSocket = async (headers: Readonly<Record<string, string>>): Promise<string | undefined> => {
  await using world = await World.open({ listen: (home) => `unix:${home}/bridge.sock` });
  return ok(await status(world.place, { host: 'localhost', ...headers }));
};

export const frontAttacks: readonly Attack[] = [
  {
    id: 'forwarded-address',
    group: 'the front',
    tries:
      'says in X-Forwarded-For that the request comes from elsewhere, for the log and for limits by address',
    wall: 'these headers are believed of named proxies alone',
    attempt: async (world, by) => {
      await status(world.place, {
        ...bearer(by),
        'x-forwarded-for': FORGED,
        'x-real-ip': FORGED,
        forwarded: `for=${FORGED}`,
      });
      return (await world.logged((text) => text.includes(FORGED))) ? 'it stands in the log' : undefined;
    },
    control: async () => {
      await using world = await World.open({ settings: { MCP_BRIDGE_HTTP_PROXIES: '127.0.0.1' } });
      await status(world.place, { ...bearer(world.eve), 'x-forwarded-for': FORGED });
      return (await world.logged((text) => text.includes(FORGED))) ? 'it stands in the log' : undefined;
    },
  },
  {
    id: 'forwarded-to-a-private-socket',
    group: 'the front',
    tries: 'comes through a proxy that has the unix socket, and is taken for the user who owns it',
    wall: 'who is forwarded shows a credential, on a private socket too',
    attempt: () => overSocket({ 'x-forwarded-for': FORGED }),
    control: () => overSocket({}),
  },
  {
    id: 'rebound-host',
    group: 'the front',
    tries: 'has a web page ask under a name that leads to this machine',
    wall: 'the Host is one of the bridge’s own',
    attempt: async (world) => ok(await status(world.place, { ...bearer(world.ann), host: 'evil.example' })),
    control: async (world) => ok(await status(world.place, { ...bearer(world.ann), host: 'localhost' })),
  },
  {
    id: 'two-hosts',
    group: 'the front',
    tries:
      'sends two Host headers, or two of another kind, of which a proxy and the bridge might take different ones',
    wall: 'a request that says twice what it says once is refused',
    attempt: async (world) => {
      const twice = [
        ['Host: localhost', 'Host: evil.example'],
        ['Host: localhost', 'Origin: http://localhost:1', 'Origin: http://localhost:2'],
        ['Host: localhost', `Authorization: Bearer ${world.eve.agent.token}`],
      ];
      const got = await Promise.all(twice.map((lines) => rawStatus(world, lines)));
      return got.find((line) => !line.includes(' 400 '));
    },
    control: async (world) => {
      const line = await rawStatus(world, ['Host: localhost']);
      return line.includes(' 200 ') ? line : undefined;
    },
  },
  {
    id: 'origin-of-another-site',
    group: 'the front',
    tries: 'has a web page of another site ask with what the browser knows',
    wall: 'the Origin is one that is allowed',
    attempt: async (world) =>
      ok(await status(world.place, { ...bearer(world.ann), origin: 'https://evil.example' })),
    control: async (world) =>
      ok(await status(world.place, { ...bearer(world.ann), origin: 'http://localhost:3000' })),
  },
  {
    id: 'paths-around-the-check',
    group: 'the front',
    tries: 'reaches /mcp without a token by a path that is another one as written',
    wall: 'a path is compared as written, after which nothing rewrites it',
    attempt: async (world) => {
      for (const path of PATHS) if ((await status(world.place, {}, path)) === 200) return path;
      return undefined;
    },
    control: async (world) => ok(await status(world.place, bearer(world.ann))),
  },
  {
    id: 'health-tells-nobody',
    group: 'the front',
    tries: 'reads in the health documents, which need no token, who is there and what they do',
    wall: 'health is one word',
    attempt: async (world) => {
      await world.ann.agent.open();
      const told: string[] = [];
      for (const path of ['/healthz', '/readyz']) {
        const { text, headers } = await ask(world.place, { method: 'GET', path });
        told.push(text, JSON.stringify(headers));
      }
      const words = ['ann', 'eve', 'desk', 'vault', world.stateDir, 'sessions'];
      return words.find((word) => told.join('\n').includes(word));
    },
    // Whoever reads the log, the operator, is told.
    control: async (world) => {
      await world.ann.agent.open();
      return (await world.logged((text) => text.includes('ann'))) ? 'ann' : undefined;
    },
  },
  {
    id: 'other-documents',
    group: 'the front',
    tries: 'reads files of the bridge by paths of the web',
    wall: 'the front serves no files',
    attempt: async (world, by) => {
      const paths = [
        '/state/http/tokens.json',
        '/../state/http/tokens.json',
        '/%2e%2e/state/http/tokens.json',
        '/mcp/../../servers.json',
      ];
      for (const path of paths) {
        const { status: code, text } = await ask(world.place, { method: 'GET', path, headers: bearer(by) });
        if (code === 200 || text.includes('hash')) return path;
      }
      return undefined;
    },
    // The file is there for whoever may read the state directory.
    control: async (world) => (world.hashOf(world.ann) === '' ? undefined : 'the hash of a token'),
  },
];
