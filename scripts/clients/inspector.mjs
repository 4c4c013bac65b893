// The command line of the Inspector, from npm, in a folder below .cache/clients/. It needs a newer Node than the bridge, and is
// given one where this is older.

import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { install, run } from '../agents/install.mjs';
import { nodeFolder } from '../install/node.mjs';

export const INSPECTOR = {
  package: '@modelcontextprotocol/inspector',
  version: '2.12.0',
  programs: ['@modelcontextprotocol/inspector/clients/launcher/build/index.js'],
};
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
  const target =
    url === undefined
      ? [...passed, '--', command, ...args]
      : [
          '--transport',
          'http',
          '--server-url',
          url.href,
          '--header',
          `Authorization: ${headers.authorization}`,
        ];
  const ask = async (...words) => {
    const about = [program, '--cli', '--connect-timeout', String(CONNECT_MS), ...words, ...target];
    const said = await run(node, about, { env: { ...process.env, HOME: home }, timeout: RUN_MS });
    return JSON.parse(said.slice(said.indexOf('{'), said.lastIndexOf('}') + 1));
  };
  const { tools } = await ask('--method', 'tools/list');
  const names = tools.map(({ name }) => name).join();
  const { resources } = await ask('--method', 'resources/list');
  const { content } = await ask(
    ...['--method', 'tools/call', '--tool-name', 'execute'],
    ...['--tool-arg', 'command=say', 'args=["six times seven"]'],
  );
  const said = content.map(({ text = '' }) => text).join('\n');
  return [
    { what: 'tools', saw: names, held: names === 'execute' },
    { what: 'resources', saw: resources.map(({ uri }) => uri).join(), held: resources.length > 0 },
    { what: 'call', saw: said, held: said.includes('six times seven') },
  ];
}
