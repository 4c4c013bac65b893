// How long a server may take for its start, greeting and list of tools: known to those who open servers, and to those who
// say how long a sandbox may have to wait for that.

import type { DownstreamSpec } from '../../hosts/downstream-spec.js';

/** Where the host's own field says nothing. What Claude Code grants a server. */
export const START_TIME_MS = 30_000;

/** As long as opening any of them, or all of them side by side, may take. */
export const longestStartSeconds = (specs: ReadonlyArray<Pick<DownstreamSpec, 'startTimeoutMs'>>): number =>
  specs.length === 0
    ? 0
    : Math.ceil(Math.max(START_TIME_MS, ...specs.map((spec) => spec.startTimeoutMs ?? 0)) / 1000);
