// What a principal's requests have sent counts as its own for as long as something has it: a call that goes on after it was
// answered, and a task, as well as a request that waits. The control is the same bytes in calls that end with their request.

import { afterEach, beforeEach, expect, it } from 'vitest';
import { fakeBridge, newJobs } from '../../mcp/fake-bridge.js';
import { type Answered, ask, type HttpAgent } from '../../support/http-agent.js';
import { until } from '../../support/time.js';
import { agentOf } from './front-of-bridge.js';

const BODY_MB = 1;
/** Four of these are what one principal may have under way. */
const CODE = `1 # ${'x'.repeat(900_000)}`;
const TASKS = { extensions: { 'io.modelcontextprotocol/tasks': {} } };

const opened: AsyncDisposable[] = [];
let begun: ReturnType<typeof fakeBridge>;
let jobs: ReturnType<typeof newJobs>;
let agent: HttpAgent;
let release = () => {};
beforeEach(async () => {
  begun = fakeBridge({ MCP_BRIDGE_PATIENCE: '1' });
  begun.hold(
    new Promise<void>((resolve) => {
      release = resolve;
    }),
  );
  jobs = newJobs();
  agent = await agentOf(begun.bridge, jobs, opened, { MCP_BRIDGE_HTTP_BODY_MB: String(BODY_MB) });
});
afterEach(async () => {
  release();
  for (const each of opened.splice(0).reverse()) await each[Symbol.asyncDispose]();
});

const answered = async (
  args: Readonly<Record<string, unknown>>,
  capabilities: object = {},
): Promise<Answered> => {
  const exchange = agent.modern('tools/call', { name: 'run_python', arguments: args }, { capabilities });
  const { status, headers } = await exchange.begun;
  await exchange.ended;
  return { status, headers, text: exchange.text(), messages: exchange.messages };
};
const send = (capabilities: object = {}) => answered({ code: CODE }, capabilities);
const statusOf = async () => (await send()).status;
const handleOf = ({ text }: Answered): string => /r-[a-z0-9]{16}/.exec(text)?.[0] ?? '';

it('calls that end with their request leave nothing behind, as the control', async () => {
  release();
  for (let at = 0; at < 6; at++) expect(await statusOf()).toBe(200);
});

it('calls that go on keep what they were sent, and what is needed to end them is taken', async () => {
  const going = await Promise.all(Array.from({ length: 4 }, () => send()));
  expect(going.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  expect(going.map(handleOf).every((handle) => handle !== '')).toBe(true);
  const refused = await send();
  expect(refused.status).toBe(429);
  expect(refused.text).toContain('or end a running call');
  // One that says its size is refused before any of it has come.
  const ahead = await ask(agent.place, { headers: { ...agent.headers, 'content-length': CODE.length } });
  expect([ahead.status, ahead.headers['retry-after']]).toEqual([429, '1']);
  expect(ahead.text).toContain('would hold 4.3 MB or more; at most 4.0 MB are allowed');
  const [first] = going;
  expect((await answered({ stop: first && handleOf(first) })).status).toBe(200);
  await until(async () => (await statusOf()) === 200);
});

it('calls whose client has gone keep theirs until they have ended', async () => {
  const calls = Array.from({ length: 4 }, () =>
    agent.modern('tools/call', { name: 'run_python', arguments: { code: CODE } }),
  );
  await until(() => begun.signals.length === 4);
  expect(await statusOf()).toBe(429);
  for (const call of calls) call.abort();
  await until(async () => (await statusOf()) === 200);
});

it('tasks keep theirs until their work has ended, and not for as long as their result', async () => {
  const tasks = await Promise.all(Array.from({ length: 4 }, () => send(TASKS)));
  expect(tasks.map(({ text }) => text.includes('"taskId"'))).toEqual(Array(4).fill(true));
  expect(await statusOf()).toBe(429);
  release();
  await until(async () => (await statusOf()) === 200);
  expect(jobs.size).toBe(4);
});
