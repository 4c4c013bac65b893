// Answer to a call of a tool, before the answer is shown as the call's client can read it.

import type { Outcome } from '../../run/outcome/outcome.js';

/** A CallToolResult that is finished; `isRelayed` where it is a server's. Only what does not show is changed in either. */
export type Finished = {
  readonly result: Readonly<Record<string, unknown>>;
  readonly isRelayed: boolean;
};

export type ToolAnswer = Outcome | Finished;
