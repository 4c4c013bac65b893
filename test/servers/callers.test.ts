// Several agents that use one server of a principal: whom a question of the server is put to, whose roots it is told, and
// what it is greeted with.

import { afterEach, describe, expect, it } from 'vitest';
import { type AgentCapabilities, Callers, NO_AGENT } from '../../src/servers/asking/agent-capabilities.js';
import type { Downstream } from '../../src/servers/server/downstream.js';
import { NEVER, until } from '../support/time.js';
import { call, hostile, poolOf, type TestPool } from './hostile.js';

/** An agent that answers forms with its name, and has one folder of that name. */
function agentNamed(name: string, change: Partial<AgentCapabilities> = {}) {
  const asked: unknown[] = [];
  const done: string[] = [];
  const face: AgentCapabilities = {
    ...NO_AGENT,
    elicits: () => ({ form: true, url: true }),
    elicit: (params) => {
      asked.push(params);
      return Promise.resolve({ action: 'accept', content: { name } });
    },
    elicitationDone: (id) => void done.push(id),
    hasRoots: () => true,
    tellsRootsChanges: () => true,
    listRoots: () => Promise.resolve({ roots: [{ uri: `file:///${name}` }] }),
    ...change,
  };
  return { face, asked, done };
}

let pool: TestPool;
afterEach(() => pool[Symbol.asyncDispose]());

/** The server as each of these agents calls it. */
async function serverFor(...agents: readonly AgentCapabilities[]) {
  pool = poolOf([hostile()]);
  const servers = [];
  for (const agent of agents) servers.push(await pool.get('hostile', NEVER, agent));
  return servers;
}

/** A call that is not answered; what it gives ends it. */
function underWay(server: Downstream): () => Promise<void> {
  const given = new AbortController();
  const other = expect(call(server, 'hang', {}, given.signal)).rejects.toMatchObject({ code: 'E_CANCELLED' });
  return async () => {
    given.abort('cancelled');
    await other;
  };
}

const answersOf = (result: { readonly structuredContent?: Record<string, unknown> }) =>
  result.structuredContent?.['answers'];
const why = () => pool.events.flatMap((event) => (event.type === 'downstream.asked' ? [event.answer] : []));

describe('a question', () => {
  it('is put to the agent whose call is under way, whoever called before', async () => {
    const [ann, ben] = [agentNamed('ann'), agentNamed('ben')];
    const [forAnn, forBen] = await serverFor(ann.face, ben.face);
    if (forAnn === undefined || forBen === undefined) throw new Error('no server');
    expect(answersOf(await call(forAnn, 'ask'))).toEqual([{ action: 'accept', content: { name: 'ann' } }]);
    expect(answersOf(await call(forBen, 'ask'))).toEqual([{ action: 'accept', content: { name: 'ben' } }]);
    expect([ann.asked.length, ben.asked.length]).toEqual([1, 1]);
  });

  it('is put to nobody while calls of two agents are under way', async () => {
    const [ann, ben] = [agentNamed('ann'), agentNamed('ben')];
    const [forAnn, forBen] = await serverFor(ann.face, ben.face);
    if (forAnn === undefined || forBen === undefined) throw new Error('no server');
    const letGo = underWay(forBen);
    expect(answersOf(await call(forAnn, 'ask'))).toEqual([{ action: 'decline' }]);
    expect(why()).toEqual([expect.stringContaining('calls of several agents are under way')]);
    expect([ann.asked, ben.asked]).toEqual([[], []]);
    await letGo();
    expect(answersOf(await call(forAnn, 'ask'))).toMatchObject([{ action: 'accept' }]);
  });

  it('is put to the older of two that are one client', async () => {
    const client = {};
    const [ann, ben] = [agentNamed('ann', { client }), agentNamed('ben', { client })];
    const [forAnn, forBen] = await serverFor(ann.face, ben.face);
    if (forAnn === undefined || forBen === undefined) throw new Error('no server');
    const letGo = underWay(forBen);
    expect(answersOf(await call(forAnn, 'ask'))).toEqual([{ action: 'accept', content: { name: 'ben' } }]);
    expect([ann.asked.length, ben.asked.length]).toEqual([0, 1]);
    await letGo();
  });

  it('is put once to an agent that calls twice at a time', async () => {
    const ann = agentNamed('ann');
    const [forAnn] = await serverFor(ann.face);
    if (forAnn === undefined) throw new Error('no server');
    const letGo = underWay(forAnn);
    expect(answersOf(await call(forAnn, 'ask'))).toMatchObject([{ action: 'accept' }]);
    expect(ann.asked).toHaveLength(1);
    await letGo();
  });

  it('is declined for an agent that can do less than the one that had the server started', async () => {
    const [ann, cut] = [agentNamed('ann'), agentNamed('cut', { elicits: NO_AGENT.elicits })];
    const [, forCut] = await serverFor(ann.face, cut.face);
    if (forCut === undefined) throw new Error('no server');
    expect(answersOf(await call(forCut, 'ask'))).toEqual([{ action: 'decline' }]);
    expect(why()[0]).toContain('the agent has no way to ask in the mode form');
    expect([ann.asked, cut.asked]).toEqual([[], []]);
  });

  it('about a page is told to be dealt with to the agent that was asked, and to no other', async () => {
    const [ann, ben] = [agentNamed('ann'), agentNamed('ben')];
    const [forAnn, forBen] = await serverFor(ann.face, ben.face);
    if (forAnn === undefined || forBen === undefined) throw new Error('no server');
    await call(forAnn, 'ask', { mode: 'url', url: 'https://example.com/', elicitationId: 'e1' });
    await call(forBen, 'complete', { id: 'e1' });
    await until(() => ann.done.length > 0);
    expect([ann.done, ben.done]).toEqual([['e1'], []]);
  });
});

