// The .mcpb bundle as `npm run pack:mcpb` makes it: small, with the files of the npm package, and started by a real client in
// the way that its own manifest says.

import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { getMcpConfigForManifest, unpackExtension } from '@anthropic-ai/mcpb';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { bridgeEnv } from '../support/start-bridge.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** The client of Kubernetes is 0.1 MB of it. */
const MAX_BYTES = 1_700_000;

const scratch = mkdtempSync(join(process.env['TEST_ROOT'] ?? tmpdir(), 'mcpb-'));
const file = join(scratch, 'bridge.mcpb');
const folder = join(scratch, 'unpacked');
const home = join(scratch, 'home');
const readJson = (path: string) => JSON.parse(readFileSync(path, 'utf8'));

beforeAll(async () => {
  mkdirSync(home);
  execFileSync('node', ['scripts/pack-mcpb.mjs', '--out', file], { cwd: ROOT, stdio: 'pipe' });
  await unpackExtension({ mcpbPath: file, outputDir: folder, silent: true });
});
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

/** How a host starts the unpacked bundle whose user has said `userConfig`. */
async function startOf(userConfig: Record<string, string>) {
  const config = await getMcpConfigForManifest({
    manifest: readJson(join(folder, 'manifest.json')),
    extensionPath: folder,
    systemDirs: { HOME: home },
    userConfig,
    pathSeparator: sep,
  });
  if (config === undefined) throw new Error('the manifest has no configuration to start');
  return config;
}

it('is small, and has what npm would publish besides its manifest', () => {
  expect(statSync(file).size).toBeLessThan(MAX_BYTES);
  const [{ files }] = JSON.parse(
    execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
      cwd: ROOT,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }),
  );
  const unpacked = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) =>
      join(entry.parentPath, entry.name)
        .slice(folder.length + 1)
        .replaceAll(sep, '/'),
    );
  expect(unpacked.toSorted()).toEqual(
    [...files.map(({ path }: { path: string }) => path), 'manifest.json'].toSorted(),
  );
});

it('is started by a client as its manifest says, where the user has set nothing', async () => {
  const { command, args, env } = await startOf({});
  const transport = new StdioClientTransport({
    command,
    args: args ?? [],
    env: bridgeEnv(home, env),
    cwd: home,
    stderr: 'ignore',
  });
  const client = new Client({ name: 'mcpb', version: '1.0.0' });
  await client.connect(transport);
  try {
    expect(client.getServerVersion()).toMatchObject({
      version: readJson(join(ROOT, 'package.json')).version,
    });
    const { tools } = readJson(join(folder, 'manifest.json'));
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(
      tools.map(({ name }: { name: string }) => name),
    );
  } finally {
    await client.close();
  }
});

it('hands over what the user has set', async () => {
  const { command, args = [], env } = await startOf({ memory: '1k' });
  const { status, stdout } = spawnSync(command, [...args, 'doctor', '--json'], {
    cwd: home,
    encoding: 'utf8',
    // Without an engine doctor starts no container.
    env: bridgeEnv(home, { ...env, MCP_BRIDGE_RUNTIME: join(home, 'no-engine') }),
  });
  expect(status).not.toBe(0);
  expect(stdout).toContain('MCP_BRIDGE_MEMORY');
});
