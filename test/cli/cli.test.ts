import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { describedProfiles } from '../../src/engine/images/image-name.js';
import { leastMs } from '../support/cpu-time.js';
import { bridgeEnv, MAIN, tempHome } from '../support/start-bridge.js';
import { nodeStarts } from '../support/time.js';
import { command, commandHere } from './command.js';

let home: string;
beforeEach(() => {
  home = tempHome();
});
afterEach(() => {
  rmSync(home, { recursive: true, force: true });
});

const configure = (servers: object) => {
  mkdirSync(join(home, '.config/mcp/servers'), { recursive: true });
  const file = join(home, '.config/mcp/servers/all.json');
  writeFileSync(file, JSON.stringify({ mcpServers: servers }), { mode: 0o600 });
  return file;
};

describe('a reader that has gone', () => {
  /** The exit code and stderr of a command whose output nobody reads from the start. */
  const unread = (typed: string) => {
    const script = `exec 9> >(true); wait $!; "$@" >&9; echo $?`;
    const argv = ['-c', script, 'bash', process.execPath, MAIN, ...typed.split(' ')];
    const { stdout, stderr } = spawnSync('bash', argv, { cwd: home, env: bridgeEnv(home), encoding: 'utf8' });
    return { exitCode: stdout.trim(), stderr };
  };
  const ended = { exitCode: '141', stderr: '' };

  it.each(['servers', 'servers --json', 'runs', 'config list --json', 'install'])(
    'ends `%s` silently, as it ends any program',
    (typed) => {
      configure({ gone: { command: 'absent' } });
      expect(unread(typed)).toEqual(ended);
    },
  );

  it('ends `runs --follow` at its next line', () => {
    const audit = join(bridgeEnv(home)['MCP_BRIDGE_STATE_DIR'] ?? '', 'audit');
    mkdirSync(audit, { recursive: true, mode: 0o700 });
    const at = new Date().toISOString();
    const lost = { kind: 'lost', at, since: at, lines: 1 };
    writeFileSync(join(audit, 'audit-1.jsonl'), `${JSON.stringify(lost)}\n`, { mode: 0o600 });
    expect(unread('runs --follow --last 5')).toEqual(ended);
  });
});

