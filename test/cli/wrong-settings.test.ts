// A wrong setting inside of a host: what its model reads, and that nothing runs.

import { chmodSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { descendants } from '../support/nothing-left.js';
import { startBridge, type TestBridge, tempHome } from '../support/start-bridge.js';
import { writtenState } from '../support/written-state.js';
import { command } from './command.js';

let home: string;
beforeEach(() => {
  home = tempHome();
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

type Called = { readonly text: string; readonly isError: unknown };

async function call(bridge: TestBridge, name: string, args: object): Promise<Called> {
  const { content, isError } = await bridge.client.callTool({ name, arguments: { ...args } });
  const [first] = content as { text?: string }[];
  return { text: first?.text ?? '', isError };
}

const CALLS: ReadonlyArray<readonly [string, object]> = [
  ['run_python', { code: 'print(1)', servers: ['files'] }],
  ['execute_code', { language: 'bash', entrypoint_code: 'echo 1' }],
  ['execute', { command: 'true' }],
  // Also where the arguments are wrong.
  ['run_python', {}],
];

/** An engine, and a program, that leave a mark when they are started. */
function tellTale(): { readonly path: string; readonly wasStarted: () => boolean } {
  const path = join(home, 'podman');
  const mark = join(home, 'started');
  writeFileSync(path, `#!/bin/sh\ntouch '${mark}'\nexit 1\n`);
  chmodSync(path, 0o755);
  return { path, wasStarted: () => existsSync(mark) };
}

describe('a bridge with a wrong setting', () => {
  it.each([
    ['MCP_BRIDGE_TIMEOUT', 'soon', 'whole seconds from 1 to 86400'],
    ['MCP_BRIDGE_PIDS', '3', 'a whole number from 16 to 32768'],
    ['MCP_BRIDGE_IMAGE', 'Python:3.13', 'an image reference'],
    ['MCP_BRIDGE_DENY', 'github.\\', 'ends with a backslash'],
    ['MCP_BRIDGE_POLICY', '/nowhere/policy.yaml', 'does not exist'],
    ['MCP_BRIDGE_SNIPPETS', '/nowhere/snippets', 'a folder that exists'],
    ['MCP_BRIDGE_RUNTIME', '/nowhere/podman', 'the path of a program that exists'],
    ['MCP_SERVERS_CONFIG', '/nowhere/servers.json', 'a file that exists'],
    ['MCP_BRIDGE_STATE_DIR', '/proc/state', 'a folder on an ordinary file system'],
  ])('%s=%s is what the model reads, first and at each call', async (name, value, allowed) => {
    const engine = tellTale();
    await using bridge = await startBridge(
      { files: { command: engine.path } },
      { env: { MCP_BRIDGE_RUNTIME: engine.path, [name]: value } },
    );
    const [first = ''] = (bridge.client.getInstructions() ?? '').split('\n');
    for (const said of [name, value, allowed, 'Correct', 'restart the host']) expect(first).toContain(said);
    const { tools } = await bridge.client.listTools();
    expect(tools).toMatchObject([
      { name: 'run_python', inputSchema: { properties: { code: { type: 'string' } } } },
    ]);
    for (const [tool, args] of CALLS) {
      const { text, isError } = await call(bridge, tool, args);
      expect(isError).toBe(true);
      for (const said of [name, value, allowed, 'Correct', 'restart the host']) expect(text).toContain(said);
    }
    expect(descendants(bridge.pid)).toEqual([]);
    expect(engine.wasStarted()).toBe(false);
    expect(writtenState(join(bridge.home, 'state'))).toEqual([]);
    expect(bridge.stderr()).toContain(name);
  });

  it('several are all told, in a line each, and no more than a model should read', async () => {
    const env = {
      MCP_BRIDGE_TIMEOUT: 'soon',
      MCP_BRIDGE_POLICY: '/nowhere/policy.yaml',
      MCP_BRIDGE_IMAGE: 'a b',
      MCP_BRIDGE_ALLOW: `${'x'.repeat(5_000)}\\`,
      MCP_BRIDGE_MEMORY: '1',
      MCP_BRIDGE_PIDS: '1',
      MCP_BRIDGE_CPUS: '0.001',
    };
    await using bridge = await startBridge({}, { env });
    const instructions = bridge.client.getInstructions() ?? '';
    const [first = '', ...lines] = instructions.split('\n');
    for (const name of Object.keys(env)) expect(first).toContain(name);
    expect(first).toContain('restart the host');
    expect(lines.filter((line) => line.startsWith('MCP_BRIDGE_'))).toHaveLength(5);
    expect(instructions).toContain('and 2 more');
    expect(instructions.length).toBeLessThanOrEqual(2_500);
    const { text } = await call(bridge, 'run_python', { code: '1' });
    for (const name of Object.keys(env)) expect(text).toMatch(new RegExp(`^ +${name}\\b`, 'm'));
    expect(text).not.toContain('[bridge');
  });

  it('what can be read says it too, and an unknown tool is one as ever', async () => {
    await using bridge = await startBridge({}, { env: { MCP_BRIDGE_TOOLS: 'run_pyton,execute' } });
    const [resource] = (await bridge.client.listResources()).resources;
    const { contents } = await bridge.client.readResource({ uri: resource?.uri ?? '' });
    expect(contents).toMatchObject([
      { text: expect.stringContaining("MCP_BRIDGE_TOOLS is 'run_pyton,execute'") },
    ]);
    expect(await bridge.client.listResourceTemplates()).toEqual({ resourceTemplates: [] });
    await expect(bridge.client.callTool({ name: 'rn_python', arguments: {} })).rejects.toMatchObject({
      code: -32_602,
    });
    await expect(bridge.client.setLoggingLevel('debug')).resolves.toEqual({});
    await expect(bridge.client.ping()).resolves.toEqual({});
  });

  it('keeps the password of an address to itself', async () => {
    const env = {
      MCP_BRIDGE_ENGINE_URL: 'http://ann:hunter22@box/podman.sock',
      API_TOKEN: 'abcdefgh12345678',
      MCP_BRIDGE_IMAGE: 'abcdefgh12345678:',
    };
    await using bridge = await startBridge({}, { env });
    const { text } = await call(bridge, 'run_python', { code: '1' });
    for (const said of [text, bridge.client.getInstructions() ?? '', bridge.stderr()]) {
      expect(said).toContain('MCP_BRIDGE_ENGINE_URL');
      expect(said).not.toMatch(/hunter22|abcdefgh12345678/);
    }
  });
});

it('a misspelt name is told at the end of the instructions, and code may run', async () => {
  await using bridge = await startBridge({}, { env: { MCP_BRIDGE_POLCY: '/x', MCP_BRIDGE_WARM: '0' } });
  const instructions = bridge.client.getInstructions() ?? '';
  expect(instructions).toMatch(/^Code runs in a throw-away container/);
  expect(instructions).toContain(
    "MCP_BRIDGE_POLCY is not a setting of this version. Did you mean 'MCP_BRIDGE_POLICY'?",
  );
});

/** A state directory whose folder above others may write, or not. */
function stateBelow(mode: number): { readonly above: string; readonly env: Record<string, string> } {
  const above = join(home, 'a');
  mkdirSync(join(above, 'state'), { recursive: true, mode: 0o700 });
  chmodSync(above, mode);
  return { above, env: { MCP_BRIDGE_STATE_DIR: join(above, 'state') } };
}

describe('a state directory that others could exchange', () => {
  it('is what the model reads, and nothing is run or written', async () => {
    const engine = tellTale();
    const { above, env } = stateBelow(0o777);
    await using bridge = await startBridge(
      { files: { command: engine.path } },
      { env: { ...env, MCP_BRIDGE_RUNTIME: engine.path } },
    );
    const { text, isError } = await call(bridge, 'run_python', { code: '1' });
    expect(isError).toBe(true);
    for (const said of [text, (bridge.client.getInstructions() ?? '').split('\n')[0]])
      for (const part of ['MCP_BRIDGE_STATE_DIR', `'${above}'`, 'mode 0777', `chmod go-w ${above}`])
        expect(said).toContain(part);
    expect(descendants(bridge.pid)).toEqual([]);
    expect(engine.wasStarted()).toBe(false);
    expect(writtenState(join(above, 'state'))).toEqual([]);
  });

  it.each([
    ['adopt', 'cursor', '--dry-run'],
    ['approvals'],
    ['exec', 'x.py'],
    ['image', 'list'],
    ['install', '--dry-run'],
    ['kept'],
    ['login', 'x'],
    ['policy', 'test', 'x.y'],
    ['repl'],
    ['restore', 'cursor', '--dry-run'],
    ['run', '-'],
    ['runs'],
    ['serve', '--http', '0'],
    ['servers'],
    ['sessions'],
    ['setup', '--dry-run'],
    ['snippets'],
    ['token', 'list'],
    ['uninstall', '--dry-run'],
  ])('%s %s ends with 2 and the next step', async (...words) => {
    const { above, env } = stateBelow(0o777);
    const ended = await command(words, { home, env });
    expect(ended.stderr).toContain(`'${above}' can be written by other users (mode 0777)`);
    expect(ended.stderr).toContain(`chmod go-w ${above}`);
    expect(ended.exitCode).toBe(2);
    expect(writtenState(join(above, 'state'))).toEqual([]);
    if (words[0] === 'serve' || words[0] === 'repl') return;
    // The control: with the folder above closed it is another thing that ends it, or nothing.
    chmodSync(above, 0o755);
    expect((await command(words, { home, env })).stderr).not.toContain('can be written by other users');
  });

  it('has a row of doctor, which goes on with what does not go by it', async () => {
    const { above, env } = stateBelow(0o777);
    const rows = async () => {
      const { stdout } = await command(['doctor', '--json'], { home, env });
      return (JSON.parse(stdout) as { findings: Record<string, string>[] }).findings;
    };
    const open = await rows();
    expect(open).toContainEqual({
      name: 'state directory',
      status: 'fail',
      detail: expect.stringContaining(`'${above}' can be written by other users (mode 0777)`),
      remedy: expect.stringContaining(`chmod go-w ${above}`),
    });
    expect(open.map(({ name }) => name)).toEqual(expect.arrayContaining(['node', 'engine', 'servers']));
  });
});

describe('on the command line', () => {
  it.each([
    ['servers'],
    ['runs'],
    ['snippets'],
    ['image', 'list'],
    ['doctor', '--probe'],
    ['exec', 'x.py'],
    ['run', '-'],
  ])('%s %s ends with 2 and tells all of them', async (...words) => {
    const env = {
      MCP_BRIDGE_PIDS: '3',
      MCP_BRIDGE_POLICY: '/nowhere/p.yaml',
      MCP_SERVERS_CONFIG: '/nowhere/s',
    };
    const ended = await command(words, { home, env });
    for (const name of Object.keys(env)) expect(ended.stderr).toContain(name);
    expect([ended.stdout, ended.exitCode]).toEqual(['', 2]);
  });

  it('doctor tells all of them with remedies, and goes on with what can be checked', async () => {
    const env = {
      MCP_BRIDGE_PIDS: '3',
      MCP_BRIDGE_IMAGE: 'Python',
      MCP_BRIDGE_POLICY: '/nowhere/p.yaml',
      MCP_BRIDGE_MEMROY: '1g',
    };
    const { stdout, exitCode } = await command(['doctor', '--json'], { home, env });
    const { findings } = JSON.parse(stdout) as {
      findings: { name: string; status: string; detail: string; remedy?: string }[];
    };
    const failed = findings
      .filter(({ status }) => status === 'fail')
      .filter(({ name }) => name === 'settings');
    expect(failed).toMatchObject([
      { detail: expect.stringContaining("MCP_BRIDGE_IMAGE is 'Python'"), remedy: expect.any(String) },
      { detail: expect.stringContaining("MCP_BRIDGE_PIDS is '3'"), remedy: expect.any(String) },
      { detail: 'MCP_BRIDGE_POLICY: /nowhere/p.yaml: does not exist', remedy: expect.any(String) },
    ]);
    const names = findings.map(({ name }) => name);
    expect(names).toEqual(
      expect.arrayContaining(['node', 'state directory', 'engine', 'servers', 'registration']),
    );
    for (const name of ['image', 'trial sandbox', 'policy']) {
      expect(names).not.toContain(name);
      expect(findings.find((finding) => finding.name === 'not checked')?.detail).toContain(name);
    }
    expect(stdout).toContain('MCP_BRIDGE_MEMROY is not a setting');
    expect(exitCode).toBe(1);
  });
});
