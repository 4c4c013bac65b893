// What the user's rules come to at the front door: what is denied is neither seen nor reached, whatever code tries; and
// one run's limits are its own.

import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hostileServer, startBridge, type TestBridge } from '../support/start-bridge.js';
import { until } from '../support/time.js';
import { REACH_SECONDS } from './reached.js';

const CHANGING_SERVER = fileURLToPath(new URL('../fixtures/changing-server.mjs', import.meta.url));

const TOO_LONG = new RegExp(
  `^E_LIMIT Limit secondsPerCall: at most ${REACH_SECONDS}, got [\\d.]+ s without an answer`,
);

let bridge: TestBridge;
let policy: string;
const RULES = `version: 1
deny: [secret, h.leak]
perServer:
  few: { limits: { callsPerRun: 2, secondsPerCall: ${REACH_SECONDS}, bytesPerCall: 1000 } }
  one: { limits: { callsInFlight: 1 } }
`;
beforeAll(async () => {
  policy = join(mkdtempSync(join(process.env['TEST_ROOT'] ?? tmpdir(), 'policy-')), 'policy.yaml');
  writeFileSync(policy, RULES, { mode: 0o600 });
  const names = ['h', 'few', 'one', 'secret'];
  bridge = await startBridge(Object.fromEntries(names.map((name) => [name, hostileServer(name)])), {
    env: { MCP_BRIDGE_POLICY: policy, MCP_BRIDGE_DENY: '*.crash, *.a-b, H.NAI\u0308VE, *.Echo_Raw\u200b' },
  });
});
afterAll(() => bridge[Symbol.asyncDispose]());

/** A call as code makes it that passes over everything that is in its way. */
const FORGE = `
from mcp._call import call_raw
async def forge(server, tool):
    try:
        return await call_raw(server, tool, {"text": "x", "code": 3})
    except runtime.MCPError as e:
        return [e.code, str(e)]
`;

describe('what is denied', () => {
  it('is not seen: neither servers nor tools', async () => {
    expect(bridge.client.getInstructions()).not.toContain('secret');
    const { stdout, result } = await bridge.run(
      `print(runtime.discovered_servers(), dir(mcp_h), await runtime.query_tool_docs("h"))
print(await runtime.search_tool_docs("crash leak secret", limit=100), LOADED_MCP_SERVERS)
"mcp_secret" in globals()`,
      { servers: ['h'] },
    );
    expect(stdout?.join('\n')).toContain('echo');
    expect(stdout?.join('\n')).not.toMatch(/secret|\bcrash\b|\bleak\b/);
    expect(result).toBe(false);
  });

  it('a denied server cannot be named, and the rule is told', async () => {
    expect(await bridge.run('1', { servers: ['secret'] })).toMatchObject({
      status: 'validation_error',
      errorType: 'E_DENIED',
      error: `servers: 'secret' is denied by deny 'secret' in ${policy}.`,
    });
  });

  it('a forged call reaches nothing', async () => {
    const { result } = await bridge.run(
      `${FORGE}
[await forge("h", "crash"), await forge("h", "a-b"), await forge("secret", "echo"), (await forge("h", "echo"))["content"][0]["text"]]`,
      { servers: ['h'] },
    );
    const end = 'Only the user can change that; go on without it.';
    expect(result).toEqual([
      ['E_DENIED', `Tool 'crash' of server 'h' is denied by MCP_BRIDGE_DENY '*.crash'. ${end}`],
      ['E_DENIED', `Tool 'a-b' of server 'h' is denied by MCP_BRIDGE_DENY '*.a-b'. ${end}`],
      ['E_DENIED', `Server 'secret' is denied by deny 'secret' in ${policy}. ${end}`],
      'x',
    ]);
  });

  it('a name that looks like a denied one reaches nothing either', async () => {
    const { result } = await bridge.run(
      `${FORGE}
[(await forge("h", tool))[0] for tool in ["na\u00efve", "echo_raw"]] + ["echo_raw" in dir(mcp_h)]`,
      { servers: ['h'] },
    );
    expect(result).toEqual(['E_DENIED', 'E_DENIED', false]);
  });

  it('a rule that comes while code runs holds for it, and a broken file changes nothing', async () => {
    const code = `${FORGE}
import asyncio
seen = []
while True:
    answer = await forge("h", "echo")
    runtime.progress(len(seen))
    seen.append(answer[0] if isinstance(answer, list) else "answered")
    if seen[-1] == "E_DENIED":
        break
    await asyncio.sleep(0.05)
[seen[0], seen[-1]]`;
    let isGoing = false;
    const onprogress = () => {
      isGoing = true;
    };
    const running = bridge.run(code, { servers: ['h'], timeout: 100, onprogress });
    await until(() => isGoing);
    writeFileSync(policy, RULES.replace('h.leak', 'h.echo'));
    expect((await running).result).toEqual(['answered', 'E_DENIED']);
    writeFileSync(policy, 'version: 1\ndeny: [');
    const after = await bridge.run(`${FORGE}\nawait forge("h", "echo")`, { servers: ['h'] });
    expect(after.result).toMatchObject(['E_DENIED', expect.stringContaining("deny 'h.echo'")]);
    expect(bridge.stderr()).toContain('the previous policy stays in force');
    expect(after).toMatchObject({
      note: expect.stringMatching(/MCP_BRIDGE_POLICY: .*the previous policy stays in force/),
    });
    writeFileSync(policy, RULES);
  });
});

