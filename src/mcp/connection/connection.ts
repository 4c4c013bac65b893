// State of one agent's connection, kept from request to request, apart from the SDK's server object: over HTTP there is a
// server object for each request of 2026-07-28, and these objects share one state for each bridge.

import type { AgentCapabilities } from '../../servers/asking/agent-capabilities.js';
import type { Bridge } from '../../tenant/bridge.js';
import type { McpLogLevel } from '../requests/log-notifications.js';
import type { LateBridge } from './late-bridge.js';

/** Hosts start servers in health checks that live 20 ms: house-keeping waits until a client has stayed. */
const QUIET_BEFORE_WARM_MS = 250;
const QUIET_BEFORE_SWEEP_MS = 2_000;

let made = 0;

export class AgentConnection implements Disposable {
  /** No two in one process have the same. */
  readonly id = String(++made);
  /** Log level that an agent of 2025 wants, as the agent has last said. */
  logLevel: McpLogLevel | undefined;
  /** Descriptions that the agent was given when it last listed the tools. */
  toldOfTools: string | undefined;
  #plans: NodeJS.Timeout[] = [];
  #stopListening: (() => void) | undefined;

  /** Plans warm-up, since an agent that lists the tools may call one soon, and house-keeping for when a client has stayed. */
  prepare(bridge: Bridge | LateBridge, agent: AgentCapabilities): void {
    for (const plan of this.#plans) clearTimeout(plan);
    this.#plans = [
      setTimeout(() => bridge.warmUp(agent), QUIET_BEFORE_WARM_MS).unref(),
      setTimeout(() => bridge.sweepOnce(), QUIET_BEFORE_SWEEP_MS).unref(),
    ];
  }

  /** `listener` hears when more is known of the image. Only the first one that is given does. */
  onImageKnown(bridge: Bridge | LateBridge, listener: () => void): void {
    this.#stopListening ??= bridge.onImageKnown(listener);
  }

  /** Plans still happen: these are the bridge's house-keeping. */
  [Symbol.dispose](): void {
    this.#stopListening?.();
  }
}
