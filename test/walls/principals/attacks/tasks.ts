// What outlives a request of revision 2026-07-28: questions with their state, and tasks.

import { answerOf, textOf } from '../../../support/http-agent.js';
import type { Message } from '../../../support/raw-agent.js';
import { pause, until } from '../../../support/time.js';
import type { Attack } from '../attack.js';
import { executing, type Party, SOON_MS, type World } from '../world.js';

const ASKS = { elicitation: { form: {} } };
const TASKS = { extensions: { 'io.modelcontextprotocol/tasks': {} } };
/** As src/mcp/calls says. */
const MAX_TASKS = 32;

const call = (party: Party, params: Readonly<Record<string, unknown>>, capabilities: object) =>
  answerOf(party.agent.modern('tools/call', params, { capabilities }));

/** A call that waits for its owner's answer; nothing else of the owner asks at the same time. */
async function asking(
  world: World,
  by: Party,
): Promise<{ readonly state: string; readonly owner: Party; readonly attacker: Party }> {
  const { owner, attacker } = await world.newcomer(by);
  const { result } = await call(owner, executing('ask', 'Who?'), ASKS);
  return { state: String(result?.['requestState']), owner, attacker };
}

const goOn = (party: Party, requestState: string): Promise<Message> => {
  const inputResponses = { q1: { action: 'accept', content: { name: 'Mallory' } } };
  return call(party, { ...executing('ask', 'Who?'), requestState, inputResponses }, ASKS);
};

/** A call that has become a task; its id. */
async function task(party: Party, ms: number): Promise<string> {
  const { result } = await call(party, executing('wait', String(ms)), TASKS);
  if (typeof result?.['taskId'] !== 'string') throw new Error(`no task: ${JSON.stringify(result)}`);
  return result['taskId'];
}

const taskRequest = async (party: Party, method: string, taskId: string, more: object = {}) =>
  await answerOf(party.agent.modern(method, { taskId, ...more }, { capabilities: TASKS, id: 1 }));

const isRefused = ({ error }: Message): boolean => error !== undefined;

