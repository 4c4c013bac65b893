// Clients of both lines of the SDK. Each lists, calls, reads, is asked by the server behind the bridge, and hears of progress.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as OldStdio } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as OldHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { pause, ROOT } from '../bench/stage.mjs';
import { isWholeMenu, isWritten, OFFERED, PROMPT } from './ways.mjs';

const ABOUT = { name: 'trial', version: '1.0.0' };
const CALL_MS = 60_000;
const PROMPTS_WITHIN_MS = 30_000;
const MODERN = '2026-07-28';
const OLD = '2025-11-25';

const newerClient = (mode) => ({ Stdio: StdioClientTransport, Http: StreamableHTTPClientTransport, mode });

/** By name; `speaks` is the revision that it has to agree on with a bridge of both eras. */
export const CLIENTS = {
  'sdk-v1': { Stdio: OldStdio, Http: OldHttp, isOld: true, speaks: OLD },
  'sdk-v2-legacy': { ...newerClient('legacy'), speaks: OLD },
  'sdk-v2-auto': { ...newerClient('auto'), speaks: MODERN },
  'sdk-v2-pin': { ...newerClient({ pin: MODERN }), speaks: MODERN },
};

/** Version of the package from which a client of CLIENTS comes. */
export function versionOf({ isOld = false }) {
  const name = isOld ? '@modelcontextprotocol/sdk' : '@modelcontextprotocol/client';
  return JSON.parse(readFileSync(join(ROOT, 'node_modules', name, 'package.json'), 'utf8')).version;
}

/** @returns {any} */
function clientOf({ isOld, mode }, answer) {
  if (isOld) {
    const client = new OldClient(ABOUT, { capabilities: { elicitation: {} } });
    client.setRequestHandler(ElicitRequestSchema, answer);
    return client;
  }
  const capabilities = { elicitation: { form: {} } };
  const client = new Client(ABOUT, { capabilities, versionNegotiation: { mode } });
  client.setRequestHandler('elicitation/create', answer);
  return client;
}

/** What the client is told of the prompts, of the values for an argument, and as the prompt itself. */
async function usePrompt(/** @type {any} */ client) {
  const { name, argument, args } = PROMPT;
  // A server's prompts are read behind its start.
  const until = performance.now() + PROMPTS_WITHIN_MS;
  let { prompts } = await client.listPrompts();
  while (prompts.length === 0 && performance.now() < until) {
    await pause(100);
    ({ prompts } = await client.listPrompts());
  }
  const { completion } = await client.complete({ ref: { type: 'ref/prompt', name }, argument });
  const { messages } = await client.getPrompt({ name, arguments: args });
  return { prompts, completion, messages };
}

/** Findings [{ what, saw, held }] of the client `name` on a way (ways.mjs). */
export async function trySdkClient(name, { command, args, env, url, headers }) {
  const kind = CLIENTS[name];
  const client = clientOf(kind, () => ({ action: 'accept', content: { name: 'Ada' } }));
  const transport =
    url === undefined
      ? new kind.Stdio({ command, args, env, stderr: 'ignore' })
      : new kind.Http(url, { requestInit: { headers } });
  const call = async (words, how = {}) => {
    const request = { name: 'execute', arguments: words };
    const options = { timeout: CALL_MS, ...how };
    const { content } = await (kind.isOld
      ? client.callTool(request, undefined, options)
      : client.callTool(request, options));
    return content.map(({ text = '' }) => text).join('\n');
  };
  await client.connect(transport);
  try {
    const findings = [];
    const find = (what, saw, held) => findings.push({ what, saw: String(saw), held });
    const agreed = client.getNegotiatedProtocolVersion?.() ?? transport.protocolVersion ?? OLD;
    find('revision', agreed, agreed === kind.speaks);
    const tools = (await client.listTools()).tools.map((tool) => tool.name);
    find('tools', tools, tools.join() === OFFERED.join());
    const { resources } = await client.listResources();
    const { contents } = await client.readResource({ uri: resources[0].uri });
    find('resource', resources[0].uri, contents[0].text.length > 0);
    const said = await call({ command: 'say', args: ['six', 'times', 'seven'] });
    find('call', said, said.includes('six times seven'));
    const answered = await call({ command: 'ask', args: ['Who?'] });
    find('question', answered, answered.includes('Ada'));
    const steps = [];
    // The second line of the SDK adds reports of its own for each question.
    const onprogress = ({ progress, message = '' }) => message.includes('step') && steps.push(progress);
    await call({ command: 'steps', args: ['2'] }, { onprogress });
    const grows = steps.every((step, index) => index === 0 || step > steps[index - 1]);
    find('progress', steps.join(', '), steps.length > 0 && grows);
    const { prompts, completion, messages } = await usePrompt(client);
    find('prompts', prompts.map((one) => one.name).join(), isWholeMenu(prompts));
    find('completion', completion.values, completion.values.join() === PROMPT.completed);
    find('prompt', messages.map(({ content }) => content.text).join('\n'), isWritten(messages));
    return findings;
  } finally {
    await client.close();
  }
}
