// An independent client, of the next generation of the protocol's SDK, gets the same answers.

import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { expect, it } from 'vitest';
import { bridgeEnv, MAIN, tempHome } from '../support/start-bridge.js';

it('lists, calls and reads through another SDK', async () => {
  const home = tempHome();
  const client = new Client({ name: 'other', version: '1.0.0' });
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [MAIN],
      env: bridgeEnv(home),
      stderr: 'ignore',
    }),
  );
  try {
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['run_python']);
    const result = await client.callTool({ name: 'run_python', arguments: { code: 'print("hi")\n2 ** 70' } });
    expect(result.content).toEqual([{ type: 'text', text: 'hi\n=> 1180591620717411303424' }]);
    const { contents } = await client.readResource({ uri: 'resource://mcp-sandbox-bridge/capabilities' });
    expect(contents).toHaveLength(1);
  } finally {
    await client.close();
  }
});
