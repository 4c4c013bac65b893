// What the tests of templates have in common: bridges with a state directory of their own, and how a call shows where its sandbox
// came from.

import { join } from 'node:path';
import { PRINT_STARTER } from '../../scripts/from-template.mjs';
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

export const isFromTemplate = async (bridge: TestBridge): Promise<boolean> =>
  (await bridge.run(PRINT_STARTER)).stdout?.join('') === 'template';
