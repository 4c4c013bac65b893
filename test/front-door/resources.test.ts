// Resources and prompts of the user's servers, as code in the sandbox reads them.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hostileServer, npmServer, startBridge, type TestBridge } from '../support/start-bridge.js';
import { REACH_SECONDS } from './reached.js';

let bridge: TestBridge;
beforeAll(async () => {
  bridge = await startBridge({
    everything: npmServer('@modelcontextprotocol/server-everything'),
    odd: hostileServer('resources'),
    endless: hostileServer('resources=endless'),
    bare: hostileServer(),
  });
});
afterAll(() => bridge[Symbol.asyncDispose]());

const run = (code: string, ...servers: string[]) => bridge.run(code, { servers });

describe('a reference server', () => {
  it('lists, and is read as text and as bytes', async () => {
    const code = `
listed = await runtime.list_resources("everything")
text = await runtime.read_resource("everything", "demo://resource/dynamic/text/1")
blob = await runtime.read_resource("everything", "demo://resource/dynamic/blob/1")
document = await runtime.read_resource("everything", listed[0])
[text.startswith("Resource 1: This is a plaintext"), isinstance(blob, bytes), blob.media_type, text.uri,
 [t.uriTemplate for t in listed.templates], len(document) > 100, listed[0].mimeType]
`;
    expect(await run(code, 'everything')).toMatchObject({
      status: 'success',
      result: [
        true,
        true,
        'text/plain',
        'demo://resource/dynamic/text/1',
        ['demo://resource/dynamic/text/{resourceId}', 'demo://resource/dynamic/blob/{resourceId}'],
        true,
        'text/markdown',
      ],
    });
  });

  it('gives its prompts to the code', async () => {
    const code = `
print(await runtime.list_prompts("everything"))
weather = await runtime.get_prompt("everything", "args-prompt", city="Rome", state="RM")
with_resource = await runtime.get_prompt("everything", "resource-prompt", {"resourceType": "Text", "resourceId": 1})
[weather, [message.role for message in with_resource], with_resource[1].content[:10]]
`;
    const payload = await run(code, 'everything');
    expect(payload).toMatchObject({
      status: 'success',
      result: ["What's weather in Rome, RM?", ['user', 'user'], 'Resource 1'],
    });
    expect(payload.stdout?.join('\n')).toContain('args-prompt(city, state=...)  # ');
  });

  it('leads from a tool to a resource', async () => {
    const code = `
links = await mcp_everything["get-resource-links"](count=2)
link = next(block for block in links if isinstance(block, dict))
read = await runtime.read_resource("everything", link)
embedded = await mcp_everything["get-resource-reference"](resourceType="Blob", resourceId=1)
blob = next(block for block in embedded if isinstance(block, bytes))
[link.type, read.uri == link.uri, blob.media_type, blob.uri]
`;
    expect(await run(code, 'everything')).toMatchObject({
      status: 'success',
      result: ['resource_link', true, 'text/plain', 'demo://resource/dynamic/blob/1'],
    });
  });
});

describe('an odd server', () => {
  it('gives 40 MB and is not a listing without an end', async () => {
    const code = `
big = await runtime.read_resource("odd", "hostile:big")
endless = await runtime.list_resources("endless")
print(repr(endless).splitlines()[-1])
[len(big), len(endless), len(await runtime.list_resources("odd"))]
`;
    expect(await run(code, 'odd', 'endless')).toMatchObject({
      status: 'success',
      result: [40 * 1024 * 1024, 1_000, 6],
      stdout: ['(resources/list does not end: stopped after 100 pages)'],
    });
  });

  it('fails with errors that name it, the address and the next step', async () => {
    const code = `
async def failing(call):
    try:
        return await call
    except runtime.MCPError as error:
        return [error.server, error.code, str(error)]
[await failing(runtime.read_resource("odd", "hostile:txt")), await failing(runtime.list_resources("bare")),
 await failing(runtime.get_prompt("odd", "greet")), await failing(runtime.read_resource("odd", "hostile:odd"))]
`;
    const { result } = await run(code, 'odd', 'bare');
    expect(result).toEqual([
      [
        'odd',
        'E_RESOURCE_FAILED',
        "Resource 'hostile:txt' of server 'odd': Resource not found, key none. Did you mean 'hostile:text'?",
      ],
      [
        'bare',
        'E_RESOURCE_FAILED',
        expect.stringMatching(/^Server 'bare' has no resources\. It has \d+ tools\.$/),
      ],
      [
        'odd',
        'E_PROMPT_FAILED',
        "Prompt 'greet' of server 'odd': who is missing. Its arguments: who, how (optional).",
      ],
      [
        'odd',
        'E_RESOURCE_FAILED',
        "Resource 'hostile:odd' of server 'odd' came in a form that MCP does not know.",
      ],
    ]);
  });

  it('that this run did not load is not reached, whatever the code sends', async () => {
    const code = `
from mcp._binding import current
try:
    await current().link.request("resources.read", {"server": "odd", "uri": "hostile:text"})
except runtime.MCPError as error:
    print(error.code)
try:
    await runtime.read_resource("odd", "hostile:text")
except runtime.MCPError as error:
    print(error)
`;
    expect((await run(code, 'bare')).stdout).toEqual([
      'E_SERVER_NOT_LOADED',
      'Server \'odd\' is not available. To load it, pass servers=["odd"] in the call.',
    ]);
  });

  it('that is silent is no longer waited for, and the end says what was waited for', async () => {
    const code = `
import asyncio
try:
    await asyncio.wait_for(runtime.read_resource("odd", "hostile:hang"), 0.2)
except asyncio.TimeoutError:
    print("given up")
await runtime.read_resource("odd", "hostile:hang")
`;
    const payload = await bridge.run(code, { servers: ['odd'], timeout: REACH_SECONDS + 1 });
    expect(payload).toMatchObject({ status: 'timeout', stdout: ['given up'] });
    expect(JSON.stringify(payload)).toContain('resources of odd');
  });
});
