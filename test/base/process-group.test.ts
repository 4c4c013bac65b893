// Ending what a process has started, on systems with process groups and on Windows, which has none.

import { expect, it } from 'vitest';
import {
  type GroupCalls,
  groupOptions,
  isGroupAlive,
  signalGroup,
} from '../../src/base/process/process-group.js';

class Calls implements GroupCalls {
  readonly env = { SystemRoot: 'D:\\Windows' };
  readonly said: string[] = [];
  readonly platform: NodeJS.Platform;
  readonly #error: string | undefined;

  constructor(platform: NodeJS.Platform, error?: string) {
    this.platform = platform;
    this.#error = error;
  }
  readonly kill = (pid: number, signal: NodeJS.Signals | 0): void => {
    this.said.push(`kill ${pid} ${signal}`);
    if (this.#error !== undefined) throw Object.assign(new Error(), { code: this.#error });
  };
  readonly runToEnd = (file: string, args: readonly string[]): void => {
    this.said.push([file, ...args].join(' '));
  };
}

it.each(['linux', 'darwin'] as const)(
  '%s: the group gets the signal, also when its first process has gone',
  (platform) => {
    const calls = new Calls(platform);
    signalGroup(42, 'SIGTERM', false, calls);
    signalGroup(42, 'SIGKILL', true, calls);
    expect(calls.said).toEqual(['kill -42 SIGTERM', 'kill -42 SIGKILL']);
    expect(isGroupAlive(42, true, calls)).toBe(true);
    expect(groupOptions(platform).detached).toBe(true);
  },
);

it('a group that is gone is not alive, and takes a signal silently; one of another user is alive', () => {
  const gone = new Calls('darwin', 'ESRCH');
  expect(() => signalGroup(42, 'SIGKILL', false, gone)).not.toThrow();
  expect(isGroupAlive(42, false, gone)).toBe(false);
  expect(isGroupAlive(42, false, new Calls('darwin', 'EPERM'))).toBe(true);
});

it('Windows: taskkill of the system ends the tree, and nobody signals a negative id', () => {
  const calls = new Calls('win32');
  signalGroup(42, 'SIGTERM', false, calls);
  expect(calls.said).toEqual(['D:\\Windows\\System32\\taskkill.exe /T /F /PID 42']);
  expect([isGroupAlive(42, false, calls), isGroupAlive(42, true, calls)]).toEqual([true, false]);
  // Its own console would be a window.
  expect(groupOptions('win32')).toEqual({ detached: false, windowsHide: true });
});

it('Windows: an id whose process has gone may be another program’s, and is left alone', () => {
  const calls = new Calls('win32');
  signalGroup(42, 'SIGKILL', true, calls);
  expect(calls.said).toEqual([]);
});
