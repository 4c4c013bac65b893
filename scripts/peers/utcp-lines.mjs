// UTCP's code-mode behind lines on stdin (openLines in place.mjs). argv: the folder of its packages, and the servers as JSON.

import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { answerLines } from './answer-lines.mjs';

const [, , folder = '', servers = '{}'] = process.argv;
const require = createRequire(join(folder, 'package.json'));
/** @param {string} name @returns {Promise<any>} */
const load = (name) => import(pathToFileURL(require.resolve(name)).href);

await load('@utcp/mcp');
const { CodeModeUtcpClient } = await load('@utcp/code-mode');
/** @type {[string, object][]} */
const entries = Object.entries(JSON.parse(servers));
const mcpServers = Object.fromEntries(
  entries.map(([name, server]) => [name, { transport: 'stdio', env: {}, ...server }]),
);
const client = await CodeModeUtcpClient.create(folder, {
  manual_call_templates: [{ name: 'peers', call_template_type: 'mcp', config: { mcpServers } }],
});
await answerLines(async (code) => {
  const { result, logs } = await client.callToolChain(code);
  // An error of the code is a line of its log.
  if (result === null || result === undefined) throw new Error(logs.join('\n'));
  return result;
}, CodeModeUtcpClient.AGENT_PROMPT_TEMPLATE.length);
await client.close();
process.exit();
