// The walls of a question around what runs meanwhile: code tries to compute on while a person thinks. The control is the same code while
// nobody is asked. What wakes again and again where only signals can stop it is ended, and so held as well.

import { fileURLToPath } from 'node:url';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { REACH_SECONDS } from '../../front-door/reached.js';
import { startBridge, type TestBridge, tempHome } from '../../support/start-bridge.js';
import { pause } from '../../support/time.js';
import { beginning, COUNTED, computedOn, STANDS_SECONDS, type Waker, wakers } from '../wakers.js';

const SERVER = fileURLToPath(new URL('../../fixtures/approved-server.mjs', import.meta.url));

/** How long the person thinks. */
let thinkMs = STANDS_SECONDS * 1_000;
let bridge: TestBridge;
beforeAll(async () => {
  bridge = await startBridge(
    { desk: { command: process.execPath, args: [SERVER, `${tempHome()}/calls.log`, 'desk'] } },
    {
      env: { MCP_BRIDGE_APPROVE: 'all' },
      capabilities: { elicitation: {} },
      prepare: (client) => {
        client.setRequestHandler(ElicitRequestSchema, async () => {
          await pause(thinkMs);
          return { action: 'accept', content: { decision: 'once' } };
        });
      },
    },
  );
});
afterAll(() => bridge[Symbol.asyncDispose]());

/** What it has computed while `meanwhile`, which takes the time of the question. */
async function triedWhile(waker: Waker, meanwhile: string): Promise<string | undefined> {
  const code = [beginning(waker), meanwhile, COUNTED].join('\n');
  const { result, errorType, error } = await bridge.run(code, { servers: ['desk'], timeout: 60 });
  if (errorType === 'E_RESTLESS') return undefined;
  if (typeof result !== 'string') throw new Error(error);
  return computedOn(result);
}

describe.each(wakers)('$id: code $tries', (waker) => {
  it('is held while a person is asked', async () => {
    expect(await triedWhile(waker, 'await mcp_desk.erase(id=1)')).toBeUndefined();
  });

  it('computes on while nobody is', async () => {
    expect(await triedWhile(waker, `await asyncio.sleep(${STANDS_SECONDS})`)).toEqual(expect.any(String));
  });
});

describe('asks for what is answered before anything is stopped, and computes meanwhile', () => {
  const TIMEOUT = Math.max(5, REACH_SECONDS);
  beforeAll(() => {
    thinkMs = 1_500;
  });

  /** Asks as long as `condition` holds; what it reads is how long its thread has computed. */
  const asking = (condition: string, work: string) => `import threading, time
used, asked = 0.0, 0
def work():
    global used
    while True:
        ${work}
        used = time.thread_time()
threading.Thread(target=work, daemon=True).start()
while ${condition}:
    asked += 1
    await mcp_desk.erase(id=asked)
asked`;
  const ran = (code: string) => bridge.run(code, { servers: ['desk'], timeout: TIMEOUT });

  it('ends at its timeout where it computes in its own time', async () => {
    const { errorType, result } = await ran(asking(`used < ${2 * TIMEOUT}`, 'pass'));
    expect([errorType, result]).toEqual(['E_TIMEOUT', undefined]);
  });

  it('where it only waits, the time of a person is none of its own', async () => {
    const questions = Math.ceil((2 * TIMEOUT * 1_000) / thinkMs);
    const { errorType, result } = await ran(asking(`asked < ${questions}`, 'time.sleep(0.1)'));
    expect([errorType, result]).toEqual([undefined, questions]);
  });
});
