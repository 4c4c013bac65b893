// What there is one of for all: requests in a minute, memory of bodies, streams, the time of servers.

import { fileURLToPath } from 'node:url';
import { send } from '../../../support/http-agent.js';
import { pause } from '../../../support/time.js';
import type { Attack } from '../attack.js';
import { execute, executing, type Party, SOON_MS, type World } from '../world.js';

const ONE_CALL = fileURLToPath(new URL('../one-call.yaml', import.meta.url));
const MB = 1_000_000;
const PING = { jsonrpc: '2.0', id: 1, method: 'ping' };
/** As src/service/http/parts.ts says. */
const SUBSCRIPTIONS = 256;

const statusOf = async ({ agent }: Party, body: unknown = PING): Promise<number> => {
  const exchange = agent.post(body);
  const { status } = await exchange.begun;
  await exchange.ended;
  return status;
};

/** Whether what `by` does at the same time makes ann's call wait until it has ended. */
async function delays(
  world: World,
  by: Party,
  flood: () => readonly Promise<unknown>[],
): Promise<string | undefined> {
  await Promise.all([execute(world.ann, 'say', 'ready'), execute(by, 'say', 'ready')]);
  let isOver = false;
  const all = Promise.all(flood()).then(() => {
    isOver = true;
  });
  // The flood is on its way before ann asks.
  await pause(SOON_MS / 10);
  await execute(world.ann, 'say', 'hi');
  const waited = isOver;
  await all;
  return waited ? 'her call waits until the flood is over' : undefined;
}

export const shareAttacks: readonly Attack[] = [
  {
    id: 'rate-of-another',
    group: 'shares',
    tries: "sends so many requests that ann's are refused",
    wall: 'a bucket of requests for each principal',
    settings: { MCP_BRIDGE_HTTP_RATE: '2' },
    attempt: async (world, by) => {
      for (let at = 0; at < 10; at++) await statusOf(by);
      return (await statusOf(world.ann)) === 429 ? 'ann is told to come back later' : undefined;
    },
  },
  {
    id: 'rate-by-a-batch',
    group: 'shares',
    tries: 'spends the rate of both by one request with many messages',
    wall: 'each message is counted, and for its sender',
    settings: { MCP_BRIDGE_HTTP_RATE: '3' },
    attempt: async (world, by) => {
      await statusOf(
        by,
        Array.from({ length: 50 }, (_, id) => ({ ...PING, id })),
      );
      return (await statusOf(world.ann)) === 429 ? 'ann is told to come back later' : undefined;
    },
  },
  {
    id: 'rate-of-a-stranger',
    group: 'shares',
    tries: "spends ann's rate without her token, by requests that are refused",
    wall: 'requests are counted after their credential was checked',
    settings: { MCP_BRIDGE_HTTP_RATE: '4' },
    attempt: async (world, by) => {
      const token = by === world.ann ? by.agent.token : `${world.ann.agent.token.slice(0, -1)}!`;
      const headers = { ...world.ann.agent.headers, authorization: `Bearer ${token}` };
      for (let at = 0; at < 10; at++) await send(world.place, { headers, body: PING }).ended;
      return (await statusOf(world.ann)) === 429 ? 'ann is told to come back later' : undefined;
    },
  },
  {
    id: 'memory-of-bodies',
    group: 'shares',
    tries: 'holds the memory for bodies with large ones that do not end',
    wall: 'bodies under way are counted for each principal',
    settings: { MCP_BRIDGE_HTTP_BODY_MB: '1' },
    attempt: async (world, by) => {
      const part = ' '.repeat(0.99 * MB);
      const headers = { ...by.agent.headers, 'content-length': String(MB) };
      // Less than it says it has: the rest does not come.
      const held = Array.from({ length: 4 }, () => send(world.place, { headers, body: part }));
      await pause(SOON_MS / 2);
      const status = await statusOf(world.ann, { ...PING, params: { filling: 'x'.repeat(0.9 * MB) } });
      for (const exchange of held) exchange.abort();
      return status === 429 || status === 503 ? `ann is refused with ${status}` : undefined;
    },
  },
  {
    id: 'streams-of-changes',
    group: 'shares',
    tries: 'listens for changes so often that ann can listen no more',
    wall: 'such streams are counted for each principal',
    attempt: async (world, by) => {
      const listen = (party: Party) =>
        party.agent.modern('subscriptions/listen', { notifications: { toolsListChanged: true } });
      const streams = Array.from({ length: SUBSCRIPTIONS }, () => listen(by));
      await Promise.all(streams.map(({ begun }) => begun));
      const hers = listen(world.ann);
      const { headers } = await hers.begun;
      const isListening = headers['content-type']?.includes('event-stream') === true;
      for (const stream of [...streams, hers]) stream.abort();
      return isListening ? undefined : 'ann cannot listen';
    },
  },
  {
    id: 'server-kept-busy',
    group: 'shares',
    tries: "keeps a server busy that exists for both, so that ann's call waits",
    wall: 'a process of a server belongs to one principal',
    attempt: (world, by) => delays(world, by, () => [execute(by, 'block', String(2 * SOON_MS))]),
  },
  {
    id: 'calls-of-a-server',
    group: 'shares',
    tries: 'has as many calls of a server under way as the policy allows, so that none of ann’s has its turn',
    wall: 'calls at once are counted for each principal',
    settings: { MCP_BRIDGE_POLICY: ONE_CALL },
    attempt: (world, by) =>
      delays(world, by, () => Array.from({ length: 3 }, () => execute(by, 'wait', String(SOON_MS)))),
  },
  {
    id: 'waiting-answers',
    group: 'shares',
    tries: 'reads nothing of large answers, so that the bridge keeps them in memory for her',
    wall: 'what waits for a reader is bounded, and the greediest loses its connection',
    attempt: async (world, by) => {
      const lazy = Array.from({ length: 6 }, () =>
        by.agent.modern('tools/call', executing('large', '4000000')),
      );
      const said = await execute(world.ann, 'say', 'hi');
      for (const exchange of lazy) exchange.abort();
      return said === 'hi' ? undefined : said;
    },
    control: async ({ ann }) =>
      (await execute(ann, 'large', '4000000')).length >= 4_000_000 ? 'it is that large' : undefined,
  },
];
