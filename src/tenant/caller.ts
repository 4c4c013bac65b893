// One agent that calls: a connection on stdio, a session over HTTP, or a single request that carries everything itself.

import { type AgentCapabilities, NO_AGENT } from '../servers/asking/agent-capabilities.js';

export type Caller = {
  /** Name and version, as the agent reports them; for the audit and for how answers are shown. */
  readonly client: string;
  /** What can be asked of it on behalf of servers and code. */
  readonly agent: AgentCapabilities;
  /** Within which a session's name means it: the connection, or all of the principal's where there is none. */
  readonly scope: string;
};

/** The bridge's own command line, which nobody can be asked through. */
export const COMMAND_LINE: Caller = { client: 'command line', agent: NO_AGENT, scope: 'command line' };
