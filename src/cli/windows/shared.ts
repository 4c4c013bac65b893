// `status`, `stop` and `restart`: the bridges of this user that run by themselves, and their end at the user's word. They are
// those that windows share, and those that serve over HTTP.

import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { isOnlyOurs } from '../../base/files/only-ours.js';
import { VERSION } from '../../base/version.js';
import {
  canBeSignalled,
  httpServing,
  type ServingBridge,
  stillServes,
} from '../../service/endpoint/serving-record.js';
import type { SharedStatus } from '../../service/windows/greeting.js';
import { greet, meet } from '../../service/windows/meet.js';
import {
  lockStart,
  removeIfEmpty,
  removeLeftStarts,
  sharedFolder,
  sharedSocket,
  sharedSockets,
} from '../../service/windows/place.js';
import { exchangeableState } from '../../settings/environment/setting-paths.js';
import { readSettings } from '../../settings/environment/settings.js';
import { hostFacts } from '../../settings/files/host-facts.js';
import { knownStateDirs } from '../../settings/files/state-dir.js';
import { columns } from '../terminal/columns.js';
import { megabytes, printJson, sayNote, visibleText } from '../terminal/output.js';
import { paragraph, widthOf } from '../terminal/wrap.js';
import { meetingHere } from './start-relay.js';

const NONE =
  'No shared bridge runs, and none that serves over HTTP. A window starts a shared one if MCP_BRIDGE_SHARED is on; docs/shared-bridge.md and docs/serve-http.md say more.';
/** How often it is looked whether a process has ended. */
const LOOK_MS = 100;
/** An end without calls takes less; nothing is said of it. */
const SAY_AFTER_MS = 2_000;
/** Pause before a signal is sent once more: two that are sent at once may arrive as one. */
const SECOND_SIGNAL_MS = 500;

type StopOptions = { readonly json?: true; readonly now?: true };

/** Status reports of every shared bridge of this user. */
export async function sharedStates(): Promise<readonly SharedStatus[]> {
  const states = await Promise.all(sharedSockets(process.env).map((path) => askBridge(path, 'status')));
  return states.filter((state) => state !== undefined).map(({ state }) => state);
}

/** Prints the status of the shared bridges, and of those that serve over HTTP. */
export async function status({ json }: { readonly json?: true }): Promise<void> {
  const states = await sharedStates();
  const serving = servingHere();
  if (json) return printJson({ version: VERSION, bridges: states, http: serving.map(httpJson) });
  const isNone = states.length + serving.length === 0;
  process.stdout.write(isNone ? paragraph(NONE) : statusText(states, serving));
}

/** Bridges over HTTP, whichever of the user's folders was their state directory. */
function servingHere(): readonly ServingBridge[] {
  const host = hostFacts();
  const { settings } = readSettings(process.env, host);
  const dirs = knownStateDirs(settings.stateDir, process.env, host);
  return httpServing(dirs.filter((dir) => exchangeableState(dir, host.uid) === undefined));
}

const httpJson = ({ owner: { pid }, address, since, version, isHere }: ServingBridge) => ({
  pid,
  address,
  since,
  version,
  isHere,
});

/**
 * Ends all of them: calls that are under way are finished first, unless `now`. Windows start another when they next need one.
 * Exits with 1 where one cannot be ended from here.
 */
export async function stop(options: StopOptions): Promise<void> {
  const ended = await stopAll(options);
  const serving = servingHere();
  const left = serving.filter((one) => !canBeSignalled(one));
  const httpEnded = serving.filter(canBeSignalled);
  for (const one of httpEnded) await endServing(one, options);
  if (left.length > 0) process.exitCode = 1;
  if (options.json)
    return printJson({ ended, http: { ended: httpEnded.map(httpJson), left: left.map(httpJson) } });
  const lines = [
    ...ended.map(endedLine),
    ...httpEnded.map(({ owner: { pid }, address }) => `The bridge ${pid} at ${address} has ended.\n`),
    ...left.map(leftLine),
  ];
  process.stdout.write(lines.length === 0 ? 'No shared bridge runs, and none over HTTP.\n' : lines.join(''));
}

/** A first signal lets calls end, and nothing new begins; a second one does not wait for them. */
async function endServing(serving: ServingBridge, { json, now }: StopOptions): Promise<void> {
  const { owner, address } = serving;
  const startedAt = performance.now();
  let sentAt = 0;
  let hasSaid = json === true || now === true;
  while (stillServes(serving)) {
    const at = performance.now();
    if (sentAt === 0 || (now && at - sentAt >= SECOND_SIGNAL_MS)) {
      signal(owner.pid);
      sentAt = at;
    }
    if (!hasSaid && at - startedAt >= SAY_AFTER_MS) {
      hasSaid = true;
      sayNote(`waiting for calls of the bridge at ${visibleText(address)}; --now does not`);
    }
    await sleep(LOOK_MS);
  }
}

function signal(pid: number): void {
  try {
    process.kill(pid, 'SIGTERM');
  } catch (thrown) {
    // It has ended meanwhile.
    if (Object(thrown).code !== 'ESRCH') throw thrown;
  }
}

function leftLine({ owner: { pid }, address, isHere }: ServingBridge): string {
  const how = isHere
    ? `To end it: kill ${pid}`
    : 'It runs on another machine or in a container: end it there.';
  return `The bridge ${pid} at ${visibleText(address)} was not ended. ${how}\n`;
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
  removeLeftStarts(folder);
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
export function statusText(
  states: readonly SharedStatus[],
  serving: readonly ServingBridge[] = [],
  width = widthOf(process.stdout),
): string {
  const shared = states.map((state) => describeStatus(state, width));
  return [...shared, ...(serving.length === 0 ? [] : [servingText(serving, width)])].join('\n');
}

function servingText(serving: readonly ServingBridge[], width: number | undefined): string {
  const rows = serving.map(({ owner: { pid }, address, since, version, isHere }) => [
    String(pid),
    isHere ? visibleText(address) : `${visibleText(address)} (another machine or container)`,
    timeOf(Date.parse(since)),
    version,
  ]);
  const heads = ['process', 'address', 'since', 'version'];
  return `Over HTTP\n${columns([heads, ...rows], { width, wraps: [1], drops: [3] })}`;
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
