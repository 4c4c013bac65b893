// Requests under way: their ids, their progress, what is sent in answer to them.

import { answerOf, type Exchange, textOf } from '../../../support/http-agent.js';
import type { Message } from '../../../support/raw-agent.js';
import { HANGS_MS, pause } from '../../../support/time.js';
import type { Attack } from '../attack.js';
import { executing, SOON_MS } from '../world.js';

/** Resolves when `condition` holds; false where it does not in time. */
async function until(condition: () => boolean, timeoutMs = HANGS_MS): Promise<boolean> {
  const end = performance.now() + timeoutMs;
  while (!condition() && performance.now() < end) await pause(20);
  return condition();
}

const asksOf = ({ messages }: Exchange): Message | undefined =>
  messages.find(({ method }) => method === 'elicitation/create');

const accept = (id: unknown, name: string) => ({
  jsonrpc: '2.0',
  id,
  result: { action: 'accept', content: { name } },
});

export const requestAttacks: readonly Attack[] = [
  {
    id: 'cancel-by-request-id',
    group: 'requests',
    tries: "cancels ann's call by the id of its request, without a session",
    wall: 'a notification reaches the calls of its own session alone',
    attempt: async (world, by) => {
      const session = await world.ann.agent.open();
      const asking = { session, id: 'x7', meta: { progressToken: 'p' } };
      const call = world.ann.agent.legacy('tools/call', executing('steps', '8', 'on the way'), asking);
      await until(() => call.messages.length > 0);
      const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'x7' } };
      const own = by === world.ann ? session : await by.agent.open();
      await by.agent.post(cancelled, own).ended;
      await by.agent.post(cancelled).ended;
      const isAnswered = () => call.messages.some(({ method }) => method === undefined);
      const was = await until(isAnswered, 4 * SOON_MS);
      call.abort();
      return was ? undefined : 'the call was cancelled';
    },
  },
  {
    id: 'cancel-in-anothers-session',
    group: 'requests',
    tries: "sends the cancellation with the id of ann's session",
    wall: 'a session is bound to the principal that opened it',
    attempt: async (world, by) => {
      const session = await world.ann.agent.open();
      const asking = { session, id: 'x8', meta: { progressToken: 'p' } };
      const call = world.ann.agent.legacy('tools/call', executing('steps', '8', 'on the way'), asking);
      await until(() => call.messages.length > 0);
      const params = { requestId: 'x8' };
      await by.agent.post({ jsonrpc: '2.0', method: 'notifications/cancelled', params }, session).ended;
      const was = await until(() => call.messages.some(({ method }) => method === undefined), 4 * SOON_MS);
      call.abort();
      return was ? undefined : 'the call was cancelled';
    },
  },
  {
    id: 'same-request-id',
    group: 'requests',
    tries: "asks under the id of ann's request at the same moment, to be sent her answer",
    wall: 'an answer goes to the request that asked',
    attempt: async (world, by) => {
      const secret = world.mark();
      await answerOf(world.ann.agent.modern('tools/call', executing('keep', secret)));
      const hers = world.ann.agent.modern('tools/call', executing('recall'), { id: 1 });
      const own = by.agent.modern('tools/call', executing('recall'), { id: 1 });
      const [, got] = await Promise.all([answerOf(hers), answerOf(own)]);
      return textOf(got).includes(secret) ? "ann's answer" : undefined;
    },
  },
  {
    id: 'same-progress-token',
    group: 'requests',
    tries: "gives her own call the progress token of ann's, to be told of ann's progress",
    wall: 'progress goes to the request that asked for it',
    attempt: async (world, by) => {
      const secret = world.mark();
      const meta = { progressToken: 'the same' };
      const hers = world.ann.agent.modern('tools/call', executing('steps', '5', secret), { meta });
      const own =
        by === world.ann ? hers : by.agent.modern('tools/call', executing('steps', '8', 'mine'), { meta });
      await Promise.all([hers.ended, own.ended]);
      return own.text().includes(secret) ? "ann's progress" : undefined;
    },
  },
  {
    id: 'progress-on-a-standing-stream',
    group: 'requests',
    tries: "listens on a stream of her own session for the progress and answers of ann's calls",
    wall: 'a server object for each session',
    attempt: async (world, by) => {
      const secret = world.mark();
      const { owner, attacker } = await world.newcomer(by);
      const session = await owner.agent.open();
      const own = attacker === owner ? session : await attacker.agent.open();
      const stream = attacker.agent.listen(own);
      await stream.begun;
      const asking = { session, meta: { progressToken: 1 } };
      const call = owner.agent.legacy('tools/call', executing('ask', secret), asking);
      // A question that belongs to no open request goes to the standing stream; this one goes to its own request.
      await until(() => asksOf(call) !== undefined || asksOf(stream) !== undefined);
      const heard = [stream, ...(attacker === owner ? [call] : [])].some((each) =>
        each.text().includes(secret),
      );
      stream.abort();
      call.abort();
      return heard ? "ann's question" : undefined;
    },
  },
  {
    id: 'answer-anothers-question',
    group: 'requests',
    tries: "answers the question that ann's call puts to ann, under the id that it has",
    wall: 'an answer is taken in the session whose server has asked',
    attempt: async (world, by) => {
      const { owner, attacker } = await world.newcomer(by);
      const session = await owner.agent.open();
      const call = owner.agent.legacy('tools/call', executing('ask', 'Who?'), { session });
      await until(() => asksOf(call) !== undefined);
      const id = asksOf(call)?.id;
      const own = attacker === owner ? session : await attacker.agent.open();
      for (const into of [own, session]) await attacker.agent.post(accept(id, 'Mallory'), into).ended;
      const through = await until(() => textOf(call.messages.at(-1) ?? {}).includes('Mallory'), SOON_MS);
      await owner.agent.post(accept(id, 'Ann'), session).ended;
      await until(() => call.messages.some(({ method }) => method === undefined), 4 * SOON_MS);
      call.abort();
      return through ? 'the answer was taken' : undefined;
    },
  },
];
