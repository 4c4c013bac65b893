// What the tests of templates have in common: bridges with a state directory of their own, and how a call shows where its sandbox
// came from.

import { join } from 'node:path';
import { startBridge, type TestBridge, tempHome } from '../support/start-bridge.js';

export class TemplateBridges implements AsyncDisposable {
  readonly #open: TestBridge[] = [];

  /** Closes what is open. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const bridge of this.#open.splice(0)) await bridge[Symbol.asyncDispose]();
  }

  /** Without sandboxes that wait, as the operator of an ordinary bridge has it with `more`. */
  async start(more: Readonly<Record<string, string>> = {}): Promise<TestBridge> {
    const env = { MCP_BRIDGE_WARM: '0', MCP_BRIDGE_STATE_DIR: join(tempHome(), 'state'), ...more };
    const bridge = await startBridge({}, { env });
    this.#open.push(bridge);
    return bridge;
  }
}

/** Python's `root()`: who has started the sandbox, `template` or `engine`. */
export const ROOT = `
def root():
    line = next(line for line in open('/proc/self/mountinfo') if line.split()[4] == '/')
    return 'template' if ':.' in line.rsplit('lowerdir=', 1)[-1].split(',')[0] else 'engine'
`;
export const isFromTemplate = async (bridge: TestBridge): Promise<boolean> =>
  (await bridge.run(`${ROOT}root()`)).result === 'template';
