// The process of `serve`, on stdio and over HTTP: nothing is written past the log, and an exception ends the process.

import { Console } from 'node:console';
import { messageOf } from '../../base/errors.js';
import type { Observer } from '../../base/log/events.js';
import { type LossyWriter, neverBlock, streamInto } from '../../base/log/lossy-writer.js';
import { waitForAbort } from '../../base/waiting/unless-aborted.js';

/** Why the bridge closes, for the log, and what its process exits with. */
export type End = { readonly reason: string; readonly exitCode: 0 | 1 };

/** The end that the signal of `interruptSignal` asks for, also where it came before this is called: a start takes a while. */
export const endBy = async (interrupted: AbortSignal): Promise<End> => {
  await waitForAbort(interrupted);
  return { reason: String(interrupted.reason), exitCode: 0 };
};

/** Sends what packages print, and Node's own warnings, through the log: elsewhere they break the conversation, or block. */
export function nothingElseWrites(stderr: LossyWriter): void {
  neverBlock(process.stderr);
  globalThis.console = new Console(streamInto(stderr));
  // None listens where the user wants no warnings.
  if (process.listenerCount('warning') === 0) return;
  process.removeAllListeners('warning');
  process.on('warning', ({ name, message }) => stderr.write(`(node) ${name}: ${message}\n`));
}

/** A rejection that nobody awaited concerns one call and is logged; an exception leaves no state to trust. */
export function firstFault(observer: Observer): Promise<End> {
  process.on('unhandledRejection', (thrown) => {
    observer({ type: 'bridge.fault', where: 'unhandled rejection', message: messageOf(thrown) });
  });
  return new Promise((resolve) => {
    process.on('uncaughtException', (thrown) => {
      observer({
        type: 'bridge.fault',
        where: 'uncaught exception',
        message: thrown.stack ?? messageOf(thrown),
      });
      resolve({ reason: 'a fault of the bridge', exitCode: 1 });
    });
  });
}
