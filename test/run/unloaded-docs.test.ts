// What a run may look up of servers that it has not loaded, and that looking up is not calling.

import { expect, test } from 'vitest';
import type { ServerBrief, ServerDoc, ToolHit } from '../../src/protocol/frames.js';
import { hostApi } from '../../src/run/host-api.js';
import { SavedByRun } from '../../src/run/saved-by-run.js';
import { SavedTools } from '../../src/run/saved-tools.js';

const NEVER = new AbortController().signal;
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

function api() {
  const reached: string[] = [];
  const all = [doc('open'), doc('shut'), doc('gone')];
  const made = hostApi({
    loaded: [doc('open')],
    discovered: [brief('open', 2), brief('shut', 2), brief('never', null)],
    known: { docOf: (name) => all.find((one) => one.name === name), allDocs: () => all.slice(0, 2) },
    lease: {
      get: (name: string) => {
        reached.push(name);
        return Promise.reject(new Error('reached'));
      },
    },
    saved: new SavedByRun(new SavedTools('/nonexistent', false), 'run-1'),
    shapes: { learn: () => {} },
    loadServer: (name) =>
      name === 'shut' ? Promise.resolve(doc(name)) : Promise.reject(new Error('loaded')),
    onToolProgress: () => {},
  });
  return { made, reached };
}

test('documentation is there for what is discovered, and says what is not known yet and how it will be', () => {
  const { made, reached } = api();
  const get = (server: string, tool: string | null = null) => made['docs.get']({ server, tool }, '', NEVER);
  expect(get('shut')).toHaveLength(2);
  expect(get('shut', 'send_mail')).toMatchObject([{ name: 'send-mail' }]);
  expect(made['tools.list']({ server: 'shut' }, '', NEVER)).toHaveLength(2);
  expect(() => get('shut', 'sendmail')).toThrow(
    "Server 'shut' has no tool 'sendmail'. Did you mean 'send-mail'?",
  );
  expect(() => get('never')).toThrow(
    'The tools of server \'never\' are not known yet, since it has never been started. Pass servers=["never"] in the call to load it. Or the user runs `mcp-sandbox-bridge servers refresh never`.',
  );
  // Kept from when it was configured, but it is no more.
  expect(() => get('gone')).toThrow("Server 'gone' is not available.");
  expect(made['docs.search']({ query: 'send mail', limit: 5 }, '', NEVER)).toHaveLength(2);
  expect(reached).toEqual([]);
});

test('a documented tool of a server that is not loaded is not called', async () => {
  const { made, reached } = api();
  const call = async (server: string) =>
    made['tools.call']({ server, tool: 'read', arguments: undefined }, '{"params":{"arguments":{}}}', NEVER);
  await expect(call('shut')).rejects.toMatchObject({ code: 'E_SERVER_NOT_LOADED' });
  expect(reached).toEqual([]);
  await expect(call('open')).rejects.toThrow('reached');
});

test('a search says which of what it finds is loaded, also after a run has loaded one more', async () => {
  const { made } = api();
  const found = async () => {
    const hits = (await made['docs.search']({ query: 'send mail', limit: 5 }, '', NEVER)) as ToolHit[];
    return Object.fromEntries(hits.map(({ server, loaded }) => [server, loaded]));
  };
  expect(await found()).toEqual({ open: true, shut: false });
  await made['servers.load']({ server: 'shut' }, '', NEVER);
  expect(await found()).toEqual({ open: true, shut: true });
});
