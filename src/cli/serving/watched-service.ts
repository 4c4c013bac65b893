// `code-exec` over HTTP: the server is a process of its own, and this one asks it whether it still answers. An engine starts a
// container anew whose first process has ended, and none that is up and answers nothing, as after memory has run out in it. On
// stdio there is nobody to watch: its one client notices. Relies on a channel of Node's between the two.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import http from 'node:http';
import { constants } from 'node:os';
import { basename } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { neverBlock } from '../../base/log/lossy-writer.js';
import { groupOptions, onExit } from '../../base/process/process-group.js';

import { parseExecSettings } from '../../code-exec/exec-settings.js';

const OWN_NAME = 'code-exec';

/**
 * A minute: what commands do to the machine keeps it from answering for some seconds, and its end costs all of them.
 * `unanswered` is how many questions without an answer, one after the other, end the service.
 */
const TIMES = { everyMs: 5_000, answersWithinMs: 10_000, unanswered: 4 };

export async function codeExec(): Promise<void> {
  const isWatched = process.send !== undefined;
  if (process.platform === 'win32' || isWatched || parseExecSettings(process.env).listen.at === 'stdio')
    return await (await import('./code-exec.js')).codeExec();
  const { execPath, execArgv, argv } = process;
  const [, script = ''] = argv;
  // The command of that name adds the word itself (bin/code-exec).
  const words = basename(script) === OWN_NAME ? [] : [OWN_NAME];
  const service = spawn(execPath, [...execArgv, script, ...words], {
    // Ctrl-C is for this process, which hands it on.
    ...groupOptions(),
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
  });
  // Output that nobody reads must not hold the end up.
  neverBlock(process.stderr);
  process.exitCode = await watch(service, TIMES, (message) => {
    process.stderr.write(`code-exec ${message}\n`);
  });
}

/**
 * Resolves with the exit code that a shell would see when the service has ended: by itself, by a signal, which is handed on
 * to it, or because it answered nothing for too long. The service tells where it listens (code-exec.ts).
 */
export async function watch(
  service: ChildProcess,
  times: typeof TIMES,
  say: (message: string) => void,
): Promise<number> {
  const hooks: Array<() => void> = (['SIGINT', 'SIGTERM', 'SIGHUP'] as const).map((name) => {
    const handOn = () => void service.kill(name);
    process.on(name, handOn);
    return () => void process.off(name, handOn);
  });
  hooks.push(onExit(() => void service.kill('SIGKILL')));
  let address: string | undefined;
  service.on('message', (message) => {
    address = String(message);
  });
  const over = new AbortController();
  const ended = once(service, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
  void untilSilent(() => address, times, over.signal).then((isSilent) => {
    if (!isSilent) return;
    service.kill('SIGKILL');
    say('ended its server, which ran but did not answer');
  });
  try {
    const [code, signal] = await ended;
    return code ?? 128 + (signal === null ? 0 : constants.signals[signal]);
  } finally {
    over.abort();
    for (const unhook of hooks) unhook();
  }
}

/** Resolves with true when it has not answered for too long, with false when `signal` has ended the watch. */
async function untilSilent(
  address: () => string | undefined,
  { everyMs, answersWithinMs, unanswered }: typeof TIMES,
  signal: AbortSignal,
): Promise<boolean> {
  const pause = (ms: number) => sleep(ms, undefined, { signal, ref: false }).catch(() => {});
  // Counted, and not measured: while the machine sleeps, nobody asks.
  for (let silent = 0; silent < unanswered; ) {
    await pause(everyMs);
    const place = address();
    // The service has not come to listen yet.
    if (place === undefined) await pause(answersWithinMs);
    const isWell = place !== undefined && (await answers(place, answersWithinMs, signal));
    if (signal.aborted) return false;
    silent = isWell ? 0 : silent + 1;
  }
  return true;
}

/** Whether the service answers at /health, whatever it says. */
function answers(address: string, withinMs: number, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    const request = http.get({ ...placeOf(address), path: '/health', agent: false, signal });
    const limit = setTimeout(() => request.destroy(), withinMs);
    request.once('response', (response) => {
      response.destroy();
      resolve(true);
    });
    request.once('error', () => resolve(false));
    request.once('close', () => {
      clearTimeout(limit);
      resolve(false);
    });
  });
}

/** `address` as HttpEndpoint says it. What listens at all addresses listens at loopback. */
function placeOf(address: string): http.RequestOptions {
  if (address.startsWith('unix:')) return { socketPath: address.slice('unix:'.length) };
  const { hostname, port } = new URL(address);
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  return { host: host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host, port };
}
