// Servers that are not named one by one: all of them at once, and one more while the code runs, by each of the three
// settings and with a client that can ask its user.

import { ElicitRequestSchema, type ElicitResult } from '@modelcontextprotocol/sdk/types.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hostileServer, startBridge, type TestBridge } from '../support/start-bridge.js';
import { pause } from '../support/time.js';
import { REACH_SECONDS } from './reached.js';

/** So that a server starts within them, which the user's thinking outlasts. */
const SECONDS = 2 * REACH_SECONDS;
const SERVERS = { h: hostileServer(), extra: hostileServer('extra'), dead: hostileServer('exit-early') };

describe('servers=["*"]', () => {
  let bridge: TestBridge;
  beforeAll(async () => {
    bridge = await startBridge(
      { ...SERVERS, shut: hostileServer('shut') },
      { env: { MCP_BRIDGE_DENY: 'shut' } },
    );
  });
  afterAll(() => bridge[Symbol.asyncDispose]());

  it('loads what is allowed and starts, and says what did not', async () => {
    const code = `print(await mcp_extra.echo(text="hello"))
d = runtime.describe_server("dead")
[sorted(LOADED_MCP_SERVERS), d.loaded, "exited with code 3" in d.problem]`;
    const payload = await bridge.run(code, { servers: ['*'] });
    expect(payload).toMatchObject({
      status: 'success',
      stdout: ['hello'],
      result: [['extra', 'h'], false, true],
      servers: expect.arrayContaining(['extra', 'h']),
      note: expect.stringMatching(/^Of servers=\["\*"\], not loaded: 'dead' \(.*exited with code 3.*\)\.$/s),
    });
    expect(JSON.stringify(payload)).not.toContain('shut');
  });

  it('with a name beside it, which must open', async () => {
    expect(await bridge.run('await mcp_h.echo(text="x")', { servers: ['h', '*'] })).toMatchObject({
      status: 'success',
    });
    expect(await bridge.run('1', { servers: ['*', 'dead'] })).toMatchObject({
      status: 'error',
      errorType: 'E_SERVER_UNAVAILABLE',
    });
  });

  it('a server that did not open is told as such where code names it', async () => {
    expect(await bridge.run('await mcp_dead.echo(text="x")', { servers: ['*'] })).toMatchObject({
      status: 'validation_error',
      error: expect.stringMatching(/^Line 1: server 'dead' is not loaded in this run: .*code 3/s),
    });
  });
});

const LOAD = `try:
    extra = await runtime.load_server("extra")
    r = [await extra.echo(text="a"), await mcp_extra.echo(text="b"), list(LOADED_MCP_SERVERS)]
except runtime.MCPError as e:
    r = [e.code, str(e)]
r`;
const PASS = 'Pass servers=["extra"] in the call to load it.';

describe('runtime.load_server', () => {
  const withBridge = async (
    env: Record<string, string>,
    onElicit: ((message: string) => Promise<ElicitResult>) | undefined,
    then: (bridge: TestBridge) => Promise<void>,
  ) => {
    await using bridge = await startBridge(SERVERS, {
      env,
      capabilities: onElicit === undefined ? {} : { elicitation: {} },
      prepare: (client) => {
        if (onElicit !== undefined)
          client.setRequestHandler(ElicitRequestSchema, ({ params }) => onElicit(params.message));
      },
    });
    await then(bridge);
  };

  it('loads a server without a question where autoload is always', async () => {
    await withBridge({ MCP_BRIDGE_AUTOLOAD: 'always' }, undefined, async (bridge) => {
      const payload = await bridge.run(LOAD, { servers: ['h'] });
      expect(payload).toMatchObject({ result: ['a', 'b', ['h', 'extra']], servers: ['h', 'extra'] });
      // One run's servers are no other's.
      const { error } = await bridge.run('await mcp_extra.echo(text="x")');
      expect(error).toContain("server 'extra' is not loaded in this run");
      const { result } = await bridge.run(LOAD.replaceAll('extra', 'dead'));
      expect(result).toEqual(['E_SERVER_UNAVAILABLE', expect.stringContaining('exited with code 3')]);
    });
  });

  it('never: refuses, and says what works', async () => {
    await withBridge({ MCP_BRIDGE_AUTOLOAD: 'never' }, undefined, async (bridge) => {
      const { result } = await bridge.run(LOAD);
      const why = "Server 'extra' is not loaded from inside the run: MCP_BRIDGE_AUTOLOAD is never.";
      expect(result).toEqual(['E_DENIED', `${why} ${PASS}`]);
      const { result: load } = await bridge.run('runtime.describe_server("extra").load');
      expect(load).toBe('To load it, pass servers=["extra"] in the call.');
    });
  });

  it('ask, which is the default, with a client that cannot: refuses', async () => {
    await withBridge({}, undefined, async (bridge) => {
      const { result } = await bridge.run(LOAD);
      expect(result).toEqual(['E_DENIED', expect.stringContaining('this client cannot ask')]);
    });
  });

  it('ask: the user decides, once in a run, and thinks at the cost of nobody', async () => {
    const asked: string[] = [];
    let action: ElicitResult['action'] = 'accept';
    const onElicit = async (message: string): Promise<ElicitResult> => {
      asked.push(message);
      await pause((SECONDS + 1) * 1000);
      return { action };
    };
    await withBridge({}, onElicit, async (bridge) => {
      const payload = await bridge.run(LOAD, { timeout: SECONDS });
      expect(payload).toMatchObject({ status: 'success', result: ['a', 'b', ['extra']] });
      expect(asked).toEqual([expect.stringContaining("wants to use the MCP server 'extra'")]);
      action = 'decline';
      const twice = `import asyncio\n${LOAD}\nfirst = r\n${LOAD}\n[first, r]`;
      const { result } = await bridge.run(twice);
      expect(result).toMatchObject([
        ['E_DENIED', expect.stringContaining('the user said no')],
        ['E_DENIED', expect.stringContaining('the user said no')],
      ]);
      expect(asked).toHaveLength(2);
      const { remedy } = await bridge.run('await mcp_extra.echo(text="x")');
      expect(remedy).toContain('or await runtime.load_server("extra") in the code');
    });
  });
});
