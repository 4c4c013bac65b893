// A window of a shared bridge, where the user wants one: this process then carries bytes and loads nothing else. Read before
// anything of the bridge itself is loaded.

import { VERSION } from '../../base/version.js';
import { buildOf } from '../../service/windows/greeting.js';
import { meet } from '../../service/windows/meet.js';
import { sharedSocket } from '../../service/windows/place.js';
import { relay } from '../../service/windows/relay.js';

/** The hidden command that a window starts: the process of the shared bridge. */
const SHARED_BRIDGE = 'shared-bridge';

/** Whether the value of the variable asks for a shared bridge; an unknown value is reported with the settings. */
export function wantsShared(value: string | undefined): boolean {
  const said = value?.trim().toLowerCase() || DEFAULT;
  return said === 'on' || said === 'auto';
}

const DEFAULT = 'off';

/** How this process meets the shared bridge of its environment; or why it may meet none. */
export function meetingHere(isCommandLine = false): Parameters<typeof meet>[0] | { readonly why: string } {
  const { env, pid, platform } = process;
  // A pipe that only its user can open needs an access list, which Node sets on none.
  if (platform === 'win32') return { why: 'Node cannot protect a pipe on Windows' };
  const cwd = currentFolder();
  if (cwd === undefined) return { why: 'the folder that it was started in is gone' };
  const script = process.argv[1];
  if (script === undefined) return { why: 'it was not started by a file' };
  return {
    place: () => sharedSocket(env),
    greeting: {
      ask: 'join',
      build: buildOf(VERSION, script),
      pid,
      cwd,
      env: textsOf(env),
      isTerminal: process.stderr.isTTY === true,
      isCommandLine,
      isBack: false,
    },
    command: [process.execPath, ...process.execArgv, script, SHARED_BRIDGE],
  };
}

/**
 * Serves this process' agent through the shared bridge, and ends the process with the agent. Gives back why this window is to
 * have a bridge of its own where it is; undefined where none was wanted.
 */
export async function serveShared(): Promise<string | undefined> {
  const { env, stdin, stdout, stderr } = process;
  if (!wantsShared(env['MCP_BRIDGE_SHARED'])) return undefined;
  const here = meetingHere();
  if ('why' in here) return here.why;
  const joined = await meet(here);
  if (joined.is === 'alone') return joined.why;
  // The host's way to end a server; nothing of ours is left to be ended here.
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.once(signal, () => process.exit(0));
  const meetAgain = () => meet({ ...here, greeting: { ...here.greeting, isBack: true } });
  await relay({ input: stdin, output: stdout, log: stderr, joined, meetAgain });
  process.exit(0);
}

const textsOf = (env: NodeJS.ProcessEnv): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(env).filter((pair): pair is [string, string] => pair[1] !== undefined));

function currentFolder(): string | undefined {
  try {
    return process.cwd();
  } catch {
    return undefined;
  }
}
