// A bridge for one command that runs code: audited, with the slow steps before its run told on stderr.

import type { Progress } from '../../mcp/requests/progress.js';
import type { CallContext } from '../../run/calls/call-context.js';
import { Bridge } from '../../tenant/bridge.js';
import { audited } from '../serving/audited.js';
import { type Prepared, withProgress } from '../serving/prepare.js';
import { sayDim } from '../terminal/output.js';
import type { ProgramOutput } from '../terminal/pass-on.js';

/** Has a person see how a call fares, by `signs`, and `output` what it prints. */
export const shownBy =
  (signs: Progress, output: ProgramOutput | undefined): CallContext['tell'] =>
  (event) =>
    event.type === 'output' ? output?.add(event.stream, event.text, event.base64) : signs.hear(event);

/** Everything that it started is gone when this resolves. */
export async function withBridge<T>(prepared: Prepared, use: (bridge: Bridge) => Promise<T>): Promise<T> {
  const { settings, discovery, redactor } = prepared;
  await using audit = audited(prepared);
  const observer = withProgress(audit.observer, sayDim);
  await using bridge = new Bridge({ settings, discovery, observer, redactor });
  return await use(bridge);
}
