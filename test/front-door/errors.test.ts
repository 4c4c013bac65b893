// Errors that teach, by their text: real code in a real sandbox, what CPython says of it and the next step that stands
// beside it. The cases of exceptions are those of the table's own test, so that what that believes is true. What uses up
// time or processes is in errors-at-limits.test.ts.

import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fakeEngine } from '../faults/fake-engine.js';
import { HOSTILE_SERVER, hostileServer, OWN, startBridge, type TestBridge } from '../support/start-bridge.js';
import { HANGS_MS } from '../support/time.js';
import { expectError, OTHER_CASES } from './error-case.js';

let bridge: TestBridge;
beforeAll(async () => {
  bridge = await startBridge({
    h: hostileServer(),
    missing: { command: 'no-such-program' },
    keyless: { command: process.execPath, args: [HOSTILE_SERVER, 'exit-early=1'] },
  });
});
afterAll(() => bridge[Symbol.asyncDispose]());

const run = (code: string) => bridge.run(code, { servers: ['h'], timeout: 60 });

describe('exceptions', () => {
  it.each(OTHER_CASES)('explains what the code raised: $about, $error', (each) => expectError(bridge, each));

  it('a misspelt server is guessed, loaded or not', async () => {
    for (const code of ['await mcp_missng.echo(text="x")', 'import mcp_missng'])
      expect((await run(code)).remedy).toMatch(/ Did you mean 'mcp_missing'\?$/);
  });

  it('a misspelt module is guessed', async () => {
    const { traceback } = await run('import jsn');
    expect(traceback?.at(-1)).toBe("ModuleNotFoundError: No module named 'jsn'. Did you mean: 'json'?");
  });

  it.each(['1 / 0', 'import json; json.loads("{")', 'open("data.csv")', 'raise TimeoutError("too late")'])(
    'an innocent one gets no advice: %s',
    async (code) => {
      expect(await run(code)).not.toHaveProperty('remedy');
    },
  );
});

describe('an installer that could do nothing, in a run that has succeeded', () => {
  it.each([
    'import os; os.system("pip install seaborn")',
    'import os; os.system("pip3 install seaborn >/dev/null && echo done"); 1 + 1',
    'import subprocess, sys; subprocess.run([sys.executable, "-m", "pip", "install", "seaborn"])',
    'import subprocess; subprocess.run("uv pip install seaborn", shell=True, capture_output=True, text=True)',
    'import subprocess; print(subprocess.getoutput("conda install seaborn"))',
    'import subprocess, sys; subprocess.run([sys.executable, "-m", "ensurepip"])',
  ])('is answered: %s', async (code) => {
    const answer = await bridge.call({ code });
    expect(answer.isError).not.toBe(true);
    expect(JSON.stringify(answer.content)).toContain('Nothing can be installed here: there is no network.');
  });

  it.each(['print("pip")', 'print("No module named x")', 'import os; os.system("nothing-of-that-name")'])(
    'is not told of where there was none: %s',
    async (code) => {
      const answer = await bridge.call({ code });
      expect(JSON.stringify(answer.content)).not.toContain('Nothing can be installed here');
    },
  );
});

describe('ends', () => {
  const EXIT =
    'It called sys.exit or os._exit, as argparse and unittest.main do: let it run to its end instead.';
  const SENT = 'The signal came from inside: os.kill, signal.alarm, or a program that the code started.';
  it.each([
    ['import sys; sys.exit(3)', 'The code ended with exit status 3.', EXIT],
    ['import sys; sys.exit("no good")', 'The code ended with exit status 1.', EXIT],
    ['import os, signal; os.kill(os.getpid(), signal.SIGTERM)', 'The code was ended by SIGTERM.', SENT],
    ['import signal, time; signal.alarm(1); time.sleep(5)', 'The code was ended by SIGALRM.', SENT],
    [
      'import ctypes; ctypes.string_at(0)',
      'The code was ended by SIGSEGV.',
      'Native code crashed (ctypes, or a library in C); stderr names the line.',
    ],
    [
      'x = []\nwhile True: x.append(bytearray(10**7))',
      expect.stringMatching(/^Memory limit 512 MB exceeded\.$|^MemoryError/),
      expect.stringContaining('Use less memory'),
    ],
  ])('says how the code ended: %s', async (code, error, remedy) => {
    expect(await run(code)).toMatchObject({ status: 'error', error, remedy });
  });
});

