// What the built program loads before it has listed its tools: hosts start it often and wait for that. Here it has nothing else.

import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { describe, expect, it, onTestFinished } from 'vitest';
import { bridgeEnv, MAIN, tempHome } from '../support/start-bridge.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const CODE_EXEC = join(ROOT, 'bin/code-exec');
/** Of code; a first start takes about a millisecond longer for each 10 kB. */
const MAX_LOADED_BYTES = 1_100_000;
const MODES = ['legacy', { pin: '2026-07-28' }] as const;

/** The file with all that it imports at once, by the text of each. */
function imported(file: string, found = new Set<string>()): Set<string> {
  if (found.has(file)) return found;
  found.add(file);
  const imports = readFileSync(file, 'utf8').matchAll(/(?:^|;)(?:const \w+=)?require\("(\.\/[^"]+)"\)/gm);
  for (const [, path = ''] of imports) imported(join(dirname(file), path), found);
  return found;
}

const BUNDLE = join(ROOT, 'dist/bundle');
const loadedAtStart = [MAIN, join(BUNDLE, 'main.cjs'), ...imported(join(BUNDLE, 'serve.cjs'))];

/** Parts of which a start has the words and the decision whether they are needed, and no more. */
const NOT_AT_START = [
  /^src\/(?:engine|service|watch)\/(?!events\.ts$|images\/)/,
  /^src\/cli\/figures\/(?!start-figures\.ts$)/,
  /\/(?:prompts|replayed-slot|inbox)\.ts$/,
  /^node_modules\/(?:@kubernetes\/|ws\/|jose\/|execa\/|minisearch\/|yaml\/)/,
];
/** Parts that a bridge over stdio loads only where somebody uses them: its heart is loaded a moment after the list of tools. */
const NOT_IN_IDLE = [
  /^src\/(?:service|watch)\/(?!events\.ts$|windows\/)/,
  /^src\/engine\/kubernetes\/(?!driver|kubernetes-engine|node-walls|pod-container|runtime-class)/,
  /^src\/cli\/figures\/(?!start-figures\.ts$)/,
  /^node_modules\/(?:@kubernetes\/|ws\/|jose\/|execa\/|yaml\/)/,
];

/** Sources of what is in these files, by their paths in the repository. */
const sourcesIn = (files: Iterable<string>): string[] =>
  [...files]
    .filter((file) => existsSync(`${file}.map`))
    .flatMap((file) => (JSON.parse(readFileSync(`${file}.map`, 'utf8')) as { sources: string[] }).sources)
    .map((source) => source.replace(/^(?:\.\.\/)+/, ''));

/** A package in which there is nothing but what a start needs. */
function startOnly(): string {
  const root = tempHome();
  mkdirSync(join(root, 'dist/bundle'), { recursive: true });
  mkdirSync(join(root, 'dist/cli'));
  for (const file of loadedAtStart) cpSync(file, join(root, 'dist', basename(dirname(file)), basename(file)));
  cpSync(join(ROOT, 'package.json'), join(root, 'package.json'));
  cpSync(join(ROOT, 'sandbox-runtime/images'), join(root, 'sandbox-runtime/images'), { recursive: true });
  return join(root, 'dist/cli/main.js');
}

async function connected(
  main: string,
  mode: (typeof MODES)[number],
  files: Readonly<Record<string, string>> = {},
) {
  const home = tempHome();
  const folder = join(home, '.config/mcp/servers');
  mkdirSync(folder, { recursive: true });
  const box = { command: process.execPath, args: [CODE_EXEC], env: { MCP_EXEC_WORKDIR: home } };
  const servers = { 'box.json': JSON.stringify({ mcpServers: { box } }), ...files };
  for (const [name, text] of Object.entries(servers)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text, { mode: 0o600 });
  }
  const env = bridgeEnv(home, {
    MCP_BRIDGE_STATE_DIR: join(home, 'state'),
    MCP_BRIDGE_TOOLS: 'execute',
    MCP_BRIDGE_EXECUTE_SERVER: 'box',
    MCP_BRIDGE_WARM: '0',
  });
  const client = new Client({ name: 'agent', version: '7' }, { versionNegotiation: { mode } });
  await client.connect(
    new StdioClientTransport({ command: process.execPath, args: [main], env, cwd: home, stderr: 'ignore' }),
  );
  onTestFinished(() => client.close());
  return client;
}

const hello = { name: 'execute', arguments: { command: 'echo', args: ['hello'] } };

it('loads few files and little code', () => {
  expect(loadedAtStart.length).toBeLessThanOrEqual(8);
  const bytes = loadedAtStart.reduce((sum, file) => sum + statSync(file).size, 0);
  expect(bytes).toBeLessThan(MAX_LOADED_BYTES);
  // That there is a bound at all shows in what is left for later.
  const all = readdirSync(BUNDLE).filter((name) => name.endsWith('js'));
  expect(all.length).toBeGreaterThan(loadedAtStart.length);
});

it.each([
  ['a start', 'serve.cjs', NOT_AT_START],
  ['an idle bridge', 'bridge.cjs', NOT_IN_IDLE],
] as const)('loads no part in %s that others than its user would pay for', (_when, first, unwanted) => {
  const sources = sourcesIn(imported(join(BUNDLE, first)));
  // That sources are seen at all.
  expect(sources).toContain('src/base/errors.ts');
  expect(sources.filter((source) => unwanted.some((part) => part.test(source)))).toEqual([]);
});

describe.each(MODES)('an agent, mode %j', (mode) => {
  it('is told of the tools by a bridge that has only what a start loads, and what is wrong when it calls one', async () => {
    const client = await connected(startOnly(), mode);
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['execute']);
    await expect(client.callTool(hello)).rejects.toThrow(
      /The files of the bridge were replaced or removed while it ran\. Restart the bridge/,
    );
    // It goes on with what it has.
    expect((await client.listTools()).tools).toHaveLength(1);
  });

  it('may call a tool as soon as it knows of it, and several at a time', async () => {
    const client = await connected(MAIN, mode);
    await client.listTools();
    const answers = await Promise.all([
      client.callTool(hello),
      client.callTool(hello),
      client.listResources(),
    ]);
    for (const answer of answers.slice(0, 2))
      expect(answer).toMatchObject({ structuredContent: { stdout: 'hello\n' } });
  });
});

it('reads files that are no plain JSON by parsers that lie beside it', async () => {
  const client = await connected(MAIN, 'legacy', {
    'commented.json': '{ "mcpServers": { "remarks": { "command": "true" } } } // of ours',
  });
  const { resources } = await client.listResources();
  const { contents } = await client.readResource({ uri: resources[0]?.uri ?? '' });
  expect(contents).toHaveLength(1);
});
