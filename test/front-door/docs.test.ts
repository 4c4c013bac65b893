// What code in the sandbox finds out about tools, what it may keep for later, and what earlier answers have taught.

import { readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hostileServer, npmServer, startBridge, type TestBridge, tempHome } from '../support/start-bridge.js';
import { makeUsed } from '../support/used-state.js';

const SERVERS = {
  h: hostileServer(),
  everything: npmServer('@modelcontextprotocol/server-everything'),
};

let bridge: TestBridge;
let stateDir: string;
const open = (env: Readonly<Record<string, string>> = {}) =>
  startBridge(SERVERS, { env: { MCP_BRIDGE_STATE_DIR: stateDir, ...env } });

beforeAll(async () => {
  stateDir = makeUsed(join(tempHome(), 'state'));
  bridge = await open();
});
afterAll(() => bridge[Symbol.asyncDispose]());

const run = (code: string) => bridge.run(code, { servers: ['h', 'everything'] });
const shown = async (code: string) => {
  const { content } = await bridge.call({ code, servers: ['h', 'everything'] });
  return (content[0] as { text: string }).text;
};

describe('signatures', () => {
  it('are what is shown of a summary, and little more is sent', async () => {
    const line = 'echo(*, text: str)  # Gives back the text it was given.';
    expect(await shown("await runtime.query_tool_docs('h', 'echo')")).toBe(`=> ${line}`);
    const payload = await run("runtime.query_tool_docs_sync('h', 'echo')");
    expect(payload.result).toEqual([
      {
        server: 'h',
        tool: 'echo',
        signature: 'echo(*, text: str)',
        description: 'Gives back the text it was given.',
      },
    ]);
  });

  it('take less than a quarter of the characters of the schemas', async () => {
    const code = `
docs = runtime.query_tool_docs_sync('everything')
import json
full = runtime.list_loaded_server_metadata()[1]
[len(repr(docs)), len(json.dumps(full))]`;
    const [lines, schemas] = (await run(code)).result as [number, number];
    expect(lines * 4).toBeLessThan(schemas);
  });

  it('of a search can be pasted', async () => {
    expect(await shown("await runtime.search_tool_docs('annotated message', limit=1)")).toMatch(
      /^=> mcp_everything\.get_annotated_message\(\*, messageType: Literal\['error', /,
    );
  });

  it('are what help() and inspect say, and stubs are Python', async () => {
    const code = `
import ast, inspect
help(mcp_h.echo)
help(mcp_h)
ast.parse(runtime.stubs('everything')); ast.parse(runtime.stubs('h'))
str(inspect.signature(mcp_h.echo))`;
    const payload = await run(code);
    expect(payload).toMatchObject({ status: 'success', result: '(*, text: str)' });
    expect(payload.stdout?.join('\n')).toContain('echo(*, text: str)\n    Gives back the text it was given.');
    expect(payload.stdout?.join('\n')).toContain("<MCP server 'h', ");
  });

  it('are in the error of a call that cannot be right, which reaches nobody', async () => {
    for (const [call, words] of [
      ['mcp_h.echo(txt="x")', "echo() has no argument 'txt'. Did you mean 'text'?"],
      ['mcp_h.echo()', "echo() is missing 'text'."],
      ['mcp_h.echo("x")', 'echo() takes keyword arguments only, for example text=….'],
      ['mcp_h.echo(text=5)', 'echo(): text is 5, an int; it must be a str.'],
      [
        'mcp_everything.get_structured_content(location="Chicgo")',
        "location is 'Chicgo'. Did you mean 'Chicago'?",
      ],
    ]) {
      const payload = await run(`await ${call}`);
      expect(payload).toMatchObject({ errorType: 'TypeError', error: expect.stringContaining(words ?? '') });
      expect(payload.error).toMatch(/ Signature: \w+\(\*, /);
      expect(payload).not.toHaveProperty('toolCalls');
    }
  });
});

describe('shapes of answers', () => {
  it('are learned where the server does not say, marked, and known to the next bridge', async () => {
    const docs =
      "[d.signature for t in ('json_text', 'echo', 'pid', 'structured') for d in runtime.query_tool_docs_sync('h', t)]";
    await run('await mcp_h.json_text(), await mcp_h.echo(text="hidden value"), await mcp_h.structured()');
    const learned = [
      'json_text() -> observed {id: int, tags: list[str]}',
      'echo(*, text: str) -> observed str',
      'pid()',
      'structured() -> {id?: int}',
    ];
    expect((await run(docs)).result).toEqual(learned);
    await bridge[Symbol.asyncDispose]();
    const folder = join(stateDir, 'cache/shapes');
    const files = readdirSync(folder);
    expect(files).toHaveLength(1);
    expect(statSync(join(folder, files[0] ?? '')).mode & 0o777).toBe(0o600);
    bridge = await open();
    expect((await run(docs)).result).toEqual(learned);
    await bridge[Symbol.asyncDispose]();
    writeFileSync(join(folder, files[0] ?? ''), '{"damaged":');
    bridge = await open();
    expect((await run(docs)).result).toEqual([
      'json_text()',
      'echo(*, text: str)',
      'pid()',
      'structured() -> {id?: int}',
    ]);
  });
});

it('of a server that was never started, search and documentation say so, and how it is learned', async () => {
  await using own = await startBridge({ class: hostileServer('class'), later: hostileServer('later') }, {});
  const { result, ...rest } = await own.run(
    `[str(await runtime.search_tool_docs("echo")), repr(runtime.describe_server("later")), (await mcp_class.echo(text="x"))]`,
    { servers: ['class'] },
  );
  expect(rest).toMatchObject({ status: 'success' });
  const [search, described, answer] = result as string[];
  for (const text of [search, described]) expect(text).toContain('`mcp-sandbox-bridge servers refresh`');
  expect(search).toContain('Not searched, because their tools are unknown until they have started: later');
  expect(described).toContain('never been started');
  expect(answer).toBe('x');
});

describe('saved tools', () => {
  it('are kept as text and imported by later runs, with servers and each other', async () => {
    const save = `
import json
async def say(text):
    """Says it, as JSON."""
    return json.dumps(await mcp_h.echo(text=text))
print(save_tool(say))
print(save_tool(say))`;
    const payload = await run(save);
    expect(payload.stdout).toEqual([
      'Saved. In a later run: from user_tools import say',
      'Saved, in place of an earlier one. In a later run: from user_tools import say',
    ]);
    expect(readdirSync(join(stateDir, 'user-tools'))).toEqual(['say.py']);
    const twice = `
from user_tools import say
async def twice(text):
    return [await say(text), await say(text=text)]
save_tool(twice)`;
    expect(await run(twice)).toMatchObject({ status: 'success' });
    expect((await run('from user_tools import twice\nawait twice("a")')).result).toEqual(['"a"', '"a"']);
    expect(await shown('runtime.saved_tools()')).toBe(
      '=>\nasync say(text)  # Says it, as JSON.\nasync twice(text)',
    );
  });

  it('are replaced by another run only where it asks for that, and the answer says so', async () => {
    const save = (value: number, more: string) => `def mine():\n    return ${value}\nsave_tool(mine${more})`;
    expect(await run(save(1, ''))).toMatchObject({ status: 'success' });
    const refused = await run(save(2, ''));
    expect(refused).toMatchObject({ status: 'error', errorType: 'MCPError' });
    expect(refused.error).toMatch(/There is a saved tool 'mine' already, by run \S+, first at 20\d\d-/);
    expect(refused.error).toContain('save_tool(mine, replace=True)');
    expect((await run('from user_tools import mine\nmine()')).result).toBe(1);
    const quiet = `${save(2, ', replace=True')}\nNone`;
    expect(await run(quiet)).toMatchObject({
      status: 'success',
      note: 'This run has replaced saved tools of earlier runs: mine.',
    });
    expect((await run('from user_tools import mine\nmine()')).result).toBe(2);
  });

  it('of one run are a few', async () => {
    const code = `
from mcp._binding import current
saved = []
for n in range(9):
    name = f"many{n}"
    try:
        current().link.request_sync("saved.put", {"name": name, "source": "", "signature": "", "description": "", "replace": True})
        saved.append(n)
    except runtime.MCPError as error:
        saved.append(str(error))
saved[7:]`;
    const { result } = await run(code);
    expect(result).toEqual([7, expect.stringContaining('has saved 8 functions, the most that one run may')]);
    rmSync(join(stateDir, 'user-tools'), { recursive: true });
  });

  it('are on no path of the sandbox, and there only for who asks', async () => {
    const code = `
import os, sys
[('user_tools' in sys.modules), [p for p, _, names in os.walk('/') if 'say.py' in names or 'user-tools' in p]]`;
    expect((await run(code)).result).toEqual([false, []]);
  });

  it('can be switched off', async () => {
    const off = await open({ MCP_BRIDGE_SAVE_TOOLS: 'off' });
    const payload = await off.run('def f(): pass\nsave_tool(f)');
    expect(payload.error).toContain('MCP_BRIDGE_SAVE_TOOLS=off');
    await off[Symbol.asyncDispose]();
  });
});

it('says what it can in less than 1,500 characters', async () => {
  const { result } = await run('runtime.capability_summary()');
  expect(String(result).length).toBeLessThan(1_500);
  for (const word of ['stubs(', 'help(', 'save_tool(']) expect(result).toContain(word);
});
