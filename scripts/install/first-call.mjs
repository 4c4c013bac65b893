// A real client's first call: starts a bridge by its command line, asks it for a sum, and ends it.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';

const TIMEOUT_MS = 10 * 60_000;

/** What `print(6 * 7)` comes to, or what went wrong, and the seconds from the start of the bridge to the answer. */
export async function firstCall(/** @type {string[]} */ [command, ...args]) {
  const startedAt = performance.now();
  const seconds = () => (performance.now() - startedAt) / 1_000;
  const transport = new StdioClientTransport({ command, args, stderr: 'pipe' });
  let stderr = '';
  transport.stderr?.on('data', (bytes) => {
    stderr = `${stderr}${bytes}`.slice(-1_000);
  });
  const client = new Client({ name: 'first-call', version: '1.0.0' });
  try {
    await client.connect(transport);
    const call = { name: 'run_python', arguments: { code: 'print(6 * 7)' } };
    const { content } = /** @type {any} */ (await client.callTool(call, undefined, { timeout: TIMEOUT_MS }));
    return { text: content.map(({ text = '' }) => text).join('\n'), seconds: seconds() };
  } catch (thrown) {
    return { text: `${thrown.message}\n${stderr}`, seconds: seconds() };
  } finally {
    await client.close();
  }
}
