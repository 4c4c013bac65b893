// A tool as data and the one door through which tools run. A tool says what it is and turns arguments into an
// Outcome; listing, rendering, progress and error text are the same for all of them. One that others offer as well
// answers as they do, with a result that is finished.

import type { OutputStream } from '../../base/process/streams.js';
import type { RenderMode } from '../../run/answer/render.js';
import type { Bridge } from '../../tenant/bridge.js';
import type { Caller } from '../../tenant/caller.js';
import type { Progress } from '../requests/progress.js';
import type { Answer } from './answer.js';
import type { ToolDefinition } from './tool-definition.js';

export type ToolContext = {
  readonly bridge: Bridge;
  readonly caller: Caller;
  /** Tells the agent how far things are; free when it did not ask. */
  readonly progress: Progress;
  /** What the code prints, piece by piece; `base64` has the bytes where they are no text. */
  readonly onOutput: (stream: OutputStream, text: string, base64: string | null) => void;
};

export type BridgeTool<A extends Answer = Answer> = {
  readonly definition: ToolDefinition;
  /** Form of this tool's answers where the operator has chosen none. */
  readonly outputMode: RenderMode;
  /** `args` are clean (tools/clean-arguments.ts). Never rejects for bad arguments: that is an Outcome too. */
  readonly call: (args: unknown, context: ToolContext, signal: AbortSignal) => Promise<A>;
};
