// Servers that are slow, broken, oddly named or exact: what the code sees of them, and that nobody else suffers.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hostileServer, startBridge, type TestBridge } from '../support/start-bridge.js';

let bridge: TestBridge;
beforeAll(async () => {
  bridge = await startBridge({ h: hostileServer(), dead: { command: '/nonexistent/server' } });
});
afterAll(() => bridge[Symbol.asyncDispose]());

const run = (code: string, options = {}) => bridge.run(code, { servers: ['h'], ...options });

describe('concurrency', () => {
  it('has 100 calls in flight at once: they take far less than one after the other', async () => {
    const code = `
import asyncio, time
await mcp_h.sleep(ms=1)
start = time.monotonic()
await asyncio.gather(*[mcp_h.sleep(ms=1000) for _ in range(100)])
round(time.monotonic() - start, 2)
`;
    const payload = await run(code, { timeout: 120 });
    expect(payload.status).toBe('success');
    // The sum would be 100 s.
    expect(payload.result).toBeLessThan(50);
  });

  it('does not let a slow call delay another, nor output', async () => {
    const code = `
import asyncio
slow = asyncio.create_task(mcp_h.hang())
done = []
for n in range(20):
    done.append(await mcp_h.echo(text=str(n)))
print(len(done), slow.done())
slow.cancel()
`;
    expect(await run(code)).toMatchObject({ status: 'success', stdout: ['20 False'] });
  });

  it('ends the run when the code has ended, whatever still hangs', async () => {
    const payload = await run(
      'import asyncio\nt = asyncio.create_task(mcp_h.hang())\nawait asyncio.sleep(0.05)\n"over"',
      { timeout: 30 },
    );
    expect(payload).toMatchObject({ status: 'success', result: 'over' });
  });

  it('works from threads and from asyncio.run at the same time', async () => {
    const code = `
import asyncio, concurrent.futures
def in_thread(n):
    return asyncio.run(mcp_h.echo(text=f"t{n}"))
with concurrent.futures.ThreadPoolExecutor(4) as pool:
    print(len(list(pool.map(in_thread, range(8)))))
`;
    expect(await run(code)).toMatchObject({ status: 'success', stdout: ['8'] });
  });
});

describe('exactness', () => {
  it('relays integers above 2^53, floats and nested keys as they are, both ways', async () => {
    const code = `
sent = {"n": 12345678901234567890, "m": -9007199254740993, "f": 1.0, "e": 1e300, "s": "é\\u2028", "__proto__": {"x": 1}}
got = await mcp_h.echo_raw(**sent)
[got == sent, type(got["f"]).__name__, str(got["n"])]
`;
    expect(await run(code)).toMatchObject({
      status: 'success',
      result: [true, 'float', '12345678901234567890'],
    });
  });

  it('relays a result of 2 MB', async () => {
    expect(await run('len(str(await mcp_h.big(bytes=2_000_000)))')).toMatchObject({
      status: 'success',
      result: expect.any(Number),
    });
    expect((await run('len(str(await mcp_h.big(bytes=2_000_000))) >= 2_000_000')).result).toBe(true);
  });

  it('refuses a lone surrogate in an argument by name, and survives it', async () => {
    const code = `
try: await mcp_h.echo(text="a\\ud800b")
except ValueError as error: print(error)
await mcp_h.echo(text="after it")`;
    expect(await run(code)).toMatchObject({
      status: 'success',
      result: 'after it',
      stdout: [
        expect.stringMatching(/argument 'text' cannot be sent as JSON: it holds a lone surrogate, '.ud800'/),
      ],
    });
  });

  it('fails a call whose answer is not JSON, at once and no other', async () => {
    const code = `
import asyncio
both = await asyncio.gather(mcp_h.not_json(), mcp_h.echo(text="x"), return_exceptions=True)
[both[0].code, str(both[0]), both[1]]`;
    expect(await bridge.run(code, { servers: ['h'] })).toMatchObject({
      status: 'success',
      result: ['E_TOOL_FAILED', expect.stringContaining('an answer that is not JSON'), 'x'],
    });
  });

  it('refuses NaN by name', async () => {
    expect(await run('await mcp_h.echo_raw(n=float("nan"))')).toMatchObject({
      status: 'error',
      error: expect.stringMatching(/nan/i),
    });
  });
});

describe('names', () => {
  it('reaches every oddly named tool, by alias and by its own name', async () => {
    const code = `
import json
wanted = ["a-b", "a_b", "a_b_2", "__proto__", "class", "1st"]
answers = []
for t in runtime.list_loaded_server_metadata()[0]["tools"]:
    if t["name"] in wanted:
        by_alias = await getattr(mcp_h, t["alias"])()
        by_name = await runtime.call_tool("h", t["name"], {})
        answers.append(t["name"] in json.dumps(by_alias) and by_alias == by_name)
[len(answers), all(answers)]
`;
    expect(await run(code)).toMatchObject({ status: 'success', result: [6, true] });
  });
});

describe('faults', () => {
  it('restarts a server that was killed between two calls', async () => {
    const code = `
import os
first = await mcp_h.pid()
try:
    await mcp_h.crash()
except runtime.MCPError as error:
    print("crashed")
second = await mcp_h.pid()
first != second
`;
    expect(await run(code)).toMatchObject({ status: 'success', stdout: ['crashed'], result: true });
  });

  it('raises what a tool said, and lives on', async () => {
    const code = `
for call in (mcp_h.fail, mcp_h.rpc_error):
    try:
        await call()
    except runtime.MCPError as error:
        print(error.tool)
await mcp_h.echo(text="alive")
`;
    expect(await run(code)).toMatchObject({ status: 'success', stdout: ['fail', 'rpc_error'] });
  });

  it('names the command of a server that does not start', async () => {
    const payload = await run('1', { servers: ['dead'] });
    expect(payload).toMatchObject({ status: 'error', error: expect.stringContaining('/nonexistent/server') });
  });

  it('refuses a forged call for a server that was not loaded', async () => {
    const code = `
import glob, json, os
frame = json.dumps({"type": "call", "id": 999, "method": "tools.call", "params": {"server": "dead", "tool": "x", "arguments": {}}}) + "\\n"
for fd in range(3, 1024):
    try: os.write(fd, frame.encode())
    except OSError: pass
await mcp_h.echo(text="still answered")
`;
    const payload = await run(code, { timeout: 20 });
    expect(['success', 'error']).toContain(payload.status);
    expect((await run('await mcp_h.echo(text="next")')).status).toBe('success');
  });
});