export const taskAttacks: readonly Attack[] = [
  {
    id: 'state-of-anothers-call',
    group: 'questions and tasks',
    tries: "goes on with ann's call by its requestState, and answers in her place",
    wall: 'a state is authentic for one principal alone',
    attempt: async (world, by) => {
      const { state, attacker } = await asking(world, by);
      const answer = await goOn(attacker, state);
      return textOf(answer).includes('Mallory') ? 'the answer was taken' : undefined;
    },
  },
  {
    id: 'approval-of-anothers-call',
    group: 'questions and tasks',
    tries: "allows ann's call, about which ann is asked, by its requestState",
    wall: 'a state is authentic for one principal alone',
    settings: { MCP_BRIDGE_APPROVE: 'all' },
    attempt: async (world, by) => {
      const { owner, attacker } = await world.newcomer(by);
      const mark = world.mark();
      const args = executing('say', mark);
      const { result } = await call(owner, args, ASKS);
      if (result?.['resultType'] !== 'input_required')
        throw new Error(`not asked: ${JSON.stringify(result)}`);
      const keys = Object.keys(result['inputRequests'] as object);
      const answer = { action: 'accept', content: { decision: 'once' } };
      const inputResponses = Object.fromEntries(keys.map((key) => [key, answer]));
      const requestState = String(result['requestState']);
      const answered = await call(attacker, { ...args, requestState, inputResponses }, ASKS);
      return isRefused(answered) ? undefined : `it was taken: ${textOf(answered).slice(0, 80)}`;
    },
  },
  {
    id: 'state-spent-by-another',
    group: 'questions and tasks',
    tries: "uses up ann's state, which counts once, so that ann cannot go on",
    wall: 'a state that is refused stays good',
    attempt: async (world, by) => {
      const { state, owner, attacker } = await asking(world, by);
      await goOn(attacker, state);
      return isRefused(await goOn(owner, state)) ? 'its owner is refused' : undefined;
    },
  },
  {
    id: 'state-exists',
    group: 'questions and tasks',
    tries: 'finds out by the answer whether a state names a call that is under way',
    wall: 'the same answer for what is another’s and for what was made up',
    attempt: async (world, by) => {
      const { state, attacker } = await asking(world, by);
      const there = JSON.stringify((await goOn(attacker, state)).error);
      const forged = state.replace(/\.[^.]+$/, `.${'A'.repeat(43)}`);
      return there === JSON.stringify((await goOn(attacker, forged)).error) ? undefined : 'another answer';
    },
  },
  {
    id: 'task-read',
    group: 'questions and tasks',
    tries: "reads ann's task by its id",
    wall: 'a task belongs to its principal',
    attempt: async (world, by) => {
      const { result } = await taskRequest(by, 'tasks/get', await task(world.ann, 10_000));
      return result === undefined ? undefined : `status ${result['status']}`;
    },
  },
  {
    id: 'task-listened-to',
    group: 'questions and tasks',
    tries: "listens for ann's task, to be told how it is and what it results in",
    wall: 'a task belongs to its principal',
    attempt: async (world, by) => {
      const taskId = await task(world.ann, 10_000);
      const asked = { notifications: { taskIds: [taskId] } };
      const stream = by.agent.modern('subscriptions/listen', asked, { capabilities: TASKS });
      await stream.begun;
      // Whoever has nothing to hear is told so at once, and the stream ends.
      await Promise.race([stream.ended, pause(SOON_MS)]);
      stream.abort();
      return stream.text().includes(taskId) ? 'it was told' : undefined;
    },
  },
  {
    id: 'task-exists',
    group: 'questions and tasks',
    tries: 'finds out by the answer whether there is a task of an id',
    wall: 'the same answer for what is another’s and for what never was',
    attempt: async (world, by) => {
      const taskId = await task(world.ann, 10_000);
      const unknown = [...taskId].reverse().join('');
      const answers = await Promise.all(
        [taskId, unknown].map(async (id) =>
          JSON.stringify((await taskRequest(by, 'tasks/get', id)).error ?? 'there').replaceAll(id, 'ID'),
        ),
      );
      return answers[0] === answers[1] ? undefined : 'another answer';
    },
  },
  {
    id: 'task-cancel',
    group: 'questions and tasks',
    tries: "cancels ann's task",
    wall: 'a task belongs to its principal',
    attempt: async (world, by) => {
      const taskId = await task(world.ann, 30_000);
      await taskRequest(by, 'tasks/cancel', taskId);
      const { result } = await taskRequest(world.ann, 'tasks/get', taskId);
      return result?.['status'] === 'working' ? undefined : `it is ${result?.['status']}`;
    },
  },
  {
    id: 'task-answer',
    group: 'questions and tasks',
    tries: "answers the question of ann's task",
    wall: 'a task belongs to its principal',
    attempt: async (world, by) => {
      const { owner, attacker } = await world.newcomer(by);
      const { result } = await call(owner, executing('ask', 'Who?'), { ...ASKS, ...TASKS });
      const taskId = String(result?.['taskId']);
      const inputResponses = { q1: { action: 'accept', content: { name: 'Mallory' } } };
      const status = async () => (await taskRequest(owner, 'tasks/get', taskId)).result ?? {};
      await until(async () => (await status())['status'] !== 'working');
      await taskRequest(attacker, 'tasks/update', taskId, { inputResponses });
      for (const end = performance.now() + SOON_MS; performance.now() < end; ) {
        const now = JSON.stringify(await status());
        if (now.includes('Mallory')) return 'the answer was taken';
        await pause(50);
      }
      return undefined;
    },
  },
  {
    id: 'task-places',
    group: 'questions and tasks',
    tries: 'makes so many tasks that none of ann’s has a place',
    wall: 'tasks are counted for each principal',
    attempt: async (world, by) => {
      const { owner, attacker } = await world.newcomer(by);
      for (let at = 0; at < MAX_TASKS; at++) await task(attacker, 100_000);
      const { result } = await call(owner, executing('wait', '200'), TASKS);
      return result?.['resultType'] === 'task' ? undefined : 'the call became no task';
    },
  },
];
