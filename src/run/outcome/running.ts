// Outcome of a call that has not ended when its host has waited long enough.

import { type HeadTail, harmless } from '../../base/text/text.js';
import type { KeptThing } from '../artifacts/kept-run.js';
import { type Captured, capturedWithGap, type GoesOn, type Outcome } from './outcome.js';
import { NO_PICTURES } from './pictures.js';

export type RunningParts = GoesOn & {
  readonly elapsedMs: number;
  readonly timeoutSeconds: number;
  /** Output of the call since it was last asked. */
  readonly stdout: Captured;
  readonly stderr: Captured;
};

export const running = ({ elapsedMs, stdout, stderr, timeoutSeconds, ...goesOn }: RunningParts): Outcome => ({
  status: 'running',
  exitCode: undefined,
  stdout,
  stderr,
  servers: [],
  error: undefined,
  result: undefined,
  note: undefined,
  pictures: NO_PICTURES,
  timeoutSeconds,
  durationMs: elapsedMs,
  calls: 0,
  goesOn,
});

/** A stream as an answer shows it. `whole` is where all of it was kept, which is known when its code has ended. */
export function capturedOf(kept: HeadTail, whole?: KeptThing): Captured {
  if (kept.dropped === 0) return { text: harmless(kept.toString()), dropped: 0, whole };
  const { dropped, droppedBytes, head, tail } = kept;
  // One by one: a sequence that the code has left open at the end of the head must not swallow the line between.
  return capturedWithGap(harmless(head), harmless(tail), { dropped, droppedBytes, whole });
}
