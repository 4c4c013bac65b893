// Calls of one session through a real client: what one has made is there for the next, and nothing else is.

import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RawAgent } from '../support/raw-agent.js';
import { bridgeEnv, hostileServer, startBridge, type TestBridge, tempHome } from '../support/start-bridge.js';
import { coldSandboxes, pause } from '../support/time.js';
import { REACH_SECONDS } from './reached.js';

const SERVERS = { h: hostileServer(), extra: hostileServer('extra') };

const textOf = ({ content }: CallToolResult): string =>
  content.map((block) => (block.type === 'text' ? block.text : '')).join('\n');
const firstLine = (result: CallToolResult): string => textOf(result).split('\n')[0] ?? '';
/** All but the line that names the session. */
const rest = (result: CallToolResult): string => textOf(result).split('\n').slice(1).join('\n');
const handleIn = (result: CallToolResult): string =>
  /\((s-[a-z0-9]{16})\)/.exec(firstLine(result))?.[1] ?? '';

/** Code of a class that draws itself. */
const PICTURE = `
import struct, zlib
def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
class Dot:
    def _repr_png_(self):
        head = chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
        return b"\\x89PNG\\r\\n\\x1a\\n" + head + chunk(b"IDAT", zlib.compress(bytes(2))) + chunk(b"IEND", b"")
`;

/** How long nothing is called, so that a session that is to stand still does so in the last third of it. */
const BETWEEN_MS = Math.max(3_000, coldSandboxes(15));
const AT_ITS_END = 'end = time.monotonic()';
const [FROM, TO] = [(BETWEEN_MS * 2) / 3_000, BETWEEN_MS / 1_000];
const TICKS_BETWEEN = `sum(end + ${FROM} < at < end + ${TO} for at in ticks)`;

