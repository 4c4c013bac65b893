// Runs that go on after they were answered, and the handles that name them.

import { answerOf, textOf } from '../../../support/http-agent.js';
import type { Attack } from '../attack.js';
import { executing, type Party } from '../world.js';

const SETTINGS = { MCP_BRIDGE_PATIENCE: '1' };
const group = 'long runs';

/** A call of `execute`, whatever it is given. */
const called = (party: Party, args: Readonly<Record<string, unknown>>) =>
  answerOf(party.agent.modern('tools/call', { name: 'execute', arguments: args }));

/** The handle of a command of this party that waits for so long. */
async function longRun(party: Party, ms: number): Promise<string> {
  const text = textOf(await answerOf(party.agent.modern('tools/call', executing('wait', String(ms)))));
  const [handle] = /\br-[a-z2-9]{16}\b/.exec(text) ?? [];
  if (handle === undefined) throw new Error(`no handle: ${text}`);
  return handle;
}

/** What this party reads of it in the end. */
async function endOf(party: Party, handle: string): Promise<string> {
  let last: string;
  do last = textOf(await called(party, { wait: handle }));
  while (last.includes('[running'));
  return last;
}

export const longRunAttacks: readonly Attack[] = [
  {
    id: 'long-run-read',
    group,
    tries: "waits for ann's run by its handle, and reads what it comes to",
    wall: 'a handle names a run of its own principal alone',
    settings: SETTINGS,
    attempt: async (world, by) => {
      const handle = await longRun(world.ann, 2_500);
      return (await endOf(by, handle)).includes('waited 2500 ms') ? 'its answer' : undefined;
    },
  },
  {
    id: 'long-run-stopped',
    group,
    tries: "ends ann's run by its handle",
    wall: 'a handle names a run of its own principal alone',
    settings: SETTINGS,
    attempt: async (world, by) => {
      const handle = await longRun(world.ann, 3_000);
      await called(by, { stop: handle });
      const last = await endOf(world.ann, handle);
      return last.includes('waited 3000 ms') ? undefined : `ann reads: ${last.slice(0, 80)}`;
    },
  },
  {
    id: 'long-run-exists',
    group,
    tries: 'finds out by the answer whether a handle names a run',
    wall: 'the same answer for what is another’s and for what was made up',
    settings: SETTINGS,
    attempt: async (world, by) => {
      const handle = await longRun(world.ann, 2_500);
      const made = 'r-aaaabbbbccccdddd';
      const there = textOf(await called(by, { wait: handle })).replaceAll(handle, 'HANDLE');
      const notThere = textOf(await called(by, { wait: made })).replaceAll(made, 'HANDLE');
      return there === notThere ? undefined : 'another answer';
    },
  },
];
