// How a window meets the shared bridge: it connects and greets, and where nobody listens, one of all who wait starts it.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { type FirstMessage, firstMessage, messageFrame } from './frames.js';
import type { BridgeMessage, Greeting, StartReport, WindowGreeting, WindowRefusal } from './greeting.js';
import { lockStart } from './place.js';

/** A bridge that is alive greets within milliseconds; one that stands still is not waited for. */
const GREETS_WITHIN_MS = 5_000;
/** Time for the start of a bridge, on a machine that is busy with a hundred others. */
const STARTS_WITHIN_MS = 15_000;
const LOOK_AGAIN_MS = 15;
/** Why a window that was refused is better by itself; one that was let go of by a bridge which ends tries again. */
const ALONE_BY: Readonly<Record<WindowRefusal, string | undefined>> = {
  closing: undefined,
  settings: 'its settings differ',
  older: 'it has a newer version',
};
/** Where it reports that it listens, or why it cannot. */
const REPORT_FD = 3;

/** A connection on which the greeting was answered. */
export type Joined = Omit<FirstMessage, 'message'> & {
  readonly socket: Socket;
  readonly is: 'joined';
  readonly pid: number;
  readonly version: string;
};

/** `alone`: this window is better by itself, with the reason in words. */
export type Meeting = Joined | { readonly is: 'alone'; readonly why: string };

/** Joins the shared bridge at `place`, and starts it where there is none. Never rejects. */
export async function meet({
  place,
  greeting,
  command,
}: {
  /** Where it listens, with its folder made anew where the last bridge took it along; undefined where it may be nowhere. */
  readonly place: () => string | undefined;
  readonly greeting: WindowGreeting;
  /** Starts a shared bridge for a socket: program, and arguments before the socket's own. */
  readonly command: readonly [string, ...string[]];
}): Promise<Meeting> {
  const until = performance.now() + STARTS_WITHIN_MS;
  while (performance.now() < until) {
    const socket = place();
    if (socket === undefined)
      return { is: 'alone', why: 'there is no folder for its socket that this user alone can enter' };
    const met = await greet(socket, greeting);
    if (met !== undefined) {
      const { message } = met;
      if (message.is === 'joined') return { ...met, ...message };
      met.socket.destroy();
      const refusal = message.is === 'refused' ? ALONE_BY[message.kind] : undefined;
      if (refusal !== undefined) return { is: 'alone', why: refusal };
    }
    using lock = lockStart(socket);
    if (lock !== undefined) {
      // The process that had the lock before may have started a bridge.
      const trouble = (await isThere(socket)) ? undefined : await start([...command, socket], greeting);
      if (trouble !== undefined) return { is: 'alone', why: trouble };
    }
    // Not all at the same moment.
    else await sleep(LOOK_AGAIN_MS * (1 + Math.random()));
  }
  return { is: 'alone', why: `none answered within ${STARTS_WITHIN_MS / 1000} s` };
}

/** The bridge's answer to `greeting`, whatever it is; undefined where none listens or the bridge says nothing. */
export async function greet(
  path: string,
  greeting: Greeting,
): Promise<
  (Omit<FirstMessage, 'message'> & { readonly socket: Socket; readonly message: BridgeMessage }) | undefined
> {
  const socket = connect(path);
  socket.once('connect', () => socket.write(messageFrame(greeting)));
  const opened = await firstMessage(socket, GREETS_WITHIN_MS);
  return opened && { ...opened, socket, message: opened.message as unknown as BridgeMessage };
}

async function isThere(path: string): Promise<boolean> {
  const socket = connect(path);
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

/** Resolves when it listens; with what is wrong where it does not. */
async function start(
  [program, ...args]: readonly [string, ...string[]],
  { cwd, env }: WindowGreeting,
): Promise<string | undefined> {
  // A session of its own: it must not end with the terminal or the host of this window.
  const child = spawn(program, args, {
    cwd,
    env,
    detached: true,
    stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
  });
  child.unref();
  const report = child.stdio[REPORT_FD] as Socket;
  let said = '';
  return await new Promise((resolve) => {
    const done = (trouble: string | undefined) => {
      clearTimeout(timer);
      report.destroy();
      resolve(trouble);
    };
    const timer = setTimeout(() => {
      child.kill('SIGKILL');
      done(`it did not start within ${STARTS_WITHIN_MS / 1000} s`);
    }, STARTS_WITHIN_MS);
    child.once('error', (thrown) => done(`it cannot be started: ${thrown.message}`));
    report.on('data', (chunk: Buffer) => {
      said += chunk.toString();
      if (!said.endsWith('\n')) return;
      const told = JSON.parse(said) as StartReport;
      done(told.is === 'failed' ? told.why : undefined);
    });
    report.once('close', () => done('it ended while it started'));
    report.on('error', () => {});
  });
}