describe('a session', () => {
  let bridge: TestBridge;
  beforeAll(async () => {
    bridge = await startBridge(SERVERS, { env: { MCP_BRIDGE_SESSIONS: '40' } });
  });
  afterAll(() => bridge[Symbol.asyncDispose]());

  it('keeps variables, imports, files and the last value, and says which call it is', async () => {
    const session = 'data';
    const first = await bridge.call({
      session,
      code: 'import json\nx = [1]\nopen("a.txt", "w").write("kept")',
    });
    const handle = handleIn(first);
    expect(textOf(first)).toBe(`[session data (${handle}): new]\n=> 4`);
    expect(textOf(await bridge.call({ session, code: 'x.append(_)\njson.dumps(x)' }))).toBe(
      `[session data (${handle}): call 2]\n=> '[1, 4]'`,
    );
    const byHandle = await bridge.call({ session: handle, code: 'open("a.txt").read()' });
    expect(textOf(byHandle)).toBe(`[session data (${handle}): call 3]\n=> 'kept'`);
    expect(byHandle.structuredContent).toMatchObject({ session: `data (${handle}): call 3`, result: 'kept' });
  });

  it('is touched by no call without its name, and by none with another', async () => {
    await bridge.call({ session: 'own', code: 'secret = 1\nopen("s.txt", "w").write("s")' });
    const look = '["secret" in globals(), __import__("os").path.exists("s.txt")]';
    expect(textOf(await bridge.call({ code: look }))).toBe('=> [False, False]');
    expect(rest(await bridge.call({ session: 'other', code: look }))).toBe('=> [False, False]');
  });

  it.each([
    ['no stdout', 'import sys\nsys.stdout = sys.stderr = None', 'on\n=> 1'],
    [
      'a stdout that cannot be flushed',
      'import sys\nclass Tee:\n    def write(self, text): sys.__stdout__.write(text)\nsys.stdout = Tee()',
      'on\n=> 1',
    ],
    [
      'another json.loads',
      'import json, signal\njson.loads = json.dumps = signal.signal = lambda *_: None',
      'on\n=> 1',
    ],
  ])('goes on after code has left it with %s', async (name, code, said) => {
    const session = name.replaceAll(' ', '-');
    expect((await bridge.call({ session, code: `x = 1\n${code}` })).isError).not.toBe(true);
    expect(rest(await bridge.call({ session, code: 'print("on")\nx' }))).toBe(said);
  });

  it('has files and out/ in /workspace, wherever its code has gone', async () => {
    const session = 'elsewhere';
    await bridge.call({ session, code: 'import os; os.chdir("/tmp")' });
    const files = [{ name: 'd.txt', text: 'data' }];
    const code = 'open("/workspace/out/d.txt", "w").write(open("/workspace/d.txt").read())\nos.getcwd()';
    const said = rest(await bridge.call({ session, code, files }));
    expect(said).toBe("=> '/tmp'\n--- out/d.txt (4 bytes) ---\ndata");
  });

  it('is as it was after whatever a call raises', async () => {
    const session = 'failures';
    await bridge.call({ session, code: 'x = 1' });
    for (const [code, said] of [
      ['x = 2\n1 / 0', 'ZeroDivisionError'],
      ['x += 1\nimport sys; sys.exit(3)', 'ended with exit status 3'],
      ['x = = 1', 'SyntaxError'],
      ['raise KeyboardInterrupt', 'KeyboardInterrupt'],
    ] as const) {
      const failed = await bridge.call({ session, code });
      expect(failed.isError).toBe(true);
      expect(textOf(failed)).toContain(said);
      expect(firstLine(failed)).not.toContain('ended');
    }
    expect(rest(await bridge.call({ session, code: 'x' }))).toBe('=> 3');
  });

  it('is interrupted by its time-out, which says where it was, and goes on', async () => {
    const session = 'slow';
    await bridge.call({ session, code: 'x = 1' });
    const late = await bridge.call({
      session,
      code: 'import time\nx = 2\ntime.sleep(60)',
      timeout: REACH_SECONDS,
    });
    expect(firstLine(late)).toMatch(/: call 2; interrupted; its state is kept\]$/);
    expect(rest(late)).toContain(
      `[timeout] Timed out after ${REACH_SECONDS} s. It was at main-2.py:3: time.sleep(60)`,
    );
    expect(rest(await bridge.call({ session, code: 'x' }))).toBe('=> 2');
  });

  it('is interrupted by a cancellation, and goes on', async () => {
    const session = 'cancelled';
    await bridge.call({ session, code: 'x = 1' });
    const ending = new AbortController();
    const progress: string[] = [];
    const cancelled = bridge
      .call(
        { session, code: 'import time\nx = 2\nruntime.progress(1)\ntime.sleep(60)', timeout: 90 },
        {
          signal: ending.signal,
          onprogress: ({ message = '' }) => {
            progress.push(message);
            ending.abort('enough');
          },
        },
      )
      .catch(() => 'cancelled');
    expect(await cancelled).toBe('cancelled');
    expect(rest(await bridge.call({ session, code: 'x' }))).toBe('=> 2');
  });

  it('serves one call at a time, and says that one has waited', async () => {
    const session = 'turns';
    const first = await bridge.call({ session, code: 'log = []' });
    const slow = bridge.call({
      session,
      code: 'import time\nlog.append("a")\ntime.sleep(2)\nlog.append("b")',
    });
    const [, next] = await Promise.all([slow, bridge.call({ session: handleIn(first), code: 'log' })]);
    expect(rest(next)).toBe("=> ['a', 'b']");
    expect(firstLine(next)).toMatch(/: call 3; waited \d+ s for the call before it\]$/);
  });

  it('has its background task go on in later calls, and stand still in between', async () => {
    const session = 'still';
    const begin = `import asyncio, time
ticks = []
async def tick():
    while True:
        ticks.append(time.monotonic())
        await asyncio.sleep(0.01)
task = asyncio.create_task(tick())
await asyncio.sleep(0.05)
${AT_ITS_END}`;
    await bridge.call({ session, code: begin });
    await pause(BETWEEN_MS);
    expect(rest(await bridge.call({ session, code: TICKS_BETWEEN }))).toBe('=> 0');
    const grown = 'before = len(ticks); await asyncio.sleep(0.2); len(ticks) > before';
    expect(rest(await bridge.call({ session, code: grown }))).toBe('=> True');
  });

  it('goes on between calls where its code asks for it', async () => {
    const session = 'on';
    const begin = `import threading, time
ticks = []
def tick():
    while True:
        ticks.append(time.monotonic())
        time.sleep(0.01)
threading.Thread(target=tick, daemon=True).start()
runtime.keep_running()
${AT_ITS_END}`;
    // It goes on for the time of that call, which the pause may be longer than by default.
    await bridge.call({ session, code: begin, timeout: 120 });
    await pause(BETWEEN_MS);
    expect(rest(await bridge.call({ session, code: TICKS_BETWEEN }))).not.toBe('=> 0');
  });

  it('tells code its name, age and limits', async () => {
    const told = await bridge.call({ session: 'facts', code: 'dict(runtime.session)' });
    expect(told.structuredContent).toMatchObject({
      result: { name: 'facts', handle: handleIn(told), call: 1, idleSeconds: 900, lifeSeconds: 14_400 },
    });
    expect(textOf(await bridge.call({ code: 'runtime.session is None' }))).toBe('=> True');
  });

  it('gives back the files that a call has left or changed, and takes files with each call', async () => {
    const session = 'files';
    const code = 'open("out/a.txt", "w").write(open("in.txt").read())';
    const one = await bridge.call({ session, code, files: [{ name: 'in.txt', text: 'one' }] });
    expect(textOf(one)).toContain('--- out/a.txt (3 bytes) ---\none');
    expect(textOf(await bridge.call({ session, code: '1' }))).not.toContain('a.txt');
    const two = await bridge.call({ session, code, files: [{ name: 'in.txt', text: 'two!' }] });
    expect(textOf(two)).toContain('--- out/a.txt (4 bytes) ---\ntwo!');
  });

  it('shows as many pictures in each call as in a run of its own', async () => {
    const session = 'pictures';
    await bridge.call({ session, code: PICTURE });
    for (const times of [8, 1]) {
      const { content } = await bridge.call({
        session,
        code: `for _ in range(${times}): runtime.display(Dot())`,
      });
      expect(content.filter(({ type }) => type === 'image')).toHaveLength(times);
      expect(rest({ content }).match(/^\[picture 1: /gm)).toHaveLength(1);
    }
  });

  it('refuses what no session can be, and one that is required and not there', async () => {
    const said = async (args: Record<string, unknown>) => textOf(await bridge.call({ code: '1', ...args }));
    expect(await said({ session: '../x' })).toContain('session: got "../x", expected a name of letters');
    expect(await said({ session: 7 })).toContain('session: got 7, expected a name');
    expect(await said({ require_session: true })).toContain('got true without session');
    expect(await said({ session: 'nowhere', require_session: true })).toContain(
      "session: there is no session 'nowhere': none was made in this connection.",
    );
    expect(await said({ session: 's-aaaaaaaaaaaaaaaa' })).toContain(
      "session: there is no session 's-aaaaaaaaaaaaaaaa' of yours",
    );
  });

  it('has the servers of its calls, and none that nobody has allowed its earlier code', async () => {
    const session = 'servers';
    const begin = await bridge.call({ session, servers: ['h'], code: 'await mcp_h.echo(text="a")' });
    expect(rest(begin)).toContain('a');
    expect(rest(await bridge.call({ session, code: 'await mcp_h.echo(text="b")' }))).toContain('b');
    const more = await bridge.call({ session, servers: ['extra'], code: 'await mcp_extra.echo(text="c")' });
    expect(more.isError).toBe(true);
    expect(rest(more)).toContain(
      "servers: 'extra' is not added to the session 'servers', whose earlier code would get it too: the user has to be asked first, and this client cannot ask.",
    );
    expect(rest(await bridge.call({ session, code: 'list(LOADED_MCP_SERVERS)' }))).toBe("=> ['h']");
  });

  it('refuses what goes on of a call while none is under way, and answers it in the next', async () => {
    const session = 'late';
    const code = `import asyncio
said = []
async def ask(wait):
    await asyncio.sleep(wait)
    try:
        said.append(await mcp_h.echo(text="x"))
    except runtime.MCPError as e:
        said.append(e.code)
runtime.keep_running()
tasks = [asyncio.create_task(ask(w)) for w in (${REACH_SECONDS}, ${3 * REACH_SECONDS})]
await asyncio.sleep(0)`;
    await bridge.call({ session, servers: ['h'], code });
    // The first one is refused meanwhile.
    await pause(2_000 * REACH_SECONDS);
    const after = await bridge.call({
      session,
      code: 'await asyncio.gather(*tasks)\n[said[0], len(said)]',
      timeout: 100,
    });
    expect(rest(after)).toBe("=> ['E_NO_CALL', 2]");
  });
});

