// A bridge for one command that runs code: audited, with the slow steps before its run told on stderr.

import { Bridge } from '../server/bridge.js';
import { audited } from './audited.js';
import { sayDim } from './output.js';
import { type Prepared, withProgress } from './prepare.js';

/** Everything that it started is gone when this resolves. */
export async function withBridge<T>(prepared: Prepared, use: (bridge: Bridge) => Promise<T>): Promise<T> {
  const { settings, discovery, redactor } = prepared;
  await using audit = audited(prepared);
  const observer = withProgress(audit.observer, sayDim);
  await using bridge = new Bridge({ settings, discovery, observer, redactor });
  return await use(bridge);
}
