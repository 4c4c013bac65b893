// `subscriptions/listen`: how a server of the modern era tells that its list of tools has changed. Asked for again when it
// ends, and the list is read anew then, since nobody knows what was missed.

import { setTimeout as sleep } from 'node:timers/promises';
import type { McpClient } from '../connection/client.js';

/** Between two attempts; doubles from the first to the second. */
const AGAIN_MS = { first: 1_000, most: 30_000 };

/**
 * Never rejects. Ends with `signal`, with the connection, and where the server has no such thing. `onHearing` is told
 * whether the server has promised to tell.
 */
export async function subscribe(
  client: McpClient,
  onMissed: () => void,
  signal: AbortSignal,
  onHearing: (hears: boolean) => void,
): Promise<void> {
  if (!client.tellsToolChanges) return;
  let pauseMs = AGAIN_MS.first;
  for (let times = 0; !signal.aborted; times++) {
    try {
      const { ended } = await client.listen({ toolsListChanged: true }, signal);
      if (times > 0) onMissed();
      onHearing(true);
      const startedAt = performance.now();
      await ended;
      if (performance.now() - startedAt > AGAIN_MS.most) pauseMs = AGAIN_MS.first;
    } catch (thrown) {
      if (client.isRefused(thrown)) return;
    } finally {
      onHearing(false);
    }
    await sleep(pauseMs, undefined, { signal, ref: false }).catch(() => {});
    pauseMs = Math.min(2 * pauseMs, AGAIN_MS.most);
    if (client.isClosed) return;
  }
}
