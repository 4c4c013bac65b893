// Where one configured server is: idle, opening, ready or resting, each with the data that it has there. Pure.

import { BridgeError } from '../../base/errors.js';
import type { Downstream, OpenDownstream } from '../server/downstream.js';

/** `reason` is how the server last ended or why it did not start; undefined when neither has happened. */
export type Idle = { readonly at: 'idle'; readonly reason: string | undefined };
type Opening = {
  readonly at: 'opening';
  /** The reason that the idle state before had. */
  readonly reason: string | undefined;
  /** The one attempt that everyone shares who asks meanwhile. */
  readonly downstream: Promise<Downstream>;
};
type Ready = {
  readonly at: 'ready';
  readonly open: OpenDownstream;
  /** Calls under way. */
  readonly inFlight: number;
  /** Ends it; undefined while calls are under way. */
  readonly idleTimer: NodeJS.Timeout | undefined;
};
export type Resting = {
  readonly at: 'resting';
  readonly reason: string;
  readonly remedy: string | undefined;
  /** By performance.now(). */
  readonly until: number;
};
export type SlotState = Idle | Opening | Ready | Resting;

/** Facts about a server that are known without starting it. */
export type DownstreamState = {
  readonly name: string;
  readonly state: SlotState['at'];
  /** Their number; undefined unless it is ready. */
  readonly tools: number | undefined;
  readonly problems: readonly string[];
  /** How it last ended or why it did not start; undefined when neither has happened. */
  readonly reason: string | undefined;
  /** While it rests: how long until a call tries again. */
  readonly retryInMs: number | undefined;
};

/** A rest ends by itself: one that is over has become idleness. */
export function asOfNow(state: SlotState): SlotState {
  if (state.at !== 'resting' || state.until > performance.now()) return state;
  return { at: 'idle', reason: state.reason };
}

export function describe(name: string, state: SlotState): DownstreamState {
  const live = state.at === 'ready' ? state.open.downstream : undefined;
  return {
    name,
    state: state.at,
    tools: live?.tools().length,
    problems: live?.problems() ?? [],
    reason: state.at === 'ready' ? undefined : state.reason,
    retryInMs: state.at === 'resting' ? msLeft(state) : undefined,
  };
}

/** The error for those who ask for the server while it rests. */
export function restingError(resting: Resting): BridgeError {
  const later = `It is not tried again at once: retry in ${Math.ceil(msLeft(resting) / 1000)} s.`;
  const remedy = resting.remedy === undefined ? later : `${resting.remedy} ${later}`;
  return new BridgeError('E_SERVER_UNAVAILABLE', resting.reason, { fault: 'operator', remedy });
}

const msLeft = ({ until }: Resting): number => Math.max(1, Math.ceil(until - performance.now()));
