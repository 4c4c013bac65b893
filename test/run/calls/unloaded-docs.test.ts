// What a run may look up of servers that it has not loaded, and that looking up is not calling.

import { expect, it } from 'vitest';
import { policyOf } from '../../../src/policy/rules/policy.js';
import { type CallServers, guardCalls } from '../../../src/run/calls/guarded-calls.js';
import { callFrom, type GuestCall } from '../../../src/run/calls/guest-call.js';
import { LoadedServers } from '../../../src/run/calls/on-demand.js';
import { SavedByRun, SavedTools } from '../../../src/run/calls/saved-tools.js';
import type { ServerBrief, ServerDoc, ToolHit } from '../../../src/wire/frames.js';
import { NEVER } from '../../support/time.js';

const doc = (name: string): ServerDoc => ({
  name,
  alias: name,
  description: '',
  version: null,
  instructions: null,
  tools: ['send-mail', 'read'].map((tool) => ({
    name: tool,
    alias: tool.replace('-', '_'),
    description: `Does ${tool}.`,
    inputSchema: {},
    outputSchema: null,
    observed: null,
    changed: null,
  })),
});
const brief = (name: string, tools: number | null): ServerBrief => ({
  name,
  alias: name,
  description: '',
  loaded: name === 'open',
  tools,
});

function guarded() {
  const reached: string[] = [];
  const all = [doc('open'), doc('shut'), doc('gone')];
  const policy = () => policyOf({ allow: undefined, deny: [], file: undefined }, []);
  const servers = {
    known: { docOf: (name: string) => all.find((one) => one.name === name), allDocs: () => all.slice(0, 2) },
    lease: {
      get: (name: string) => {
        reached.push(name);
        return Promise.reject(new Error('reached'));
      },
      specOf: () => undefined,
    },
    policy,
  } as unknown as CallServers;
  const guard = guardCalls(
    {
      runId: 'run-1',
      loaded: new LoadedServers([doc('open')], policy),
      discovered: [brief('open', 2), brief('shut', 2), brief('never', null)],
      loadServer: (name) =>
        name === 'shut' ? Promise.resolve(doc(name)) : Promise.reject(new Error('loaded')),
      saved: new SavedByRun(new SavedTools('/nonexistent', false), 'run-1'),
      approvals: undefined,
      stopClock: () => () => {},
      tell: () => {},
      observer: () => {},
    },
    servers,
    {
      turn: async () => ({ [Symbol.dispose]: () => {} }),
      shapes: { learn: () => {} },
      audit: 'on',
      principal: 'local',
    },
  );
  /** The answer to what a frame of the guest asks. */
  const ask = (method: string, params: Record<string, unknown>) => {
    const call = callFrom({ type: 'call', id: 1, method, params }, JSON.stringify({ params }));
    return guard.answer(call as GuestCall, NEVER);
  };
  return { ask, reached };
}

it('documentation is there for what is discovered, and says what is not known yet and how it will be', async () => {
  const { ask, reached } = guarded();
  const get = (server: string, tool: string | null = null) => ask('docs.get', { server, tool });
  expect(await get('shut')).toHaveLength(2);
  expect(await get('shut', 'send_mail')).toMatchObject([{ name: 'send-mail' }]);
  expect(await ask('tools.list', { server: 'shut' })).toHaveLength(2);
  await expect(get('shut', 'sendmail')).rejects.toThrow(
    "Server 'shut' has no tool 'sendmail'. Did you mean 'send-mail'?",
  );
  await expect(get('never')).rejects.toThrow(
    'The tools of server \'never\' are not known yet: it has never been started. Pass servers=["never"] in the call to load it. Or ask the user to run `mcp-sandbox-bridge servers refresh never`.',
  );
  // Kept from when it was configured, but it is no more.
  await expect(get('gone')).rejects.toThrow("Server 'gone' is not available.");
  expect(await ask('docs.search', { query: 'send mail', limit: 5 })).toHaveLength(2);
  expect(reached).toEqual([]);
});

it('a documented tool of a server that is not loaded is not called', async () => {
  const { ask, reached } = guarded();
  const call = (server: string) => ask('tools.call', { server, tool: 'read', arguments: {} });
  await expect(call('shut')).rejects.toMatchObject({ code: 'E_SERVER_NOT_LOADED' });
  expect(reached).toEqual([]);
  await expect(call('open')).rejects.toThrow('reached');
});

it('a search says which of what it finds is loaded, also after a run has loaded one more', async () => {
  const { ask } = guarded();
  const found = async () => {
    const hits = (await ask('docs.search', { query: 'send mail', limit: 5 })) as ToolHit[];
    return Object.fromEntries(hits.map(({ server, loaded }) => [server, loaded]));
  };
  expect(await found()).toEqual({ open: true, shut: false });
  await ask('servers.load', { server: 'shut' });
  expect(await found()).toEqual({ open: true, shut: true });
});
