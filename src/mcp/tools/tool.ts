// A tool as data, and the one interface by which tools run. A tool says what it is and turns arguments into an
// Outcome; listing, rendering, progress and error text are the same for all of them. One that others offer as well
// answers as they do, with a result that is finished.

import type { RenderMode } from '../../run/answer/render.js';
import type { CallContext } from '../../run/calls/call-context.js';
import type { Bridge } from '../../tenant/bridge.js';
import type { ToolAnswer, ToolDefinition } from './definitions.js';

export type BridgeTool<A extends ToolAnswer = ToolAnswer> = {
  readonly definition: ToolDefinition;
  /** Form of this tool's answers where the operator has chosen none. */
  readonly outputMode: RenderMode;
  /** `args` are clean (tools/arguments.ts). Never rejects for bad arguments: that is an Outcome too. */
  readonly call: (args: unknown, context: CallContext, bridge: Bridge) => Promise<A>;
};
