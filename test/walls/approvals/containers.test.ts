// The walls of a question around what runs meanwhile: code tries to compute on while a person thinks. The control is the same code while
// nobody is asked. What wakes again and again where only signals can stop it is ended, and so held as well.

import { fileURLToPath } from 'node:url';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startBridge, type TestBridge, tempHome } from '../../support/start-bridge.js';
import { pause } from '../../support/time.js';
import { beginning, COUNTED, computedOn, STANDS_SECONDS, type Waker, wakers } from '../wakers.js';

const SERVER = fileURLToPath(new URL('../../fixtures/approved-server.mjs', import.meta.url));

let bridge: TestBridge;
beforeAll(async () => {
  bridge = await startBridge(
    { desk: { command: process.execPath, args: [SERVER, `${tempHome()}/calls.log`, 'desk'] } },
    {
      env: { MCP_BRIDGE_APPROVE: 'all' },
      capabilities: { elicitation: {} },
      prepare: (client) => {
        client.setRequestHandler(ElicitRequestSchema, async () => {
          await pause(STANDS_SECONDS * 1_000);
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
