// Ending a process together with what it has started. POSIX systems have process groups and signals; Windows has neither,
// but taskkill, which follows the parents' ids. Knows nothing of what the processes are for.

import { spawnSync } from 'node:child_process';
import { type Environment, windowsSystemProgram } from './environment.js';

/** Calls to the operating system; a test gives its own. */
export type GroupCalls = {
  readonly platform: NodeJS.Platform;
  readonly kill: (pid: number, signal: NodeJS.Signals | 0) => void;
  /** Runs a program until it ends, without a window; never throws. */
  readonly runToEnd: (file: string, args: readonly string[]) => void;
  /** Our own environment, which says where Windows is: a program's could name another taskkill. */
  readonly env: Environment;
};

/** One call of taskkill takes a tenth of a second or two; one that hangs must not hold an exit up. */
const TASKKILL_WITHIN_MS = 2_000;

export const GROUP_CALLS: GroupCalls = {
  platform: process.platform,
  kill: (pid, signal) => process.kill(pid, signal),
  runToEnd: (file, args) => {
    spawnSync(file, args, { windowsHide: true, stdio: 'ignore', timeout: TASKKILL_WITHIN_MS });
  },
  get env() {
    const { env } = process;
    return env;
  },
};

/** Spawn options that make the new process the first of a group. On Windows they would only give it a window. */
export const groupOptions = (platform = process.platform) =>
  ({ detached: platform !== 'win32', windowsHide: true }) as const;

/**
 * Signals the group whose first process has the id `pid`; a group that is gone needs nothing. Windows has no signal that
 * asks, so every name ends all of them there, and does so only while the first one runs (`hasExited` is false): its id may
 * be another program's a moment later, and without it nobody knows what it had started.
 */
export function signalGroup(
  pid: number,
  signal: NodeJS.Signals,
  hasExited: boolean,
  calls: GroupCalls = GROUP_CALLS,
): void {
  if (calls.platform === 'win32') {
    if (hasExited) return;
    calls.runToEnd(windowsSystemProgram('taskkill.exe', calls.env), ['/T', '/F', '/PID', String(pid)]);
    return;
  }
  try {
    calls.kill(-pid, signal);
  } catch {
    // ESRCH: the group is gone, which is what was wanted.
  }
}

/** Whether a process of the group is left; on Windows, whether the first one is. */
export function isGroupAlive(pid: number, hasExited: boolean, calls: GroupCalls = GROUP_CALLS): boolean {
  if (calls.platform === 'win32') return !hasExited;
  try {
    calls.kill(-pid, 0);
    return true;
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code === 'EPERM';
  }
}

// The synchronous last resort: when the process is about to end for whatever reason, these hooks run and cannot wait.
// The hooks kill what would outlive us. SIGKILL runs nothing; labels on containers let the next start sweep.

const hooks = new Set<() => void>();
let installed = false;

function runAll(): void {
  for (const hook of hooks) {
    try {
      hook();
    } catch {
      // The process is ending and every other hook still has to run; nobody is left to tell.
    }
  }
  hooks.clear();
}

/** Registers `hook` to run synchronously at process exit; returns how to take it back. */
export function onExit(hook: () => void): () => void {
  if (!installed) {
    installed = true;
    process.on('exit', runAll);
  }
  hooks.add(hook);
  return () => {
    hooks.delete(hook);
  };
}