describe('roots', () => {
  it('are those of the agent whose call is under way; the next agent has the server ask again', async () => {
    const [ann, ben] = [agentNamed('ann'), agentNamed('ben')];
    const [forAnn, forBen] = await serverFor(ann.face, ben.face);
    if (forAnn === undefined || forBen === undefined) throw new Error('no server');
    expect(answersOf(await call(forAnn, 'roots'))).toEqual([{ roots: [{ uri: 'file:///ann' }] }]);
    const { structuredContent: first } = await call(forAnn, 'roots_news');
    expect(first).toMatchObject({ times: 0 });
    await call(forBen, 'sleep', { ms: 1 });
    const { structuredContent: then } = await call(forAnn, 'roots_news');
    expect(then).toMatchObject({ times: 1 });
    expect(answersOf(await call(forBen, 'roots'))).toEqual([{ roots: [{ uri: 'file:///ben' }] }]);
  });

  it('are none while calls of two agents are under way, and for an agent that has none', async () => {
    const [ann, ben] = [agentNamed('ann'), agentNamed('ben')];
    const bare = agentNamed('bare', { hasRoots: () => false });
    const [forAnn, forBen, forBare] = await serverFor(ann.face, ben.face, bare.face);
    if (forAnn === undefined || forBen === undefined || forBare === undefined) throw new Error('no server');
    const letGo = underWay(forBen);
    expect(answersOf(await call(forAnn, 'roots'))).toEqual([{ roots: [] }]);
    await letGo();
    expect(answersOf(await call(forBare, 'roots'))).toEqual([{ roots: [] }]);
  });

  it('that have changed are told to a server that has read those of this agent', async () => {
    const [ann, ben] = [agentNamed('ann'), agentNamed('ben')];
    const [forAnn] = await serverFor(ann.face, ben.face);
    if (forAnn === undefined) throw new Error('no server');
    await call(forAnn, 'roots');
    pool.rootsChanged(ben.face);
    expect((await call(forAnn, 'roots_news')).structuredContent).toEqual({ times: 0 });
    pool.rootsChanged(ann.face);
    expect((await call(forAnn, 'roots_news')).structuredContent).toEqual({ times: 1 });
  });
});

it('a server is greeted with all that one of its callers can do', () => {
  pool = poolOf([]);
  const callers = new Callers();
  expect(callers.offered).toEqual({ form: false, url: false, roots: false, rootsChanges: false });
  const form = agentNamed('a', { elicits: () => ({ form: true, url: false }), hasRoots: () => false });
  const letGo = callers.hold(form.face);
  callers.noteAgent(agentNamed('b', { elicits: () => ({ form: false, url: true }) }).face);
  expect(callers.offered).toEqual({ form: true, url: true, roots: true, rootsChanges: true });
  letGo();
  expect(callers.offered).toEqual({ form: false, url: true, roots: true, rootsChanges: true });
});