describe('usage', () => {
  it('--help names every command and shows examples', async () => {
    const { stdout, exitCode } = await command(['--help'], { home });
    for (const word of [
      'serve',
      'doctor',
      'servers',
      'login',
      'logout',
      'run',
      'exec',
      'snippets',
      'image',
      'Examples:',
      'install claude-code',
    ]) {
      expect(stdout).toContain(word);
    }
    expect(exitCode).toBe(0);
  });

  it('image build --help says what each profile holds', async () => {
    const { stdout, exitCode } = await commandHere(['image', 'build', '--help'], { home });
    for (const [profile, description] of describedProfiles()) {
      const line = stdout.split('\n').find((each) => each.startsWith(`  ${profile} `));
      expect(line?.endsWith(`  ${description}`), profile).toBe(true);
    }
    expect(exitCode).toBe(0);
  });

  it('--version is the package’s', async () => {
    const { stdout } = await command(['--version'], { home });
    expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  it.each([
    [['docter'], "error: unknown command 'docter'. Did you mean 'doctor'?"],
    [['servers', '--jsno'], "error: unknown option '--jsno'"],
    [['run'], "error: missing required argument 'script'"],
    [['run', 'x.py', '--timeout', 'soon'], 'It must be a whole number of seconds.'],
    [['run', 'absent.py'], 'absent.py cannot be read'],
    [['image', 'build', 'bass'], "There is no image profile 'bass'. Did you mean 'base'?"],
    [
      ['image', 'build', 'data', '--with', 'python3-x; rm'],
      '--with: got "python3-x; rm", expected names of Debian packages',
    ],
    [['image', 'build', 'data', '--with', ','], '--with: got nothing, expected names of Debian packages'],
    [['image', 'build', 'base', 'rubi'], "There is no image profile 'rubi'. Did you mean 'ruby'?"],
  ])('%j is refused with exit code 2', async (args, complaint) => {
    const { stdout, stderr, exitCode } = await commandHere(args, { home });
    expect(stderr).toContain(complaint);
    expect(stdout).toBe('');
    expect(exitCode).toBe(2);
  });

  it('the built program refuses it, too', async () => {
    const { stdout, stderr, exitCode } = await command(['docter'], { home });
    expect([stdout, exitCode]).toEqual(['', 2]);
    expect(stderr).toContain("error: unknown command 'docter'.");
  });

  it.each([['runs'], ['servers'], ['run', '-']])(
    '%s with a wrong setting says which and what is allowed',
    async (...args) => {
      const env = { MCP_BRIDGE_MEMORY: 'lots', MCP_BRIDGE_PIDS: '1' };
      const { stdout, stderr, exitCode } = await commandHere(args, { home, env });
      expect(stderr).toContain("MCP_BRIDGE_MEMORY is 'lots'; allowed:");
      expect(stderr).toContain("MCP_BRIDGE_PIDS is '1'; allowed:");
      expect(stderr).toContain('next:');
      expect(stdout).toBe('');
      expect(exitCode).toBe(2);
    },
  );
});

const SCRIPT = '/usr/bin/script';

it.runIf(existsSync(SCRIPT) && process.platform === 'linux').each([
  ['--help', 72],
  ['servers', 64],
] as const)('%s fits a terminal of %i columns, in colour', (word, width) => {
  configure({
    one: { command: 'npx' },
    'a-server-with-a-long-name': { command: `/opt/${'folder/'.repeat(20)}run` },
  });
  const { COLUMNS: _, NO_COLOR: __, ...env } = bridgeEnv(home);
  const shell = `stty cols ${width} && exec '${process.execPath}' '${MAIN}' ${word}`;
  const seen = execFileSync(SCRIPT, ['-qec', shell, '/dev/null'], {
    cwd: home,
    env: { ...env, TERM: 'xterm-256color', SHELL: '/bin/sh' },
    encoding: 'utf8',
  });
  const lines = seen.replaceAll('\r', '').split('\n');
  if (word === 'servers') expect(seen).toContain('\u001b[');
  expect(lines.length).toBeGreaterThan(5);
  for (const line of lines) expect(stripVTControlCharacters(line).length, line).toBeLessThanOrEqual(width);
});

describe('servers', () => {
  const servers = {
    files: { command: 'npx', args: ['server', '--token=s3cret'], env: { KEY: 's3cret' } },
    off: { command: 'x', disabled: true },
    sandbox: { command: 'npx', args: ['-y', 'mcp-sandbox-bridge'] },
    'bad\u001b[2Jname': { command: 'x' },
  };

  it('lists what is ready and what is not, aligned and plain in a pipe', async () => {
    const file = configure(servers);
    const { stdout, exitCode } = await command(['servers'], { home });
    expect(stdout.split('\n')).toEqual([
      `generic user  ${file.replace(home, '~')}`,
      '  ready    files           npx',
      '  skipped  off             disabled in its file. Switch it on.',
      '  skipped  sandbox         npx  this bridge itself',
      '  skipped  bad\\x1b[2Jname  its name has invisible characters. Correct the entry.',
      '',
      '1 ready, 3 skipped',
      '',
    ]);
    expect(exitCode).toBe(0);
  });

  it('--json carries the same, and no arguments or variables', async () => {
    const file = configure(servers);
    const { stdout } = await commandHere(['servers', '--json'], { home });
    const answer = JSON.parse(stdout) as { servers: object[]; problems: object[]; files: string[] };
    expect(answer.servers[0]).toEqual({
      name: 'files',
      state: 'ready',
      transport: 'stdio',
      command: 'npx',
      source: { host: 'generic', scope: 'user', file, pointer: '/mcpServers/files' },
    });
    expect(answer.servers[1]).toMatchObject({
      name: 'off',
      state: 'skipped',
      reason: 'disabled in its file',
    });
    expect(answer.files).toEqual([file]);
    expect(stdout).not.toContain('s3cret');
  });

  it('a malformed file is shown with its place', async () => {
    const file = configure({});
    writeFileSync(file, '{\n  oops', { mode: 0o600 });
    const { stdout } = await commandHere(['servers'], { home });
    expect(stdout).toContain(`problem  ${file}:2:3: invalid symbol`);
  });

  it('nothing found says what to do', async () => {
    const { stdout } = await commandHere(['servers'], { home });
    expect(stdout).toContain('No MCP servers were found. Name a file in MCP_SERVERS_CONFIG');
  });

  it('a link to our own main file is recognised by where it leads', async () => {
    const link = join(home, 'start.js');
    symlinkSync(MAIN, link);
    configure({
      linked: { command: 'node', args: [link] },
      beside: { command: 'node', args: ['./start.js'], cwd: home },
      other: { command: 'node', args: [join(home, 'x.js')] },
    });
    const { stdout } = await command(['servers'], { home });
    expect(stdout).toMatch(/^ {2}skipped {2}linked .* this bridge itself$/m);
    expect(stdout).toMatch(/^ {2}skipped {2}beside .* this bridge itself$/m);
    expect(stdout).toMatch(/^ {2}ready {4}other /m);
  });

  it.runIf(existsSync('/usr/bin/script'))('is coloured on a terminal, unless NO_COLOR is set', () => {
    configure({ files: { command: 'npx' } });
    const onTerminal = (env: Record<string, string>) =>
      execFileSync('/usr/bin/script', ['-qec', `'${process.execPath}' '${MAIN}' servers`, '/dev/null'], {
        cwd: home,
        env: { ...bridgeEnv(home), TERM: 'xterm', ...env },
        encoding: 'utf8',
      });
    expect(onTerminal({})).toContain('\u001b[32m  ready    \u001b[39m');
    expect(onTerminal({ NO_COLOR: '1' })).not.toContain('\u001b[');
  });
});

describe('serve', () => {
  const initialize = {
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
  };
  const start = () => spawn(process.execPath, [MAIN], { cwd: home, env: bridgeEnv(home) });

  it('is the default, writes nothing but MCP to stdout, and logs JSON to a pipe', async () => {
    const { stdout, stderr, exitCode } = await command([], {
      home,
      env: { MCP_BRIDGE_TIMEOT: '3', MCP_BRIDGE_TIMEOUT: '300' },
      input: `${JSON.stringify(initialize)}\n`,
    });
    for (const line of stdout.trim().split('\n')) expect(JSON.parse(line)).toMatchObject({ jsonrpc: '2.0' });
    const log = stderr
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { msg: string });
    expect(log[0]?.msg).toBe(
      "MCP_BRIDGE_TIMEOT is not a setting of this version. Did you mean 'MCP_BRIDGE_TIMEOUT'?",
    );
    expect(log[1]?.msg).toBe('MCP_BRIDGE_TIMEOUT is 300, but MCP_BRIDGE_MAX_TIMEOUT is 120: runs get 120.');
    expect(log.at(-1)?.msg).toBe('closing: the agent has gone');
    expect(exitCode).toBe(0);
  });

  describe('a call that is none', () => {
    const CALLS = [
      [
        { name: 'run_python', arguments: ['x'] },
        'arguments: got ["x"], expected an object by argument names.',
      ],
      [{ name: 'run_python', arguments: '{}' }, 'arguments: got "{}", expected an object by argument names.'],
      [{ name: 'run_python', arguments: null }, 'arguments: got null, expected an object by argument names.'],
      [{ name: 7 }, 'name: got 7, expected the name of a tool.'],
      [{ arguments: {} }, 'name: got nothing, expected the name of a tool.'],
      [{ name: 'run_python', task: 7 }, 'task: got 7, expected what MCP says of a call of a tool.'],
      [undefined, 'params: got nothing, expected an object with name and arguments.'],
    ] as const;
    const idOf = (params: unknown) => 2 + CALLS.findIndex(([each]) => each === params);
    let answers: readonly { readonly id: number; readonly error?: object }[];
    beforeAll(async () => {
      const calls = CALLS.map(([params]) => ({
        jsonrpc: '2.0',
        id: idOf(params),
        method: 'tools/call',
        params,
      }));
      const input = [initialize, ...calls].map((request) => `${JSON.stringify(request)}\n`).join('');
      const own = tempHome();
      const { stdout } = await command([], { home: own, input });
      rmSync(own, { recursive: true, force: true });
      answers = stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line));
    });

    it.each(CALLS)('%j is answered as a wrong request', (params, message) => {
      expect(answers.filter(({ id }) => id === idOf(params)).map(({ error }) => error)).toEqual([
        { code: -32602, message },
      ]);
    });
  });

  it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('%s ends it at once', async (signal) => {
    const ended = async () => {
      const child = start();
      child.stdin.write(`${JSON.stringify(initialize)}\n`);
      await once(child.stdout, 'data');
      const startedAt = performance.now();
      child.kill(signal);
      const [exitCode] = await once(child, 'exit');
      expect(exitCode).toBe(0);
      return performance.now() - startedAt;
    };
    // Hosts kill half a second after they ask: ten starts of Node at the most, in the fastest of a few tries.
    const enoughMs = nodeStarts(10);
    expect(await leastMs(ended, enoughMs)).toBeLessThan(enoughMs);
  });

  it('a broken stdout ends it', async () => {
    const child = start();
    child.stdout.destroy();
    child.stdin.write(`${JSON.stringify(initialize)}\n`);
    const [exitCode] = await once(child, 'exit');
    expect(exitCode).toBe(0);
    child.stdin.destroy();
  });
});