it('adds a server where the person says so', async () => {
  const questions: string[] = [];
  await using bridge = await startBridge(SERVERS, {
    capabilities: { elicitation: {} },
    prepare: (client) =>
      client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
        questions.push(params.message);
        return { action: 'accept', content: {} };
      }),
  });
  const session = 'asked';
  await bridge.call({ session, servers: ['h'], code: '1' });
  const more = await bridge.call({
    session,
    servers: ['extra'],
    code: 'await mcp_extra.echo(text="c"); sorted(LOADED_MCP_SERVERS)',
  });
  expect(rest(more)).toBe("=> ['extra', 'h']");
  expect(questions).toEqual([
    expect.stringContaining("A call in the session 'asked' wants to use the MCP server 'extra'"),
  ]);
});

it('has a call of it outlive its host’s patience; the next one waits, and a stopped one leaves what it has made', async () => {
  await using bridge = await startBridge({}, { env: { MCP_BRIDGE_PATIENCE: '2' } });
  const session = 'long';
  const runOf = (result: CallToolResult) => /^\[running (r-[a-z0-9]+)\]/m.exec(textOf(result))?.[1];
  const ended = async (part: CallToolResult): Promise<CallToolResult> => {
    const run = runOf(part);
    return run === undefined ? part : await ended(await bridge.call({ wait: run }));
  };
  await ended(await bridge.call({ session, code: 'x = 1' }));
  const part = await bridge.call({ session, code: 'import time\nx = 2\ntime.sleep(60)', timeout: 100 });
  const run = runOf(part);
  const waiting = await bridge.call({ session, code: 'x' });
  const [, second = ''] =
    /^\[running (r-[a-z0-9]+)\] Waits for call 2 of session 'long'/m.exec(textOf(waiting)) ?? [];
  expect(second).not.toBe('');
  await bridge.call({ stop: run });
  expect(rest(await ended(await bridge.call({ wait: second })))).toBe('=> 2');
});

