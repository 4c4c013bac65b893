// Servers that exist for ann and not for eve, and the processes of those that exist for both.

import { answerOf, textOf } from '../../../support/http-agent.js';
import { pause } from '../../../support/time.js';
import type { Attack } from '../attack.js';
import { execute, type Party } from '../world.js';

/** No engine is found, so that a call which gets past the names of its servers ends there, without a container. */
const WITHOUT_ENGINE = { MCP_BRIDGE_TOOLS: 'run_python,execute_code', PATH: '/nonexistent' };
const VAULT_EXECUTES = { MCP_BRIDGE_EXECUTE_SERVER: 'vault' };
/** Other spellings of vault: in other case, with spaces, as a path, with look-alikes of other scripts, full-width. */
const SPELLINGS = [
  'VAULT',
  'Vault',
  ' vault',
  'vault ',
  './vault',
  'desk/../vault',
  'vаult',
  'ｖａｕｌｔ',
  'vault\u200b',
];
const TIMED = 25;
const TRIES = 5;
/** What starting a process of a server takes at least, on any machine. */

const run = async ({ agent }: Party, ...servers: readonly string[]): Promise<string> => {
  const params = { name: 'run_python', arguments: { code: '1', servers } };
  return textOf(await answerOf(agent.modern('tools/call', params)));
};

/** What is said of a name, without the name. */
const saidOf = async (by: Party, name: string): Promise<string> =>
  (await run(by, name)).replaceAll(name, 'NAME');

/** The least time that a call takes, in ms: what else the machine does only makes it longer. */
async function leastMs(call: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let at = 0; at < TIMED; at++) {
    const beganAt = performance.now();
    await call();
    times.push(performance.now() - beganAt);
  }
  return Math.min(...times);
}

