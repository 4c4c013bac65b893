// Waits for a turn as a promise, and gives the place in the queue back where nobody wants it any more.

import { asBridgeError, type BridgeError } from '../base/errors.js';
import type { Turn, TurnRequest, Turns } from './turns.js';

export type TurnWait = Omit<TurnRequest, 'onTurn' | 'onRefused'>;

/**
 * Resolves when the turn has come, or with why there is none (E_BUSY, E_LIMIT). It also resolves when `signal` ends the wait:
 * the turn has ended then, and what wanted it finds the same signal aborted. `onQueued` is called at once where it has to wait.
 */
export function takeTurn(
  turns: Turns,
  wait: TurnWait,
  signal: AbortSignal,
  onQueued: (turn: Turn) => void = () => {},
): Promise<Turn | { readonly refused: BridgeError }> {
  return new Promise((resolve) => {
    let hasTurn = false;
    let turn: Turn | undefined;
    const settle = (as: Turn | { readonly refused: BridgeError }) => {
      signal.removeEventListener('abort', onAbort);
      resolve(as);
    };
    const onAbort = () => {
      if (turn === undefined) return;
      if (turn.isWaiting) turn.end();
      settle(turn);
    };
    const onTurn = () => {
      hasTurn = true;
      if (turn !== undefined) settle(turn);
    };
    const onRefused = (refused: BridgeError) => settle({ refused });
    try {
      turn = turns.enter({ ...wait, onTurn, onRefused });
    } catch (thrown) {
      return onRefused(asBridgeError(thrown));
    }
    if (hasTurn) return settle(turn);
    onQueued(turn);
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
  });
}
