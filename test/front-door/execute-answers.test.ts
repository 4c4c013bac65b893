// The tool `execute` by the front door: what a command is given and what comes back of it, in containers of its own and handed to a
// real command server that speaks HTTP. The mode of the engine decides nothing of this.

import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { processesWith } from '../support/nothing-left.js';
import { bridgeEnv, MAIN, startBridge, type TestBridge, tempHome } from '../support/start-bridge.js';
import { eventually } from '../support/time.js';
import { call, inEachKind, LAUNCHED, sh, text } from './executing.js';
import { REACH_SECONDS } from './reached.js';

inEachKind('what execute is given and gives', ({ bridge }) => {
  it('hands arguments, input, variables and the folder on as they are', async () => {
    const args = ['a b', '"quoted" \'twice\'', '$HOME *', 'é 漢', ''];
    const print = { command: 'python3', args: ['-c', 'import sys; print(sys.argv[1:])', ...args] };
    expect(text(await call(bridge(), print))).toBe(
      "['a b', '\"quoted\" \\'twice\\'', '$HOME *', 'é 漢', '']",
    );
    const told = await call(
      bridge(),
      sh('cat; echo "$WORD"; pwd; mkdir -p sub; echo err >&2', {
        stdin: 'one\ntwo\n',
        env: { WORD: 'two words' },
      }),
    );
    expect(text(told)).toBe('one\ntwo\ntwo words\n/work\n--- stderr ---\nerr');
    expect(told.structuredContent).toMatchObject({
      exitCode: 0,
      signal: null,
      timedOut: false,
      stderr: 'err\n',
    });
    expect(text(await call(bridge(), sh('pwd; echo $HOME', { cwd: 'sub' })))).toBe('/work/sub\n/work');
  });

  it('says how a command ended: status, signal, timeout, not at all', async () => {
    const [status, signal, deaf, unknown, lost, empty] = await Promise.all(
      [
        sh('echo out; exit 3'),
        sh('kill -TERM $$'),
        sh('trap "" TERM; echo begun; sleep 60', { timeout_ms: REACH_SECONDS * 1000 }),
        { command: 'no-such' },
        sh('pwd', { cwd: 'nowhere' }),
        { command: '' },
      ].map((args) => call(bridge(), args)),
    );
    expect([text(status), status?.isError]).toEqual(['[exit status 3]\nout', false]);
    expect(text(signal)).toBe('[ended by SIGTERM]');
    expect(signal?.structuredContent).toMatchObject({ exitCode: null, signal: 'SIGTERM' });
    expect(text(deaf)).toBe(`[killed after its timeout of ${REACH_SECONDS}000 ms]\nbegun`);
    expect(deaf).toMatchObject({ isError: true, structuredContent: { timedOut: true } });
    expect(text(unknown)).toContain('[not started: `no-such` does not exist');
    expect(text(lost)).toContain('/work/nowhere');
    expect(text(empty)).toContain('command: got ""');
  });

  it('caps output by bytes, head and tail; takes large input', async () => {
    const big = await call(
      bridge(),
      sh('echo begin; head -c 1000000 /dev/zero | tr "\\0" x; echo; echo end'),
    );
    const { stdout, stdoutBytes, stdoutTruncated } = big.structuredContent as Record<string, unknown>;
    expect([stdoutBytes, stdoutTruncated]).toEqual([1_000_011, true]);
    expect(String(stdout).length).toBeLessThan(40_200);
    expect(stdout).toMatch(/^begin\nx+\n\[… \d+ of 1000011 bytes left out; whole: \S+ …\]\nx+\nend\n$/);
    const input = 'é'.repeat(2_000_000);
    const sum = createHash('sha256').update(input).digest('hex');
    expect(text(await call(bridge(), { command: 'sha256sum', stdin: input }))).toContain(sum);
  });

  it('streams long input through /work, and leaves nothing of it there', async () => {
    const input = `${'0123456789abcde\n'.repeat((45 * 1024 ** 2) / 16)}é`;
    const sum = createHash('sha256').update(input).digest('hex');
    // Twice over: it is a file, which the second reads anew.
    const script = 'wc -c < /dev/stdin; sha256sum < /dev/stdin; python3 -c "$0"; ls -A | grep -c stdin';
    const isOnDisk = 'import os; print(os.fstat(0).st_dev == os.stat("/work").st_dev)';
    const told = await call(bridge(), { command: 'sh', args: ['-c', script, isOnDisk], stdin: input });
    expect(text(told)).toContain(`${Buffer.byteLength(input)}\n${sum}  -\nTrue\n0`);
    // Sent or not yet: the deadline is the same.
    const short = await call(bridge(), sh('sleep 60', { stdin: input, timeout_ms: 300 }));
    expect(text(short)).toBe('[killed after its timeout of 300 ms]');
    expect(text(await call(bridge(), sh('ls -A | grep -c stdin')))).toMatch(/\b0$/);
  });

  it('gives bytes that are no text back as they are', async () => {
    const told = await call(bridge(), sh("printf '\\377\\376\\000a'"));
    const { stdoutBase64 } = told.structuredContent as Record<string, unknown>;
    expect(Buffer.from(String(stdoutBase64), 'base64')).toEqual(Buffer.from([0xff, 0xfe, 0, 0x61]));
    const { structuredContent } = await call(bridge(), sh('head -c 100000 /dev/zero | tr "\\0" "\\377"'));
    expect(structuredContent).toMatchObject({ stdoutBytes: 100_000, stdoutTruncated: true });
  });
});