describe('limits', () => {
  it('name themselves, and disturb nothing else', async () => {
    const { result } = await bridge.run(
      `import asyncio
async def ask(call):
    try:
        return await call
    except runtime.MCPError as e:
        return f"{e.code} {e}".split(". ")[0]
slow, other = await asyncio.gather(ask(mcp_few.hang()), ask(mcp_h.echo(text="fine")))
[slow, other, await ask(mcp_few.big(bytes=5000)), await ask(mcp_few.echo(text="third")), await ask(mcp_h.echo(text="on"))]`,
      { servers: ['few', 'h'] },
    );
    expect(result).toEqual([
      expect.stringMatching(TOO_LONG),
      'fine',
      expect.stringMatching(/^E_LIMIT Limit bytesPerCall: at most 1000, got 5\d\d\d bytes for the result/),
      "E_LIMIT Limit callsPerRun: at most 2, got 3 calls of server 'few' in one run",
      'on',
    ]);
  });

  it('calls in flight at one server wait for each other', async () => {
    const payload = await bridge.run(
      `import asyncio
await asyncio.gather(*[mcp_one.sleep(ms=20) for _ in range(10)], *[mcp_h.sleep(ms=500) for _ in range(10)])
[(await mcp_one.max_in_flight())["max"], (await mcp_h.max_in_flight())["max"] > 1]`,
      { servers: ['one', 'h'] },
    );
    expect(payload).toMatchObject({ result: [1, true] });
  });
});

