// Waits for a turn as a promise, and gives the place in the queue back where nobody wants it any more.

import { asBridgeError, type BridgeError } from '../../base/errors.js';
import type { Turn, TurnRequest, Turns } from './turns.js';

export type TurnWait = Omit<TurnRequest, 'onTurn' | 'onRefused'>;

export type RefusedTurn = { readonly refused: BridgeError };

/** A place in the queue. */
export type QueuePlace = {
  /** Resolves when the turn has come, or with why there is none. Also when the wait has ended: the turn has ended then. */
  readonly turn: Promise<Turn | RefusedTurn>;
  /** Where it got none: it never waited. */
  readonly refused: RefusedTurn | undefined;
  /** Where it was held: it waits for nothing else now. */
  readonly ready: () => void;
};

/**
 * Gives the place of a run that stands still to others. What is given back resolves when it has one again, at every call; undefined
 * where it keeps its place.
 */
export function standAside(turn: Turn): (() => Promise<void>) | undefined {
  if (!turn.stand()) return undefined;
  let returning: Promise<void> | undefined;
  return () => {
    returning ??= new Promise((resolve) => turn.goOn(resolve));
    return returning;
  };
}

/**
 * Resolves when the turn has come, or with why there is none (E_BUSY, E_LIMIT). It also resolves when `signal` ends the wait:
 * the turn has ended then, and what wanted it finds the same signal aborted. `onQueued` is called at once where it has to wait.
 */
export const takeTurn = (...of: Parameters<typeof takePlace>): Promise<Turn | RefusedTurn> =>
  takePlace(...of).turn;

/**
 * Takes a place for a run that may be held, as `takeTurn` takes a turn: the run is queued from now on, and `onQueued` is called
 * when the run is ready and still has to wait.
 */
export function takePlace(
  turns: Turns,
  wait: TurnWait,
  signal: AbortSignal,
  onQueued: (turn: Turn) => void = () => {},
): QueuePlace {
  let ready = () => {};
  let atOnce: RefusedTurn | undefined;
  const turn = new Promise<Turn | RefusedTurn>((resolve) => {
    let hasTurn = false;
    let turn: Turn | undefined;
    const settle = (as: Turn | RefusedTurn) => {
      signal.removeEventListener('abort', onAbort);
      resolve(as);
    };
    const onAbort = () => {
      if (turn === undefined) return;
      if (!hasTurn) turn.end();
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
      atOnce = { refused: asBridgeError(thrown) };
      return settle(atOnce);
    }
    if (hasTurn) return settle(turn);
    const queued = turn;
    if (wait.isHeld !== true) onQueued(queued);
    ready = () => {
      queued.ready();
      if (queued.isWaiting) onQueued(queued);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
  });
  return { turn, refused: atOnce, ready: () => ready() };
}