describe('execute with a cap of its own', () => {
  const open = (cap: string) =>
    startBridge(
      {},
      {
        env: { ...LAUNCHED, MCP_BRIDGE_EXECUTE_OCI_RUNTIME: 'auto', MCP_EXEC_MAX_OUTPUT_BYTES: cap },
      },
    );
  const read = async (bridge: TestBridge, uri: unknown): Promise<string> => {
    const { contents } = await bridge.client.readResource({ uri: String(uri) });
    const [only] = contents;
    return only !== undefined && 'text' in only ? String(only.text) : '';
  };

  it('gives back what fits into an answer of output that the cap allows, and where all of it is', async () => {
    await using bridge = await open('8000000');
    const told = await call(
      bridge,
      sh('echo begin; head -c 5000000 /dev/zero | tr "\\0" x; echo; echo end; echo ran > f'),
    );
    const { stdout, stdoutBytes, stdoutUri } = told.structuredContent as Record<string, unknown>;
    expect(stdoutBytes).toBe(5_000_011);
    expect(String(stdout).length).toBeGreaterThan(2_500_000);
    expect(text(told)).toMatch(/^begin\nx+\n\[… \d+ of 5000011 bytes left out; whole: \S+ …\]\nx+\nend$/);
    expect(await read(bridge, stdoutUri)).toHaveLength(5_000_011);
    expect(text(await call(bridge, sh('cat f')))).toBe('ran');
    const whole = await call(bridge, sh('head -c 2500000 /dev/zero | tr "\\0" y'));
    expect(whole.structuredContent).toMatchObject({ stdout: 'y'.repeat(2_500_000) });
  });

  it('is one for both streams, of which one has what the other does not need', async () => {
    await using bridge = await open('1000');
    const print = (out: number, err: number) =>
      sh(`head -c ${out} /dev/zero | tr "\\0" o; head -c ${err} /dev/zero | tr "\\0" e >&2`);
    const lengths = async (out: number, err: number) => {
      const { structuredContent } = await call(bridge, print(out, err));
      const { stdout, stderr, ...more } = structuredContent as Record<string, unknown>;
      const letters = (of: unknown, letter: string) =>
        String(of)
          .split('\n')
          .map((line) => (line.length === 0 || line.startsWith(letter) ? line.length : 0))
          .reduce((sum, n) => sum + n, 0);
      return [
        letters(stdout, 'o'),
        letters(stderr, 'e'),
        Object.keys(more).filter((key) => key.startsWith('std')),
      ];
    };
    expect(await lengths(900, 100)).toEqual([900, 100, []]);
    expect(await lengths(2_000, 100)).toEqual([900, 100, ['stdoutTruncated', 'stdoutBytes', 'stdoutUri']]);
    expect((await lengths(700, 800)).slice(0, 2)).toEqual([500, 500]);
    const { structuredContent } = await call(bridge, print(700, 800));
    expect(await read(bridge, (structuredContent as Record<string, unknown>)['stderrUri'])).toBe(
      'e'.repeat(800),
    );
  });
});

