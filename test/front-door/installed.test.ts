// The first call of a newcomer who has installed the package by npm into an empty home, where the image is there.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { expect, it } from 'vitest';
import { MANIFEST, newcomer } from '../support/installed.js';

it('is answered by the installed package, through the name that npm has linked', async () => {
  using person = await newcomer();
  await person.run('npm', 'i', '-g', MANIFEST.name);
  const transport = new StdioClientTransport({
    command: MANIFEST.name,
    env: person.env,
    cwd: person.home,
    stderr: 'ignore',
  });
  const client = new Client({ name: 'newcomer', version: '1.0.0' });
  await client.connect(transport);
  try {
    const answer = await client.callTool({ name: 'run_python', arguments: { code: 'print(6 * 7)' } });
    expect(answer).toMatchObject({ content: [{ type: 'text', text: expect.stringContaining('42') }] });
  } finally {
    await client.close();
  }
});
