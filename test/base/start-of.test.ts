// Starting programs on Windows: what is found for a name, and what a batch file and the program behind it read of the
// arguments, by the parsers of Windows written anew in windows-command-line.ts.

import { describe, expect, it } from 'vitest';
import { BridgeError } from '../../src/base/errors.js';
import { findOnWindows, type StartPlace, startOf, startOfLine } from '../../src/base/process/start-of.js';
import {
  CMD_MAX_CHARS,
  HOSTILE,
  readByBatch,
  readByCmd,
  readByCommandLineToArgvW,
  readByCRuntime,
} from './windows-command-line.js';

const NODE = 'C:\\Program Files\\nodejs';
const SYSTEM = { SystemRoot: 'C:\\Windows', PATHEXT: '.COM;.EXE;.BAT;.CMD;.VBS;.JS;.PY' };

/** A machine with these files; like NTFS it does not mind case. */
function windows(
  files: readonly string[],
  env: Readonly<Record<string, string>> = { Path: `C:\\Windows\\system32;${NODE}` },
  cwd = 'D:\\work',
): StartPlace {
  const there = new Set(files.map((file) => file.toLowerCase()));
  return {
    platform: 'win32',
    env: { ...SYSTEM, ...env },
    cwd,
    isFile: (path) => there.has(path.toLowerCase()),
  };
}
const NPX = windows([`${NODE}\\npx`, `${NODE}\\npx.cmd`, `${NODE}\\node.exe`]);

describe('other systems', () => {
  it.each(['linux', 'darwin', 'freebsd'] as const)(
    '%s: the same vector, and no look at the disk',
    (platform) => {
      const place: StartPlace = {
        platform,
        env: {},
        cwd: '/',
        isFile: () => {
          throw new Error('looked');
        },
      };
      const args = ['-y', 'a"b', '%PATH%', 'two\nlines'];
      expect(startOf('npx.cmd', args, place)).toEqual({ file: 'npx.cmd', args, isVerbatim: false });
      expect(startOf('npx.cmd', args, place).args).toBe(args);
    },
  );
});

