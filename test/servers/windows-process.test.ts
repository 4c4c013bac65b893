// A server's process on Windows, played: what is started, with which options, and how it is ended.

import type { ChildProcessWithoutNullStreams, SpawnOptions, spawn } from 'node:child_process';
import { EventEmitter } from 'node:events';
import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { type ProcessCalls, ProcessTree } from '../../src/servers/stdio/process-tree.js';
import { startProblem } from '../../src/servers/stdio/stdio-transport.js';

const NPX = 'C:\\Program Files\\nodejs\\npx.cmd';

class PlayedChild extends EventEmitter {
  readonly pid = 42;
  readonly stdin = new PassThrough();
  readonly stdout = new PassThrough();
  readonly stderr = new PassThrough();
}

class PlayedWindows {
  readonly child = new PlayedChild();
  readonly started: { file: string; args: readonly string[]; options: SpawnOptions }[] = [];
  readonly ended: string[] = [];
  readonly calls: ProcessCalls = {
    platform: 'win32',
    env: { SystemRoot: 'C:\\Windows' },
    isFile: (path) => path.toLowerCase() === NPX.toLowerCase(),
    kill: () => {
      throw new Error('there are no signals');
    },
    runToEnd: (file, args) => {
      this.ended.push([file, ...args].join(' '));
      this.child.emit('exit', 1, null);
    },
    spawn: ((file: string, args: readonly string[], options: SpawnOptions) => {
      this.started.push({ file, args, options });
      return this.child as unknown as ChildProcessWithoutNullStreams;
    }) as typeof spawn,
  };

  start(command: string, args: readonly string[] = []): ProcessTree {
    const env = { Path: 'C:\\Program Files\\nodejs', SystemRoot: 'C:\\Windows' };
    return new ProcessTree({ command, args, env, cwd: 'D:\\work' }, undefined, this.calls);
  }
}

it('npx is started through cmd.exe, without a window and without a group of its own', () => {
  const windows = new PlayedWindows();
  windows.start('npx', ['-y', '@scope/server', '--root', 'C:\\x y']);
  expect(windows.started).toEqual([
    {
      file: 'C:\\Windows\\System32\\cmd.exe',
      args: [
        '/d',
        '/e:on',
        '/v:off',
        '/s',
        '/c',
        '""C:\\Program Files\\nodejs\\npx.cmd" -y @scope/server --root "C:\\x y""',
      ],
      options: expect.objectContaining({
        cwd: 'D:\\work',
        detached: false,
        windowsHide: true,
        windowsVerbatimArguments: true,
      }),
    },
  ]);
  expect(windows.started[0]?.options).not.toHaveProperty('shell');
});

it('one that does not go when its input is closed is ended with all that it has started, once', async () => {
  const windows = new PlayedWindows();
  const tree = windows.start('npx');
  const startedAt = performance.now();
  await tree.end();
  expect(windows.ended).toEqual(['C:\\Windows\\System32\\taskkill.exe /T /F /PID 42']);
  // A signal that asks does not exist: what it does about its closed input has that time as well.
  expect(performance.now() - startedAt).toBeGreaterThan(300);
  expect(windows.child.stdin.writableEnded).toBe(true);
  tree.killNow();
  expect(windows.ended).toHaveLength(1);
});

it('one that goes by itself is not killed', async () => {
  const windows = new PlayedWindows();
  const tree = windows.start('npx');
  windows.child.emit('exit', 0, null);
  await tree.end();
  expect(await tree.exited).toEqual({ code: 0, signal: undefined });
  expect(windows.ended).toEqual([]);
});

it('at our own end it is killed at once', () => {
  const windows = new PlayedWindows();
  windows.start('npx').killNow();
  expect(windows.ended).toHaveLength(1);
});

const problemOf = (command: string, args: readonly string[]) => {
  let thrown: unknown;
  try {
    new PlayedWindows().start(command, args);
  } catch (error) {
    thrown = error;
  }
  const said = { command, args, env: {}, cwd: undefined };
  return startProblem(said, { thrown, timedOutMs: undefined, ending: undefined, lastWords: '' });
};

it('a command that is not there, and an argument that a batch file cannot have, are told as such', () => {
  expect(problemOf('uvx', []).reason).toBe('command not found: uvx');
  const { reason, remedy } = problemOf('npx', ['a\nb']);
  expect(reason).toBe('argument 1 of npx.cmd has a line break or a NUL, which a batch file cannot take');
  expect(remedy).toContain('node');
});
