// A real client's first call: starts a bridge by its command line, has it run some Python, and ends it.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';

const TIMEOUT_MS = 10 * 60_000;

/**
 * What the code comes to, or what went wrong, the seconds from the start of the bridge to the answer, and the characters of
 * what the bridge lists as its tools.
 * @param {string[]} argv
 * @param {{ code?: string, servers?: readonly string[] }} [call]
 * @returns {Promise<{ text: string, seconds: number, toolChars: number | undefined }>}
 */
export async function firstCall([command, ...args], { code = 'print(6 * 7)', servers } = {}) {
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
    const { tools } = await client.listTools();
    const toolChars = tools
      .map(({ name, description, inputSchema }) => JSON.stringify({ name, description, inputSchema }).length)
      .reduce((sum, one) => sum + one, 0);
    const call = { name: 'run_python', arguments: servers === undefined ? { code } : { code, servers } };
    const { content } = /** @type {any} */ (await client.callTool(call, undefined, { timeout: TIMEOUT_MS }));
    return { text: content.map(({ text = '' }) => text).join('\n'), seconds: seconds(), toolChars };
  } catch (thrown) {
    return { text: `${thrown.message}\n${stderr}`, seconds: seconds(), toolChars: undefined };
  } finally {
    await client.close();
  }
}
