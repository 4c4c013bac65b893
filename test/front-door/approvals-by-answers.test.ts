// Calls that wait for a person, towards an agent of 2026-07-28: the question is an answer, and the agent calls again. What it
// brings then is bound to the call, is used once, and begins no second run.

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { type Message, RawAgent } from '../support/raw-agent.js';
import { bridgeEnv, type Payload, tempHome } from '../support/start-bridge.js';
import { pause } from '../support/time.js';

const SERVER = fileURLToPath(new URL('../fixtures/approved-server.mjs', import.meta.url));
const THINK_MS = 600;

type Asking = {
  readonly requestState: string;
  readonly inputRequests: Readonly<
    Record<string, { readonly params: { readonly message: string; readonly mode?: string } }>
  >;
};
type Call = { readonly name: string; readonly arguments: Readonly<Record<string, unknown>> };

class Desk implements AsyncDisposable {
  readonly #log: string;
  readonly agent: RawAgent;

  constructor(env: Readonly<Record<string, string>> = {}) {
    const home = tempHome();
    this.#log = join(home, 'calls.log');
    const config = join(home, 'servers.json');
    const mcpServers = { desk: { command: process.execPath, args: [SERVER, this.#log] } };
    writeFileSync(config, JSON.stringify({ mcpServers }), { mode: 0o600 });
    const settings = { MCP_SERVERS_CONFIG: config, MCP_BRIDGE_APPROVE: 'writes', ...env };
    this.agent = new RawAgent(bridgeEnv(home, settings), home);
  }

  send(params: object): Promise<Message> {
    return this.agent.request('tools/call', { ...params }, { capabilities: { elicitation: {} } }).answer;
  }

  /** Begins a call, and gives what it asks. */
  async asks(call: Call): Promise<Asking> {
    const { result } = await this.send(call);
    expect(result?.['resultType']).toBe('input_required');
    return result as unknown as Asking;
  }

  /** Calls again with an answer to all that was asked. */
  answer(call: Call, { requestState, inputRequests }: Asking, answer: object): Promise<Message> {
    const inputResponses = Object.fromEntries(Object.keys(inputRequests).map((key) => [key, answer]));
    return this.send({ ...call, requestState, inputResponses });
  }

  get sent(): readonly string[] {
    return existsSync(this.#log) ? readFileSync(this.#log, 'utf8').trimEnd().split('\n') : [];
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.agent[Symbol.asyncDispose]();
  }
}

const runPython = (code: string, more: object = {}): Call => ({
  name: 'run_python',
  arguments: { code, servers: ['desk'], ...more },
});
const decide = (decision: string, word?: string) => ({
  action: 'accept',
  content: { decision, ...(word === undefined ? {} : { word }) },
});
const payloadOf = ({ result }: Message) => result?.['structuredContent'] as Payload | undefined;
const messageOf = ({ inputRequests }: Asking) => Object.values(inputRequests)[0]?.params.message ?? '';
const SAID = (call: string) => `try:
    r = await ${call}
except runtime.MCPError as e:
    r = [e.code, str(e)]
r`;

describe('an agent that is asked by an answer', () => {
  it('allows: the same run goes on, and the call is sent once', async () => {
    await using desk = new Desk();
    const call = runPython(`import os
before = os.getpid()
print("once")
said = await mcp_desk.erase(id=1)
[said, before == os.getpid()]`);
    const asking = await desk.asks(call);
    expect(messageOf(asking)).toMatch(/^Server 'desk', tool 'erase': may this be called\? One call\.\n/);
    expect(desk.sent).toEqual([]);
    await pause(THINK_MS);
    const payload = payloadOf(await desk.answer(call, asking, decide('once')));
    expect(payload).toMatchObject({ status: 'success', stdout: ['once'], result: ['did erase', true] });
    expect(desk.sent).toEqual(['erase {"id":1}']);
  });

  it('refuses, with a word', async () => {
    await using desk = new Desk();
    const call = runPython(SAID('mcp_desk.erase(id=1)'));
    const asking = await desk.asks(call);
    await pause(THINK_MS);
    const payload = payloadOf(await desk.answer(call, asking, decide('no', 'wrong desk')));
    expect(payload?.result).toEqual(['E_DENIED', expect.stringContaining('denied by the user: wrong desk.')]);
    expect(desk.sent).toEqual([]);
  });

  it('answers twice: the second answer changes nothing, and nothing is sent again', async () => {
    await using desk = new Desk();
    const call = runPython('await mcp_desk.erase(id=1)');
    const asking = await desk.asks(call);
    await pause(THINK_MS);
    expect(payloadOf(await desk.answer(call, asking, decide('once')))).toMatchObject({ status: 'success' });
    const { error } = await desk.answer(call, asking, decide('once'));
    expect(error).toMatchObject({ code: -32602, data: { reason: 'invalid_request_state' } });
    expect(desk.sent).toHaveLength(1);
  });

  it('brings back another call, or a state that is changed: nothing is sent, and the right one still counts', async () => {
    await using desk = new Desk();
    const call = runPython(SAID('mcp_desk.erase(id=1)'));
    const asking = await desk.asks(call);
    await pause(THINK_MS);
    const other = runPython(SAID('mcp_desk.erase(id=2)'));
    const changed = { ...asking, requestState: `${asking.requestState.slice(0, -2)}xx` };
    for (const wrong of [
      desk.answer(other, asking, decide('once')),
      desk.answer(call, changed, decide('once')),
    ])
      expect((await wrong).error).toMatchObject({ data: { reason: 'invalid_request_state' } });
    expect(desk.sent).toEqual([]);
    expect(payloadOf(await desk.answer(call, asking, decide('once')))).toMatchObject({ result: 'did erase' });
    expect(desk.sent).toEqual(['erase {"id":1}']);
  });

  it('comes back without an answer: it is asked the same again', async () => {
    await using desk = new Desk();
    const call = runPython('await mcp_desk.erase(id=1)');
    const asking = await desk.asks(call);
    const { result } = await desk.send({ ...call, requestState: asking.requestState });
    const again = result as unknown as Asking;
    expect(again.inputRequests).toEqual(asking.inputRequests);
    await pause(THINK_MS);
    expect(payloadOf(await desk.answer(call, again, decide('once')))).toMatchObject({ status: 'success' });
    expect(desk.sent).toHaveLength(1);
  });

  it('comes too late: the question has expired, and the run has ended with that', async () => {
    await using desk = new Desk({ MCP_BRIDGE_APPROVE_WAIT: '2' });
    const call = runPython(SAID('mcp_desk.erase(id=1)'));
    const asking = await desk.asks(call);
    await pause(4_000);
    const payload = payloadOf(await desk.answer(call, asking, decide('once')));
    expect(payload?.result).toEqual(['E_DENIED', expect.stringContaining('nobody answered within 2 s')]);
    expect(desk.sent).toEqual([]);
  });

  it('two questions come one after the other, and fifty calls are one', async () => {
    await using desk = new Desk();
    const call = runPython(`import asyncio
many = [mcp_desk.erase(id=n) for n in range(50)]
len(await asyncio.gather(mcp_desk.pay(amount=1), *many))`);
    const first = await desk.asks(call);
    await pause(THINK_MS);
    const { result } = await desk.answer(call, first, decide('once'));
    const second = result as unknown as Asking;
    await pause(THINK_MS);
    const asked = [messageOf(first), messageOf(second)].join('\n');
    expect(asked).toContain("tool 'pay'");
    expect(asked).toContain('50 calls.');
    expect(payloadOf(await desk.answer(call, second, decide('once')))).toMatchObject({ result: 51 });
    expect(desk.sent).toHaveLength(51);
  });

  it('a bridge that is killed has sent nothing', async () => {
    const desk = new Desk();
    await desk.asks(runPython('await mcp_desk.erase(id=1)'));
    desk.agent.kill();
    await pause(500);
    expect(desk.sent).toEqual([]);
  });
});