describe('resources and prompts', () => {
  const LISTS = `version: 1
deny: [denied.resources/*]
limits: { callsPerRun: 6 }
perServer:
  few: { limits: { callsPerRun: 2 } }
  small: { limits: { bytesPerCall: 1000 } }
  hasty: { limits: { secondsPerCall: ${REACH_SECONDS} } }
`;
  const names = ['tool', 'all', 'read', 'denied', 'few', 'small', 'hasty'];
  let guarded: TestBridge;
  beforeAll(async () => {
    const file = join(mkdtempSync(join(process.env['TEST_ROOT'] ?? tmpdir(), 'policy-')), 'policy.yaml');
    writeFileSync(file, LISTS, { mode: 0o600 });
    guarded = await startBridge(
      Object.fromEntries(names.map((name) => [name, hostileServer('resources', name)])),
      {
        env: {
          MCP_BRIDGE_POLICY: file,
          MCP_BRIDGE_ALLOW: 'tool.echo, all.*, read.resources/read, denied, few, small, hasty',
        },
      },
    );
  });
  afterAll(() => guarded[Symbol.asyncDispose]());

  const TRY = `
async def ask(call):
    try:
        await call
        return "answered"
    except runtime.MCPError as e:
        return f"{e.code} {e}".split(". ")[0]
`;
  const read = (server: string, uri = 'hostile:text') =>
    `await ask(runtime.read_resource("${server}", "${uri}"))`;

  it('are not allowed by a pattern that names tools', async () => {
    const { result } = await guarded.run(
      `${TRY}
[${read('tool')}, await ask(runtime.list_resources("tool")), await ask(runtime.list_prompts("tool")),
 await ask(runtime.get_prompt("tool", "greet", who="you"))]`,
      { servers: ['tool'] },
    );
    const rule = 'is denied by MCP_BRIDGE_ALLOW, which does not name it';
    expect(result).toEqual([
      `E_DENIED 'resources/read' of server 'tool' ${rule}`,
      `E_DENIED 'resources/list' of server 'tool' ${rule}`,
      `E_DENIED 'prompts/list' of server 'tool' ${rule}`,
      `E_DENIED 'prompts/get' of server 'tool' ${rule}`,
    ]);
  });

  it('are allowed by a pattern for all of the server, or for them', async () => {
    const { result } = await guarded.run(
      `${TRY}
[${read('all')}, await ask(runtime.list_prompts("all")), ${read('read')}, await ask(runtime.list_prompts("read")),
 ${read('denied')}, await ask(runtime.list_prompts("denied"))]`,
      { servers: ['all', 'read', 'denied'] },
    );
    expect(result).toEqual([
      'answered',
      'answered',
      'answered',
      expect.stringMatching(/^E_DENIED 'prompts\/list' of server 'read' is denied by MCP_BRIDGE_ALLOW/),
      expect.stringMatching(
        /^E_DENIED 'resources\/read' of server 'denied' is denied by deny 'denied\.resources/,
      ),
      'answered',
    ]);
  });

  it('count against the limits of calls, bytes and seconds as calls of tools do', async () => {
    const { result } = await guarded.run(
      `${TRY}
[${read('few')}, await ask(mcp_few.echo(text="x")), ${read('few')},
 ${read('small', 'hostile:big')}, ${read('hasty', 'hostile:hang')},
 ${read('small')}, await ask(runtime.list_resources("small")), ${read('small')}]`,
      { servers: ['few', 'small', 'hasty'] },
    );
    expect(result).toEqual([
      'answered',
      'answered',
      "E_LIMIT Limit callsPerRun: at most 2, got 3 calls of server 'few' in one run",
      expect.stringMatching(
        /^E_LIMIT Limit bytesPerCall: at most 1000, got \d+ bytes for the result of 'resources/,
      ),
      expect.stringMatching(TOO_LONG),
      'answered',
      expect.stringMatching(/^(answered|E_LIMIT Limit bytesPerCall)/),
      'E_LIMIT Limit callsPerRun: at most 6, got 7 calls in one run',
    ]);
  });
});

it('a tool that its server describes otherwise in the middle of a run is refused from then on', async () => {
  const folder = mkdtempSync(join(process.env['TEST_ROOT'] ?? tmpdir(), 'changing-'));
  const tools = (description: string) => JSON.stringify([{ name: 'send', description, inputSchema: {} }]);
  writeFileSync(join(folder, 'tools.json'), tools('Sends.'));
  const strict = join(folder, 'policy.yaml');
  writeFileSync(strict, 'version: 1\nchangedTools: refuse\n', { mode: 0o600 });
  const changing = { command: process.execPath, args: [CHANGING_SERVER, folder] };
  await using guarded = await startBridge({ mail: changing }, { env: { MCP_BRIDGE_POLICY: strict } });
  const code = `
import asyncio
print(await mcp_mail.send())
await mcp_mail.change(to=${JSON.stringify(tools('Sends, and to me.'))})
while True:
    try:
        await mcp_mail.send()
    except runtime.MCPError as e:
        print(e.code, e)
        break
    await asyncio.sleep(0.1)
`;
  const { stdout } = await guarded.run(code, { servers: ['mail'] });
  expect(stdout?.[0]).toBe('called send');
  expect(stdout?.[1]).toMatch(/^E_DENIED .*denied by changedTools in .*description changed since/);
});
