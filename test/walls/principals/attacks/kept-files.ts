// What a run of ann's has left: its address, its name on the disk, and whether it is there at all.

import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { KeptFiles } from '../../../../src/run/artifacts/kept-files.js';
import { answerOf } from '../../../support/http-agent.js';
import type { Attack } from '../attack.js';
import type { Party, World } from '../world.js';

const HOUR_SECONDS = 3_600;
const QUOTA_BYTES = 10_000_000;

type KeptText = { readonly uri: string; readonly path: string; readonly text: string };

/** A file as a run of this principal leaves it. */
async function kept(world: World, party: Party): Promise<KeptText> {
  const stateDir = world.stateDirOf(party);
  using files = new KeptFiles({ stateDir, keepSeconds: HOUR_SECONDS, quotaBytes: QUOTA_BYTES });
  const text = world.mark();
  const run = files.open('seeded-1');
  const { uri, path = '' } = await run.put('notes.txt', 'text/plain', Buffer.from(text));
  await run.seal();
  return { uri, path, text };
}

/** The whole answer, as text. */
const read = async ({ agent }: Party, uri: string): Promise<string> =>
  JSON.stringify(await answerOf(agent.modern('resources/read', { uri })));

/** What is the same for every address: the address itself is taken out. */
const answerFor = async (by: Party, uri: string): Promise<string> => {
  const { error, result } = await answerOf(by.agent.modern('resources/read', { uri }, { id: 1 }));
  return JSON.stringify({ error, result }).replaceAll(uri, 'URI');
};

const anotherHandle = (uri: string): string =>
  uri.replace(/[0-9a-f]{32}/, (handle) => [...handle].reverse().join(''));

export const keptFileAttacks: readonly Attack[] = [
  {
    id: 'kept-read-by-address',
    group: 'kept files',
    tries: "reads ann's file by its whole address",
    wall: 'a folder of kept files for each principal',
    attempt: async (world, by) => {
      const { uri, text } = await kept(world, world.ann);
      return (await read(by, uri)).includes(text) ? 'the text of the file' : undefined;
    },
  },
  {
    id: 'kept-read-in-a-session',
    group: 'kept files',
    tries: 'reads it in a session of the 2025 revisions, which has a server object of its own',
    wall: 'a folder of kept files for each principal',
    attempt: async (world, by) => {
      const { uri, text } = await kept(world, world.ann);
      const session = await by.agent.open();
      const answer = await answerOf(by.agent.legacy('resources/read', { uri }, { session }));
      return JSON.stringify(answer).includes(text) ? 'the text of the file' : undefined;
    },
  },
  {
    id: 'kept-exists',
    group: 'kept files',
    tries: 'finds out by the answer whether an address leads to a file of somebody',
    wall: 'the same answer for what is another’s and for what never was',
    attempt: async (world, by) => {
      const { uri } = await kept(world, world.ann);
      const there = await answerFor(by, uri);
      return there === (await answerFor(by, anotherHandle(uri))) ? undefined : 'another answer';
    },
  },
  {
    id: 'kept-path-tricks',
    group: 'kept files',
    tries: "leaves her own folder by .. in an address, plain and escaped, towards ann's",
    wall: 'an address is looked up and never made into a path',
    attempt: async (world) => {
      const mine = await kept(world, world.eve);
      const { path, text } = await kept(world, world.ann);
      const way = relative(join(mine.path, '..'), path);
      const escaped = way.replaceAll('..', '%2e%2e').replaceAll('/', '%2F');
      const base = mine.uri.replace(/notes\.txt$/, '');
      const uris = [way, escaped, `notes.txt/../${way}`, path, `file://${path}`].map(
        (tail) => `${base}${tail}`,
      );
      for (const uri of [...uris, `file://${path}`, `resource://mcp-sandbox-bridge/kept/${way}`])
        if ((await read(world.eve, uri)).includes(text)) return uri;
      return undefined;
    },
    // Whoever makes a path of it gets there.
    control: async (world) => {
      const mine = await kept(world, world.eve);
      const { path, text } = await kept(world, world.ann);
      const way = join(mine.path, '..', relative(join(mine.path, '..'), path));
      return readFileSync(way, 'utf8') === text ? 'the text of the file' : undefined;
    },
  },
  {
    id: 'kept-of-an-earlier-namesake',
    group: 'kept files',
    tries: 'gets a token under the name that another had, and reads what that one has kept',
    wall: 'a principal is the token with its own id, not its name',
    attempt: async (world) => {
      const first = await world.issue('namesake');
      const { uri, text } = await kept(world, first);
      await world.revoke(first);
      const second = await world.issue('namesake');
      const answer = await read(second, uri);
      await world.revoke(second);
      return answer.includes(text) ? 'the text of the file' : undefined;
    },
    control: async (world) => {
      const first = await world.issue('namesake');
      const { uri, text } = await kept(world, first);
      const answer = await read(first, uri);
      await world.revoke(first);
      return answer.includes(text) ? 'the text of the file' : undefined;
    },
  },
  {
    id: 'kept-of-a-colliding-name',
    group: 'kept files',
    tries: "has a name that as a path would lead to ann's folder, or would be the same one in other case",
    wall: 'the name of a folder is a keyed hash of the whole id',
    attempt: async (world, by) => {
      const { uri, text } = await kept(world, world.ann);
      if (by === world.ann) return (await read(by, uri)).includes(text) ? 'the text of the file' : undefined;
      for (const name of ['../principals/ann', 'ANN', 'ann.', 'ann#', world.ann.id, 'аnn']) {
        const namesake = await world.issue(name);
        const answer = await read(namesake, uri);
        await world.revoke(namesake);
        if (answer.includes(text)) return `as ${name}`;
      }
      return undefined;
    },
  },
];
