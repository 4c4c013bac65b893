// Tokens: pieces of them, those that count no more, those of other bridges, and other ways to show one.

import { ask } from '../../../support/http-agent.js';
import { pause } from '../../../support/time.js';
import type { Attack } from '../attack.js';
import { type Party, World } from '../world.js';

const PING = { jsonrpc: '2.0', id: 1, method: 'ping' };
const TIMED = 25;
const TRIES = 5;

/** What came of a request with these credentials: the status where it was served. */
async function served(
  { place }: World,
  authorization: string | readonly string[] | undefined,
  path = '/mcp',
) {
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    // Node sends a list as so many headers; its types say so of some headers only.
    ...(authorization === undefined ? {} : { authorization: authorization as string }),
  };
  const { status } = await ask(place, { headers, body: PING, path });
  return status === 200 ? `status ${status}` : undefined;
}

const bearer = ({ agent }: Party): string => `Bearer ${agent.token}`;

/** The control of all that shows something else than a token: the token itself. */
const theToken: Attack['attempt'] = (world) => served(world, bearer(world.ann));

/** A principal whose token is expired or not. */
const ending = async (world: World, ms: number): Promise<string | undefined> => {
  const guest = await world.issue('ending', ['desk'], Date.now() + ms);
  const what = await served(world, bearer(guest));
  await world.revoke(guest);
  return what;
};

export const credentialAttacks: readonly Attack[] = [
  {
    id: 'no-token',
    group: 'credentials',
    tries: 'asks without any credential',
    wall: 'each request shows its credential',
    attempt: (world) => served(world, undefined),
    control: theToken,
  },
  {
    id: 'token-prefix',
    group: 'credentials',
    tries: "shows the beginning of ann's token, of any length",
    wall: 'the hash of the whole token is compared',
    attempt: async (world) => {
      const { token } = world.ann.agent;
      for (const length of [4, 5, 20, token.length - 1])
        if (await served(world, `Bearer ${token.slice(0, length)}`)) return `${length} characters`;
      return undefined;
    },
    control: theToken,
  },
  {
    id: 'token-changed',
    group: 'credentials',
    tries: "shows ann's token in other case, doubled, with a tail, or in another scheme",
    wall: 'the hash of the whole token is compared',
    attempt: async (world) => {
      const { token } = world.ann.agent;
      const shown = [
        `Bearer ${token.toUpperCase()}`,
        `Bearer ${token}${token}`,
        `Bearer ${token}x`,
        `Bearer "${token}"`,
        `Basic ${Buffer.from(`ann:${token}`).toString('base64')}`,
        `Token ${token}`,
      ];
      for (const text of shown) if (await served(world, text)) return text.slice(0, 12);
      return undefined;
    },
    control: theToken,
  },
  {
    id: 'token-name',
    group: 'credentials',
    tries: 'shows the name of a token, the id of its principal, or its hash, which the file has',
    wall: 'what is kept of a token does not open anything',
    attempt: async (world) => {
      const [name, id] = /^token:(.+)#(.+)$/.exec(world.ann.id)?.slice(1) ?? [];
      const hash = world.hashOf(world.ann);
      for (const text of [name, id, hash, `msb_${hash}`, world.ann.id])
        if (await served(world, `Bearer ${text}`)) return String(text);
      return undefined;
    },
    control: theToken,
  },
  {
    id: 'token-expired',
    group: 'credentials',
    tries: 'shows a token whose time is over',
    wall: 'the end is looked at with each request',
    attempt: (world) => ending(world, -1_000),
    control: (world) => ending(world, 600_000),
  },
  {
    id: 'token-revoked',
    group: 'credentials',
    tries: 'shows a token the moment after it was revoked',
    wall: 'the file of tokens is looked at with each request',
    attempt: async (world) => {
      const guest = await world.issue('revoked');
      await served(world, bearer(guest));
      await world.revoke(guest);
      return served(world, bearer(guest));
    },
    control: async (world) => {
      const guest = await world.issue('revoked');
      const what = await served(world, bearer(guest));
      await world.revoke(guest);
      return what;
    },
  },
  {
    id: 'token-of-another-bridge',
    group: 'credentials',
    tries: "shows ann's token at another bridge, where there is an ann, too",
    wall: 'a bridge knows the tokens of its own state directory',
    attempt: async (world) => {
      await using other = await World.open();
      return served(world, bearer(other.ann));
    },
    control: theToken,
  },
  {
    id: 'token-in-the-address',
    group: 'credentials',
    tries: "sends ann's token in the address, as out of a log of addresses",
    wall: 'a token in the address is refused',
    attempt: (world) => served(world, undefined, `/mcp?access_token=${world.ann.agent.token}`),
    control: theToken,
  },
  {
    id: 'two-credentials',
    group: 'credentials',
    tries: 'sends two Authorization headers, of which a check and a use might take different ones',
    wall: 'a request with two of them is refused',
    attempt: (world) => served(world, [bearer(world.eve), bearer(world.ann)]),
    control: theToken,
  },
  {
    id: 'token-in-another-header',
    group: 'credentials',
    tries: 'says in other headers who she is',
    wall: 'headers other than Authorization name nobody',
    attempt: async (world) => {
      const { token } = world.ann.agent;
      const { id, name } = world.ann;
      const headers = {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'proxy-authorization': `Bearer ${token}`,
        cookie: `authorization=Bearer ${token}; token=${token}`,
        'x-api-key': token,
        'x-forwarded-user': name,
        'x-principal': id,
        'remote-user': name,
      };
      const { status } = await ask(world.place, { headers, body: PING });
      return status === 200 ? `status ${status}` : undefined;
    },
    control: theToken,
  },
  {
    id: 'token-by-its-answering-time',
    group: 'credentials',
    tries: 'finds a token by how long it takes to refuse what begins like it',
    wall: 'hashes are compared in constant time',
    attempt: async (world) => {
      const guest = await world.issue('timed');
      await world.revoke(guest);
      const { token } = guest.agent;
      let found = '';
      // What else the machine does now and then shows once, and not each time.
      for (let at = 0; at < TRIES; at++) {
        const near = await middleMs(world, `${world.ann.agent.token.slice(0, -1)}!`);
        const far = await middleMs(world, token);
        if (Math.max(near, far) <= 2 * Math.min(near, far) + 5) return undefined;
        found = `${near} ms and ${far} ms`;
      }
      return found;
    },
    // A hash that is meant to be slow, as for passwords, would be seen.
    control: async (world) => {
      const plain = await middleMs(world, world.eve.agent.token);
      const slow = await middleMs(world, world.eve.agent.token, () => pause(2 * plain + 20));
      return slow > 2 * plain + 5 ? `${slow} ms and ${plain} ms` : undefined;
    },
  },
];

async function middleMs(world: World, token: string, besides = async () => {}): Promise<number> {
  const times: number[] = [];
  for (let at = 0; at < TIMED; at++) {
    const beganAt = performance.now();
    await served(world, `Bearer ${token}`);
    await besides();
    times.push(performance.now() - beganAt);
  }
  return times.sort((one, other) => one - other)[Math.floor(TIMED / 2)] ?? 0;
}
