// A pull that is given up when its registry has been silent for too long, and goes on for as long as bytes come. A
// registry that takes connections and answers nothing, or stops in the middle of a layer, would be waited for otherwise
// until the engine's client gives up, which takes minutes or never happens.

import type { Observer } from '../../base/log/events.js';
import { inMegabytes } from '../../base/text/sizes.js';
import type { Engine } from '../engine.js';
import { isBeforeContact } from '../machine/client-words.js';
import { PullTraces } from './pull-traces.js';

/** A registry that is there answers within a second or two; a firewall that drops packets never does. */
export const PULL_SILENCE_MS = 20_000;
const LOOK_EVERY_MS = 1_000;

/** Throws what the engine says, or that the registry was silent. Progress is told as `image.progress` and `image.received`. */
export async function pullWhileAlive(
  image: string,
  engine: Pick<Engine, 'pull'>,
  observer: Observer,
  signal: AbortSignal,
): Promise<void> {
  using traces = new PullTraces();
  const silence = new AbortController();
  let heardAt = performance.now();
  let hasAnswered = false;
  const onLine = (message: string): void => {
    observer({ type: 'image.progress', image, message });
    if (isBeforeContact(message)) return;
    hasAnswered = true;
    heardAt = performance.now();
  };
  const look = setInterval(() => {
    const before = traces.receivedBytes;
    if (traces.hasMoved()) heardAt = performance.now();
    if (traces.receivedBytes > before)
      observer({ type: 'image.received', image, bytes: traces.receivedBytes });
    // Without traces, a client that says nothing may be in the middle of a large layer.
    const canBeJudged = traces.isSeen || !hasAnswered;
    if (canBeJudged && performance.now() - heardAt >= PULL_SILENCE_MS) silence.abort();
  }, LOOK_EVERY_MS);
  try {
    await engine.pull(image, onLine, AbortSignal.any([signal, silence.signal]), traces);
  } catch (thrown) {
    if (!silence.signal.aborted || signal.aborted) throw thrown;
    const seconds = PULL_SILENCE_MS / 1000;
    throw new Error(
      hasAnswered
        ? `its registry stopped sending: ${inMegabytes(traces.receivedBytes)} had arrived, and nothing more came for ${seconds} s`
        : `no registry answered within ${seconds} s`,
    );
  } finally {
    clearInterval(look);
  }
}
