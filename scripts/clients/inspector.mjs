// The command lines of the Inspector, from npm, in a folder below .cache/clients/. It needs a newer Node than the bridge, and is
// given one where this is older.

import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { install, run } from '../agents/install.mjs';
import { nodeFolder } from '../install/node.mjs';
import { isWholeMenu, isWritten, OFFERED, PROMPT } from './ways.mjs';

export const INSPECTOR = {
  package: '@modelcontextprotocol/inspector',
  version: '2.12.0',
  programs: ['@modelcontextprotocol/inspector/clients/launcher/build/index.js'],
};
/** Beside the program. */
const SESSIONS = '../../mcpdo/build/mcp-bin.js';
const NEEDED_NODE = 22;
const INSTALLED_NODE = 24;
const RUN_MS = 180_000;
const CONNECT_MS = 120_000;

/** Findings [{ what, saw, held }] over a way (ways.mjs). */
export async function inspect(way, root, say) {
  const home = mkdtempSync(join(tmpdir(), 'inspector-'));
  try {
    return await askInspector(way, { cache: join(root, '.cache/clients'), home, say });
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

async function askInspector({ command, args, env, url, headers }, { cache, home, say }) {
  mkdirSync(cache, { recursive: true });
  const isNewEnough = Number(process.versions.node.split('.')[0]) > NEEDED_NODE;
  const node = isNewEnough
    ? process.execPath
    : join(await nodeFolder(INSTALLED_NODE, cache, say), 'bin/node');
  const [, program] = await install('inspector', INSPECTOR, cache);
  const passed = Object.entries(env ?? {})
    .filter(([name]) => /^(?:HOME|PATH|XDG_|MCP_BRIDGE_)/.test(name))
    .flatMap(([name, value]) => ['-e', `${name}=${value}`]);
  const how =
    url === undefined
      ? [...passed, '--', command, ...args]
      : ['--transport', 'http', '--header', `Authorization: ${headers.authorization}`];
  const target = url === undefined ? how : [...how, '--server-url', url.href];
  const start = async (...words) => {
    const said = await run(node, words, { env: { ...process.env, HOME: home }, timeout: RUN_MS });
    return JSON.parse(said.slice(said.indexOf('{'), said.lastIndexOf('}') + 1) || '{}');
  };
  const limited = ['--connect-timeout', String(CONNECT_MS)];
  const ask = (...words) => start(program, '--cli', ...limited, ...words, ...target);
  // Arguments are completed by the other command line of the package alone, which keeps a connection.
  const completed = async () => {
    const { name, argument } = PROMPT;
    const kept = (...words) => start(join(dirname(program), SESSIONS), '--format', 'json', ...words);
    try {
      const place = url === undefined ? [] : [url.href];
      const connection = await kept('connect', ...limited, ...place, ...how);
      const { values } = await kept(
        ...['--connection', connection.name, 'prompts/complete', '--complete-ref-type', 'ref/prompt'],
        ...['--complete-ref', name, '--complete-arg-name', argument.name],
        ...['--complete-arg-value', argument.value],
      );
      return values;
    } finally {
      await kept('daemon', 'stop');
    }
  };
  const { tools } = await ask('--method', 'tools/list');
  const names = tools.map(({ name }) => name).join();
  const { resources } = await ask('--method', 'resources/list');
  const { content } = await ask(
    ...['--method', 'tools/call', '--tool-name', 'execute'],
    ...['--tool-arg', 'command=say', 'args=["six times seven"]'],
  );
  const { prompts } = await ask('--method', 'prompts/list');
  const { name, args: filled } = PROMPT;
  const values = await completed();
  const fill = Object.entries(filled).map(([key, value]) => `${key}=${value}`);
  const { messages } = await ask('--method', 'prompts/get', '--prompt-name', name, '--prompt-args', ...fill);
  const said = content.map(({ text = '' }) => text).join('\n');
  return [
    { what: 'tools', saw: names, held: names === OFFERED.join() },
    { what: 'resources', saw: resources.map(({ uri }) => uri).join(), held: resources.length > 0 },
    { what: 'call', saw: said, held: said.includes('six times seven') },
    { what: 'prompts', saw: prompts.map((one) => one.name).join(), held: isWholeMenu(prompts) },
    { what: 'completion', saw: values.join(), held: values.join() === PROMPT.completed },
    { what: 'prompt', saw: messages.map((one) => one.content.text).join('\n'), held: isWritten(messages) },
  ];
}
