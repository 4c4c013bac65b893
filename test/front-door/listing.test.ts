// What an agent sees before it calls anything: small, constant, and without a single process started.

import { join } from 'node:path';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { EmptyResultSchema, ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { descendants } from '../support/nothing-left.js';
import { hostileServer, npmServer, startBridge, type TestBridge, tempHome } from '../support/start-bridge.js';
import { eventually } from '../support/time.js';

let bridge: TestBridge;

beforeAll(async () => {
  const many = Object.fromEntries(
    Array.from({ length: 50 }, (_, n) => [`server-${n}`, hostileServer(`copy=${n}`)]),
  );
  bridge = await startBridge({ ...many, everything: npmServer('@modelcontextprotocol/server-everything') });
});
afterAll(() => bridge[Symbol.asyncDispose]());

describe('before the first call', () => {
  it('lists one tool in at most 1,900 characters, naming no downstream', async () => {
    const listed = await bridge.client.listTools();
    const text = JSON.stringify(listed);
    expect(listed.tools.map(({ name }) => name)).toEqual(['run_python']);
    expect(text.length).toBeLessThanOrEqual(1_900);
    expect(text).not.toContain('everything');
  });

  it('starts no process for initialize and tools/list', async () => {
    await bridge.client.listTools();
    expect(descendants(bridge.pid)).toEqual([]);
  });

  it('says in at most 1,200 characters what it is and which servers there are, cut with a count', () => {
    const instructions = bridge.client.getInstructions() ?? '';
    expect(instructions.length).toBeLessThanOrEqual(1_200);
    expect(instructions).toContain('server-0');
    expect(instructions).toMatch(/and \d+ more/);
  });

  it('says which Python it is and what it holds, once a sandbox has greeted, and tells that the list has changed', async () => {
    let changes = 0;
    const state = { MCP_BRIDGE_STATE_DIR: join(tempHome(), 'state') };
    const prepare = (client: Client) =>
      client.setNotificationHandler(ToolListChangedNotificationSchema, () => void ++changes);
    await using fresh = await startBridge({}, { env: state, prepare });
    expect(fresh.client.getServerCapabilities()?.tools).toEqual({ listChanged: true });
    const described = async (each: TestBridge) => (await each.client.listTools()).tools[0]?.description;
    expect(await described(fresh)).toContain('Run Python 3.13 or later, standard library, in a fresh');
    expect(changes).toBe(0);
    const { result } = await fresh.run('import sys; "%d.%d" % sys.version_info[:2]');
    expect(await eventually(() => changes === 1)).toBe(true);
    const known = `Run Python ${result}, standard library, in a fresh`;
    expect(await described(fresh)).toContain(known);
    await using next = await startBridge({}, { env: state, prepare });
    expect(await described(next)).toContain(known);
    await next.run('1');
    expect(changes).toBe(1);
  });

  it('offers the capabilities as a Markdown resource', async () => {
    const { resources } = await bridge.client.listResources();
    expect(resources.map(({ uri }) => uri)).toEqual(['resource://mcp-sandbox-bridge/capabilities']);
    const { contents } = await bridge.client.readResource({
      uri: 'resource://mcp-sandbox-bridge/capabilities',
    });
    expect(contents[0]).toMatchObject({
      mimeType: 'text/markdown',
      text: expect.stringContaining('search_tool_docs'),
    });
  });

  it('answers an unknown method with -32601 and lives on', async () => {
    const unknown = bridge.client.request({ method: 'no/such' }, EmptyResultSchema);
    await expect(unknown).rejects.toMatchObject({ code: -32_601 });
    await expect(bridge.client.ping()).resolves.toEqual({});
  });
});

describe('bad arguments', () => {
  const cases: ReadonlyArray<readonly [string, Record<string, unknown>, RegExp]> = [
    ['no code', {}, /code: got nothing/],
    ['empty code', { code: '  \n' }, /code: got " {2}\\n", expected a non-empty string/],
    ['code of a wrong type', { code: 7 }, /code: got 7/],
    [
      'servers of a wrong type',
      { code: '1', servers: 'everything' },
      /servers: got "everything", expected a list/,
    ],
    [
      'timeout too long',
      { code: '1', timeout: 999 },
      /timeout: got 999, expected a whole number of seconds from 1 to 120/,
    ],
    ['timeout of zero', { code: '1', timeout: 0 }, /timeout: got 0/],
    [
      'an unknown argument',
      { code: '1', server: ['x'] },
      /server: there is no such argument. Did you mean 'servers'\?/,
    ],
    [
      'an unknown server',
      { code: '1', servers: ['everthing'] },
      /no server 'everthing'. Did you mean 'everything'\?/,
    ],
  ];
  it.each(cases)('%s: a validation_error that names the field', async (_name, args, message) => {
    const result = await bridge.call(args);
    expect(result.isError).toBe(true);
    expect(result.structuredContent).toMatchObject({
      status: 'validation_error',
      error: expect.stringMatching(message),
    });
  });
});
