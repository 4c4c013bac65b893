// The commands that start containers: run and doctor.

import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { bridgeEnv, hostileServer, MAIN, tempHome } from '../support/start-bridge.js';
import { command, type Ended } from './command.js';

let home: string;
beforeEach(() => {
  home = tempHome();
});
afterEach(() => {
  rmSync(home, { recursive: true, force: true });
});

describe('run', () => {
  const runCode = (code: string, ...args: readonly string[]): Promise<Ended> => {
    writeFileSync(join(home, 'job.py'), code);
    const config = join(home, 'servers.json');
    writeFileSync(config, JSON.stringify({ mcpServers: { hostile: hostileServer() } }), { mode: 0o600 });
    return command(['run', 'job.py', ...args], { home, env: { MCP_SERVERS_CONFIG: config } });
  };

  it('output goes where it would have gone, and the value comes last', async () => {
    const code = 'import sys\nprint("err", file=sys.stderr)\nprint("out", end="")\n6 * 7';
    // A slow machine says on stderr what it is waiting for.
    const { stdout, stderr, exitCode } = await runCode(code, '--quiet');
    expect(stdout).toBe('out\n42\n');
    expect(stderr).toBe('err\n');
    expect(exitCode).toBe(0);
  });

  it('code may come from stdin', async () => {
    const { stdout } = await command(['run', '-'], { home, input: 'print("piped")' });
    expect(stdout).toBe('piped\n');
  });

  it.each([
    ['the code’s own', 'import sys; sys.exit(5)', 5, 'exit status 5'],
    ['1 for an exception', '1 / 0', 1, 'ZeroDivisionError: division by zero'],
    ['2 for code that cannot run', 'x =', 2, 'SyntaxError'],
  ])('the exit code is %s', async (_what, code, expected, words) => {
    const { stderr, exitCode } = await runCode(code);
    expect(stderr).toContain(words);
    expect(exitCode).toBe(expected);
  });

  it('exits with 124 at a timeout, and prints the output until then', async () => {
    const { stdout, stderr, exitCode } = await runCode('print("begun")\nwhile True: pass', '--timeout', '1');
    expect(stdout).toBe('begun\n');
    expect(stderr).toContain('Timed out after 1 s.');
    expect(exitCode).toBe(124);
  });

  it('2 for arguments that are out of range or unknown', async () => {
    expect(await runCode('1', '--timeout', '999')).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('timeout: got 999'),
    });
    expect(await runCode('1', '--servers', 'hostil')).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining("Did you mean 'hostile'?"),
    });
  });

  it('servers are loaded, with progress on stderr', async () => {
    const { stdout, stderr, exitCode } = await runCode(
      'await mcp_hostile.echo(text="hi")\nprint(len(await runtime.list_tools("hostile")) > 3)',
      '--servers',
      'hostile',
    );
    expect(stderr).toContain('starting hostile');
    expect(stdout).toBe('True\n');
    expect(exitCode).toBe(0);
  });

  it('files go in by --file and come out by --out', async () => {
    writeFileSync(join(home, 'data.csv'), 'a,b\n1,2\n');
    const code =
      'rows = open("data.csv").read()\nimport os; os.mkdir("out/d")\nopen("out/d/copy.csv", "w").write(rows)\nopen("out/.bashrc", "w").write("x")\nos._exit(0)';
    const args = ['--file', 'data.csv', '--out', 'results'];
    const first = await runCode(code, ...args);
    expect(readFileSync(join(home, 'results/d/copy.csv'), 'utf8')).toBe('a,b\n1,2\n');
    expect(readdirSync(join(home, 'results'))).toEqual(['d']);
    expect(first).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('out/.bashrc was not written'),
    });
    expect((await runCode(code, ...args)).stderr).toContain('out/d/copy.csv was not written: EEXIST');
    const kept = await runCode(code, '--file', 'data.csv');
    expect(kept).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('out/.bashrc (1 bytes): /') });
    expect(kept.stderr).toContain('--out FOLDER writes such files where you want them.');
    const [, place = ''] = /^out\/d\/copy\.csv \(8 bytes\): (\/.*)$/m.exec(kept.stderr) ?? [];
    expect(readFileSync(place, 'utf8')).toBe('a,b\n1,2\n');
  });

  it('--json prints the whole result, integers exact', async () => {
    const { stdout } = await runCode('{"n": 2 ** 70}', '--json');
    expect(stdout).toContain('"n":1180591620717411303424');
    expect(JSON.parse(stdout)).toMatchObject({ status: 'success', exitCode: 0 });
  });

  it('nothing of what is printed is cut or changed on its way into a file, a value says where it is cut', async () => {
    const code = `import sys
for stream in sys.stdout, sys.stderr:
    for number in range(20_000):
        print(f"{number} \\x1b[31m\\r", file=stream)
sys.stdout.flush()
sys.stdout.buffer.write(b"\\xff\\x00\\r\\n-")
sys.stdout.flush()
"x" * 50_000
`;
    writeFileSync(join(home, 'job.py'), code);
    const script = `"$0" "$1" run job.py --quiet >o.txt 2>e.txt`;
    execFileSync('sh', ['-c', script, process.execPath, MAIN], { cwd: home, env: bridgeEnv(home) });
    const lines = Array.from({ length: 20_000 }, (_, number) => `${number} \u001b[31m\r\n`).join('');
    const written = readFileSync(join(home, 'o.txt'));
    const bytes = Buffer.concat([Buffer.from(lines), Buffer.from([0xff, 0x00, 0x0d, 0x0a, 0x2d])]);
    expect(written.subarray(0, bytes.length).equals(bytes)).toBe(true);
    expect(written.subarray(bytes.length).toString()).toMatch(/^\n'x{20000}'… 30,000 more characters\n$/);
    const said = readFileSync(join(home, 'e.txt'), 'utf8');
    expect(said.startsWith(lines)).toBe(true);
    expect(said.slice(lines.length)).toBe('The value is too long to show. print(…) writes all of it.\n');
    const { stdout } = await runCode(code, '--json');
    const { stdout: printed, stderr, droppedCharacters } = JSON.parse(stdout) as Record<string, string[]>;
    expect([printed?.length, stderr?.length, droppedCharacters]).toEqual([20_002, 20_000, undefined]);
    expect(printed?.[0]).toBe('0 \u001b[31m\r');
  });

  it('a reader that has gone ends it, as it ends any program', () => {
    writeFileSync(join(home, 'job.py'), 'while True: print("line")\n');
    const script = `"$0" "$1" run job.py --timeout 60 | head -n 1; echo "\${PIPESTATUS[0]}"`;
    const said = execFileSync('bash', ['-c', script, process.execPath, MAIN], {
      ...{ cwd: home, env: bridgeEnv(home) },
    });
    expect(said.toString()).toBe('line\n141\n');
  });

  it('SIGINT ends it and leaves nothing', async () => {
    const code = 'import sys, time\nprint("go", file=sys.stderr)\ntime.sleep(100)';
    writeFileSync(join(home, 'job.py'), code);
    let killed = false;
    const { exitCode, stderr } = await command(['run', 'job.py', '--timeout', '100'], {
      home,
      env: { MCP_BRIDGE_LOG_LEVEL: 'debug' },
      onStderr: (written, pid) => {
        if (killed || !/sandbox \S+ ready/.test(written)) return;
        killed = true;
        process.kill(pid, 'SIGINT');
      },
    });
    expect(killed).toBe(true);
    expect(exitCode).toBe(130);
    // Nor had its time run out.
    expect(stderr).not.toContain('Timed out');
  });
});

