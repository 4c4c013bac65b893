// An operator's snippets, as an agent finds them: listed, read and completed, and read anew each time.

import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startBridge, type TestBridge, tempHome } from '../support/start-bridge.js';

const LIST = 'resource://mcp-sandbox-bridge/snippets';
const TEMPLATE = `${LIST}/{name}`;

let folder: string;
let bridge: TestBridge;
beforeAll(async () => {
  folder = join(tempHome(), 'prompts');
  mkdirSync(folder);
  put('hello_world.py', '# Greets the world.\nprint("hi")\n');
  put('a b%c.go', 'package main\n');
  put('odd.sh', 'printf "\u001b[31m"\n');
  symlinkSync('/etc/hostname', join(folder, 'host.py'));
  for (let index = 0; index < 120; index++) put(`many${index}.js`, '');
  const env = {
    MCP_BRIDGE_TOOLS: 'run_python,execute_code',
    MCP_BRIDGE_SNIPPETS: folder,
    MCP_BRIDGE_WARM: '0',
  };
  bridge = await startBridge({}, { env });
});
afterAll(() => bridge[Symbol.asyncDispose]());

const put = (file: string, code: string) => writeFileSync(join(folder, file), code);
const read = async (uri: string) => (await bridge.client.readResource({ uri })).contents[0];
const complete = async (
  value: string,
  ref: object = { type: 'ref/resource', uri: TEMPLATE },
  name = 'name',
) => {
  const params = { ref: ref as { type: 'ref/resource'; uri: string }, argument: { name, value } };
  return (await bridge.client.complete(params)).completion;
};

describe('snippets', () => {
  it('are one resource and one template, and the capability is there', async () => {
    expect(bridge.client.getServerCapabilities()).toHaveProperty('completions');
    const { resources } = await bridge.client.listResources();
    expect(resources).toContainEqual(expect.objectContaining({ uri: LIST, mimeType: 'application/json' }));
    expect(resources).toHaveLength(2);
    const { resourceTemplates } = await bridge.client.listResourceTemplates();
    expect(resourceTemplates[0]).toMatchObject({ uriTemplate: TEMPLATE, name: 'snippet' });
  });

  it('are listed with what they say of themselves, and read by the address', async () => {
    const { snippets } = JSON.parse(String(Object(await read(LIST)).text)) as {
      snippets: Array<{ name: string; uri: string }>;
    };
    expect(snippets).toHaveLength(123);
    expect(snippets).toContainEqual({
      name: 'hello_world',
      language: 'python',
      description: 'Greets the world.',
      uri: `${LIST}/hello_world`,
    });
    const odd = snippets.find(({ name }) => name === 'a b%c');
    expect(await read(String(odd?.uri))).toMatchObject({ mimeType: 'text/plain', text: 'package main\n' });
    // What a terminal would obey is not given as text.
    expect(await read(`${LIST}/odd`)).toMatchObject({ blob: expect.any(String) });
  });

  it('are read anew when their files change', async () => {
    put('fresh.py', '1\n');
    expect(await read(`${LIST}/fresh`)).toMatchObject({ text: '1\n' });
    put('fresh.py', '2\n');
    expect(await read(`${LIST}/fresh`)).toMatchObject({ text: '2\n' });
  });

  it.each([
    ['helo_world', "Did you mean 'hello_world'?"],
    ['host', 'host.py is a link that leads out of the folder'],
    ['..%2F..%2Fetc%2Fpasswd', "There is no snippet '../../etc/passwd'."],
    ['%2Fetc%2Fpasswd', "There is no snippet '/etc/passwd'."],
    ['hello_world.py%00', 'There is no snippet'],
    ['%', 'There is no resource'],
  ])('%s is refused by an error that helps', async (name, words) => {
    await expect(read(`${LIST}/${name}`)).rejects.toMatchObject({
      code: -32602,
      message: expect.stringContaining(words),
    });
  });

  it('are completed by their beginning, a hundred at once', async () => {
    expect(await complete('HELLO')).toEqual({ values: ['hello_world'], total: 1, hasMore: false });
    expect(await complete('nothing')).toEqual({ values: [], total: 0, hasMore: false });
    const many = await complete('many');
    expect(many).toMatchObject({ total: 120, hasMore: true });
    expect(many.values).toHaveLength(100);
  });

  it('are all that is completed', async () => {
    const kept = { type: 'ref/resource', uri: 'resource://mcp-sandbox-bridge/kept/{handle}/{+name}' };
    expect(await complete('', kept)).toMatchObject({ values: [] });
    await expect(complete('', { type: 'ref/prompt', name: 'greet' })).rejects.toMatchObject({
      code: -32602,
      message: expect.stringContaining("There is no 'greet' to complete."),
    });
    await expect(complete('', { type: 'ref/resource', uri: 'x:y' })).rejects.toMatchObject({ code: -32602 });
    await expect(complete('', undefined, 'nme')).rejects.toMatchObject({
      message: expect.stringContaining("no argument 'nme'"),
    });
    await expect(complete('', { type: 'nonsense' })).rejects.toMatchObject({ code: -32602 });
  });
});

it('without the tool, or without a folder, there is nothing of them', async () => {
  for (const env of [{ MCP_BRIDGE_SNIPPETS: folder }, { MCP_BRIDGE_TOOLS: 'execute_code' }]) {
    await using other = await startBridge({}, { env: { ...env, MCP_BRIDGE_WARM: '0' } });
    expect(other.client.getServerCapabilities()).not.toHaveProperty('completions');
    expect((await other.client.listResources()).resources).toHaveLength(1);
    await expect(other.client.readResource({ uri: LIST })).rejects.toThrow('There is no resource');
  }
});
