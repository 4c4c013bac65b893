// What the connection to one server needs besides its spec. The pool makes it, and hands it down as it is, by way of the
// slot and the live server, to the link; each takes out of it what is its own affair.

import type { Observer } from '../../base/log/events.js';
import type { Redactor } from '../../base/secrets/redact.js';
import type { LoginOwner } from '../remote/login-needed.js';
import type { LoginFor } from '../remote/server-login.js';
import type { EraMemory } from './eras.js';

export type DownstreamTimes = {
  /** Start, greeting and list of tools together, unless the spec has a limit of its own. */
  readonly connectTimeoutMs: number;
  /**
   * How long a server whose era is not known may leave the first question unanswered before it is greeted in the old way as
   * well; at most half of the time that it has to start.
   */
  readonly probeMs: number;
  /** How long a call may be silent when its spec sets no limit; progress starts it anew. */
  readonly silenceMs: number;
  /** Without a call for so long, a server is ended. */
  readonly idleMs: number;
  /** The first rest after a failed start; each further failure doubles it, up to `maxRestMs`. */
  readonly restMs: number;
  readonly maxRestMs: number;
};

export type ServerContext = {
  /** The whole environment of the server's process, and of a remote server's `headersHelper`. */
  readonly env: Readonly<Record<string, string>>;
  /** Where its processes start unless its entry says otherwise; without it, where the bridge did. */
  readonly cwd?: string | undefined;
  readonly times: DownstreamTimes;
  readonly observer: Observer;
  /** What the server says in its own words goes through this; it learns what `headersHelper` prints. */
  readonly redactor: Redactor;
  /** Logins of remote servers; without it, one that wants a login is told to the user as such. */
  readonly loginFor?: LoginFor | undefined;
  /** Whose those logins are, for errors that ask for one. */
  readonly loginOwner?: LoginOwner;
  /** Which era of MCP servers speak; without it, each start finds out anew. */
  readonly eras?: EraMemory | undefined;
};