describe('what a name starts', () => {
  it.each<[string, StartPlace, string | undefined]>([
    ['npx', NPX, `${NODE}\\npx.CMD`],
    ['NPX', NPX, `${NODE}\\NPX.CMD`],
    ['npx.cmd', NPX, `${NODE}\\npx.cmd`],
    ['node', NPX, `${NODE}\\node.EXE`],
    // The shell script without an ending that npm installs beside it is no program of Windows.
    ['npx', windows([`${NODE}\\npx`]), undefined],
    ['nothing', NPX, undefined],
    ['', NPX, undefined],
    ['  ', NPX, undefined],
    ['..', NPX, undefined],
  ])('%j', (program, place, expected) => {
    expect(findOnWindows(program, place)).toBe(expected);
  });

  it('the order of folders comes before that of endings, and that of endings is PATHEXT', () => {
    const files = ['C:\\a\\x.cmd', 'C:\\b\\x.exe', 'C:\\b\\x.cmd', 'C:\\b\\x.com'];
    const found = (PATH: string, PATHEXT: string) => findOnWindows('x', windows(files, { PATH, PATHEXT }));
    expect(found('C:\\a;C:\\b', '.COM;.EXE;.BAT;.CMD')).toBe('C:\\a\\x.CMD');
    expect(found('C:\\b;C:\\a', '.COM;.EXE;.BAT;.CMD')).toBe('C:\\b\\x.COM');
    expect(found('C:\\b;C:\\a', '.cmd;.exe')).toBe('C:\\b\\x.cmd');
    // Neither of these starts anything by itself; then it is what Windows has from the beginning.
    expect(found('C:\\b;C:\\a', '.PY;.JS')).toBe('C:\\b\\x.com');
    expect(found('C:\\b', '')).toBe('C:\\b\\x.com');
  });

  it('a name with an ending of its own is tried as it stands first, another dot is part of the name', () => {
    const place = windows(['C:\\a\\x.exe.cmd', 'C:\\a\\x.exe', 'C:\\a\\server-1.2.exe', 'C:\\a\\run.js'], {
      PATH: 'C:\\a',
    });
    expect(findOnWindows('x.exe', place)).toBe('C:\\a\\x.exe');
    expect(findOnWindows('server-1.2', place)).toBe('C:\\a\\server-1.2.EXE');
    expect(findOnWindows('run.js', place)).toBeUndefined();
  });

  it('PATH in any case, with quotes, spaces, empty parts and a semicolon in a name', () => {
    const PATH = ';"C:\\Program Files\\a;b"; C:\\with space ;;\\\\server\\share\\bin;C:\\"odd"\\bin';
    const files = [
      'C:\\Program Files\\a;b\\one.exe',
      'C:\\with space\\two.exe',
      '\\\\server\\share\\bin\\three.exe',
      'C:\\odd\\bin\\four.exe',
    ];
    for (const name of ['PATH', 'Path', 'path', 'pAtH']) {
      const place = windows(files, { [name]: PATH });
      expect(['one', 'two', 'three', 'four'].map((one) => findOnWindows(one, place)?.toLowerCase())).toEqual(
        files.map((file) => file.toLowerCase()),
      );
    }
    // Of two spellings Node hands on the first in alphabetical order.
    expect(findOnWindows('one', windows(files, { Path: PATH, PATH: 'C:\\none' }))).toBeUndefined();
  });

  it('neither the working directory nor a relative folder of PATH is searched for a bare name', () => {
    const place = windows(['D:\\work\\npx.exe', 'D:\\work\\bin\\npx.exe'], { PATH: '.;bin;;D:' });
    expect(findOnWindows('npx', place)).toBeUndefined();
    expect(() => startOf('npx', [], place)).toThrow(expect.objectContaining({ code: 'ENOENT' }));
  });

  it.each([
    ['.\\server', 'D:\\work\\server.CMD'],
    ['./server', 'D:\\work\\server.CMD'],
    ['bin/tool', 'D:\\work\\bin\\tool.EXE'],
    ['..\\up.exe', 'D:\\up.exe'],
    ['\\rooted', 'D:\\rooted.EXE'],
    ['E:\\x y\\z', 'E:\\x y\\z.BAT'],
    ['e:/x y/z.bat', 'e:\\x y\\z.bat'],
    ['\\\\server\\share\\tool', '\\\\server\\share\\tool.EXE'],
  ])('%s counts from the folder of the server', (program, expected) => {
    const files = [
      'D:\\work\\server.cmd',
      'D:\\work\\bin\\tool.exe',
      'D:\\up.exe',
      'D:\\rooted.exe',
      'E:\\x y\\z.bat',
      '\\\\server\\share\\tool.exe',
    ];
    expect(findOnWindows(program, windows(files))).toBe(expected);
  });
});

describe('programs', () => {
  it('what is no batch file is started itself, by its path, with its arguments as they are', () => {
    const args = ['-y', 'a "b"', '%PATH%', 'a\nb'];
    expect(startOf('node', args, NPX)).toEqual({ file: `${NODE}\\node.EXE`, args, isVerbatim: false });
  });

  it.each(['npx.cmd', 'npx.cmd.', 'npx.CMD . ', 'npx'])('%j is a batch file', (program) => {
    const start = startOf(program, ['-y'], NPX);
    expect(start).toMatchObject({ file: 'C:\\Windows\\System32\\cmd.exe', isVerbatim: true });
    expect(start.args.slice(0, -1)).toEqual(['/d', '/e:on', '/v:off', '/s', '/c']);
    expect(start.args.at(-1)?.toLowerCase()).toBe(`""${NODE.toLowerCase()}\\npx.cmd" -y"`);
  });

  it.each([
    [{ SystemRoot: 'D:\\WINNT' }, 'D:\\WINNT\\System32\\cmd.exe'],
    [{ SYSTEMROOT: 'E:\\Windows\\' }, 'E:\\Windows\\System32\\cmd.exe'],
    [{ SystemRoot: '.\\evil' }, 'C:\\Windows\\System32\\cmd.exe'],
  ])('cmd.exe is that of Windows, not one of the working directory or of ComSpec: %j', (env, expected) => {
    const { SystemRoot: _, ...rest } = SYSTEM;
    const place = { ...NPX, env: { ...rest, Path: NODE, ComSpec: 'C:\\evil.exe', ...env } };
    expect(startOf('npx', [], place).file).toBe(expected);
  });
});