it('execute refuses without gVisor, and says what would change that', async () => {
  const env = { ...LAUNCHED, MCP_BRIDGE_EXECUTE_OCI_RUNTIME: '/nowhere/runsc' };
  await using bridge = await startBridge({}, { env });
  const refused = await call(bridge, { command: 'true' });
  expect(refused.isError).toBe(true);
  expect(text(refused)).toContain('Commands run under /nowhere/runsc only');
  expect(text(refused)).toContain('MCP_BRIDGE_EXECUTE_OCI_RUNTIME=auto');
});

describe('execute handed to a server', () => {
  const home = tempHome();
  const audit = join(home, 'audit.jsonl');
  let server: ChildProcess;
  let url = '';
  let bridge: TestBridge;
  const start = (env: Readonly<Record<string, string>>) =>
    startBridge(
      { sandbox: { type: 'http', url } },
      {
        env: { MCP_BRIDGE_TOOLS: 'run_python,execute', MCP_BRIDGE_EXECUTE_SERVER: 'sandbox', ...env },
      },
    );
  beforeAll(async () => {
    const env = bridgeEnv(home, {
      MCP_EXEC_LISTEN: '127.0.0.1:0',
      MCP_EXEC_WORKDIR: home,
      MCP_EXEC_AUDIT: audit,
      MCP_EXEC_MAX_OUTPUT_BYTES: '8m',
    });
    server = spawn(process.execPath, [MAIN, 'code-exec'], { env, stdio: ['ignore', 'ignore', 'pipe'] });
    let said = '';
    server.stderr?.on('data', (chunk: Buffer) => {
      said += chunk.toString();
    });
    await eventually(() => /http:\S+/.test(said));
    [url = ''] = /http:\S+/.exec(said) ?? [];
    bridge = await start({});
  });
  afterAll(async () => {
    await bridge[Symbol.asyncDispose]();
    server.kill();
  });

  it('answers as the server does, to the tool and to code', async () => {
    const args = sh('cat; echo err >&2; exit 3', { stdin: 'in\n' });
    const told = await call(bridge, args);
    expect([text(told), told.isError]).toEqual(['[exit status 3]\nin\n--- stderr ---\nerr', false]);
    expect(told.structuredContent).toMatchObject({ exitCode: 3, stdout: 'in\n' });
    expect(text(await call(bridge, { comand: 'x' }))).toContain('comand: there is no such argument');
    const code = 'r = await mcp_sandbox.execute(command="echo", args=["a b"])\nr["stdout"]';
    expect(await bridge.run(code, { servers: ['sandbox'] })).toMatchObject({
      status: 'success',
      result: 'a b\n',
    });
  });

  it('with more output than an answer carries', async () => {
    const told = await call(bridge, sh('head -c 5000000 /dev/zero | tr "\\0" x'));
    expect(told.structuredContent).toMatchObject({
      exitCode: 0,
      stdoutBytes: 5_000_000,
      stdoutTruncated: true,
    });
    expect(text(told)).toMatch(/^x+\n\[… \d+ of 5000000 bytes left out …\]\nx+$/);
  });

  it('cancelled, the command ends', async () => {
    const controller = new AbortController();
    const answer = call(bridge, { command: 'sleep', args: ['61.25'] }, controller.signal);
    answer.catch(() => {});
    expect(await eventually(() => processesWith('61.25').length > 0)).toBe(true);
    controller.abort();
    await expect(answer).rejects.toThrow();
    expect(await eventually(() => processesWith('61.25').length === 0)).toBe(true);
  });

  it('denied by the policy, unknown, out of reach: said so', async () => {
    const before = bridge;
    await using denied = await start({ MCP_BRIDGE_DENY: 'sandbox.execute' });
    expect(text(await call(denied, { command: 'true' }))).toMatch(
      /'execute' of server 'sandbox'.*MCP_BRIDGE_DENY/s,
    );
    await using unknown = await start({ MCP_BRIDGE_EXECUTE_SERVER: 'sandbx' });
    expect(text(await call(unknown, { command: 'true' }))).toContain(
      "MCP_BRIDGE_EXECUTE_SERVER: there is no server 'sandbx'. Did you mean 'sandbox'?",
    );
    server.kill();
    await eventually(() => server.exitCode !== null || server.signalCode !== null);
    const gone = await call(before, { command: 'true' });
    expect(gone.isError).toBe(true);
    expect(text(gone)).toContain('sandbox');
  });
});
