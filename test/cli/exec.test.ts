// What `exec` and `snippets` make of a command line, before anything is started.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Collected, jsonPieces } from '../../src/cli/run/exec.js';
import { execInput, nameInside, type Words } from '../../src/cli/run/exec-input.js';
import { PassOn } from '../../src/cli/terminal/pass-on.js';
import { outcomeWithoutRun } from '../../src/run/outcome/outcome.js';
import { Snippets } from '../../src/run/programs/snippets.js';
import { bridgeEnv, MAIN, tempHome } from '../support/start-bridge.js';
import { command, commandHere } from './command.js';

let home: string;
beforeEach(() => {
  home = tempHome();
  mkdirSync(join(home, 'prompts'));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const put = (file: string, content: string | Buffer = '') => writeFileSync(join(home, file), content);

describe('wrong usage', () => {
  it.each([
    [[], 'There is nothing to run.', 'or - for stdin with --language'],
    [['absent.go'], 'absent.go cannot be read: ENOENT', 'Name a file'],
    [['prompts'], 'prompts cannot be read: EISDIR', 'Name a file'],
    [['notes.txt'], "The ending of 'notes.txt' says no language.", '--language python, javascript,'],
    [['-'], 'The language of what comes on stdin is not known.', '--language python'],
    [
      ['--language', 'pyhton', 'notes.txt'],
      "--language: got 'pyhton', expected python,",
      "Did you mean 'python'?",
    ],
    [['latin.py'], "'latin.py' is not UTF-8.", 'UTF-8'],
    [['a.py', '--snippet', 'hello'], "Got the file 'a.py' and --snippet 'hello'", 'Leave one of them out'],
    [['--snippet', 'helo'], "There is no snippet 'helo'. Did you mean 'hello'?", 'Snippets: hello.'],
    [
      ['--snippet', 'hello', '--language', 'go'],
      'the ending of a snippet says its language',
      'Leave --language',
    ],
    [['-', '--language', 'go', '--stdin', '-'], 'stdin cannot be both', 'Name a file'],
    [['a.py', '--file', 'absent'], 'absent cannot be read', 'Name a file that you may read.'],
    [['a.py', '--file', 'a.py'], "'a.py' cannot go in as 'a.py', which is given twice.", 'Rename it'],
    [
      ['a.py', '--timeout', '999'],
      '--timeout: got 999, expected a whole number of seconds from 1 to 120.',
      'MAX',
    ],
    [['a.py', '--timeout', '0'], '--timeout: got 0', 'MAX'],
    [['a.go', '--servers', 'github'], 'programs in Go cannot call MCP tools', 'Leave --servers out.'],
    [['a.py', '--env', 'A'], "--env: got 'A', expected NAME=value.", 'none is taken from this shell'],
    [['a.py', '--env', '=1'], "--env: got the name '', expected letters,", 'Correct the name.'],
    [['a.py', '--env', 'A-B=1'], "--env: got the name 'A-B', expected letters,", 'Correct the name.'],
    [
      ['a.py', '--env', 'MCP_SANDBOX_CONVERSATION=1'],
      "--env: got the name 'MCP_SANDBOX_CONVERSATION', which the sandbox sets itself",
      'Correct the name.',
    ],
    [['a.py', '--stdin', '/dev/zero'], '/dev/zero has more than 10 MiB', 'Give a part of it.'],
  ])('%j is refused with exit code 2', async (args, complaint, next) => {
    put('notes.txt');
    put('a.py');
    put('a.go');
    put('latin.py', Buffer.from([0x23, 0xe9]));
    put('prompts/hello.py');
    const env = { MCP_BRIDGE_SNIPPETS: join(home, 'prompts') };
    const { stdout, stderr, exitCode } = await commandHere(['exec', ...args], { home, env });
    expect(stderr).toContain(complaint);
    expect(stderr).toContain(next);
    expect(stdout).toBe('');
    expect(exitCode).toBe(2);
  });

  it('the built program refuses it, too', async () => {
    const { stdout, stderr, exitCode } = await command(['exec', 'absent.go'], { home });
    expect([stdout, exitCode]).toEqual(['', 2]);
    expect(stderr).toMatch(/^error: absent\.go cannot be read: ENOENT.*\nnext: {2}Name a file/);
  });

  it('a stdin that has no end is not read where nobody asks for it', async () => {
    const env = { ...bridgeEnv(home), MCP_BRIDGE_RUNTIME: '/nowhere/podman' };
    put('a.py');
    // Its stdin stays open, as that of a job under cron or ssh may.
    const child = spawn(process.execPath, [MAIN, 'exec', 'a.py'], { cwd: home, env, stdio: 'pipe' });
    const [exitCode] = await once(child, 'exit');
    expect(exitCode).toBe(1);
    child.stdin.destroy();
  });

  it('shows examples with --help', async () => {
    const { stdout, exitCode } = await commandHere(['exec', '--help'], { home });
    expect(stdout.match(/^ {2}\$ /gm)).toHaveLength(2);
    expect(exitCode).toBe(0);
  });
});

describe('what is to run', () => {
  const input = (words: Partial<Words>, options: object = {}) =>
    execInput(
      { before: [], after: [], ...words },
      { file: [], env: [], ...options },
      new Snippets(join(home, 'prompts')),
    );

  it('runs a file with its arguments, before or after --', async () => {
    put('a.go', '\uFEFFpackage main');
    const { program } = await input({ before: [join(home, 'a.go'), 'x'], after: ['-v', 'a.py'] });
    expect(program).toMatchObject({
      code: 'package main',
      file: 'a.go',
      args: ['x', '-v', 'a.py'],
      stdin: undefined,
    });
    expect(program.language.name).toBe('go');
    expect((await input({ after: [join(home, 'a.go'), 'y'] })).program.args).toEqual(['y']);
  });

  it('a file without an ending of its language is given one', async () => {
    put('tool', 'x');
    put('a.txt', 'x');
    put('a.ts', 'x');
    const nameOf = async (file: string, language: string) =>
      (await input({ before: [join(home, file)] }, { language })).program.file;
    expect(await nameOf('tool', 'golang')).toBe('tool.go');
    expect(await nameOf('a.txt', 'py')).toBe('a.txt.py');
    expect(await nameOf('a.ts', 'TypeScript')).toBe('a.ts');
  });

  it('with its variables, of which the last of a name counts', async () => {
    put('a.rb', 'x');
    put('prompts/hello.rb', 'puts 1');
    const env = ['A=b=c', 'EMPTY=', 'N=1', 'N=2'];
    const expected = { A: 'b=c', EMPTY: '', N: '2' };
    expect((await input({ before: [join(home, 'a.rb')] }, { env })).program.env).toEqual(expected);
    expect((await input({}, { snippet: 'hello', env })).program.env).toEqual(expected);
  });

  it('a snippet; all words are its arguments', async () => {
    put('prompts/hello.rb', 'puts 1');
    const { program } = await input({ after: ['a', 'b'] }, { snippet: 'hello' });
    expect(program).toMatchObject({ code: 'puts 1', file: 'hello.rb', args: ['a', 'b'] });
  });

  it('files keep their path below the program, and what it reads is a file', async () => {
    mkdirSync(join(home, 'cmd/util'), { recursive: true });
    put('cmd/main.go');
    put('cmd/util/util.go', 'util');
    put('data.bin', Buffer.from([0, 255]));
    const { program, files } = await input(
      { before: [join(home, 'cmd/main.go')] },
      {
        file: [join(home, 'cmd/util/util.go'), join(home, 'data.bin')],
        stdin: join(home, 'data.bin'),
      },
    );
    expect(files).toEqual([
      { name: 'util/util.go', data: Buffer.from('util').toString('base64') },
      { name: 'data.bin', data: Buffer.from([0, 255]).toString('base64') },
    ]);
    expect(program.stdin).toEqual(Buffer.from([0, 255]));
  });

  it.each([
    ['/work/cmd/util/util.go', '/work/cmd', 'util/util.go'],
    ['/work/data/x.csv', '/work/cmd', 'x.csv'],
    ['/etc/hosts', '/work', 'hosts'],
    ['/work/cmd-other/x', '/work/cmd', 'x'],
    ['/work/..x/y', '/work', '..x/y'],
    ['data/x.csv', '/elsewhere', 'data/x.csv'],
    ['./a//b/../c.txt', '/elsewhere', 'a/c.txt'],
    ['../x.csv', '/elsewhere', 'x.csv'],
    ['test/cli/x', join(process.cwd(), 'test'), 'cli/x'],
  ])('%s beside a program in %s arrives as %s', (path, folder, name) => {
    expect(nameInside(path, folder)).toBe(name);
  });

  it.each([
    ['-x.py', 'which has a part that begins with a dash'],
    ['a\u0007.py', 'which holds a control character'],
  ])('%j is no name inside', async (file, problem) => {
    put(file);
    await expect(input({ before: [join(home, file)] })).rejects.toThrow(problem);
  });

  it('more than goes into a run is refused', async () => {
    put('a.py', 'x');
    put('large', Buffer.alloc(10 * 1024 * 1024));
    put('small');
    await expect(input({ before: [join(home, 'a.py')] }, { file: [join(home, 'large')] })).rejects.toThrow(
      "large', the files have more than 10 MiB",
    );
    const file = Array.from({ length: 100 }, () => join(home, 'small'));
    await expect(input({ before: [join(home, 'a.py')] }, { file })).rejects.toThrow(
      '--file: got 100 files, at most 99 are allowed.',
    );
    const env = Array.from({ length: 11 }, (_, n) => `V${n}=${'x'.repeat(100_000)}`);
    await expect(input({ before: [join(home, 'a.py')] }, { env })).rejects.toThrow(
      'The arguments and variables have 1100133 bytes together, at most 1048576 are allowed.',
    );
  });
});

describe('the result', () => {
  const outcome = {
    ...outcomeWithoutRun('error', { type: 'E_IMAGE_MISSING', message: 'No image.', remedy: 'Build it.' }, 30),
    durationMs: 12.4,
  };
  const json = (of: typeof outcome, collected = new Collected()) => {
    const line = [...jsonPieces(of, collected)].join('');
    expect(line.trim().split('\n')).toHaveLength(1);
    return JSON.parse(line) as unknown;
  };

  it('is isolator’s, in one line', () => {
    const collected = new Collected();
    collected.stdout.add('a\n\u001b[31m\ud800');
    expect(json(outcome, collected)).toEqual({
      status: 'error',
      exitCode: -1,
      stdout: 'a\n\u001b[31m\ufffd',
      stderr: '',
      durationMs: 12,
      error: 'No image. Build it.',
    });
  });

  it('knows three ends only, and names what the program has left', () => {
    const left = {
      files: [
        { name: 'out/a', mimeType: 'text/plain', content: Buffer.from('hi'), text: 'hi', kept: undefined },
        { name: 'out/b', mimeType: 'x/y', content: Buffer.alloc(3), text: undefined, kept: undefined },
      ],
      result: undefined,
      skipped: [{ name: 'out/c', reason: 'is a link' }],
      skippedMore: 2,
      keepSeconds: 0,
      isResultSpare: false,
      trouble: undefined,
    };
    expect(json({ ...outcome, status: 'cancelled', error: undefined, left })).toMatchObject({
      status: 'error',
      files: [
        { name: 'out/a', bytes: 2, text: 'hi' },
        { name: 'out/b', bytes: 3 },
        { name: 'out/c', problem: 'not saved: it is a link' },
        { name: '2 more', problem: 'not saved' },
      ],
    });
    expect(json({ ...outcome, status: 'validation_error' })).toMatchObject({ status: 'error' });
    expect(json({ ...outcome, status: 'timeout' })).toMatchObject({ status: 'timeout' });
  });
});

describe('output on its way', () => {
  const sink = (isTTY: boolean, writableLength = 0) => {
    const written: (string | Buffer)[] = [];
    const stream = { isTTY, writableLength, write: (piece: string | Buffer) => written.push(piece) };
    return { written, passOn: new PassOn(stream as unknown as NodeJS.WriteStream) };
  };

  it('goes into a pipe as it is', () => {
    const { written, passOn } = sink(false);
    passOn.add('a\r');
    passOn.add('\u001b[31mb');
    passOn.end();
    expect(written).toEqual(['a\r', '\u001b[31mb']);
  });

  it('that is no text goes into a pipe as its bytes, and onto a terminal as what can be shown of them', () => {
    const bytes = Buffer.from([0xff, 0x00, 0x0a]);
    for (const isTTY of [false, true]) {
      const { written, passOn } = sink(isTTY);
      passOn.add('\ufffd\u0000\n', bytes.toString('base64'));
      expect(written).toEqual(isTTY ? ['\ufffd\\x00\n'] : [bytes]);
    }
  });

  it('is known to end in the middle of a line', () => {
    const { passOn } = sink(false);
    expect(passOn.isLineOpen).toBe(false);
    passOn.add('a');
    expect(passOn.isLineOpen).toBe(true);
    passOn.add('\n');
    passOn.add('');
    expect(passOn.isLineOpen).toBe(false);
  });

  it('goes onto a terminal in lines that it does not obey', () => {
    const { written, passOn } = sink(true);
    passOn.add('one\n\u001b]0;ti');
    passOn.add('tle\u0007two');
    expect(written).toEqual(['one\n']);
    passOn.add('\nthr\u0007ee');
    passOn.end();
    passOn.end();
    expect(written).toEqual(['one\n', 'two\n', 'thr\\x07ee']);
  });

  it('is counted where it waits too long for its reader', () => {
    const { written, passOn } = sink(false, 129 * 1024 ** 2);
    passOn.add('ä');
    expect(written).toEqual([]);
    expect(passOn.missingBytes).toBe(2);
  });
});

describe('snippets', () => {
  it('are listed with what lies beside them', async () => {
    put('prompts/hello.py', '# Says hello.\n');
    put('prompts/README.md');
    symlinkSync('/etc/hostname', join(home, 'prompts/host.rb'));
    const env = { MCP_BRIDGE_SNIPPETS: join(home, 'prompts') };
    const { stdout, exitCode } = await commandHere(['snippets'], { home, env });
    expect(stdout.split('\n')).toEqual([
      join(home, 'prompts'),
      'name     language  file       says',
      'hello    python    hello.py   Says hello.',
      'skipped            README.md  has an ending that belongs to no language',
      'skipped            host.rb    is a link that leads out of the folder',
      '',
      '1 snippet, 2 skipped',
      '',
    ]);
    expect(exitCode).toBe(0);
    const json = await commandHere(['snippets', '--json'], { home, env });
    expect(JSON.parse(json.stdout)).toMatchObject({
      folder: join(home, 'prompts'),
      snippets: [{ name: 'hello', file: 'hello.py', language: 'python', description: 'Says hello.' }],
      skipped: [{ file: 'README.md' }, { file: 'host.rb' }],
    });
  });

  it('of isolator: in prompts beside its file, unless the file or a variable says otherwise', async () => {
    put('prompts/hello.py', '1\n');
    const said = async (content: object, more: object = {}) => {
      writeFileSync(join(home, 'isolator_config.json'), JSON.stringify(content), { mode: 0o600 });
      const env = { MCP_BRIDGE_ISOLATOR_CONFIG: join(home, 'isolator_config.json'), ...more };
      return JSON.parse((await commandHere(['snippets', '--json'], { home, env })).stdout) as object;
    };
    const found = { folder: join(home, 'prompts'), snippets: [{ name: 'hello' }] };
    expect(await said({})).toMatchObject(found);
    mkdirSync(join(home, 'mine'));
    const mine = { folder: join(home, 'mine'), snippets: [] };
    expect(await said({ promptsDir: 'mine' })).toMatchObject(mine);
    expect(await said({}, { MCP_BRIDGE_SNIPPETS: join(home, 'mine') })).toMatchObject(mine);
  });

  it('a folder that is not there, and none at all', async () => {
    const absent = await commandHere(['snippets'], {
      home,
      env: { MCP_BRIDGE_SNIPPETS: join(home, 'absent') },
    });
    expect(absent).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('ENOENT') });
    expect((await commandHere(['snippets'], { home })).stdout).toContain('Name one in MCP_BRIDGE_SNIPPETS');
  });
});
