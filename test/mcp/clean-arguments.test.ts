// What hosts write into the arguments of a call beside what their model chose, for all tools alike: a real client calls
// each through the server, and the bridge behind it says what has reached it.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { describe, expect, it, onTestFinished } from 'vitest';
import { RawJson } from '../../src/base/json/json-text.js';
import { serveAgent } from '../../src/mcp/connection/server.js';
import { cleanArguments } from '../../src/mcp/tools/arguments.js';
import type { ServerCall } from '../../src/run/life/direct-call.js';
import type { RunInput } from '../../src/run/life/run-request.js';
import type { CommandInput } from '../../src/run/life/sandboxed-command.js';
import { outcomeWithoutRun } from '../../src/run/outcome/outcome.js';
import { parseSettings } from '../../src/settings/environment/settings.js';
import type { Bridge } from '../../src/tenant/bridge.js';
import { newJobs } from './fake-bridge.js';

type Args = Readonly<Record<string, unknown>>;
type Reached = {
  readonly run: RunInput | CommandInput | undefined;
  readonly relayed: unknown;
  readonly text: string;
};

const HOST = { home: '/h', platform: 'linux', cores: 2, cwd: '/', uid: 1000, exists: () => false } as const;

/** Calls a tool as an agent does; `run` is what a sandbox would have been given, `relayed` what a server would have been sent. */
async function called(name: string, args: Args, env: Record<string, string> = {}): Promise<Reached> {
  const { settings } = parseSettings({ MCP_BRIDGE_TOOLS: 'run_python,execute_code,execute', ...env }, HOST);
  let run: RunInput | CommandInput | undefined;
  const failed = outcomeWithoutRun('error', { type: 'E', message: '', remedy: undefined }, 30);
  let relayed: unknown;
  const bridge = {
    settings,
    servers: { names: [], policy: () => ({ data: 'write' }) },
    snippets: { folder: undefined },
    serveFor: () => {},
    onLearned: () => {},
    run: (input: RunInput) => {
      run = input;
      return Promise.resolve(failed);
    },
    client: '',
    runCommand: (input: CommandInput) => {
      run = input;
      return Promise.resolve({ failed });
    },
    callServer: (call: ServerCall) => {
      relayed = call.args;
      return Promise.resolve(new RawJson('{"content":[]}'));
    },
  } as unknown as Bridge;
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  const server = await serveAgent(bridge, newJobs(), ours, () => {});
  const client = new Client({ name: 'agent', version: '1' });
  await client.connect(theirs);
  onTestFinished(async () => {
    await client.close();
    await server.close();
  });
  const { content } = (await client.callTool({ name, arguments: args })) as { content: { text: string }[] };
  return { run, relayed, text: content.map(({ text }) => text).join('\n') };
}

const CODE = { language: 'python', entrypoint_code: '1' };
const SERVED = { MCP_BRIDGE_EXECUTE_SERVER: 'sandbox' };

/** Each tool with the least that it can be called with, and all of its other arguments as null. */
const TOOLS: ReadonlyArray<readonly [name: string, least: Args, absent: Args]> = [
  ['run_python', { code: '1' }, { servers: null, files: null, timeout: null, wait: null, stop: null }],
  [
    'execute_code',
    CODE,
    {
      ...{ entrypoint_filename: null, additional_files: null, snippet_name: null, args: null, env: null },
      ...{ stdin: null, servers: null, timeout: null, wait: null, stop: null },
    },
  ],
  [
    'execute',
    { command: 'ls' },
    { args: null, stdin: null, timeout_ms: null, cwd: null, env: null, wait: null, stop: null },
  ],
];

describe.each(TOOLS)('%s', (name, least, absent) => {
  it('takes null for an argument that is left out', async () => {
    const { run } = await called(name, least);
    expect(run).toBeDefined();
    expect((await called(name, { ...least, ...absent })).run).toEqual(run);
    // One that it does not know says nothing either: the host may have an older definition.
    expect((await called(name, { ...least, gone: null })).run).toEqual(run);
  });

  it('takes what a host adds to every tool, whatever it is', async () => {
    const { run } = await called(name, least);
    for (const wait of [true, false, 'no', null])
      expect((await called(name, { ...least, wait_for_previous: wait })).run).toEqual(run);
  });

  it('refuses any other argument that it does not know', async () => {
    const { run, text } = await called(name, { ...least, hold: true });
    expect(run).toBeUndefined();
    expect(text).toContain('hold: there is no such argument.');
  });
});

describe('null', () => {
  it.each([
    ['run_python', { code: null }, 'code: got nothing, expected a non-empty string'],
    ['execute', { command: null }, 'command: got nothing, expected the name or path of a program.'],
    ['execute_code', { ...CODE, entrypoint_code: null }, 'entrypoint_code: got nothing beside language'],
    ['run_python', { code: '1', servers: [null] }, 'servers: got [null], expected a list of server names'],
    ['run_python', { code: '1', files: [null] }, 'files[0]: got null, expected an object'],
    ['execute_code', { ...CODE, env: { A: null } }, 'env: got {"A":null}, expected an object of texts'],
    ['execute', { command: 'ls', env: { A: null } }, 'env: got {"A":null}, expected an object of texts'],
    [
      'execute_code',
      { ...CODE, additional_files: [{ filename: 'a', content: null }] },
      'additional_files[0]: got {"filename":"a","content":null}, expected an object',
    ],
  ])('is no value of what %s must have: %j', async (name, args, complaint) => {
    const { run, text } = await called(name, args);
    expect(run).toBeUndefined();
    expect(text).toContain(complaint);
  });

  it('within a file is left out as well', async () => {
    const files = [{ name: 'a', text: 'x', base64: null }];
    const data = Buffer.from('x').toString('base64');
    expect((await called('run_python', { code: '1', files })).run).toMatchObject({
      files: [{ name: 'a', data }],
    });
    const additional_files = [{ filename: 'a', content: 'x', encoding: null }];
    expect((await called('execute_code', { ...CODE, additional_files })).run).toMatchObject({
      files: [{ name: 'a', data }],
    });
  });
});

describe('a command that is handed to a server', () => {
  it('goes without both, and with arguments that only the server knows', async () => {
    const args = { command: 'ls', cwd: null, wait_for_previous: true, whatever: 1 };
    expect((await called('execute', args, SERVED)).relayed).toEqual({ command: 'ls', whatever: 1 });
  });
});

describe('an argument of a tool’s own', () => {
  it('stays, whatever a host calls what it adds', () => {
    const schema = { type: 'object', properties: { wait_for_previous: { type: 'boolean' } } };
    expect(cleanArguments({ wait_for_previous: true }, schema)).toEqual({ wait_for_previous: true });
  });

  it('of a name that objects have themselves is one like any other', () => {
    const args = JSON.parse('{"__proto__":{"a":1},"constructor":null,"b":2}') as unknown;
    const schema = { type: 'object', properties: { b: {} }, required: ['b'] };
    expect(JSON.stringify(cleanArguments(args, schema))).toBe('{"__proto__":{"a":1},"b":2}');
  });

  it('no arguments at all are none', () => {
    expect(cleanArguments(undefined, { type: 'object', properties: {} })).toEqual({});
  });
});
