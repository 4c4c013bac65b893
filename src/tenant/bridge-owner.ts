// Whom a bridge serves, where it is not the user who started it: what that principal has to itself, and how much it may use.

import type { CallLimits } from '../run/queue/call-turns.js';
import type { TurnLimits } from '../run/queue/turns.js';
import type { SharedServers } from '../servers/pool/shared-servers.js';
import type { ServerAccess } from './server-access.js';

/** What a bridge knows of a principal other than the user who started it. */
export type BridgeOwner = {
  /** The same for all bridges of one principal. */
  readonly id: string;
  /** Its own folder, for all that is kept of it. */
  readonly stateDir: string;
  readonly snippetsDir: string | undefined;
  readonly access: ServerAccess;
  readonly shared: SharedServers | undefined;
  /** Of its runs; asked for each. */
  readonly limits: () => TurnLimits;
  /** Of its calls, likewise. */
  readonly callLimits: () => CallLimits;
  /** Most sessions at once; asked for each new one. */
  readonly mostSessions: () => number;
  /** The volume of its commands. */
  readonly workVolume: string;
};

/** Of the user who started the bridge. */
export const NO_CALL_LIMITS: CallLimits = {
  callsAtOnce: Number.POSITIVE_INFINITY,
  callsWaiting: Number.POSITIVE_INFINITY,
};