export const serverAttacks: readonly Attack[] = [
  {
    id: 'server-named-in-instructions',
    group: 'servers',
    tries: "reads the name of ann's server in what a client is told when it connects",
    wall: 'what a principal may not use is as if it were not configured',
    settings: WITHOUT_ENGINE,
    attempt: async (_world, { agent }) =>
      JSON.stringify(await answerOf(agent.modern('server/discover', {}))).includes('vault')
        ? 'the name'
        : undefined,
  },
  {
    id: 'server-named-in-capabilities',
    group: 'servers',
    tries: 'reads its name in the resource that describes the bridge',
    wall: 'what a principal may not use is as if it were not configured',
    settings: WITHOUT_ENGINE,
    attempt: async (_world, { agent }) => {
      const uri = 'resource://mcp-sandbox-bridge/capabilities';
      const answer = await answerOf(agent.modern('resources/read', { uri }));
      return JSON.stringify(answer).includes('vault') ? 'the name' : undefined;
    },
  },
  {
    id: 'server-exists',
    group: 'servers',
    tries: 'finds out by the error whether a name is that of a server of somebody else',
    wall: 'the same answer for what is another’s and for what never was',
    settings: WITHOUT_ENGINE,
    attempt: async (_world, by) =>
      (await saidOf(by, 'vault')) === (await saidOf(by, 'fault')) ? undefined : 'another answer',
  },
  {
    id: 'server-guessed-by-typing-errors',
    group: 'servers',
    tries: 'mistypes names until the error proposes one that she may not know',
    wall: 'names are proposed among those that exist for her',
    settings: WITHOUT_ENGINE,
    attempt: async (_world, by) => {
      for (const name of ['vaul', 'valut', 'vaults', 'Vault'])
        if (/\bvault\b/.test((await run(by, name)).replaceAll(name, ''))) return `proposed for ${name}`;
      return undefined;
    },
  },
  {
    id: 'server-other-spellings',
    group: 'servers',
    tries: 'names it in another spelling, as a path, or with look-alikes',
    wall: 'a name is compared whole with those that exist for her',
    settings: WITHOUT_ENGINE,
    attempt: async (_world, by) => {
      const names = by.name === 'ann' ? ['vault'] : ['vault', ...SPELLINGS];
      for (const name of names) if (!(await run(by, name)).includes('there is no server')) return name;
      return undefined;
    },
  },
  {
    id: 'server-by-its-answering-time',
    group: 'servers',
    tries: 'finds out by how long the refusal takes whether a server exists for somebody else',
    wall: 'what exists for another is never looked at',
    settings: WITHOUT_ENGINE,
    attempt: async (_world, by) => {
      let found = '';
      // What else the machine does now and then shows once, and not each time.
      for (let at = 0; at < TRIES; at++) {
        const hidden = await leastMs(() => run(by, 'vault'));
        const absent = await leastMs(() => run(by, 'fault'));
        if (hidden <= 2 * absent + 5) return undefined;
        found = `${hidden} ms instead of ${absent} ms`;
      }
      return found;
    },
    // A refusal that looked at the server first would take as long as this.
    control: async ({ ann }) => {
      const absent = await leastMs(() => run(ann, 'fault'));
      const looked = await leastMs(() => run(ann, 'vault').then(() => pause(2 * absent + 20)));
      return looked > 2 * absent + 5 ? `${looked} ms instead of ${absent} ms` : undefined;
    },
  },
  {
    id: 'server-called-through-execute',
    group: 'servers',
    tries: 'has her command handed to a server that exists for ann alone',
    wall: 'the server of commands is one that must exist for who calls',
    settings: VAULT_EXECUTES,
    attempt: async (_world, by) =>
      (await execute(by, 'env', 'VAULT_SECRET')).includes('of-the-vault')
        ? 'what it has in its environment'
        : undefined,
  },
  {
    id: 'server-memory',
    group: 'servers',
    tries: 'reads what ann has told a server that remembers',
    wall: 'a process of a server belongs to one principal',
    attempt: async (world, by) => {
      const secret = world.mark();
      await execute(world.ann, 'keep', secret);
      return (await execute(by, 'recall')).includes(secret) ? 'what it remembers' : undefined;
    },
  },
  {
    id: 'server-memory-written',
    group: 'servers',
    tries: 'puts words into the memory that ann reads',
    wall: 'a process of a server belongs to one principal',
    attempt: async (world, by) => {
      const secret = world.mark();
      await execute(by, 'keep', secret);
      return (await execute(world.ann, 'recall')).includes(secret) ? 'ann reads it' : undefined;
    },
  },
  {
    id: 'server-process',
    group: 'servers',
    tries: "calls the process that serves ann's calls",
    wall: 'a process of a server belongs to one principal',
    attempt: async (world, by) => {
      const pid = await execute(world.ann, 'pid');
      return (await execute(by, 'pid')) === pid ? `process ${pid}` : undefined;
    },
  },
  {
    id: 'server-ended',
    group: 'servers',
    tries: "ends the server's process, and with it what ann has in it",
    wall: 'a process of a server belongs to one principal',
    attempt: async (world, by) => {
      const secret = world.mark();
      await execute(world.ann, 'keep', secret);
      await execute(by, 'exit');
      return (await execute(world.ann, 'recall')).includes(secret) ? undefined : 'her memory is gone';
    },
  },
  {
    id: 'server-of-a-narrower-credential',
    group: 'servers',
    tries: 'uses a server with a token that was made before it was taken out of what the token reaches',
    wall: 'what a token reaches is asked with each request',
    settings: VAULT_EXECUTES,
    attempt: async (world) => {
      const guest = await world.issue('narrowed', ['vault']);
      await execute(guest, 'say', 'once');
      await world.change(guest, []);
      const answer = await execute(guest, 'env', 'VAULT_SECRET');
      await world.revoke(guest);
      return answer.includes('of-the-vault') ? 'what it has in its environment' : undefined;
    },
    control: async (world) => {
      const guest = await world.issue('narrowed', ['vault']);
      const answer = await execute(guest, 'env', 'VAULT_SECRET');
      await world.revoke(guest);
      return answer.includes('of-the-vault') ? 'what it has in its environment' : undefined;
    },
  },
];