it('is named within all of a principal’s calls where there is no connection', async () => {
  const home = tempHome();
  await using agent = new RawAgent(bridgeEnv(home), home);
  const call = async (code: string, session: string) => {
    const { result } = await agent.request('tools/call', {
      name: 'run_python',
      arguments: { code, session },
    }).answer;
    return (result as unknown as CallToolResult | undefined) ?? { content: [] };
  };
  const first = await call('x = 5', 'data');
  expect(rest(await call('x', 'data'))).toBe('=> 5');
  expect(rest(await call('x', handleIn(first)))).toBe('=> 5');
});

it('dies with its bridge, and the next bridge says so', async () => {
  const home = tempHome();
  const env = { MCP_BRIDGE_STATE_DIR: `${home}/state` };
  const one = await startBridge({}, { env });
  await one.call({ session: 'data', code: 'x = 1' });
  process.kill(one.pid, 'SIGKILL');
  // Its client has lost it, and says so or not.
  await Promise.allSettled([one[Symbol.asyncDispose]()]);
  await using two = await startBridge({}, { env });
  const again = await two.call({ session: 'data', code: '"x" in globals()' });
  expect(firstLine(again)).toMatch(
    /: new and empty; the one before has ended: the bridge that ran it is gone; its last call was at .* UTC\]$/,
  );
  expect(rest(again)).toBe('=> False');
  expect(firstLine(await two.call({ session: 'data', code: '1' }))).toMatch(/: call 2\]$/);
});