describe('successes that were not meant so', () => {
  it.each(['mcp_h.echo(text="x")\nprint("done")', '[mcp_h.echo(text=t) for t in "ab"]'])(
    'a call that was not awaited: %s',
    async (code) => {
      expect(await run(code)).toMatchObject({
        status: 'success',
        note: 'A call was not awaited, so it was not sent. A tool call has to be awaited: value = await mcp_<alias>.<tool>(...).',
      });
    },
  );
});

describe('servers and tools', () => {
  it.each([
    [
      ['missing'],
      "Server 'missing' could not be started: command not found: no-such-program.",
      `Install it, or give its full path; \`${OWN} servers\` shows where it is configured.`,
    ],
    [
      ['keyless'],
      "Server 'keyless' could not be started: it exited with code 1 before it was ready. Its last words:\n> cannot read its key\n",
      `It seems to want a key or a login: set it in its \`env\`, or log in by its own command; \`${OWN} servers\` shows where it is configured.`,
    ],
    [
      ['mising'],
      "servers: there is no server 'mising'. Did you mean 'missing'? Configured: h, missing, keyless.",
      undefined,
    ],
  ])('says why a server cannot be used: servers=%j', async (servers, error, remedy) => {
    const payload = await bridge.run('1', { servers });
    expect({ error: payload.error, remedy: payload.remedy }).toEqual({ error, remedy });
  });

  it.each([
    [
      'await getattr(mcp_h, "ec" + "ko")()',
      /^UnknownToolError: Server 'h' has no tool 'ecko'\. Did you mean 'echo'\?/,
    ],
    ['await mcp_missing.x()', /^Line 1: server 'missing' is not loaded in this run\.$/],
    [
      'await globals()["mcp_missing"].x()',
      /^UnknownServerError: Server 'missing' is not available\. To load it, pass servers=\["missing"\] in the call\.$/,
    ],
    ['await mcp_h.crash()', /^MCPError: Tool 'crash' of server 'h' is gone: the server exited with code 7\./],
  ])('says what is wrong with the call: %s', async (code, error) => {
    expect(await run(code)).toMatchObject({ error: expect.stringMatching(error) });
  });
});

describe('requests that cannot be read', () => {
  it.each([
    ['too deep', JSON.parse(`${'['.repeat(200)}${']'.repeat(200)}`) as unknown],
    ['too long', 'x'.repeat(66 * 1024 * 1024)],
  ])('are answered, so that nobody waits for them: %s', async (_what, odd) => {
    const call = { name: 'run_python', arguments: { code: '1', odd } };
    await expect(bridge.client.callTool(call, undefined, { timeout: HANGS_MS })).rejects.toMatchObject({
      code: -32_700,
    });
    expect(await bridge.run('1')).toMatchObject({ status: 'success' });
  });
});

describe('set-up', () => {
  it('says what to install where there is no engine', async () => {
    const dir = fakeEngine(undefined);
    await using lost = await startBridge(
      {},
      { env: { PATH: dir, MCP_BRIDGE_STATE_DIR: join(dir, 'state') } },
    );
    expect(await lost.run('1')).toMatchObject({
      status: 'error',
      errorType: 'E_ENGINE_MISSING',
      error: expect.stringContaining('No container engine was found'),
      remedy: expect.stringContaining('podman'),
    });
  });

  it('says how to get the image where there is none', async () => {
    await using lost = await startBridge({}, { env: { MCP_BRIDGE_IMAGE: 'localhost/no/such:image' } });
    expect(await lost.run('1')).toMatchObject({
      status: 'error',
      errorType: 'E_IMAGE_MISSING',
      error: expect.stringContaining('localhost/no/such:image is not here and cannot be pulled'),
      remedy: expect.stringContaining(`${OWN} image build`),
    });
  });
});