/** What the user's own machine has; names that an argument may spell. */
const ENV = { PATH: 'C:\\secret & calc', SystemRoot: 'C:\\Windows', cd: 'D:\\work', 'a b': 'nested', x: 'y' };

/** The two lines that npm writes for its own commands and for those of packages, and what others write. */
const TEMPLATES = ['"%NODE_EXE%" "%NPX_CLI_JS%" %*', '"%_prog%"  "%dp0%\\node_modules\\x\\cli.js" %*'];
const BATCH_ENV = {
  ...ENV,
  NODE_EXE: 'C:\\node.exe',
  NPX_CLI_JS: 'C:\\npx-cli.js',
  _prog: 'node',
  dp0: 'C:\\bin',
};

/** The command line behind cmd.exe's `/c`, as Node writes it: verbatim. */
const lineOf = (args: readonly string[]): string => startOf('npx', args, NPX).args.at(-1) ?? '';

function readThrough(args: readonly string[], template: string): string[] {
  const commands = readByCmd(lineOf(args), ENV);
  expect(commands).toHaveLength(1);
  const started = readByBatch(commands[0] ?? '', template, BATCH_ENV);
  expect(started).toHaveLength(1);
  return readByCRuntime(started[0] ?? '').slice(1);
}

describe('arguments of a batch file', () => {
  it.each(HOSTILE)('%j arrives as it was written, alone and among others', (arg) => {
    for (const template of TEMPLATES) {
      expect(readThrough([arg], template)).toEqual([arg]);
      expect(readThrough(['a b', arg, 'c"d', arg, '-z'], template)).toEqual(['a b', arg, 'c"d', arg, '-z']);
    }
  });

  it('are read as they were given, all of them at once', () => {
    for (const template of TEMPLATES) expect(readThrough(HOSTILE, template)).toEqual(HOSTILE);
  });

  it('every text of four from the characters that mean something', () => {
    const chars = ['"', '\\', '%', '^', '&', ' ', '!', 'x'];
    const [template = ''] = TEMPLATES;
    for (let number = 0; number < chars.length ** 4; number++) {
      const arg = [0, 1, 2, 3]
        .map((digit) => chars[Math.floor(number / chars.length ** digit) % chars.length])
        .join('');
      const read = readByBatch(readByCmd(lineOf([arg, '&']), ENV)[0] ?? '', template, BATCH_ENV);
      if (
        read.length !== 1 ||
        readByCRuntime(read[0] ?? '')
          .slice(1)
          .join('\n') !== `${arg}\n&`
      )
        expect([arg, read]).toEqual('one command with the two arguments');
    }
  });

  it('a batch file that hands its arguments on twice, or one by one, starts nothing else either', () => {
    for (const arg of HOSTILE) {
      const [first = ''] = readByCmd(lineOf([arg, '&calc']), ENV);
      const [second = ''] = readByBatch(first, '"C:\\next.cmd" %*', BATCH_ENV);
      expect(readByBatch(second, 'node %*', BATCH_ENV)).toHaveLength(1);
      expect(readByBatch(first, 'node "%~1" %2', BATCH_ENV)).toHaveLength(1);
    }
  });

  it('a folder that ends with a backslash survives a batch file that puts it between quotes', () => {
    for (const folder of ['C:\\no_space\\', 'C:\\Users\\x y\\', '\\\\server\\share\\']) {
      const [first = ''] = readByCmd(lineOf([folder]), ENV);
      const [started = ''] = readByBatch(first, 'node "%~1" -z', BATCH_ENV);
      expect(readByCRuntime(started)).toEqual([folder, '-z']);
    }
  });

  it('programs that read by CommandLineToArgvW get the same where no quote is in the argument', () => {
    const args = HOSTILE.filter((arg) => !arg.includes('"'));
    const [first = ''] = readByCmd(lineOf(args), ENV);
    const [started = ''] = readByBatch(first, '"C:\\tool.exe" %*', BATCH_ENV);
    expect(readByCommandLineToArgvW(started)).toEqual(args);
  });

  it('a folder with a per cent sign, an ampersand or a caret in its name', () => {
    const folder = 'C:\\100%x% & ^more';
    const place = windows([`${folder}\\npx.cmd`], { PATH: folder });
    const line = startOf('npx', ['a b'], place).args.at(-1) ?? '';
    expect(readByCmd(line, ENV)).toEqual([`"${folder}\\npx.CMD" "a b"`]);
  });

  it.each(['a\nb', 'a\rb', '\r\n', 'a\0b'])('%j is refused, with what to do', (arg) => {
    const thrown = caught(() => startOf('npx', ['-y', arg], NPX));
    expect(thrown).toBeInstanceOf(BridgeError);
    expect(thrown).toMatchObject({ code: 'E_PROCESS', fault: 'operator' });
    expect((thrown as BridgeError).message).toBe(
      'argument 2 of npx.CMD has a line break or a NUL, which a batch file cannot take.',
    );
    expect((thrown as BridgeError).remedy).toContain('node');
  });

  it('a line that cmd.exe would cut is refused, the longest one that it reads is not', () => {
    const room = CMD_MAX_CHARS - lineOf(['']).length + '""'.length + '""'.length;
    expect(lineOf(['x'.repeat(room)])).toHaveLength(CMD_MAX_CHARS + 2);
    expect(caught(() => startOf('npx', ['x'.repeat(room + 1)], NPX))).toMatchObject({ code: 'E_PROCESS' });
    // A few signs become many.
    expect(caught(() => startOf('npx', ['%'.repeat(2_000)], NPX))).toMatchObject({ code: 'E_PROCESS' });
    expect(caught(() => startOf('npx', ['"'.repeat(10_000_000)], NPX))).toMatchObject({ code: 'E_PROCESS' });
  });
});

describe('a line of the user’s own', () => {
  it('goes to cmd.exe as it was written, between quotes that cmd.exe takes off', () => {
    const line = '"C:\\Program Files\\vault.exe" read --format json "a b" | jq .x';
    const { file, args, isVerbatim } = startOfLine(line, { platform: 'win32', env: SYSTEM });
    expect([file, isVerbatim]).toEqual(['C:\\Windows\\System32\\cmd.exe', true]);
    expect(args).toEqual(['/d', '/s', '/c', `"${line}"`]);
    expect(readByCmd(args.at(-1) ?? '', {})).toEqual([
      '"C:\\Program Files\\vault.exe" read --format json "a b" ',
      ' jq .x',
    ]);
  });

  it.each(['linux', 'darwin'] as const)('starts /bin/sh on %s, as ever', (platform) => {
    expect(startOfLine('echo "$X"', { platform, env: {} })).toEqual({
      file: '/bin/sh',
      args: ['-c', 'echo "$X"'],
      isVerbatim: false,
    });
  });
});

function caught(action: () => unknown): unknown {
  try {
    action();
  } catch (thrown) {
    return thrown;
  }
  return undefined;
}