describe('doctor', () => {
  type Report = {
    readonly version: string;
    readonly findings: readonly { name: string; status: string; detail: string; remedy?: string }[];
    readonly servers: readonly { name: string; status: string; detail: string; remedy?: string }[];
  };
  const examine = async (env: Record<string, string> = {}) => {
    const { stdout, exitCode } = await command(['doctor', '--json'], { home, env });
    const report = JSON.parse(stdout) as Report;
    return {
      ...report,
      exitCode,
      of: (name: string) => report.findings.find((finding) => finding.name === name),
    };
  };

  it('a machine that works: every part is examined, and a container was really started', async () => {
    const config = join(home, 'servers.json');
    const entries = {
      files: { command: process.execPath },
      dead: { command: 'no-such-program' },
      sandbox: { command: 'mcp-sandbox-bridge' },
    };
    writeFileSync(config, JSON.stringify({ mcpServers: entries }), { mode: 0o600 });
    const { of, findings, servers, exitCode } = await examine({ MCP_SERVERS_CONFIG: config });
    expect(findings.filter(({ status }) => status === 'fail')).toEqual([]);
    expect(exitCode).toBe(0);
    for (const { status, remedy } of findings) expect(status === 'ok').toBe(remedy === undefined);
    const names = [
      'bridge',
      'node',
      'settings',
      'state directory',
      'engine',
      'mode',
      'storage driver',
      'image',
      'OCI runtime',
    ];
    expect(findings.map(({ name }) => name)).toEqual(
      expect.arrayContaining([
        ...names,
        'trial sandbox',
        'limits',
        'memory limit',
        'servers',
        'registration',
      ]),
    );
    expect(of('mode')?.detail).toMatch(
      process.getuid?.() === 0 ? /root in a container is an ordinary user/ : /\(rootless\)$/,
    );
    expect(of('trial sandbox')?.detail).toMatch(/^ran Python 3\.\d+\.\d+ in \d/);
    expect(of('launch')?.detail).toMatch(/^(?:from a template: |detached: .*a template does not do: )/);
    expect(of('seccomp')?.detail).toMatch(/^strict: blocks user namespaces/);
    expect(of('memory limit')).toMatchObject({
      status: 'ok',
      detail: expect.stringMatching(/^works \((cgroup|the bridge's watchdog)/),
    });
    expect(of('servers')?.detail).toBe('2 ready, 1 skipped');
    expect(of('registration')?.detail).toContain("as 'sandbox' in MCP_SERVERS_CONFIG");
    expect(servers).toMatchObject([
      { name: 'files', status: 'ok', detail: `ready: ${process.execPath}` },
      { name: 'dead', status: 'warn', remedy: expect.stringContaining(config) },
      { name: 'sandbox', status: 'ok', detail: 'skipped: this bridge itself' },
    ]);
  });

  it('no engine: one failure with its remedy, and what depends on it is not examined', async () => {
    const { of, findings, exitCode } = await examine({ MCP_BRIDGE_RUNTIME: '/nowhere/podman' });
    expect(of('engine')).toMatchObject({ status: 'fail', remedy: expect.stringContaining('Install') });
    expect(findings.map(({ name }) => name)).not.toContain('trial sandbox');
    expect(exitCode).toBe(1);
  });

  it('an image that is absent: one failure with its remedy', async () => {
    const { of, exitCode } = await examine({ MCP_BRIDGE_IMAGE: 'localhost/absent:1' });
    expect(of('image')).toMatchObject({
      status: 'fail',
      // It was not even tried to pull it.
      detail: 'The image localhost/absent:1 is not here. The first call pulls it.',
      remedy: expect.stringMatching(/To pull it now: `\w+ pull localhost\/absent:1`\..*MCP_BRIDGE_IMAGE/),
    });
    expect(of('OCI runtime')).toBeUndefined();
    expect(exitCode).toBe(1);
  });

  it('an OCI runtime that is absent: one failure with its remedy', async () => {
    const { of, exitCode } = await examine({ MCP_BRIDGE_OCI_RUNTIME: '/nowhere/runc' });
    expect(of('OCI runtime')).toMatchObject({
      status: 'fail',
      remedy: expect.stringContaining('MCP_BRIDGE_OCI_RUNTIME'),
    });
    expect(exitCode).toBe(1);
  });

  it('a wrong setting is a finding too', async () => {
    const { of, exitCode } = await examine({ MCP_BRIDGE_PIDS: 'many' });
    expect(of('settings')).toMatchObject({
      status: 'fail',
      detail: expect.stringContaining("MCP_BRIDGE_PIDS is 'many'"),
    });
    expect(exitCode).toBe(1);
  });

  it('a state directory that cannot be written', async () => {
    writeFileSync(join(home, 'file'), '');
    const { of, exitCode } = await examine({ MCP_BRIDGE_STATE_DIR: join(home, 'file/state') });
    expect(of('OCI runtime')).toBeUndefined();
    expect(of('state directory')).toMatchObject({
      status: 'fail',
      remedy: expect.stringContaining('MCP_BRIDGE_STATE_DIR'),
    });
    expect(exitCode).toBe(1);
  });

  it('people get aligned lines and the remedies below', async () => {
    const { stdout } = await command(['doctor'], { home, env: { MCP_BRIDGE_RUNTIME: '/nowhere/podman' } });
    expect(stdout).toMatch(/^ok {4}node {13}\d+\.\d+\.\d+$/m);
    expect(stdout).toMatch(/^fail {2}engine {11}No container engine/m);
    expect(stdout).toMatch(/^To fix:\nengine: Install/m);
  });
});
