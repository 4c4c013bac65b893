// Where the kernel gives podman no user namespace: doctor, setup and the first call each say why, and what helps. The
// machine is a namespace in which nobody may have another one, as an administrator can set it; podman is a stand-in that
// says what podman 4.3 and 5.4 say there.

import { spawnSync } from 'node:child_process';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { expect, it } from 'vitest';
import { bridgeEnv, MAIN, tempHome } from '../support/start-bridge.js';
import { HANGS_MS } from '../support/time.js';
import { fakeEngine } from './fake-engine.js';

const FILE = '/proc/sys/user/max_user_namespaces';
const WORDS = [
  'cannot clone: No space left on device',
  `user namespaces are not enabled in ${FILE}`,
  'Error: cannot re-exec process',
];
const INSIDE = ['--user', '--map-root-user', 'sh', '-c', `echo 0 > ${FILE} && exec "$@"`, 'sh'];
const canPlay = spawnSync('unshare', [...INSIDE, 'true']).status === 0;

function started(...words: readonly string[]) {
  const home = tempHome();
  const bin = fakeEngine({ info: `${WORDS.map((line) => `echo '${line}' >&2`).join('; ')}; exit 125` });
  const env = bridgeEnv(home, { PATH: `${bin}:/usr/bin:/bin`, MCP_BRIDGE_STATE_DIR: `${home}/state` });
  return { command: 'unshare', args: [...INSIDE, process.execPath, MAIN, ...words], env };
}

function run(...words: readonly string[]): string {
  const { command, args, env } = started(...words);
  return spawnSync(command, args, { env, encoding: 'utf8', timeout: HANGS_MS }).stdout;
}

async function firstCall(): Promise<string> {
  const client = new Client({ name: 'test', version: '1.0.0' });
  await client.connect(new StdioClientTransport({ ...started(), stderr: 'ignore' }));
  try {
    return JSON.stringify(await client.callTool({ name: 'run_python', arguments: { code: '1' } }));
  } finally {
    await client.close();
  }
}

it.runIf(canPlay).each<[string, () => string | Promise<string>]>([
  ['doctor', () => run('doctor', '--json')],
  ['setup', () => run('setup', '--yes', '--no-register', '--json')],
  ['the first call', firstCall],
])('%s names the cause and the remedy', async (_title, ask) => {
  const said = await ask();
  expect(said).toContain('cannot clone: No space left on device');
  expect(said).toContain('user.max_user_namespaces is 0');
  expect(said).toContain('sudo sysctl -w user.max_user_namespaces=');
});
