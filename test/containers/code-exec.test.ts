// The service of compose.code-exec.yaml under gVisor, called from code in a sandbox of the real bridge: what commands get and give,
// what a hostile one can do, what stays after a restart, and that nothing is left. Passed over where it cannot run.

// biome-ignore-all lint/suspicious/noTemplateCurlyInString: operators write variables this way

import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CodeExecService, TOKEN, whyNot } from '../support/code-exec-service.js';
import { ourContainers, processesWith } from '../support/nothing-left.js';
import { startBridge, type TestBridge } from '../support/start-bridge.js';
import { eventually, until } from '../support/time.js';

const reason = whyNot();
const title =
  reason === undefined ? 'code-exec under gVisor' : `code-exec under gVisor (passed over: ${reason})`;

let service: CodeExecService;
let bridge: TestBridge;

async function inRun(code: string, servers: readonly string[] = ['sandbox']): Promise<unknown> {
  const payload = await bridge.run(code, { servers, timeout: 60 });
  expect(payload, JSON.stringify(payload)).toMatchObject({ status: 'success' });
  return payload.result;
}

describe.skipIf(reason !== undefined)(title, () => {
  beforeAll(async () => {
    service = await CodeExecService.start();
    const entry = (token: string) => ({
      type: 'http' as const,
      url: service.url,
      headers: { Authorization: `Bearer ${token}` },
    });
    bridge = await startBridge(
      // As the document tells operators to write it; a variable of the bridge.
      {
        sandbox: entry('${MCP_EXEC_TOKEN}'),
        stranger: entry('no-token-of-this-service'),
        stdio: service.stdioEntry(),
      },
      { env: { MCP_EXEC_TOKEN: TOKEN } },
    );
  });
  afterAll(async () => {
    await bridge?.[Symbol.asyncDispose]();
    await service?.[Symbol.asyncDispose]();
    expect(await eventually(() => ourContainers().length === 0)).toBe(true);
    expect(await eventually(() => processesWith(service.name).length === 0)).toBe(true);
    expect(await service.podman('volume', 'ls', '--quiet')).not.toContain(service.name);
  });

  it('hands on arguments and input, and gives back output, status and signal, from gVisor’s kernel', async () => {
    const result = (await inRun(`
import base64
execute = mcp_sandbox.execute
odd = ["a b", "it's", '"', "$HOME", "", "*", "é"]
argv = await execute(command="printf", args=["<%s>", *odd])
stdin = await execute(command="wc", args=["-c"], stdin="x" * 20_000_000)
binary = await execute(command="printf", args=["\\\\377\\\\000\\\\n"])
large = await execute(command="sh", args=["-c", "echo first; head -c 100000000 /dev/zero; echo last >&2"])
{
  "argv": argv.stdout, "stdin": stdin.stdout.strip(), "binary": list(base64.b64decode(binary.stdoutBase64)),
  "exit": (await execute(command="sh", args=["-c", "echo no >&2; exit 3"])).exitCode,
  "signal": (await execute(command="sh", args=["-c", "kill -SEGV $$"])).signal,
  "large": [large.stdoutBytes, large.stdoutTruncated, len(large.stdout) < 41_000, large.stdout[:6], large.stderr],
  "dmesg": (await execute(command="dmesg")).stdout, "version": (await execute(command="cat", args=["/proc/version"])).stdout,
  "ls": (await execute(command="ls", args=["-a", "/work"])).stdout.split(),
  "env": (await execute(command="env")).stdout, "id": (await execute(command="id", args=["-u"])).stdout,
}
`)) as Readonly<Record<string, unknown>>;
    expect(result).toMatchObject({
      argv: `<a b><it's><"><$HOME><><*><é>`,
      stdin: '20000000',
      binary: [255, 0, 10],
      exit: 3,
      signal: 'SIGSEGV',
      large: [100_000_006, true, true, 'first\n', 'last\n'],
      dmesg: expect.stringContaining('Starting gVisor'),
      ls: ['.', '..'],
      env: expect.not.stringContaining(TOKEN),
      id: '65534\n',
    });
    expect(result['version']).not.toBe(readFileSync('/proc/version', 'utf8'));
  });

  it('outlives a fork bomb and a command that ignores SIGTERM, answers meanwhile, and leaves none of theirs', async () => {
    const result = await inRun(`
import asyncio, time
execute = mcp_sandbox.execute
async def outcome(seconds, *args):
    try:
        await execute(command="bash", args=["-c", *args], timeout_ms=seconds * 1000)
    except runtime.MCPError as error:
        return str(error).splitlines()[0]
bomb = asyncio.create_task(outcome(20, ":(){ :|:& };:; sleep 60"))
await asyncio.sleep(1)
meanwhile = (await execute(command="echo", args=["here"])).stdout
killed = [await outcome(1, "trap '' TERM; setsid -f sleep 77; while :; do sleep 1; done"), await bomb]
many = await asyncio.gather(*(execute(command="sh", args=["-c", f"sleep 0.5; echo {n}"]) for n in range(20)))
{
  "meanwhile": meanwhile, "killed": killed,
  "many": [int(each.stdout) for each in many],
  "left": (await execute(command="ps", args=["-eo", "comm="])).stdout.split(),
}
`);
    expect(result).toMatchObject({
      meanwhile: 'here\n',
      killed: [
        expect.stringContaining('killed after its timeout of 1000 ms'),
        expect.stringContaining('killed after its timeout of 20000 ms'),
      ],
      many: Array.from({ length: 20 }, (_, index) => index),
      left: ['tini', 'node', 'node', 'ps'],
    });
  });

  it('lets nobody in without the token, and is healthy for its engine', async () => {
    expect((await fetch(service.url, { method: 'POST', body: '{}' })).status).toBe(401);
    const payload = await bridge.run('await mcp_stranger.execute(command="true")', { servers: ['stranger'] });
    expect(payload.status).toBe('error');
    const audit = await service.logs();
    expect(audit).toMatch(/"command":"printf","args":\["<%s>","a b"/);
    expect(audit).not.toContain(TOKEN);
    expect(await service.podman('healthcheck', 'run', service.name)).toBe('');
  });

  it('keeps /work over a restart and nothing else, and has no network where it is given none', async () => {
    const places = '/work /tmp /var/tmp /home /usr/local';
    await inRun(
      `(await mcp_sandbox.execute(command="sh", args=["-c", "for place in ${places}; do echo kept > $place/file || exit 1; done"])).exitCode or None`,
    );
    await service.podman('restart', '--time=5', service.name);
    await service.healthy();
    const look = `sh", args=["-c", "for place in ${places}; do cat $place/file; done 2>/dev/null; cat /proc/net/dev | tail -n +3 | cut -d: -f1"]`;
    const networks = (server: string) =>
      inRun(`(await mcp_${server}.execute(command="${look})).stdout.split()`, [server]);
    const seen = (await networks('sandbox')) as readonly string[];
    expect(seen.filter((word) => word === 'kept')).toHaveLength(1);
    expect(seen.length).toBeGreaterThan(2);
    // Another container of the same volume, on stdio.
    expect(await networks('stdio')).toEqual(['kept', 'lo']);
  });

  it('ends its container where it is up and answers nothing, so that the engine can begin it anew', async () => {
    const state = () => service.podman('inspect', '--format={{.State.Status}}', service.name);
    const served = 'kill -STOP $(pgrep -P $(pgrep -P 1))';
    expect(await state()).toBe('running\n');
    await service.podman('exec', service.name, 'sh', '-c', served);
    await until(async () => (await state()) === 'exited\n');
    expect(await service.logs()).toContain('ended its server, which ran but did not answer');
    // What `restart` in compose.code-exec.yaml does.
    await service.podman('start', service.name);
    await service.healthy();
  });
});
