// Sessions of clients of the 2025 revisions: their ids, their streams, their number.

import { answerOf, ask, textOf } from '../../../support/http-agent.js';
import type { Attack } from '../attack.js';
import { executing, type Party, type World } from '../world.js';

const isOk = (status: number): boolean => status >= 200 && status < 300;

/** Whether ann can still use `session`. */
async function isAlive({ ann }: World, session: string): Promise<boolean> {
  const answer = await answerOf(ann.agent.legacy('tools/call', executing('say', 'alive'), { session }));
  return textOf(answer) === 'alive';
}

/** What all methods say of this id, without what differs for each request. */
async function allAnswers(by: Party, session: string): Promise<string> {
  const parts: unknown[] = [];
  for (const method of ['POST', 'GET', 'DELETE']) {
    const body = method === 'POST' ? { jsonrpc: '2.0', id: 1, method: 'ping' } : undefined;
    const sent = { method, headers: { ...by.agent.headers, 'mcp-session-id': session }, body };
    const exchange = method === 'GET' ? by.agent.listen(session) : undefined;
    if (exchange !== undefined) {
      const { status } = await exchange.begun;
      exchange.abort();
      parts.push(status);
      continue;
    }
    const { status, headers, text } = await ask(by.agent.place, sent);
    const { date: _date, 'x-request-id': _id, ...rest } = headers;
    parts.push([status, rest, text]);
  }
  return JSON.stringify(parts);
}

export const sessionAttacks: readonly Attack[] = [
  {
    id: 'session-call',
    group: 'sessions',
    tries: "calls a tool in ann's session, whose id she has seen",
    wall: 'a session is bound to the principal that opened it',
    attempt: async (world, by) => {
      const session = await world.ann.agent.open();
      const { status } = await by.agent.legacy('tools/call', executing('say', 'hi'), { session }).begun;
      return isOk(status) ? `status ${status}` : undefined;
    },
  },
  {
    id: 'session-listen',
    group: 'sessions',
    tries: "listens to the stream of ann's session",
    wall: 'a session is bound to the principal that opened it',
    attempt: async (world, by) => {
      const session = await world.ann.agent.open();
      const stream = by.agent.listen(session);
      const { status } = await stream.begun;
      stream.abort();
      return isOk(status) ? `status ${status}` : undefined;
    },
  },
  {
    id: 'session-end',
    group: 'sessions',
    tries: "ends ann's session",
    wall: 'a session is bound to the principal that opened it',
    attempt: async (world, by) => {
      const session = await world.ann.agent.open();
      const headers = { ...by.agent.headers, 'mcp-session-id': session };
      await ask(by.agent.place, { method: 'DELETE', headers });
      return (await isAlive(world, session)) ? undefined : 'the session has ended';
    },
  },
  {
    id: 'session-exists',
    group: 'sessions',
    tries: 'finds out by the answers which ids of sessions there are',
    wall: 'the same answer for what is another’s and for what never was',
    attempt: async (world, by) => {
      const session = await world.ann.agent.open();
      const there = await allAnswers(by, session);
      return there === (await allAnswers(by, 'A'.repeat(session.length))) ? undefined : 'another answer';
    },
  },
  {
    id: 'session-fixed-in-advance',
    group: 'sessions',
    tries: "has ann's client use a session that eve has opened, to hear what it is answered",
    wall: 'a session is bound to the principal that opened it',
    attempt: async (world, by) => {
      const session = await by.agent.open();
      const stream = by.agent.listen(session);
      await stream.begun;
      const { status } = await world.ann.agent.legacy('tools/call', executing('say', 'hi'), { session })
        .begun;
      stream.abort();
      return isOk(status) ? 'ann is served in it' : undefined;
    },
  },
  {
    id: 'session-crowding-out',
    group: 'sessions',
    tries: "opens sessions until the oldest of all, ann's, has to make room",
    wall: 'only a session of the same principal makes room',
    settings: { MCP_BRIDGE_HTTP_SESSIONS: '8' },
    attempt: async (world, by) => {
      const session = await world.ann.agent.open();
      for (let at = 0; at < 12; at++) await by.agent.open().catch(() => {});
      return (await isAlive(world, session)) ? undefined : 'her session has ended';
    },
  },
  {
    id: 'session-filling-all',
    group: 'sessions',
    tries: 'takes all sessions, so that ann can open none',
    wall: 'a quarter of all sessions for one principal',
    settings: { MCP_BRIDGE_HTTP_SESSIONS: '8' },
    attempt: async (world, by) => {
      const streams = [];
      for (let at = 0; at < 8; at++) {
        const session = await by.agent.open().catch(() => undefined);
        if (session === undefined) break;
        // One that is used does not make room.
        const stream = by.agent.listen(session);
        await stream.begun;
        streams.push(stream);
      }
      const opened = await world.ann.agent.open().catch(() => undefined);
      for (const stream of streams) stream.abort();
      return opened === undefined ? 'ann can open none' : undefined;
    },
  },
  {
    id: 'session-outlives-its-token',
    group: 'sessions',
    tries: 'goes on in a session after its token was revoked',
    wall: 'each request shows its credential, and sessions carry none',
    attempt: async (world) => {
      const guest = await world.issue('guest');
      const session = await guest.agent.open();
      await world.revoke(guest);
      const { status } = await guest.agent.legacy('tools/call', executing('say', 'hi'), { session }).begun;
      return isOk(status) ? `status ${status}` : undefined;
    },
    control: async (world) => {
      const guest = await world.issue('guest');
      const session = await guest.agent.open();
      const { status } = await guest.agent.legacy('tools/call', executing('say', 'hi'), { session }).begun;
      await world.revoke(guest);
      return isOk(status) ? `status ${status}` : undefined;
    },
  },
];
