// The process of a shared bridge, from its start by the first window to its end: it listens, lets windows in, and leaves when
// nobody uses it, when it is asked to, or when a newer one comes. Nothing is left running when it returns.

import { closeSync, writeSync } from 'node:fs';
import { messageOf } from '../../base/errors.js';
import { LossyWriter } from '../../base/log/lossy-writer.js';
import type { StartReport } from '../../service/windows/greeting.js';
import { hostFacts } from '../../settings/files/host-facts.js';
import { examine } from '../serving/prepare.js';
import { firstFault, nothingElseWrites } from '../serving/serving-process.js';
import { interruptSignal } from '../terminal/interrupt.js';
import { SharedDoor } from './shared-door.js';

/** As `serve`, and for engines that are slow to remove containers. */
const CLOSE_WITHIN_MS = 10_000;
/** Where whoever started it reads that it listens, or why it does not. */
const REPORT_FD = 3;

/** Serves windows at `socket` until its end; the process ends with it. */
export async function sharedBridge(socket: string): Promise<void> {
  const prepared = examine('info', 'serves', here());
  if (prepared.problems.length > 0) return report({ is: 'failed', why: 'its settings are wrong' });
  const door = new SharedDoor(socket, prepared);
  // Its console would write to nobody.
  nothingElseWrites(door.everybody);
  const fault = firstFault((event) => door.tellAll(event));
  try {
    await door.listen();
  } catch (thrown) {
    await door.end('it cannot listen');
    return report({ is: 'failed', why: `it cannot listen at ${socket}: ${messageOf(thrown)}` });
  }
  // It must not keep the first window's folder from being removed.
  process.chdir('/');
  const interrupted = interruptSignal();
  interrupted.addEventListener('abort', () => door.leave(String(interrupted.reason)));
  report({ is: 'listening' });
  const { reason, exitCode } = await Promise.race([
    door.left.then((why) => ({ reason: why, exitCode: 0 })),
    fault,
  ]);
  setTimeout(() => process.exit(1), CLOSE_WITHIN_MS).unref();
  await door.end(reason);
  process.exit(exitCode);
}

/** Its own standard error is nobody's. */
const NOWHERE = new LossyWriter({ waitingChars: 0, write: (_line, done) => done(true) });

const here = () =>
  ({
    env: process.env,
    host: hostFacts(),
    stderr: NOWHERE,
    isTerminal: false,
    isInColour: false,
  }) as const;

function report(told: StartReport): void {
  try {
    writeSync(REPORT_FD, `${JSON.stringify(told)}\n`);
    closeSync(REPORT_FD);
  } catch {
    // The process that started the bridge has gone.
  }
}
