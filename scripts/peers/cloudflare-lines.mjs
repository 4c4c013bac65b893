// The worker of cloudflare-worker.mjs in miniflare, behind lines on stdin (openLines in place.mjs), with the servers that its tools
// are from. argv: the folder of its packages and of the bundled worker, and the servers as JSON.

import { createRequire } from 'node:module';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { answerLines } from './answer-lines.mjs';

const MAX_MESSAGE_BYTES = 64 * 1024 * 1024;
const COMPATIBILITY_DATE = '2026-01-01';

const [, , folder = '', servers = '{}'] = process.argv;
const { Miniflare } = createRequire(join(folder, 'package.json'))('miniflare');

/** @type {Map<string, { client: Client, tool: string }>} */
const tools = new Map();
/** @type {Record<string, object>} */
const descriptions = {};
/** @type {[string, { command: string, args: string[] }][]} */
const entries = Object.entries(JSON.parse(servers));
for (const [server, program] of entries) {
  const client = new Client({ name: 'peers', version: '1.0.0' });
  await client.connect(new StdioClientTransport({ ...program, maxBufferSize: MAX_MESSAGE_BYTES }));
  for (const { name, description, inputSchema } of (await client.listTools()).tools) {
    const whole = `${server}_${name}`.replaceAll('-', '_');
    tools.set(whole, { client, tool: name });
    descriptions[whole] = { description, inputSchema };
  }
}

/** All tools, or the value of a call of one: what the server gives as an object, else its text. @param {any} message */
async function answer({ name, args }) {
  const found = tools.get(name);
  if (found === undefined) return descriptions;
  /** @type {any} */
  const { structuredContent, content, isError } = await found.client.callTool({
    name: found.tool,
    arguments: args,
  });
  const text = content.map((/** @type {{ text?: string }} */ block) => block.text ?? '').join('\n');
  if (isError) throw new Error(text);
  return structuredContent ?? text;
}

const miniflare = new Miniflare({
  modules: true,
  scriptPath: join(folder, 'worker.js'),
  compatibilityDate: COMPATIBILITY_DATE,
  compatibilityFlags: ['nodejs_compat'],
  workerLoaders: { LOADER: {} },
  serviceBindings: {
    /** @param {Request} request */
    TOOLS: async (request) => {
      const said = await answer(await request.json()).then(
        (value) => ({ value }),
        (/** @type {Error} */ thrown) => ({ error: thrown.message }),
      );
      return Response.json(said);
    },
  },
});

/** @param {object} message @returns {Promise<any>} */
const ask = async (message) => {
  const init = { method: 'POST', body: JSON.stringify(message) };
  return (await miniflare.dispatchFetch('http://worker/', init)).json();
};

const types = await ask({});
await answerLines(async (code) => {
  const { result, error } = await ask({ code });
  if (error !== undefined) throw new Error(error);
  return result;
}, types.length);
await miniflare.dispose();
process.exit();
