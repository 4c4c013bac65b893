// A call from its request down to the servers that its code calls: who calls, what ends it, and who is told what happens to
// it. One bundle, which every hop hands on as it is; whoever can end the call as well hands on another signal.

import type { OutputStream } from '../../base/process/streams.js';
import type { Trace } from '../../base/trace.js';
import { type AgentCapabilities, NO_AGENT } from '../../servers/asking/agent-capabilities.js';
import type { GuestFrame } from '../../wire/frames.js';

/** `E` is what whoever follows the call is told. */
export type CallContext<E = CallEvent> = {
  /** One agent: a connection on stdio, a session over HTTP, or a single request that carries everything itself. */
  readonly caller: {
    /** Name and version, as the agent reports them; for the audit and for how answers are shown. */
    readonly client: string;
    /** Abilities of the agent: what it can be asked on behalf of servers and code. */
    readonly agent: AgentCapabilities;
    /** Within which a session's name means it: the connection, or all of the principal's where there is none. */
    readonly scope: string;
    /** Trace that the call is part of; undefined where there is none. */
    readonly trace?: Trace | undefined;
  };
  /** Aborts when the call is to end. */
  readonly signal: AbortSignal;
  /** Tells whoever follows the call; synchronously, and not to throw. */
  readonly tell: (event: E) => void;
};

/** Events of a call while it is under way. */
export type CallEvent =
  /** The call has to wait; `ahead` counts, whenever read, the calls that wait and come before it. */
  | { readonly type: 'queued'; readonly place: { readonly ahead: number } }
  /** The call's turn has come; `waitsFor` says, whenever asked, what holds up the start. */
  | { readonly type: 'preparing'; readonly waitsFor: () => string }
  /** The code of the call starts. */
  | { readonly type: 'started'; readonly meter: Meter }
  /** How far the code says it is. */
  | Extract<GuestFrame, { type: 'progress' }>
  /** Progress of a tool that the code calls, whenever its server tells it; `tool` is `server.tool`. Not yet made harmless. */
  | {
      readonly type: 'tool.progress';
      readonly tool: string;
      readonly done: number;
      readonly total: number | null;
      readonly message: string | null;
    }
  | OutputEvent;

/** A piece of what it prints, not yet made harmless; `base64` has the bytes where they are no text. */
export type OutputEvent = {
  readonly type: 'output';
  readonly stream: OutputStream;
  readonly text: string;
  readonly base64: string | null;
};

/**
 * Facts about a call that can be asked for while its code runs; `waitingFor` names the tools whose answers are awaited, in a
 * few words.
 */
export type Meter = {
  readonly calls: number;
  readonly inFlight: number;
  readonly waitingFor: string;
  /** A sentence on what waits for a person; empty where nothing does. */
  readonly asking: string;
};

/** The bridge's own command line, which nobody can be asked through. */
export const COMMAND_LINE: CallContext['caller'] = {
  client: 'command line',
  agent: NO_AGENT,
  scope: 'command line',
};

/** A call of our own command line; nobody follows it where nothing is told. */
export const byCommandLine = (signal: AbortSignal, tell: CallContext['tell'] = () => {}): CallContext => ({
  caller: COMMAND_LINE,
  signal,
  tell,
});
