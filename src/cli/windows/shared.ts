// `status`, `stop` and `restart`: who uses the shared bridges of this user, and their end at the user's word.

import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { isOnlyOurs } from '../../base/files/only-ours.js';
import { VERSION } from '../../base/version.js';
import type { SharedStatus } from '../../service/windows/greeting.js';
import { greet, meet } from '../../service/windows/meet.js';
import {
  lockStart,
  removeIfEmpty,
  removeLeftLocks,
  sharedFolder,
  sharedSocket,
  sharedSockets,
} from '../../service/windows/place.js';
import { columns } from '../terminal/columns.js';
import { megabytes, printJson, sayNote, visibleText } from '../terminal/output.js';
import { paragraph, widthOf } from '../terminal/wrap.js';
import { meetingHere } from './start-relay.js';

const NONE =
  'No shared bridge runs. A window starts one where MCP_BRIDGE_SHARED is on; docs/windows.md says more.';

type SharedOptions = { readonly json?: true };
type StopOptions = SharedOptions & { readonly now?: true };

/** Status reports of every shared bridge of this user. */
export async function sharedStates(): Promise<readonly SharedStatus[]> {
  const states = await Promise.all(sharedSockets(process.env).map((path) => askBridge(path, 'status')));
  return states.filter((state) => state !== undefined).map(({ state }) => state);
}

/** Prints the status of the shared bridges. */
export async function status({ json }: SharedOptions): Promise<void> {
  const states = await sharedStates();
  if (json) return printJson({ version: VERSION, bridges: states });
  process.stdout.write(states.length === 0 ? paragraph(NONE) : statusText(states));
}

/** Ends them: calls that are under way are finished first, unless `now`. Windows start another when they next need one. */
export async function stop(options: StopOptions): Promise<void> {
  const ended = await stopAll(options);
  if (options.json) return printJson({ ended });
  process.stdout.write(ended.length === 0 ? 'No shared bridge runs.\n' : `${ended.map(endedLine).join('')}`);
}

/** Ends them, and starts one with the settings of this terminal, if there were any. */
export async function restart(options: StopOptions): Promise<void> {
  const ended = await stopAll(options);
  const started = await startOne();
  if (options.json) return printJson({ ended, started });
  process.stdout.write(
    ended.map(endedLine).join('') +
      (typeof started === 'number'
        ? `The shared bridge of these settings runs as process ${started}.\n`
        : `None was started: ${started}. A window starts one when it needs one.\n`),
  );
}

const endedLine = (pid: number): string => `The shared bridge ${pid} has ended.\n`;

/** Ends them; resolves with their processes. */
export async function stopAll({ json, now }: StopOptions): Promise<readonly number[]> {
  const ended: number[] = [];
  for (const path of sharedSockets(process.env)) {
    const met = await askBridge(path, 'stop');
    if (met === undefined) {
      // Left by one that was killed; not where a window is about to start one there.
      using lock = lockStart(path);
      if (lock !== undefined) rmSync(path, { force: true });
      continue;
    }
    const { state, socket } = met;
    const busy = state.windows.filter(({ isBusy }) => isBusy).length;
    if (!json && busy > 0 && !now)
      sayNote(`waiting for calls of ${busy === 1 ? '1 window' : `${busy} windows`}; --now does not`);
    // The bridge listens no more, and takes a signal for a second word.
    if (now) process.kill(state.pid, 'SIGTERM');
    socket.resume();
    if (!socket.destroyed) await once(socket, 'close');
    ended.push(state.pid);
  }
  tidyFolder();
  return ended;
}

/** Removes what bridges and windows that were killed have left in the folder. */
function tidyFolder(): void {
  const folder = sharedFolder(process.env);
  if (!isOnlyOurs(folder)) return;
  removeLeftLocks(folder);
  removeIfEmpty(folder);
}

/** The process of the shared bridge; or why there is none. */
async function startOne(): Promise<number | string> {
  const here = meetingHere();
  if ('why' in here) return here.why;
  const met = await meet(here);
  if (met.is === 'alone') return met.why;
  met.socket.end();
  return met.pid;
}

async function askBridge(path: string, ask: 'status' | 'stop') {
  const met = await greet(path, { ask });
  if (met === undefined) return undefined;
  const state = met.message as unknown as SharedStatus;
  if (ask === 'status') met.socket.destroy();
  return { state, socket: met.socket };
}

/** Status of several bridges, one after the other; the columns fit the terminal. */
export function statusText(states: readonly SharedStatus[], width = widthOf(process.stdout)): string {
  return states.map((state) => describeStatus(state, width)).join('\n');
}

function describeStatus(state: SharedStatus, width: number | undefined): string {
  const { pid, build, startedAtMs, windows, servers, sandboxes, memory, isClosing } = state;
  const others =
    memory.processesBytes === undefined ? '' : `, its processes ${megabytes(memory.processesBytes)}`;
  return [
    `Shared bridge ${pid}, version ${build.version}, since ${timeOf(startedAtMs)}${isClosing ? ', ending' : ''}\n`,
    `  memory     ${megabytes(memory.bridgeBytes)}${others}\n`,
    `  sandboxes  ${sandboxes.running} running, ${sandboxes.waiting} waiting\n\n`,
    windows.length === 0
      ? 'No window uses it.\n'
      : columns(windowRows(windows), { width, wraps: [3], drops: [4, 1] }),
    '\n',
    servers.length === 0 ? 'No server runs.\n' : columns(serverRows(servers), { width, wraps: [2] }),
  ].join('');
}

const windowRows = (windows: SharedStatus['windows']) => [
  ['window', 'process', 'agent', 'folder', 'since', 'now'],
  ...windows.map((window) => [
    String(window.window),
    String(window.pid),
    visibleText(window.client ?? ''),
    visibleText(window.folder),
    timeOf(window.sinceMs),
    window.isBusy ? 'busy' : 'idle',
  ]),
];

const serverRows = (servers: SharedStatus['servers']) => [
  ['server', 'state', 'windows'],
  ...servers.map(({ server, state, windows }) => [visibleText(server), state, windows.join(', ')]),
];

const timeOf = (ms: number): string => new Date(ms).toISOString().slice(0, 19).replace('T', ' ');

/** Tells `doctor` which one answers, in a line. */
export function answersInWords({ pid, build, windows, socket }: SharedStatus): string {
  const isOurs = socket === sharedSocket(process.env);
  const used = windows.length === 1 ? '1 window' : `${windows.length} windows`;
  const of = isOurs ? 'windows with these settings' : 'windows with other settings';
  return `process ${pid}, version ${build.version}, answers ${of}, ${used} now`;
}
