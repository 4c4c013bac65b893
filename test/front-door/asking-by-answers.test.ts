// Code that asks the user, towards an agent of 2026-07-28: the run stays in its sandbox while the agent has its answer, and
// goes on when the agent calls again.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Message, RawAgent } from '../support/raw-agent.js';
import { bridgeEnv, hostileServer, type Payload, tempHome } from '../support/start-bridge.js';
import { pause } from '../support/time.js';
import { REACH_SECONDS } from './reached.js';

/** So that code gets to its question, and a server starts within them. */
const SECONDS = 2 * REACH_SECONDS;
const ACCEPT = { action: 'accept', content: {} };

let agent: RawAgent;
/** Its bridge has a run's clock stand for no longer than this, in seconds, however long its user thinks. */
let impatient: RawAgent;
const STANDS_SECONDS = 1;
beforeAll(() => {
  const home = tempHome();
  const config = join(home, 'servers.json');
  const mcpServers = { h: hostileServer(), extra: hostileServer('extra') };
  writeFileSync(config, JSON.stringify({ mcpServers }), { mode: 0o600 });
  const env = { MCP_SERVERS_CONFIG: config };
  agent = new RawAgent(bridgeEnv(home, env), home);
  impatient = new RawAgent(bridgeEnv(home, { ...env, MCP_BRIDGE_APPROVE_WAIT: `${STANDS_SECONDS}` }), home);
});
afterAll(() => Promise.all([agent, impatient].map((each) => each[Symbol.asyncDispose]())));

const runPython = (code: string, more: object = {}) => ({ name: 'run_python', arguments: { code, ...more } });
const send = (params: Readonly<Record<string, unknown>>, by = agent): Promise<Message> =>
  by.request('tools/call', params, { capabilities: { elicitation: {} } }).answer;
const payloadOf = ({ result }: Message) => result?.['structuredContent'] as Payload | undefined;

/** Answers what a call asks until it has its result; tells what was asked. */
async function answered(call: Readonly<Record<string, unknown>>, thinkMs = 0, by = agent) {
  const asked: string[] = [];
  let message = await send(call, by);
  while (message.result?.['resultType'] === 'input_required') {
    const { inputRequests, requestState } = message.result as {
      readonly requestState: string;
      readonly inputRequests: Readonly<Record<string, { readonly params: { readonly message: string } }>>;
    };
    asked.push(...Object.values(inputRequests).map(({ params }) => params.message));
    await pause(thinkMs);
    const inputResponses = Object.fromEntries(Object.keys(inputRequests).map((key) => [key, ACCEPT]));
    message = await send({ ...call, requestState, inputResponses }, by);
  }
  return { asked, payload: payloadOf(message), message };
}

it('a run goes on in the same sandbox, with what it had', async () => {
  const code = `import os
before = (os.getpid(), "kept")
said = await mcp_h.ask(message="Who?")
[before == (os.getpid(), "kept"), said["answers"][0]["action"]]`;
  const { asked, payload } = await answered(runPython(code, { servers: ['h'] }));
  expect(payload).toMatchObject({ status: 'success', result: [true, 'accept'] });
  expect(asked).toEqual(["[server 'h'] Who?"]);
});

it('the clock of a run stands still while its user decides on a server', async () => {
  const code = 'await runtime.load_server("extra")\nawait mcp_extra.echo(text="here")';
  const { asked, payload } = await answered(runPython(code, { timeout: SECONDS }), (SECONDS + 1) * 1000);
  expect(payload).toMatchObject({ status: 'success', result: 'here' });
  expect(asked).toEqual([expect.stringContaining("wants to use the MCP server 'extra'")]);
});

it('a run that has ended meanwhile has its result for whoever comes back', async () => {
  const call = runPython('await mcp_h.ask(message="Who?")', { servers: ['h'], timeout: SECONDS });
  const { asked, payload } = await answered(call, (SECONDS + STANDS_SECONDS + 3) * 1000, impatient);
  expect(asked).toHaveLength(1);
  expect(payload).toMatchObject({ status: 'timeout' });
});
